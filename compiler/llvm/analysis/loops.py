"""Natural loops, their induction variables and trip counts.

A back edge is an edge to a block that dominates its source. The natural loop of a header is the
header and all blocks that reach one of its back edges without passing the header. Loops nest or are
disjoint, so they form a forest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.llvm.analysis.dominators import DominatorTree, dominator_tree
from compiler.llvm.ir import (
    Argument,
    BasicBlock,
    Constant,
    Function,
    Instruction,
    Opcode,
    Predicate,
    Value,
)
from compiler.llvm.numbers import wrap_int


@dataclass(slots=True, eq=False)
class Loop:
    """One natural loop. `blocks` are in the function's reverse post-order, header first; `latches`
    are the sources of back edges. `depth` is 1 for the outermost."""

    header: BasicBlock
    blocks: tuple[BasicBlock, ...]
    latches: tuple[BasicBlock, ...]
    parent: Loop | None = None
    children: list[Loop] = field(default_factory=list)
    depth: int = 1
    members: frozenset[BasicBlock] = frozenset()

    @property
    def is_innermost(self) -> bool:
        return not self.children

    @property
    def latch(self) -> BasicBlock | None:
        """The only source of back edges, if there is only one."""
        return self.latches[0] if len(self.latches) == 1 else None

    def exits(self) -> list[tuple[BasicBlock, BasicBlock]]:
        """The edges that leave: (block inside, block outside)."""
        return [(b, s) for b in self.blocks for s in b.successors if s not in self.members]

    def instructions(self) -> Iterator[Instruction]:
        for block in self.blocks:
            yield from block.instructions

    def is_invariant(self, value: Value) -> bool:
        """Whether a value is computed outside the loop."""
        return not isinstance(value, Instruction) or value.block not in self.members

    def preheader(self) -> BasicBlock | None:
        """The only block outside that leads to the header, if it leads nowhere else."""
        function = self.header.function
        if function is None:
            return None
        outside = [p for p in function.predecessors()[self.header] if p not in self.members]
        if len(outside) == 1 and len(outside[0].successors) == 1:
            return outside[0]
        return None


def loop_forest(function: Function, tree: DominatorTree | None = None) -> list[Loop]:
    """The outermost loops, in reverse post-order of their headers; inner ones are `children`."""
    tree = tree or dominator_tree(function)
    latches: dict[BasicBlock, list[BasicBlock]] = {}
    for block in tree.order:
        for successor in block.successors:
            if tree.dominates(successor, block):
                latches.setdefault(successor, []).append(block)
    predecessors = function.predecessors()
    loops = [
        _natural_loop(header, latches[header], predecessors, tree)
        for header in tree.order
        if header in latches
    ]
    return _nest(loops)


def _natural_loop(
    header: BasicBlock,
    latches: list[BasicBlock],
    predecessors: dict[BasicBlock, list[BasicBlock]],
    tree: DominatorTree,
) -> Loop:
    members = {header}
    work = [latch for latch in latches if latch is not header]
    while work:
        block = work.pop()
        if block in members:
            continue
        members.add(block)
        work.extend(p for p in predecessors[block] if tree.is_reachable(p))
    ordered = tuple(block for block in tree.order if block in members)
    return Loop(header, ordered, tuple(latches), members=frozenset(members))


def _nest(loops: list[Loop]) -> list[Loop]:
    """Sets parents and depths; a loop's parent is the smallest other that holds its header."""
    roots = []
    for loop in loops:
        around = [o for o in loops if o is not loop and loop.header in o.members]
        if not around:
            roots.append(loop)
            continue
        loop.parent = min(around, key=lambda o: len(o.members))
        loop.parent.children.append(loop)
    for loop in loops:
        step = loop.parent
        while step is not None:
            loop.depth += 1
            step = step.parent
    return roots


def all_loops(roots: list[Loop]) -> Iterator[Loop]:
    """Every loop of a forest, inner ones before the loops around them."""
    for loop in roots:
        yield from all_loops(loop.children)
        yield loop


@dataclass(frozen=True, slots=True)
class Induction:
    """A header phi that grows by a constant: `start` on entry, `step` per iteration; `next` is the
    incremented value that comes back from the latch."""

    phi: Instruction
    start: Value
    step: int
    next: Instruction


def inductions(loop: Loop) -> list[Induction]:
    """The loop's integer induction variables with constant steps (loops with one latch only)."""
    latch = loop.latch
    if latch is None:
        return []
    found = []
    for phi in loop.header.phis:
        induction = _induction(loop, phi, latch)
        if induction is not None:
            found.append(induction)
    return found


def _induction(loop: Loop, phi: Instruction, latch: BasicBlock) -> Induction | None:
    outside = [v for v, b in zip(phi.operands, phi.blocks) if b not in loop.members]
    following = phi.incoming_from(latch)
    if not phi.type.is_int or phi.type.lanes or len(outside) != 1 or len(phi.operands) != 2:
        return None
    if not isinstance(following, Instruction) or following.opcode not in (Opcode.ADD, Opcode.SUB):
        return None
    a, b = following.operands
    if b is phi and following.opcode is Opcode.ADD:
        a, b = b, a
    if a is not phi or not isinstance(b, Constant) or not isinstance(b.value, int):
        return None
    step = wrap_int(b.value, phi.type.bits)
    return Induction(phi, outside[0], -step if following.opcode is Opcode.SUB else step, following)


@dataclass(frozen=True, slots=True)
class Trips:
    """When a loop with one exit stops: it goes on while `induction` (after the increment if
    `after_step`) stands in `predicate` to `bound`. `exiting` is the block that asks, `exit` where
    the loop goes then. `count` is how often the header's successors inside the loop run, if
    known."""

    induction: Induction
    predicate: Predicate
    bound: Value
    after_step: bool
    exiting: BasicBlock
    exit: BasicBlock
    compare: Instruction
    count: int | None


_NEGATED = {
    Predicate.EQ: Predicate.NE, Predicate.NE: Predicate.EQ,
    Predicate.SLT: Predicate.SGE, Predicate.SGE: Predicate.SLT,
    Predicate.SGT: Predicate.SLE, Predicate.SLE: Predicate.SGT,
    Predicate.ULT: Predicate.UGE, Predicate.UGE: Predicate.ULT,
    Predicate.UGT: Predicate.ULE, Predicate.ULE: Predicate.UGT,
}  # fmt: skip
_SWAPPED = {
    Predicate.EQ: Predicate.EQ, Predicate.NE: Predicate.NE,
    Predicate.SLT: Predicate.SGT, Predicate.SGT: Predicate.SLT,
    Predicate.SLE: Predicate.SGE, Predicate.SGE: Predicate.SLE,
    Predicate.ULT: Predicate.UGT, Predicate.UGT: Predicate.ULT,
    Predicate.ULE: Predicate.UGE, Predicate.UGE: Predicate.ULE,
}  # fmt: skip


def negated(predicate: Predicate) -> Predicate:
    """The integer predicate that holds when `predicate` does not."""
    return _NEGATED[predicate]


def swapped(predicate: Predicate) -> Predicate:
    """The integer predicate for exchanged operands."""
    return _SWAPPED[predicate]


def trips(loop: Loop) -> Trips | None:
    """How a loop with one latch and one exit, at its header or latch, counts; None for others."""
    exits = loop.exits()
    if len(exits) != 1 or loop.latch is None:
        return None
    exiting, exit = exits[0]
    if exiting is not loop.header and exiting is not loop.latch:
        return None
    branch = exiting.terminator
    if (
        branch is None
        or len(branch.operands) != 1
        or not isinstance(branch.operands[0], Instruction)
    ):
        return None
    compare = branch.operands[0]
    if compare.opcode is not Opcode.ICMP or compare.predicate is None:
        return None
    goes_on = _NEGATED[compare.predicate] if branch.blocks[0] is exit else compare.predicate
    for induction in inductions(loop):
        found = _compares(loop, induction, compare, goes_on)
        if found is None:
            continue
        predicate, bound, after = found
        is_first = exiting is loop.header and exiting is not loop.latch
        count = _count(induction, predicate, bound, after, is_first)
        return Trips(induction, predicate, bound, after, exiting, exit, compare, count)
    return None


def _compares(
    loop: Loop, induction: Induction, compare: Instruction, goes_on: Predicate
) -> tuple[Predicate, Value, bool] | None:
    a, b = compare.operands
    for left, right, predicate in ((a, b, goes_on), (b, a, _SWAPPED[goes_on])):
        if left in (induction.phi, induction.next) and loop.is_invariant(right):
            return predicate, right, left is induction.next
    return None


def _count(
    induction: Induction, predicate: Predicate, bound: Value, after_step: bool, is_first: bool
) -> int | None:
    """Iterations of the body for constant start and bound; None when unknown, endless or odd."""
    start = induction.start
    if not isinstance(start, Constant) or not isinstance(bound, Constant):
        return None
    if not isinstance(start.value, int) or not isinstance(bound.value, int):
        return None
    bits, step = induction.phi.type.bits, induction.step
    is_unsigned = predicate in (Predicate.ULT, Predicate.ULE, Predicate.UGT, Predicate.UGE)
    first, last = (
        (v & ((1 << bits) - 1) if is_unsigned else wrap_int(v, bits))
        for v in (start.value, bound.value)
    )
    tested = first + (step if after_step else 0)
    passes = _passes(predicate, tested, last, step)
    if passes is None:
        return None
    # A test in the header runs before the body, one in the latch after it.
    return passes if is_first else passes + 1


def _passes(predicate: Predicate, value: int, bound: int, step: int) -> int | None:
    """How often `value`, `value + step`, ... satisfies the predicate before it first fails."""
    if predicate in (Predicate.SGT, Predicate.SGE, Predicate.UGT, Predicate.UGE):
        predicate, value, bound, step = _SWAPPED[predicate], -value, -bound, -step
    if predicate in (Predicate.SLT, Predicate.ULT, Predicate.SLE, Predicate.ULE):
        limit = bound + (1 if predicate in (Predicate.SLE, Predicate.ULE) else 0)
        if value >= limit:
            return 0
        return -(-(limit - value) // step) if step > 0 else None
    if predicate is Predicate.NE and step and (bound - value) % step == 0:
        count = (bound - value) // step
        return count if count >= 0 else None
    return None


def runs_at_least_once(found: Trips | None, loop: Loop) -> bool:
    """Whether the whole body is known to run when the loop is entered."""
    if found is None:
        return False
    return found.exiting is not loop.header or len(loop.blocks) == 1 or bool(found.count)


def is_identified(value: Value) -> bool:
    """Whether a pointer is the root of its own object: noalias parameter or alloca."""
    if isinstance(value, Argument):
        return "noalias" in value.attributes
    return isinstance(value, Instruction) and value.opcode is Opcode.ALLOCA

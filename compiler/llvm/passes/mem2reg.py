"""Turns stack variables into SSA values.

Lowering keeps accumulators and loop counters in allocas, because that is easy to write: every write
is a store, every read a load, and control flow takes care of itself. This pass gives each variable
back its values. Where two writes can reach the same read through different predecessors, a phi is
needed, and the classic result of Cytron, Ferrante, Rosen, Wegman and Zadeck, "Efficiently Computing
Static Single Assignment Form and the Control Dependence Graph" (TOPLAS 1991), says where: exactly
in the iterated dominance frontier of the blocks that write. A block's dominance frontier is the set
of blocks where its dominance just ends, the first places where another path can join in; a phi is
itself a write, hence "iterated".

Three steps:
1. Which variables can be promoted? Those whose address never escapes: every use loads or stores the
whole value. 2. Where do phis go? The iterated frontier of the writing blocks, but only where the
variable is still going to be read ("pruned" SSA: liveness decides), so that no dead phis appear. 3.
Renaming: walk down the dominator tree with the current value of each variable; a load becomes that
value, a store sets it, and each successor's phi receives it for this edge. A read before any write
is poison.

Each variable's fate is recorded: how many loads and stores it had and how many phis it cost, or
which use kept it in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision
from compiler.llvm.analysis.dominators import DominatorTree, dominance_frontiers, dominator_tree
from compiler.llvm.context import Context
from compiler.llvm.ir import (
    BasicBlock,
    Constant,
    Function,
    Instruction,
    Opcode,
    Value,
    subject_of,
)
from compiler.llvm.text import instruction_text
from compiler.llvm.types import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion(Decision):
    """A stack variable became SSA values, or why it did not."""

    loads: int = 0
    stores: int = 0
    phis: int = 0

    @property
    def template(self) -> str:
        if self.chosen == "kept":
            return "{subject} stays in memory, because {because}"
        return (
            "{subject} becomes SSA values: {loads} loads and {stores} stores go, {phis} phis come"
        )


def run(function: Function, context: Context) -> bool:
    """Promotes what can be; returns whether anything changed."""
    allocas = [i for i in function.entry.instructions if i.opcode is Opcode.ALLOCA]
    tree = dominator_tree(function)
    chosen = []
    for alloca in allocas:
        obstacle = _obstacle(alloca)
        if obstacle is None:
            chosen.append(alloca)
        else:
            context.record(
                Promotion(
                    subject=subject_of(alloca),
                    origins=alloca.origins,
                    chosen="kept",
                    because=obstacle,
                )
            )
    if chosen:
        _promote(function, chosen, tree, context)
    return bool(chosen)


def _obstacle(alloca: Instruction) -> str | None:
    """What keeps a variable in memory; None when it can be promoted."""
    if alloca.count != 1:
        return f"it is an array of {alloca.count}"
    for user in alloca.users:
        if user.opcode is Opcode.LOAD and user.type == alloca.element_type:
            continue
        if user.opcode is Opcode.STORE and user.operands[0] is not alloca:
            if user.operands[0].type == alloca.element_type:
                continue
            return f"'{instruction_text(user)}' writes another type than {alloca.element_type}"
        return f"'{instruction_text(user)}' needs its address"
    return None


def _promote(
    function: Function, allocas: list[Instruction], tree: DominatorTree, context: Context
) -> None:
    frontiers = dominance_frontiers(function, tree)
    predecessors = function.predecessors()
    variables: dict[Instruction, Instruction] = {}  # phi -> alloca
    for alloca in allocas:
        subject = subject_of(alloca)
        phis = _place_phis(function, alloca, tree, frontiers, predecessors)
        if phis:
            phis[0].name, alloca.name = alloca.name, function.fresh_name(f"{alloca.name}.slot")
        variables.update((phi, alloca) for phi in phis)
        kinds = [user.opcode for user in alloca.users]
        context.record(
            Promotion(
                subject=subject,
                origins=alloca.origins,
                chosen="promoted",
                loads=kinds.count(Opcode.LOAD),
                stores=kinds.count(Opcode.STORE),
                phis=len(phis),
            )
        )
    _Renamer(set(allocas), variables, tree).rename(function)
    for alloca in allocas:
        alloca.erase()


def _place_phis(
    function: Function,
    alloca: Instruction,
    tree: DominatorTree,
    frontiers: dict[BasicBlock, list[BasicBlock]],
    predecessors: dict[BasicBlock, list[BasicBlock]],
) -> list[Instruction]:
    """Empty phis in the iterated dominance frontier of the stores, where the variable is live."""
    writers = {
        u.block: None for u in alloca.users if u.opcode is Opcode.STORE and u.block is not None
    }
    live = _live_in(alloca, tree, predecessors)
    placed: dict[BasicBlock, Instruction] = {}
    work = [block for block in tree.order if block in writers]
    while work:
        for block in frontiers[work.pop()]:
            if block in placed or block not in live:
                continue
            phi = Instruction(
                Opcode.PHI,
                alloca.element_type or alloca.type,
                name="" if not placed else function.fresh_name(alloca.name),
                origins=alloca.origins,
            )
            block.insert(0, phi)
            placed[block] = phi
            work.append(block)
    return list(placed.values())


def _live_in(
    alloca: Instruction,
    tree: DominatorTree,
    predecessors: dict[BasicBlock, list[BasicBlock]],
) -> set[BasicBlock]:
    """The blocks at whose start the variable will still be read before it is written."""
    first: dict[BasicBlock, Opcode] = {}
    users = set(alloca.users)
    for block in dict.fromkeys(u.block for u in alloca.users if u.block is not None):
        first[block] = next(i.opcode for i in block.instructions if i in users)
    live: set[BasicBlock] = set()
    work = [block for block, opcode in first.items() if opcode is Opcode.LOAD]
    while work:
        block = work.pop()
        if block in live or not tree.is_reachable(block):
            continue
        live.add(block)
        work.extend(p for p in predecessors[block] if first.get(p) is not Opcode.STORE)
    return live


@dataclass(slots=True)
class _Renamer:
    """The walk down the dominator tree. `variables` maps each new phi to its alloca."""

    allocas: set[Instruction]
    variables: dict[Instruction, Instruction]
    tree: DominatorTree

    def rename(self, function: Function) -> None:
        start: dict[Instruction, Value] = {}
        stack = [(function.entry, start)]
        while stack:
            block, values = stack.pop()
            values = dict(values)
            self._rename_block(block, values)
            stack.extend((child, values) for child in reversed(self.tree.children[block]))
        for block in function.blocks:
            if not self.tree.is_reachable(block):
                self._rename_block(block, {})

    def _rename_block(self, block: BasicBlock, values: dict[Instruction, Value]) -> None:
        for instruction in list(block.instructions):
            if instruction in self.variables:
                values[self.variables[instruction]] = instruction
            elif instruction.opcode is Opcode.LOAD:
                self._rename_load(instruction, values)
            elif instruction.opcode is Opcode.STORE:
                self._rename_store(instruction, values)
        for successor in block.successors:
            for phi in successor.phis:
                variable = self.variables.get(phi)
                if variable is not None:
                    phi.add_incoming(_current(values, variable, phi.type), block)

    def _rename_load(self, load: Instruction, values: dict[Instruction, Value]) -> None:
        variable = load.operands[0]
        if isinstance(variable, Instruction) and variable in self.allocas:
            load.replace_all_uses_with(_current(values, variable, load.type))
            load.erase()

    def _rename_store(self, store: Instruction, values: dict[Instruction, Value]) -> None:
        variable = store.operands[1]
        if isinstance(variable, Instruction) and variable in self.allocas:
            values[variable] = store.operands[0]
            store.erase()


def _current(values: dict[Instruction, Value], variable: Instruction, type: Type) -> Value:
    return values[variable] if variable in values else Constant(type, None)

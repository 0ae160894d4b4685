"""Branches, phis and the order of blocks.

A conditional branch is a tile over its condition, or, where instructions carry guards, a guarded
jump. Phis become parallel copies at the ends of predecessors. A copy may stand in front of a
two-way branch when nothing on the other way, nor the branch itself, still needs what it overwrites;
otherwise the edge gets a block of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.journal import Journal
from compiler.llvm import ir
from compiler.llvm.ir import Opcode
from compiler.machine.accesses import accesses
from compiler.machine.code import (
    AnyRegister,
    Label,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    ParallelCopy,
    VirtualRegister,
)
from compiler.select.choices import Tiled
from compiler.select.decisions import EdgeSplit
from compiler.select.emitter import Emitter, Place, uncovered
from compiler.select.nodes import Node, NodeKind
from isas.effects import Effect
from isas.errors import UnsupportedError
from isas.model import Shape
from isas.registers import RegisterFile

_INVERSE_PAIRS = (
    (Effect.ICMP_EQ, Effect.ICMP_NE), (Effect.ICMP_SLT, Effect.ICMP_SGE),
    (Effect.ICMP_SLE, Effect.ICMP_SGT), (Effect.ICMP_ULT, Effect.ICMP_UGE),
    (Effect.ICMP_ULE, Effect.ICMP_UGT), (Effect.FCMP_OEQ, Effect.FCMP_UNE),
    (Effect.FCMP_ONE, Effect.FCMP_UEQ), (Effect.FCMP_OLT, Effect.FCMP_UGE),
    (Effect.FCMP_OLE, Effect.FCMP_UGT), (Effect.FCMP_OGT, Effect.FCMP_ULE),
    (Effect.FCMP_OGE, Effect.FCMP_ULT), (Effect.FCMP_ORD, Effect.FCMP_UNO),
)  # fmt: skip
INVERSE = dict(_INVERSE_PAIRS) | {b: a for a, b in _INVERSE_PAIRS}
"""The predicate that holds exactly where another does not."""


class TerminatorSelector:
    """Emits the branches of one function."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        tiles = emitter.tiles
        self.jump = min(tiles.jumps, key=lambda shape: shape.id, default=None)
        self.ret = min(tiles.returns, key=lambda shape: shape.id, default=None)
        self.guards = tiles.machine.isa.guards

    def select(
        self,
        terminator: ir.Instruction,
        condition: Node | None,
        place: Place,
        following: ir.BasicBlock | None,
    ) -> list[MachineInstruction]:
        """Emits what the condition needs into `place`; returns the branches to stand behind it."""
        if terminator.opcode is Opcode.UNREACHABLE:
            return []
        if terminator.opcode is Opcode.RET:
            return [self._shape(self.ret, "return", place, {})]
        if condition is None:
            return [self._jump_to(terminator.blocks[0], place)]
        return self._two_way(terminator, condition, place, following)

    def _two_way(
        self,
        terminator: ir.Instruction,
        condition: Node,
        place: Place,
        following: ir.BasicBlock | None,
    ) -> list[MachineInstruction]:
        if_true, if_false = terminator.blocks
        first, second = if_true, if_false
        negated = self._inverse(condition) if if_true is following else None
        is_swapped = if_true is following and (negated is not None or self.guards is not None)
        if is_swapped:
            first, second = if_false, if_true
        branch = self._tile(terminator, negated if negated and is_swapped else condition)
        if branch is not None and (negated is not None or not is_swapped):
            conditional = self._tiled(branch, first, place)
        else:
            conditional = self._guarded(condition, first, is_swapped, place, terminator)
        return [conditional, self._jump_to(second, place)]

    def _inverse(self, condition: Node) -> Node | None:
        effect = INVERSE.get(condition.effect) if condition.effect is not None else None
        if effect is None:
            return None
        inverse = Node(
            NodeKind.OPERATION, condition.type, effect, condition.children, value=condition.value
        )
        return inverse if self._tile(None, inverse) is not None else None

    def _tile(self, terminator: ir.Instruction | None, condition: Node) -> Tiled | None:
        node = Node(NodeKind.BRANCH, condition.type, None, (condition,), value=terminator)
        return self.emitter.tiler.statement(node)

    def _tiled(self, branch: Tiled, target: ir.BasicBlock, place: Place) -> MachineInstruction:
        name = branch.tile.shape.facts.target
        assert name is not None
        instruction = self.emitter.statement(branch, place, extra={name: Label(target.name)})
        place.code.remove(instruction)
        return instruction

    def _guarded(
        self,
        condition: Node,
        target: ir.BasicBlock,
        is_negated: bool,
        place: Place,
        terminator: ir.Instruction,
    ) -> MachineInstruction:
        if self.guards is None:
            raise uncovered(
                Node(NodeKind.BRANCH, condition.type, value=terminator),
                self.emitter.tiles.machine.name,
            )
        register = self.emitter.emit(condition, self.guards.class_name, place)
        jump = self._jump_to(target, place)
        jump.guard = (register, is_negated)
        return jump

    def _jump_to(self, target: ir.BasicBlock, place: Place) -> MachineInstruction:
        return self._shape(self.jump, "jump", place, {"": Label(target.name)})

    def _shape(
        self, shape: Shape | None, what: str, place: Place, labels: dict[str, Label]
    ) -> MachineInstruction:
        if shape is None:
            raise UnsupportedError(f"{self.emitter.tiles.machine.name} has no plain {what}")
        operands = {o.name: label for o, label in zip(shape.operands, labels.values())}
        return MachineInstruction(shape, operands, place.origins)


def is_jump(node: object) -> bool:
    """Whether a node is an unguarded unconditional jump."""
    if not isinstance(node, MachineInstruction) or node.guard is not None:
        return False
    facts = node.shape.facts
    return facts.is_branch and not facts.is_conditional and not facts.is_return


def target_of_branch(instruction: MachineInstruction) -> str | None:
    """The block a branch goes to."""
    label = instruction.operands.get(instruction.shape.facts.target or "")
    return label.block if isinstance(label, Label) else None


@dataclass(slots=True)
class PhiPlacer:
    """Places the copies of one function's edges. `edges` maps (predecessor, successor) to moves,
    `depths` to the number of loops around both."""

    function: MachineFunction
    registers: RegisterFile
    jump: Shape
    edges: dict[tuple[str, str], tuple[tuple[AnyRegister, AnyRegister], ...]]
    depths: dict[tuple[str, str], int]
    origins: dict[str, tuple[str, ...]]
    journal: Journal

    def place(self) -> None:
        live_in = self._live_in()
        for block in list(self.function.blocks):
            for successor in dict.fromkeys(block.successors):
                moves = self.edges.get((block.name, successor))
                if moves:
                    self._place_edge(block, successor, moves, live_in)

    def _place_edge(
        self,
        block: MachineBlock,
        successor: str,
        moves: tuple[tuple[AnyRegister, AnyRegister], ...],
        live_in: dict[str, frozenset[int]],
    ) -> None:
        copy = ParallelCopy(moves, self.origins.get(successor, ()))
        written = {d.number for d, _ in moves if isinstance(d, VirtualRegister)}
        others = [name for name in block.successors if name != successor]
        branches = _branches(block)
        reason = ""
        if self._leaves_loop(block, successor):
            reason = "in front of the branch the loop would make them in every iteration"
        elif any(written & self._entering(block.name, other, live_in) for other in others):
            reason = "the other way still needs a value that the copies overwrite"
        elif any(written & self._read(branch) for branch in branches):
            reason = "the branch still reads a value that the copies overwrite"
        if not reason:
            index = len(block.instructions) - len(branches)
            block.instructions.insert(index, copy)
            return
        self._split(block, successor, copy, reason)

    def _leaves_loop(self, block: MachineBlock, successor: str) -> bool:
        """Whether the edge is one of several ways on, and leaves a loop."""
        is_outward = self.depths[(block.name, successor)] < block.loop_depth
        return is_outward and len(block.successors) > 1

    def _entering(
        self, block: str, successor: str, live_in: dict[str, frozenset[int]]
    ) -> frozenset[int]:
        """What is needed on an edge: what is live behind it and what its own copies read."""
        sources = {
            s.number
            for _, s in self.edges.get((block, successor), ())
            if isinstance(s, VirtualRegister)
        }
        return live_in[successor] | sources

    def _read(self, instruction: MachineInstruction) -> set[int]:
        read = accesses(instruction, self.registers).reads
        return {r.number for r in read if isinstance(r, VirtualRegister)}

    def _split(self, block: MachineBlock, successor: str, copy: ParallelCopy, reason: str) -> None:
        name = self._fresh(f"{block.name}.{successor}")
        operand = self.jump.operands[0].name
        jump = MachineInstruction(self.jump, {operand: Label(successor)}, copy.origins)
        depth = self.depths[(block.name, successor)]
        between = MachineBlock(name, [copy, jump], (successor,), depth)
        self.function.blocks.insert(self.function.blocks.index(block) + 1, between)
        _redirect(block, successor, name)
        self.journal.record(
            EdgeSplit(
                subject=f"{self.function.name}/{block.name} -> {successor}",
                origins=copy.origins,
                chosen="its copies get a block of their own",
                because=reason,
            )
        )

    def _fresh(self, stem: str) -> str:
        taken = {block.name for block in self.function.blocks}
        name, count = stem, 0
        while name in taken:
            count += 1
            name = f"{stem}.{count}"
        return name

    def _live_in(self) -> dict[str, frozenset[int]]:
        """Virtual registers needed at each block's entry; a phi's register is defined there."""
        use: dict[str, set[int]] = {}
        define: dict[str, set[int]] = {}
        for block in self.function.blocks:
            defined = {
                d.number
                for (_, to), moves in self.edges.items()
                if to == block.name
                for d, _ in moves
                if isinstance(d, VirtualRegister)
            }
            used: set[int] = set()
            for node in block.instructions:
                found = accesses(node, self.registers)
                used |= _numbers(found.reads) - defined
                defined |= _numbers(found.writes)
            use[block.name], define[block.name] = used, defined
        return self._solve(use, define)

    def _solve(
        self, use: dict[str, set[int]], define: dict[str, set[int]]
    ) -> dict[str, frozenset[int]]:
        live = {block.name: frozenset[int]() for block in self.function.blocks}
        changed = True
        while changed:
            changed = False
            for block in reversed(self.function.blocks):
                out: set[int] = set()
                for successor in block.successors:
                    out |= self._entering(block.name, successor, live)
                new = frozenset(use[block.name] | (out - define[block.name]))
                if new != live[block.name]:
                    live[block.name], changed = new, True
        return live


def _numbers(registers: Iterable[AnyRegister]) -> set[int]:
    return {r.number for r in registers if isinstance(r, VirtualRegister)}


def _branches(block: MachineBlock) -> list[MachineInstruction]:
    """The branches at the end of a block."""
    found: list[MachineInstruction] = []
    for node in reversed(block.instructions):
        if not isinstance(node, MachineInstruction) or not node.shape.facts.is_branch:
            break
        found.append(node)
    return found[::-1]


def _redirect(block: MachineBlock, old: str, new: str) -> None:
    """Makes the block's branches to `old` go to `new`."""
    block.successors = tuple(new if name == old else name for name in block.successors)
    for branch in _branches(block):
        name = branch.shape.facts.target
        if name is not None and branch.operands.get(name) == Label(old):
            branch.operands = {**branch.operands, name: Label(new)}


def drop_fallthrough_jumps(function: MachineFunction) -> None:
    """Removes jumps to the block that follows anyway."""
    for block, following in zip(function.blocks, function.blocks[1:]):
        last = block.instructions[-1] if block.instructions else None
        if (
            isinstance(last, MachineInstruction)
            and is_jump(last)
            and target_of_branch(last) == following.name
        ):
            block.instructions.pop()

"""Computes nothing twice: an expression that a dominating instruction has computed is taken from
there.

The blocks are visited down the dominator tree with a table of the expressions known so far; what a
block adds is known in the blocks it dominates and nowhere else. Loads count as expressions when
their object is never written in the function; other loads are known until a store in the same block
may have changed them, and a stored value is known to the loads after it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from compiler.journal import Decision
from compiler.llvm.analysis.affine import Address, address_of, may_alias
from compiler.llvm.analysis.dominators import dominator_tree
from compiler.llvm.context import Context
from compiler.llvm.ir import BasicBlock, Constant, Function, Instruction, Opcode, Value
from compiler.llvm.rules.integers import COMMUTATIVE

Key = tuple[Hashable, ...]

_NEVER = frozenset({Opcode.PHI, Opcode.ALLOCA, Opcode.STORE, Opcode.LOAD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reused(Decision):
    """How many instructions of a function were there already."""

    removed: int = 0

    @property
    def template(self) -> str:
        return "{subject}: {removed} instructions repeat a value that is already there"


def run(function: Function, context: Context) -> bool:
    """Removes repetitions; returns whether anything changed."""
    worker = _Worker(function)
    removed = worker.walk()
    if removed:
        context.record(Reused(subject=function.name, chosen="reused", removed=removed))
    return bool(removed)


class _Worker:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.tree = dominator_tree(function)
        self.stores = [
            address_of(i.operands[1]) for i in function.instructions() if i.opcode is Opcode.STORE
        ]
        self.removed = 0

    def walk(self) -> int:
        known: dict[Key, Instruction] = {}
        stack = [(self.function.entry, known)]
        while stack:
            block, above = stack.pop()
            here = dict(above)
            self._visit(block, here)
            stack.extend((child, here) for child in reversed(self.tree.children[block]))
        return self.removed

    def _visit(self, block: BasicBlock, known: dict[Key, Instruction]) -> None:
        memory: dict[Key, tuple[Address, Value]] = {}
        for instruction in list(block.instructions):
            if instruction.opcode is Opcode.LOAD:
                self._load(instruction, known, memory)
            elif instruction.opcode is Opcode.STORE:
                _store(instruction, memory)
            elif instruction.has_side_effects and instruction.opcode is Opcode.CALL:
                memory.clear()
            elif not instruction.has_side_effects and instruction.opcode not in _NEVER:
                self._reuse(instruction, expression_key(instruction), known)

    def _reuse(self, i: Instruction, key: Key, known: dict[Key, Instruction]) -> None:
        earlier = known.setdefault(key, i)
        if earlier is i:
            return
        earlier.flags &= i.flags
        self._replace(i, earlier)

    def _replace(self, i: Instruction, value: Value) -> None:
        i.replace_all_uses_with(value)
        i.erase()
        self.removed += 1

    def _load(
        self,
        load: Instruction,
        known: dict[Key, Instruction],
        memory: dict[Key, tuple[Address, Value]],
    ) -> None:
        address = address_of(load.operands[0])
        if not any(may_alias(address, store) for store in self.stores):
            self._reuse(load, expression_key(load), known)
            return
        key = (load.type, operand_key(load.operands[0]))
        if key in memory:
            self._replace(load, memory[key][1])
        else:
            memory[key] = (address, load)


def _store(store: Instruction, memory: dict[Key, tuple[Address, Value]]) -> None:
    value, pointer = store.operands
    address = address_of(pointer)
    for key, (other, _) in list(memory.items()):
        if may_alias(address, other):
            del memory[key]
    memory[(value.type, operand_key(pointer))] = (address, value)


def operand_key(value: Value) -> Hashable:
    """Constants by type and bits, everything else by identity."""
    if isinstance(value, Constant):
        return (value.type, repr(value.value))
    return id(value)


def expression_key(i: Instruction) -> Key:
    """Equal for two instructions that compute the same from the same operands."""
    operands = [operand_key(operand) for operand in i.operands]
    if i.opcode in COMMUTATIVE:
        operands.sort(key=repr)
    return (i.opcode, i.type, i.predicate, i.callee, i.mask, i.element_type, *operands)

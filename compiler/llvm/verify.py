"""Checks that a function is well formed: the rules of LLVM's own verifier for Hob's subset, and the
bookkeeping of operands and users. The pipeline runs it between passes.
"""

from __future__ import annotations

from collections import Counter

from compiler.llvm.analysis.dominators import DominatorTree, dominator_tree
from compiler.llvm.ir import (
    Argument,
    BasicBlock,
    Constant,
    Function,
    Instruction,
    Module,
    Opcode,
    Value,
)
from compiler.llvm.text import instruction_text
from compiler.llvm.types import VOID
from compiler.llvm.typing import type_fault
from isas.errors import InternalError


def verify(module: Module) -> None:
    """Raises InternalError for the first fault, with function, block and instruction."""
    names = Counter(function.name for function in module.functions)
    for name, count in names.items():
        if count > 1:
            raise InternalError(f"{count} functions are called @{name}", where=f"@{name}")
    for function in module.functions:
        verify_function(function)


def verify_function(function: Function) -> None:
    """Checks one function; errors as `verify`."""
    if not function.blocks:
        raise InternalError("the function has no blocks", where=f"@{function.name}")
    _check_blocks(function)
    _check_names(function)
    _check_users(function)
    tree = dominator_tree(function)
    predecessors = function.predecessors()
    for block in function.blocks:
        for instruction in block.instructions:
            fault = type_fault(instruction) or _placement_fault(function, instruction)
            if fault is None and instruction.opcode is Opcode.PHI:
                fault = _phi_fault(instruction, predecessors[block], tree.is_reachable(block))
            if fault:
                raise _error(fault, function, block, instruction)
        _check_dominance(function, block, tree)


def _error(
    message: str, function: Function, block: BasicBlock, instruction: Instruction | None = None
) -> InternalError:
    where = f"@{function.name}, block %{block.name}"
    if instruction is not None:
        where += f", '{_shown(instruction)}'"
    return InternalError(message, where=where)


def _shown(instruction: Instruction) -> str:
    """The instruction's text; a broken one may not even print."""
    try:
        return instruction_text(instruction)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError):
        return f"{instruction.opcode.value} %{instruction.name}"


def _check_blocks(function: Function) -> None:
    known = set(function.blocks)
    if len(known) != len(function.blocks):
        raise InternalError("a block stands twice in the function", where=f"@{function.name}")
    for block in function.blocks:
        if block.function is not function:
            raise _error("the block belongs to another function", function, block)
        if block.terminator is None:
            raise _error("the block has no terminator at its end", function, block)
        for instruction in block.instructions:
            if instruction.block is not block:
                raise _error("the instruction thinks it is elsewhere", function, block, instruction)
            if instruction.opcode.is_terminator and instruction is not block.instructions[-1]:
                raise _error("a terminator inside the block", function, block, instruction)
            if any(target not in known for target in instruction.blocks):
                raise _error("a target outside the function", function, block, instruction)
        if function.entry in block.successors:
            raise _error("a branch to the entry block", function, block, block.terminator)


def _check_names(function: Function) -> None:
    values: list[Value] = [*function.arguments, *function.blocks]
    values += [i for i in function.instructions() if i.type != VOID]
    seen: set[str] = set()
    for value in values:
        if not value.name:
            raise InternalError(f"a {value.type} value has no name", where=f"@{function.name}")
        if value.name in seen:
            raise InternalError(f"%{value.name} names two values", where=f"@{function.name}")
        seen.add(value.name)


def _check_users(function: Function) -> None:
    """Every operand knows its user as often as it is used; users are instructions of this
    function."""
    uses: dict[tuple[int, int], int] = {}
    for instruction in function.instructions():
        for operand in instruction.operands:
            if not isinstance(operand, Constant):
                pair = id(operand), id(instruction)
                uses[pair] = uses.get(pair, 0) + 1
    recorded: dict[tuple[int, int], int] = {}
    values: list[Value] = [*function.arguments, *function.instructions()]
    for value in values:
        for user in value.users:
            pair = id(value), id(user)
            recorded[pair] = recorded.get(pair, 0) + 1
    if uses != recorded:
        _explain_users(function, values, uses, recorded)


def _explain_users(
    function: Function,
    values: list[Value],
    uses: dict[tuple[int, int], int],
    recorded: dict[tuple[int, int], int],
) -> None:
    """Raises for the first use that the two sides do not agree on."""
    known = {id(value) for value in values}
    for block in function.blocks:
        for instruction in block.instructions:
            for operand in instruction.operands:
                if isinstance(operand, Constant):
                    continue
                if id(operand) not in known:
                    raise _error(f"{operand} is not in the function", function, block, instruction)
                pair = id(operand), id(instruction)
                count = recorded.get(pair, 0)
                if uses[pair] != count:
                    message = f"uses {operand} {uses[pair]} times, it knows of {count}"
                    raise _error(message, function, block, instruction)
    for value in values:
        for user in value.users:
            if (id(value), id(user)) not in uses:
                raise InternalError(
                    f"{value} lists a user that does not use it: '{_shown(user)}'",
                    where=f"@{function.name}",
                )


def _placement_fault(function: Function, instruction: Instruction) -> str | None:
    block = instruction.block
    if instruction.opcode is Opcode.ALLOCA and block is not function.entry:
        return "an alloca outside the entry block"
    if instruction.opcode is Opcode.PHI and block is not None:
        before = block.instructions[: block.instructions.index(instruction)]
        if any(i.opcode is not Opcode.PHI for i in before):
            return "a phi after other instructions"
    return None


def _phi_fault(phi: Instruction, predecessors: list[BasicBlock], reachable: bool) -> str | None:
    if len(phi.operands) != len(phi.blocks):
        return f"{len(phi.operands)} values for {len(phi.blocks)} blocks"
    if not reachable:
        return None
    if Counter(map(id, phi.blocks)) != Counter(map(id, predecessors)):
        arriving = ", ".join(f"%{b.name}" for b in phi.blocks)
        expected = ", ".join(f"%{b.name}" for b in predecessors)
        return f"incoming blocks are {arriving or 'none'}, predecessors {expected or 'none'}"
    values: dict[BasicBlock, Value] = {}
    for value, block in zip(phi.operands, phi.blocks):
        first = values.setdefault(block, value)
        if first is not value and not isinstance(value, Constant):
            return f"two values arrive from %{block.name}"
    return None


def _check_dominance(function: Function, block: BasicBlock, tree: DominatorTree) -> None:
    if not tree.is_reachable(block):
        return
    earlier: set[int] = set()
    for instruction in block.instructions:
        for index, operand in enumerate(instruction.operands):
            if isinstance(operand, (Constant, Argument)) or id(operand) in earlier:
                continue
            if not _reaches(operand, instruction, index, block, tree):
                message = f"{operand} does not dominate this use"
                raise _error(message, function, block, instruction)
        earlier.add(id(instruction))


def _reaches(
    operand: Value, user: Instruction, index: int, block: BasicBlock, tree: DominatorTree
) -> bool:
    if not isinstance(operand, Instruction) or operand.block is None:
        return False
    if user.opcode is Opcode.PHI:
        return tree.dominates(operand.block, user.blocks[index])
    return operand.block is not block and tree.dominates(operand.block, block)

"""Reads one instruction of LLVM assembly; names are resolved by the caller."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from compiler.llvm.ir import BasicBlock, Constant, Instruction, Opcode, Predicate, Value
from compiler.llvm.tokens import Tokens, unquoted
from compiler.llvm.types import PTR, VOID, Type
from isas.errors import UnsupportedError

_FLAGS = frozenset(
    {"fast", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "inbounds", "nusw", "nuw",
     "nsw", "exact", "disjoint", "nneg", "samesign"}
)  # fmt: skip
_FAST = frozenset({"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"})
_OPCODES = {opcode.value: opcode for opcode in Opcode}
_PREDICATES = {predicate.value: predicate for predicate in Predicate}
_CALL_MARKS = frozenset({"tail", "musttail", "notail"})

# Calls that say something about the program and compute nothing (LangRef, "Intrinsic Functions").
_IGNORED_CALLS = re.compile(
    r"llvm\.(assume|lifetime\.(start|end)|experimental\.noalias\.scope\.decl|donothing|dbg\.)"
)


class Names(Protocol):
    """What reading an instruction asks of its surroundings."""

    def value(self, tokens: Tokens, type: Type) -> Value: ...

    def block(self, tokens: Tokens) -> BasicBlock: ...


def read_instruction(names: Names, tokens: Tokens) -> Instruction | None:
    """The instruction after `%name =`; None for calls that compute nothing.

    Raises InputError or UnsupportedError with the line."""
    word = tokens.next()
    while word in _CALL_MARKS:
        word = tokens.next()
    opcode = _OPCODES.get(word)
    if opcode is None:
        raise UnsupportedError(
            f"the LLVM instruction '{word}'", where=f"LLVM IR line {tokens.line}"
        )
    flags = _read_flags(tokens)
    reader = _READERS.get(opcode)
    if reader is None and opcode.is_cast:
        reader = _cast
    elif reader is None:
        reader = _plain
    instruction = reader(names, tokens, opcode)
    if instruction is not None:
        instruction.flags |= flags
    return instruction


def _read_flags(tokens: Tokens) -> frozenset[str]:
    flags: set[str] = set()
    while tokens.peek() in _FLAGS:
        flags.add(tokens.next())
    if "fast" in flags:
        flags = (flags - {"fast"}) | _FAST
    return frozenset(flags)


def _typed(names: Names, tokens: Tokens) -> Value:
    type = tokens.type()
    tokens.attributes()
    return names.value(tokens, type)


def _plain(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    """`op type a, b` and the like: the first operand has a type, the others share it."""
    first = _typed(names, tokens)
    operands = [first]
    while tokens.peek() == "," and not tokens.peek(1).startswith("!"):
        tokens.next()
        operands.append(names.value(tokens, first.type))
    return Instruction(opcode, first.type, operands)


def _cast(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    value = _typed(names, tokens)
    tokens.expect("to")
    return Instruction(opcode, tokens.type(), (value,))


def _comparison(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    predicate = _PREDICATES.get(tokens.next())
    if predicate is None:
        raise tokens.error("an unknown predicate")
    a = _typed(names, tokens)
    tokens.expect(",")
    b = names.value(tokens, a.type)
    return Instruction(opcode, a.type.as_bool(), (a, b), predicate=predicate)


def _operands(names: Names, tokens: Tokens, count: int) -> list[Value]:
    values = [_typed(names, tokens)]
    for _ in range(count - 1):
        tokens.expect(",")
        values.append(_typed(names, tokens))
    return values


def _select(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    values = _operands(names, tokens, 3)
    return Instruction(opcode, values[1].type, values)


def _extract(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    values = _operands(names, tokens, 2)
    return Instruction(opcode, values[0].type.scalar, values)


def _insert(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    values = _operands(names, tokens, 3)
    return Instruction(opcode, values[0].type, values)


def _shuffle(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    a, b = _operands(names, tokens, 2)
    tokens.expect(",")
    mask = _mask(tokens, tokens.type())
    return Instruction(opcode, a.type.with_lanes(len(mask)), (a, b), mask=mask)


def _mask(tokens: Tokens, type: Type) -> tuple[int, ...]:
    """Lane numbers; -1 where the mask has poison or undef."""
    if tokens.take("zeroinitializer"):
        return (0,) * type.lanes
    if tokens.peek() in ("poison", "undef"):
        tokens.next()
        return (-1,) * type.lanes
    if tokens.take("splat"):
        tokens.expect("(")
        tokens.type()
        lane = tokens.integer()
        tokens.expect(")")
        return (lane,) * type.lanes
    tokens.expect("<")
    lanes = []
    for _ in range(type.lanes):
        tokens.type()
        undefined = tokens.peek() in ("poison", "undef")
        lanes.append(-1 if undefined else tokens.integer())
        if undefined:
            tokens.next()
        tokens.take(",")
    tokens.expect(">")
    return tuple(lanes)


def _read_align(tokens: Tokens) -> int:
    if tokens.peek() == "," and tokens.peek(1) == "align":
        tokens.next()
        tokens.next()
        return tokens.integer()
    return 0


def _aggregate(tokens: Tokens) -> tuple[Type, int]:
    """An element type and how many of it: `[4 x [2 x float]]` is eight floats."""
    if not tokens.take("["):
        return tokens.type(), 1
    count = tokens.integer()
    tokens.expect("x")
    element, inner = _aggregate(tokens)
    tokens.expect("]")
    return element, count * inner


def _alloca(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    element, count = _aggregate(tokens)
    if tokens.peek() == "," and tokens.peek(1) != "align" and not tokens.peek(1).startswith("!"):
        tokens.next()
        tokens.type()
        count *= tokens.integer()
    align = _read_align(tokens)
    return Instruction(opcode, PTR, element_type=element, count=count, align=align)


def _load(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    type = tokens.type()
    tokens.expect(",")
    address = _typed(names, tokens)
    return Instruction(opcode, type, (address,), align=_read_align(tokens))


def _store(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    values = _operands(names, tokens, 2)
    return Instruction(opcode, VOID, values, align=_read_align(tokens))


def _gep(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    element, _ = _aggregate(tokens)
    tokens.expect(",")
    base = _typed(names, tokens)
    indices = []
    while tokens.peek() == "," and not tokens.peek(1).startswith("!"):
        tokens.next()
        indices.append(_typed(names, tokens))
    leading = indices[:-1]
    if not indices or any(not isinstance(i, Constant) or i.value != 0 for i in leading):
        raise UnsupportedError(
            "getelementptr with several indices", where=f"LLVM IR line {tokens.line}"
        )
    return Instruction(opcode, base.type, (base, indices[-1]), element_type=element)


def _phi(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    type = tokens.type()
    phi = Instruction(opcode, type)
    while tokens.take("["):
        value = names.value(tokens, type)
        tokens.expect(",")
        phi.add_incoming(value, names.block(tokens))
        tokens.expect("]")
        if tokens.peek(1) != "[":
            break
        tokens.expect(",")
    return phi


def _call(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction | None:
    tokens.attributes()
    type = tokens.type()
    callee = unquoted(tokens.next())
    if _IGNORED_CALLS.match(callee):
        return None
    tokens.expect("(")
    operands = []
    while not tokens.take(")"):
        operands.append(_typed(names, tokens))
        tokens.take(",")
    if callee == "llvm.nvvm.barrier.cta.sync.aligned.all":  # LLVM 21's name of barrier0
        callee, operands = "llvm.nvvm.barrier0", []
    return Instruction(opcode, type, operands, callee=callee)


def _br(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    if tokens.take("label"):
        return Instruction(opcode, VOID, blocks=(names.block(tokens),))
    condition = _typed(names, tokens)
    blocks = []
    while tokens.take(","):
        if not tokens.take("label"):
            break
        blocks.append(names.block(tokens))
    return Instruction(opcode, VOID, (condition,), blocks=blocks)


def _ret(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    tokens.expect("void")
    return Instruction(opcode, VOID)


def _unreachable(names: Names, tokens: Tokens, opcode: Opcode) -> Instruction:
    return Instruction(opcode, VOID)


_READERS: dict[Opcode, Callable[[Names, Tokens, Opcode], Instruction | None]] = {
    Opcode.ICMP: _comparison,
    Opcode.FCMP: _comparison,
    Opcode.SELECT: _select,
    Opcode.EXTRACTELEMENT: _extract,
    Opcode.INSERTELEMENT: _insert,
    Opcode.SHUFFLEVECTOR: _shuffle,
    Opcode.ALLOCA: _alloca,
    Opcode.LOAD: _load,
    Opcode.STORE: _store,
    Opcode.GETELEMENTPTR: _gep,
    Opcode.PHI: _phi,
    Opcode.CALL: _call,
    Opcode.BR: _br,
    Opcode.RET: _ret,
    Opcode.UNREACHABLE: _unreachable,
}

"""The typing rules of the IR's instructions (LangRef, "Instruction Reference")."""

from __future__ import annotations

from collections.abc import Callable

from compiler.llvm.ir import Constant, Instruction, Opcode, Predicate
from compiler.llvm.types import I1, VOID, Kind, Type

_FLOAT_BINARY = frozenset({Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FREM})
_INT_PREDICATES = frozenset(
    {Predicate.EQ, Predicate.NE, Predicate.SLT, Predicate.SLE, Predicate.SGT, Predicate.SGE,
     Predicate.ULT, Predicate.ULE, Predicate.UGT, Predicate.UGE}
)  # fmt: skip
_FLOAT_PREDICATES = frozenset(Predicate) - (
    _INT_PREDICATES - {Predicate.ULT, Predicate.ULE, Predicate.UGT, Predicate.UGE}
)


def type_fault(instruction: Instruction) -> str | None:
    """What is wrong with an instruction's operand count or types; None when nothing is."""
    expected, rule = _EXPECTATIONS[instruction.opcode]
    operands = instruction.operands
    if expected is not None and len(operands) != expected:
        return f"{len(operands)} operands, {expected} expected"
    for operand in operands:
        if operand.type.kind in (Kind.VOID, Kind.LABEL):
            return "an operand without a value"
        if isinstance(operand, Constant):
            fault = _constant_fault(operand)
            if fault is not None:
                return fault
    return rule(instruction)


def _constant_fault(value: Constant) -> str | None:
    if value.value is None:
        return None
    lanes = len(value.value) if isinstance(value.value, tuple) else 0
    if lanes != value.type.lanes:
        return f"a constant of {lanes} lanes for {value.type}"
    parts = value.value if isinstance(value.value, tuple) else (value.value,)
    wanted = float if value.type.is_float else int
    if not all(isinstance(part, wanted) for part in parts):
        return f"a constant of type {value.type} holds {parts}"
    return None


def _binary(i: Instruction) -> str | None:
    a, b = i.operands
    if a.type != b.type or i.type != a.type:
        return f"{i.type} from {a.type} and {b.type}"
    wants_float = i.opcode in _FLOAT_BINARY
    if wants_float != a.type.is_float or a.type.is_pointer:
        return f"{i.opcode.value} of {a.type}"
    return None


def _fneg(i: Instruction) -> str | None:
    matches = i.type == i.operands[0].type and i.type.is_float
    return None if matches else f"fneg of {i.operands[0].type} to {i.type}"


def _same(i: Instruction) -> str | None:
    return None if i.type == i.operands[0].type else f"{i.type} from {i.operands[0].type}"


def _comparison(i: Instruction) -> str | None:
    a, b = i.operands
    if a.type != b.type:
        return f"compares {a.type} with {b.type}"
    if i.type != a.type.as_bool():
        return f"the result must be {a.type.as_bool()}, not {i.type}"
    is_float = i.opcode is Opcode.FCMP
    if is_float != a.type.is_float:
        return f"{i.opcode.value} of {a.type}"
    allowed = _FLOAT_PREDICATES if is_float else _INT_PREDICATES
    return None if i.predicate in allowed else f"the predicate {i.predicate}"


def _select(i: Instruction) -> str | None:
    condition, a, b = (operand.type for operand in i.operands)
    if a != b or i.type != a:
        return f"{i.type} chosen from {a} and {b}"
    if condition not in (I1, a.as_bool()):
        return f"the condition is {condition}"
    return None


_WIDENING = frozenset({Opcode.ZEXT, Opcode.SEXT, Opcode.FPEXT})
_NARROWING = frozenset({Opcode.TRUNC, Opcode.FPTRUNC})
# From and to: i integer, f float, p pointer.
_CAST_KINDS = {
    Opcode.ZEXT: "ii", Opcode.SEXT: "ii", Opcode.TRUNC: "ii", Opcode.FPEXT: "ff",
    Opcode.FPTRUNC: "ff", Opcode.SITOFP: "if", Opcode.UITOFP: "if", Opcode.FPTOSI: "fi",
    Opcode.FPTOUI: "fi", Opcode.PTRTOINT: "pi", Opcode.INTTOPTR: "ip",
}  # fmt: skip


def _letter(type: Type) -> str:
    return "p" if type.is_pointer else "f" if type.is_float else "i"


def _cast(i: Instruction) -> str | None:
    source, result = i.operands[0].type, i.type
    wrong = f"{i.opcode.value} of {source} to {result}"
    if i.opcode is Opcode.BITCAST:
        bits = source.bits * max(1, source.lanes), result.bits * max(1, result.lanes)
        return None if bits[0] == bits[1] and not source.is_pointer else wrong
    kinds = _letter(source) + _letter(result)
    if kinds != _CAST_KINDS[i.opcode] or source.lanes != result.lanes:
        return wrong
    if i.opcode in _WIDENING and source.bits >= result.bits:
        return wrong
    if i.opcode in _NARROWING and source.bits <= result.bits:
        return wrong
    return None


def _extract(i: Instruction) -> str | None:
    vector, lane = (operand.type for operand in i.operands)
    fits = vector.is_vector and i.type == vector.scalar and lane.is_int and not lane.lanes
    return None if fits else f"{i.type} out of {vector} by {lane}"


def _insert(i: Instruction) -> str | None:
    vector, scalar, lane = (operand.type for operand in i.operands)
    fits = vector.is_vector and i.type == vector and scalar == vector.scalar and lane.is_int
    return None if fits else f"{scalar} into {vector} by {lane}"


def _shuffle(i: Instruction) -> str | None:
    a, b = (operand.type for operand in i.operands)
    if a != b or not a.is_vector or i.type.scalar != a.scalar or i.type.lanes != len(i.mask):
        return f"{i.type} from {a} and {b} by {len(i.mask)} lanes"
    if any(not -1 <= lane < 2 * a.lanes for lane in i.mask):
        return f"a lane number outside 0..{2 * a.lanes - 1}"
    return None


def _alloca(i: Instruction) -> str | None:
    fits = i.type.is_pointer and i.element_type is not None and i.count > 0
    return None if fits else f"{i.count} of {i.element_type} as {i.type}"


def _pointer_fault(type: Type) -> str | None:
    return None if type.is_pointer and not type.lanes else f"the address is {type}"


def _load(i: Instruction) -> str | None:
    return _pointer_fault(i.operands[0].type)


def _store(i: Instruction) -> str | None:
    return _pointer_fault(i.operands[1].type) or (
        None if i.type == VOID else f"a store of type {i.type}"
    )


def _gep(i: Instruction) -> str | None:
    base, index = (operand.type for operand in i.operands)
    if i.element_type is None:
        return "no element type"
    if not index.is_int or index.lanes or i.type != base:
        return f"{i.type} from {base} by {index}"
    return _pointer_fault(base)


def _phi(i: Instruction) -> str | None:
    wrong = [operand for operand in i.operands if operand.type != i.type]
    return f"{wrong[0].type} arrives for {i.type}" if wrong else None


def _br(i: Instruction) -> str | None:
    if len(i.operands) > 1 or len(i.blocks) != 1 + len(i.operands):
        return f"{len(i.operands)} conditions and {len(i.blocks)} targets"
    if i.operands and i.operands[0].type != I1:
        return f"the condition is {i.operands[0].type}"
    return None


# Intrinsics whose result and operands (but immediate i1 marks) all have one type.
_UNIFORM = frozenset(
    {"llvm.fma", "llvm.fabs", "llvm.sqrt", "llvm.copysign", "llvm.floor", "llvm.ceil", "llvm.trunc",
     "llvm.roundeven", "llvm.round", "llvm.minimum", "llvm.maximum", "llvm.minnum", "llvm.maxnum",
     "llvm.smin", "llvm.smax", "llvm.umin", "llvm.umax", "llvm.ctpop", "llvm.bitreverse",
     "llvm.bswap", "llvm.fshl", "llvm.fshr"}
)  # fmt: skip


def _call(i: Instruction) -> str | None:
    if not i.callee:
        return "a call of nothing"
    if i.intrinsic in _UNIFORM and any(operand.type != i.type for operand in i.operands):
        return f"{i.callee} of {', '.join(str(o.type) for o in i.operands)} to {i.type}"
    return None


_OPERANDS = {
    Opcode.FNEG: 1, Opcode.ICMP: 2, Opcode.FCMP: 2, Opcode.SELECT: 3, Opcode.EXTRACTELEMENT: 2,
    Opcode.INSERTELEMENT: 3, Opcode.SHUFFLEVECTOR: 2, Opcode.ALLOCA: 0, Opcode.LOAD: 1,
    Opcode.STORE: 2, Opcode.GETELEMENTPTR: 2, Opcode.FREEZE: 1, Opcode.RET: 0,
    Opcode.UNREACHABLE: 0,
}  # fmt: skip

_RULES: dict[Opcode, Callable[[Instruction], str | None]] = {
    Opcode.FNEG: _fneg, Opcode.FREEZE: _same, Opcode.ICMP: _comparison, Opcode.FCMP: _comparison,
    Opcode.SELECT: _select, Opcode.EXTRACTELEMENT: _extract, Opcode.INSERTELEMENT: _insert,
    Opcode.SHUFFLEVECTOR: _shuffle, Opcode.ALLOCA: _alloca, Opcode.LOAD: _load,
    Opcode.STORE: _store, Opcode.GETELEMENTPTR: _gep, Opcode.PHI: _phi, Opcode.CALL: _call,
    Opcode.BR: _br,
}  # fmt: skip


def _expectation(opcode: Opcode) -> tuple[int | None, Callable[[Instruction], str | None]]:
    """How many operands an opcode has (None: any number) and the rule for its types."""
    if opcode.is_binary:
        return 2, _binary
    if opcode.is_cast:
        return 1, _cast
    return _OPERANDS.get(opcode), _RULES.get(opcode, lambda _: None)


_EXPECTATIONS = {opcode: _expectation(opcode) for opcode in Opcode}

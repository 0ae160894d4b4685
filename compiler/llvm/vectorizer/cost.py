"""What a vector form of a loop would cost, and whether the machine has its instructions.

Costs count instructions of the body, weighted where one keeps its unit busy for long; addresses and
loop control are the same for both forms and count as a fixed overhead per iteration. They are only
compared with each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.llvm.analysis.affine import Access
from compiler.llvm.ir import Constant, Instruction, Opcode, Value
from compiler.llvm.types import I64, VOID, Kind, Type
from compiler.llvm.vectorizer.demand import Demand, is_computable
from compiler.llvm.vectorizer.shape import NotVectorizable, Shape
from compiler.target import Target

OVERHEAD = 2.0  # increment, compare and branch of one iteration
_SLOW = 4.0  # divisions and square roots keep their unit busy, per 128 bits or scalar
_GATHERED_LANE = 2.0  # a scalar load and an insert
_SCATTERED_LANE = 2.0  # an extract and a scalar store
_SLOW_CALLS = frozenset({"llvm.sqrt"})

# Operations that legalisation spells with logic and comparisons of lanes, whatever the machine.
_SPELLED_CALLS = frozenset(
    {"llvm.fabs", "llvm.copysign", "llvm.minimum", "llvm.maximum", "llvm.minnum", "llvm.maxnum",
     "llvm.smin", "llvm.smax", "llvm.umin", "llvm.umax", "llvm.abs"}
)  # fmt: skip
_MARKED = frozenset({"llvm.abs", "llvm.ctlz", "llvm.cttz"})
_SPELLED = frozenset({Opcode.FNEG, Opcode.ICMP, Opcode.FCMP, Opcode.SELECT, Opcode.FREEZE})
_LOGIC = frozenset({Opcode.AND, Opcode.OR, Opcode.XOR})


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one vector iteration (`body`, without loop control) of `lanes` lanes, and what is
    paid once."""

    lanes: int
    body: float
    once: float


def scalar_cost(demand: Demand) -> float:
    """One iteration of the scalar body, without loop control."""
    return sum(_weight(i, 0) for i in demand.widened) + len(demand.stores)


def vector_cost(shape: Shape, demand: Demand, lanes: int, target: Target) -> Cost:
    """The cost with `lanes` lanes. Raises NotVectorizable naming what the machine cannot do."""
    mask = mask_type(demand, lanes)
    body = 0.0
    for instruction in demand.widened:
        body += _vector_instruction(shape, instruction, lanes, mask, target)
    for access in demand.stores:
        body += _store(shape, access, lanes, mask, target)
    once = float(sum(not isinstance(v, Constant) for v in demand.invariants))
    once += 2.0 * len(demand.steady)
    steps = lanes.bit_length() - 1
    once += sum(2.0 * steps + 1 for _ in shape.reductions)
    return Cost(lanes, body, once)


def mask_type(demand: Demand, lanes: int) -> Type:
    """The integer vector that truth values of this loop live in: as wide as its widest element."""
    widest = max((64 if t.is_pointer else t.bits for t in demand.types()), default=32)
    return Type(Kind.INT, max(widest, 8), lanes)


def _weight(i: Instruction, lanes: int) -> float:
    is_slow = i.opcode in (Opcode.FDIV, Opcode.FREM) or (
        i.opcode is Opcode.CALL and i.intrinsic in _SLOW_CALLS
    )
    if not is_slow:
        return 1.0
    return _SLOW * max(1.0, lanes * i.type.bits / 128)


def _vector_instruction(
    shape: Shape, i: Instruction, lanes: int, mask: Type, target: Target
) -> float:
    if i.opcode is Opcode.LOAD:
        return _load(shape, shape.accesses[i], lanes, mask, target)
    if _is_spelled(i):
        require_covered(target, Instruction(Opcode.AND, mask, (Value(mask), Value(mask))), i)
    elif not makes_byte(i):
        require_covered(target, widened_template(i, lanes), i)
    return _weight(i, lanes)


def _is_spelled(i: Instruction) -> bool:
    if i.type.is_bool and i.opcode in _LOGIC:
        return True
    if i.opcode in (Opcode.ZEXT, Opcode.SEXT) and i.operands[0].type.is_bool:
        return not makes_byte(i)
    return i.opcode in _SPELLED or (i.opcode is Opcode.CALL and i.intrinsic in _SPELLED_CALLS)


def widened_template(i: Instruction, lanes: int) -> Instruction:
    """The vector form of an instruction with nameless operands, to ask the machine about."""
    operands = [
        o if is_immediate(i, n) else _template_operand(o, lanes) for n, o in enumerate(i.operands)
    ]
    type = i.type.with_lanes(lanes)
    callee = i.callee and vector_callee(i, lanes)
    return Instruction(i.opcode, type, operands, predicate=i.predicate, callee=callee)


def is_immediate(i: Instruction, number: int) -> bool:
    """Whether an operand is a mark that belongs to the intrinsic (the i1 of abs, ctlz, cttz)."""
    return i.opcode is Opcode.CALL and number == 1 and i.intrinsic in _MARKED


def _template_operand(operand: Value, lanes: int) -> Value:
    type = operand.type.with_lanes(lanes)
    if isinstance(operand, Constant) and isinstance(operand.value, (int, float)):
        return Constant(type, (operand.value,) * lanes)
    return Value(type)


def vector_callee(i: Instruction, lanes: int) -> str:
    """An intrinsic's name for vectors: every scalar type suffix gets the lanes."""
    base, parts = i.intrinsic, i.callee.removeprefix(i.intrinsic).split(".")
    return base + ".".join(part and f"v{lanes}{part}" for part in parts)


def require_covered(target: Target, template: Instruction, origin: Instruction) -> None:
    """Raises NotVectorizable when no instruction of the machine computes the template."""
    name = template.callee or template.opcode.value
    type = template.operands[0].type if template.type == VOID else template.type
    covered = target.covers(template)
    template.drop_operands()
    if not covered:
        raise NotVectorizable(f"{target.name} has no {name} of {type} for {origin}")


def is_byte_test(i: Instruction) -> bool:
    """A truth value read from memory: a loaded byte compared with zero."""
    source = i.operands[0] if i.opcode is Opcode.ICMP else None
    return (
        isinstance(source, Instruction) and source.opcode is Opcode.LOAD and source.type.bits == 8
    )


def makes_byte(i: Instruction) -> bool:
    """A truth value on its way to memory."""
    return i.opcode is Opcode.ZEXT and i.operands[0].type.is_bool and i.type.bits == 8


def _load(shape: Shape, access: Access, lanes: int, mask: Type, target: Target) -> float:
    load = access.instruction
    if access.stride_bytes == 0:
        return 2.0
    type = load.type.with_lanes(lanes)
    if access.is_unit:
        template = Instruction(Opcode.LOAD, type, (Value(load.operands[0].type),))
        if type.bits == 8 and mask.bits > 8:
            _require_cast(target, Opcode.ZEXT, type, mask, load)
        else:
            require_covered(target, template, load)
        return 1.0
    lane = Constant(I64, lanes - 1)
    insert = Instruction(Opcode.INSERTELEMENT, type, (Value(type), Value(load.type), lane))
    require_covered(target, insert, load)
    return _GATHERED_LANE * lanes


def _store(shape: Shape, access: Access, lanes: int, mask: Type, target: Target) -> float:
    store = access.instruction
    value = store.operands[0]
    type = value.type.with_lanes(lanes)
    if access.stride_bytes is None and not is_computable(shape, store.operands[1]):
        raise NotVectorizable(f"the place of a store is not known in advance: {access.why}")
    if access.is_unit:
        if type.bits == 8 and mask.bits > 8:
            _require_cast(target, Opcode.TRUNC, mask, type, store)
        else:
            pointer = Value(store.operands[1].type)
            require_covered(target, Instruction(Opcode.STORE, VOID, (Value(type), pointer)), store)
        return 1.0
    lane = Constant(I64, lanes - 1)
    extract = Instruction(Opcode.EXTRACTELEMENT, value.type, (Value(type), lane))
    require_covered(target, extract, store)
    return _SCATTERED_LANE * lanes


def _require_cast(
    target: Target, opcode: Opcode, source: Type, result: Type, origin: Instruction
) -> None:
    require_covered(target, Instruction(opcode, result, (Value(source),)), origin)

"""One rule per opcode for `Elemental`: which elements of its operands an element is made of, and
how.

Operations that only move data turn into index arithmetic and vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode as Hlo
from compiler.hlo.shape import ElementType
from compiler.llvm.ir import Opcode, Predicate, Value
from compiler.llvm.types import F32, I32, Type
from compiler.lower.affine import ZERO, constant, delinearize, linearize
from compiler.lower.choices import (
    concatenate,
    dynamic_slice,
    dynamic_update_slice,
    gather,
    pad,
)
from compiler.lower.convert import bitcast_convert, narrow
from compiler.lower.elemental import (
    Binding,
    Demand,
    Elemental,
    Frame,
    Rule,
    Step,
    bind_values,
    one,
    unsupported,
)
from compiler.lower.elementwise import elementwise
from compiler.lower.in_place import dot, reduce
from compiler.lower.types import register_type

LARGEST_TABLE = 64
"""Up to this many elements an array constant inside a kernel becomes a chain of selects."""


def _elementwise(e: Elemental, demand: Demand) -> Step:
    instruction = demand.instruction
    kinds: list[ElementType] = []
    values: list[Value] = []
    for number in range(len(instruction.operands)):
        shape = demand.operand_shape(number)
        at = () if shape.is_scalar else demand.at
        values.append(one((yield demand.operand(number, at))))
        kinds.append(shape.element_type)
    return elementwise(e.arithmetic, instruction, kinds, values)


def _pass_through(e: Elemental, demand: Demand) -> Step:
    return (yield demand.operand(0, demand.at))


def _constant(e: Elemental, demand: Demand) -> Value:
    instruction = demand.instruction
    literal, type = instruction.literal, register_type(instruction.array.element_type)
    if literal is None or literal.array is None:
        raise unsupported(instruction, "its value was left out")
    if literal.scalar is not None:
        return e.arithmetic.number(type, _plain_number(literal.scalar))
    if instruction.array.element_count > LARGEST_TABLE:
        raise unsupported(instruction, "a large array constant inside a kernel")
    return _table(e, demand, literal.array.reshape(-1).tolist(), type)


def _plain_number(value: object) -> float:
    found = value.item() if hasattr(value, "item") else value
    return found if isinstance(found, int | float) else float(str(found))


def _table(e: Elemental, demand: Demand, values: Sequence[float], type: Type) -> Value:
    a = e.arithmetic
    strides = _row_major(demand.instruction.array.dimensions)
    place = e.emitter.index_value(linearize(demand.at, strides))
    found: Value = a.number(type, values[0])
    for number, value in enumerate(values[1:], 1):
        is_here = a.icmp(Predicate.EQ, place, e.emitter.integer(number))
        found = a.select(is_here, a.number(type, value), found)
    return found


def _iota(e: Elemental, demand: Demand) -> Value:
    a, kind = e.arithmetic, demand.instruction.array.element_type
    at = demand.at[demand.instruction.attributes["iota_dimension"]]
    type = register_type(kind)
    number = e.emitter.index_value(at)
    if not type.is_float:
        return a.resize(number, type, is_signed=True)
    small = a.resize(number, I32, is_signed=True) if at.high < 1 << 31 else number
    return narrow(a, a.cast(Opcode.SITOFP, small, F32 if type.bits < 32 else type), type)


def _leaf(emit: Callable[[Elemental, Demand], Value]) -> Rule:
    """A rule for what has no operands."""

    def rule(e: Elemental, demand: Demand) -> Step:
        yield from ()
        return emit(e, demand)

    return rule


def _broadcast(e: Elemental, demand: Demand) -> Step:
    extents = demand.operand_shape(0).dimensions
    pairs = zip(demand.instruction.dimensions, extents, strict=True)
    return (yield demand.operand(0, tuple(demand.at[d] if n != 1 else ZERO for d, n in pairs)))


def _row_major(dimensions: Sequence[int]) -> tuple[int, ...]:
    strides = [1] * len(dimensions)
    for i in range(len(dimensions) - 2, -1, -1):
        strides[i] = strides[i + 1] * dimensions[i + 1]
    return tuple(strides)


def _reshape(e: Elemental, demand: Demand) -> Step:
    linear = linearize(demand.at, _row_major(demand.instruction.array.dimensions))
    return (yield demand.operand(0, delinearize(linear, demand.operand_shape(0).dimensions)))


def _bitcast(e: Elemental, demand: Demand) -> Step:
    """The element at the same place in memory."""
    shape, operand = demand.instruction.array, demand.operand_shape(0)
    linear = linearize(demand.at, shape.strides)
    order = operand.minor_to_major[::-1]
    found = delinearize(linear, tuple(operand.dimensions[d] for d in order))
    at = [ZERO] * operand.rank
    for dimension, index in zip(order, found):
        at[dimension] = index
    value = one((yield demand.operand(0, tuple(at))))
    return bitcast_convert(e.arithmetic, value, operand.element_type, shape.element_type)


def _bitcast_convert(e: Elemental, demand: Demand) -> Step:
    source = demand.operand_shape(0).element_type
    target = demand.instruction.array.element_type
    extents, parts = demand.operand_shape(0).dimensions, demand.instruction.array.dimensions
    if len(extents) == len(parts):
        return (yield from _elementwise(e, demand))
    a = e.arithmetic
    if len(extents) < len(parts):
        value = one((yield demand.operand(0, demand.at[:-1])))
        bits = a.bits(value)
        width = source.bits // parts[-1]
        place = e.emitter.index_value(demand.at[-1] * width)
        shifted = a.binary(Opcode.LSHR, bits, a.resize(place, bits.type, is_signed=False))
        if target is ElementType.PRED:
            kept = a.iand(shifted, a.number(bits.type, (1 << width) - 1))
            return a.icmp(Predicate.NE, kept, a.number(bits.type, 0))
        part = a.resize(shifted, bits.type.with_bits(width), is_signed=False)
        return a.bitcast(part, register_type(target))
    whole: Value | None = None
    width = target.bits // extents[-1]
    for number in range(extents[-1]):
        value = one((yield demand.operand(0, (*demand.at, constant(number)))))
        wide = a.bits(value).type.with_bits(target.bits)
        part = a.shl(a.resize(a.bits(value), wide, is_signed=False), number * width)
        whole = part if whole is None else a.ior(whole, part)
    if whole is None:
        raise unsupported(demand.instruction)
    return a.bitcast(whole, register_type(target))


def _transpose(e: Elemental, demand: Demand) -> Step:
    at = [ZERO] * len(demand.at)
    for position, dimension in enumerate(demand.instruction.dimensions):
        at[dimension] = demand.at[position]
    return (yield demand.operand(0, tuple(at)))


def _slice(e: Elemental, demand: Demand) -> Step:
    pairs = zip(demand.at, demand.instruction.attributes["slice"], strict=True)
    return (yield demand.operand(0, tuple(i * s.stride + s.start for i, s in pairs)))


def _reverse(e: Elemental, demand: Demand) -> Step:
    shape, flipped = demand.instruction.array, demand.instruction.dimensions
    at = [
        index * -1 + (extent - 1) if d in flipped else index
        for d, (index, extent) in enumerate(zip(demand.at, shape.dimensions, strict=True))
    ]
    return (yield demand.operand(0, tuple(at)))


# -- computations inside ------------------------------------------------------------------------


def called_frame(e: Elemental, demand: Demand, name: str) -> Frame:
    """A frame for a called computation whose parameters are this instruction's operands."""
    instruction = demand.instruction
    frame = Frame(e.module.computation(name), depth=demand.frame.depth)
    for parameter, operand in zip(frame.computation.parameters, instruction.operands, strict=True):
        frame.bindings[parameter.name] = _redirect(demand.frame, operand)
    return frame


def _redirect(frame: Frame, name: str) -> Binding:
    return lambda at: Demand(frame, name, at)


def _callee(instruction: Instruction) -> str:
    found: str = instruction.attributes["calls" if instruction.opcode is Hlo.FUSION else "to_apply"]
    return found


def _call(e: Elemental, demand: Demand) -> Step:
    frame = called_frame(e, demand, _callee(demand.instruction))
    return (yield Demand(frame, frame.computation.root, demand.at))


def _map(e: Elemental, demand: Demand) -> Step:
    instruction = demand.instruction
    frame = Frame(e.module.computation(instruction.attributes["to_apply"]))
    values: list[Value] = []
    for number in range(len(instruction.operands)):
        values.append(one((yield demand.operand(number, demand.at))))
    bind_values(e, frame, values)
    return (yield Demand(frame, frame.computation.root, ()))


def _tuple_element(e: Elemental, demand: Demand) -> Step:
    instruction = demand.instruction
    source = demand.frame.instruction(instruction.operands[0])
    number = instruction.tuple_index
    if source.opcode is Hlo.TUPLE:
        return (yield Demand(demand.frame, source.operands[number], demand.at))
    if source.opcode in (Hlo.CALL, Hlo.FUSION):
        inner = called_frame(e, Demand(demand.frame, source.name, demand.at), _callee(source))
        root = inner.computation.root_instruction
        if root.opcode is Hlo.TUPLE:
            return (yield Demand(inner, root.operands[number], demand.at))
    found = yield Demand(demand.frame, source.name, demand.at)
    return found if isinstance(found, Value) else found[number]


RULES: Mapping[Hlo, Rule] = MappingProxyType(
    {
        **{opcode: _elementwise for opcode in Hlo if opcode.is_elementwise},
        Hlo.MAP: _map,
        Hlo.CONSTANT: _leaf(_constant),
        Hlo.IOTA: _leaf(_iota),
        Hlo.BROADCAST: _broadcast,
        Hlo.RESHAPE: _reshape,
        Hlo.BITCAST: _bitcast,
        Hlo.BITCAST_CONVERT: _bitcast_convert,
        Hlo.TRANSPOSE: _transpose,
        Hlo.SLICE: _slice,
        Hlo.REVERSE: _reverse,
        Hlo.CONCATENATE: concatenate,
        Hlo.PAD: pad,
        Hlo.DYNAMIC_SLICE: dynamic_slice,
        Hlo.DYNAMIC_UPDATE_SLICE: dynamic_update_slice,
        Hlo.GATHER: gather,
        Hlo.REDUCE: reduce,
        Hlo.DOT: dot,
        Hlo.CALL: _call,
        Hlo.FUSION: _call,
        Hlo.GET_TUPLE_ELEMENT: _tuple_element,
        Hlo.OPT_BARRIER: _pass_through,
        Hlo.DOMAIN: _pass_through,
        Hlo.ADD_DEPENDENCY: _pass_through,
    }
)
"""How code generation computes one element of each operation that has such a form."""

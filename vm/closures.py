"""The small closures of which `vm.steps` builds an instruction: reading and writing storages,
computing scalars and vectors. Each takes what is known when a program is translated and returns
what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isas.effects import Apply, Effect
from isas.errors import InternalError
from isas.flags import condition_holds
from isas.values import ValueType
from vm.arithmetic import MEANINGS, convert, dtype_of, is_conversion
from vm.scalars import INT_OPERATIONS, compute_flags

Value = Any
"""int (scalar integers), bool (i1), NumPy scalar (floats), array (vectors), tuple (lazy flags)."""
Read = Callable[[], Value]
Step = Callable[[], int | None]


def ignore(_value: Value) -> None:
    return None


def fall_through() -> None:
    return None


def constantly(value: Any) -> Callable[[], Any]:
    return lambda: value


def setter(storages: list[Value], storage: int) -> Callable[[Value], None]:
    def write(value: Value) -> None:
        storages[storage] = value

    return write


def single(read: Read, write: Callable[[Value], None]) -> Step:
    def step() -> None:
        write(read())

    return step


def simultaneous(parts: Sequence[tuple[Read, Callable[[Value], None]]], branch: Step) -> Step:
    """All right-hand sides see the old values, the branch too."""
    reads = [read for read, _ in parts]
    writes = [write for _, write in parts]

    def step() -> int | None:
        values = [read() for read in reads]
        target = branch()
        for write, value in zip(writes, values):
            write(value)
        return target

    return step


def typed_constant(value: int | float, type: ValueType) -> Value:
    if type.is_vector:
        wrapped = int(value) & ((1 << type.bits) - 1) if type.is_int else value
        return np.full(type.lanes, wrapped, dtype_of(type))
    if type.is_float:
        return dtype_of(type).type(value)
    return int(value) & ((1 << type.bits) - 1)


def encoder(type: ValueType) -> Callable[[Value], int] | None:
    """How a value becomes the int that a narrow storage holds; None when it is one already."""
    if type.is_int and not type.is_vector:
        return None if type.bits > 1 else int
    return lambda value: int.from_bytes(np.asarray(value, dtype_of(type)).tobytes(), "little")


def decoder(type: ValueType) -> Callable[[int], Value] | None:
    if type.is_int and not type.is_vector:
        return None
    dtype, size = dtype_of(type), type.total_bits // 8

    def decode(bits: int) -> Value:
        values = np.frombuffer(bits.to_bytes(size, "little"), dtype)
        return values if type.is_vector else values[0]

    return decode


def wide_reader(storages: list[Value], storage: int, type: ValueType) -> Read:
    dtype, lanes = dtype_of(type), type.lanes
    size = dtype.itemsize * lanes
    is_int, is_vector = type.is_int, type.is_vector

    def read() -> Value:
        content = storages[storage]
        if content.nbytes < size:
            padded = np.zeros(size, np.uint8)
            padded[: content.nbytes] = content.view(np.uint8)
            content = padded
        if content.dtype != dtype:
            content = content.view(dtype)
        if is_vector:
            return content if content.size == lanes else content[:lanes]
        return int(content[0]) if is_int else content[0]

    return read


def flags_hold(effect: Effect, flags: Read) -> Read:
    def holds() -> bool:
        value = flags()
        bits = compute_flags(*value) if isinstance(value, tuple) else value
        return condition_holds(effect, bits)

    return holds


def choice(condition: Read, first: Read, second: Read) -> Read:
    """Both values are read, as the instruction does: a memory operand is loaded either way."""

    def choose() -> Value:
        a, b = first(), second()
        return a if condition() else b

    return choose


def as_scalar(type: ValueType, read: Read) -> Read:
    """Scalar integers leave NumPy as Python ints."""
    if type.is_int and not type.is_vector:
        return lambda: int(read())
    return read


_WIDTHS = frozenset({Effect.ZEXT, Effect.SEXT, Effect.TRUNC})


def _resized(effect: Effect, source: ValueType, type: ValueType, read: Read) -> Read:
    """A scalar integer in another width, of any size (a division's dividend has 128 bits)."""
    top, mask = 1 << (source.bits - 1), (1 << type.bits) - 1
    if effect is Effect.SEXT:
        return lambda: ((int(read()) ^ top) - top) & mask
    return lambda: int(read()) & mask


def computed(node: Apply, arguments: Sequence[Read]) -> Read:
    effect, source = node.effect, node.arguments[0].type
    if source.is_int and not source.is_vector and effect in INT_OPERATIONS:
        operation = INT_OPERATIONS[effect](source.bits)
        first, second = arguments
        return lambda: operation(first(), second())
    if effect in _WIDTHS and source.is_int and not source.is_vector:
        return _resized(effect, source, node.type, arguments[0])
    if is_conversion(effect):
        argument = _as_array(arguments[0], source)
        type = node.type
        return as_scalar(type, _unboxed(lambda: convert(effect, argument(), type), type))
    if effect not in MEANINGS:
        raise InternalError(f"the functional machine does not know the effect {effect}")
    meaning = MEANINGS[effect]
    inputs = [_as_array(read, arg.type) for read, arg in zip(arguments, node.arguments)]
    if len(inputs) == 2:
        first, second = inputs
        return as_scalar(node.type, _unboxed(lambda: meaning(first(), second()), node.type))
    return as_scalar(node.type, _unboxed(lambda: meaning(*(read() for read in inputs)), node.type))


def _unboxed(read: Read, type: ValueType) -> Read:
    """Scalars computed as 0-dimensional arrays become NumPy scalars."""
    if type.is_vector:
        return read
    return lambda: read()[()]


def _as_array(read: Read, type: ValueType) -> Read:
    """Scalar integers enter NumPy with their width."""
    if type.is_int and not type.is_vector:
        scalar = dtype_of(type).type
        return lambda: scalar(read())
    return read


def bitcast(read: Read, source: ValueType, target: ValueType) -> Read:
    if source == target:
        return read
    wide, narrow = dtype_of(source), dtype_of(target)
    if source.bits == 1 or target.bits == 1:
        return _mask_bitcast(read, source, target)

    def cast() -> Value:
        content = np.frombuffer(np.asarray(read(), wide).tobytes(), narrow)
        return content if target.is_vector else content[0]

    return as_scalar(target, cast)


def _mask_bitcast(read: Read, source: ValueType, target: ValueType) -> Read:
    """Between i1 per lane and the integer with a bit per lane."""
    if source.bits == 1:
        return lambda: sum(int(bit) << lane for lane, bit in enumerate(np.atleast_1d(read())))
    lanes = np.arange(target.lanes)
    return lambda: (int(read()) >> lanes & 1).astype(np.bool_)


def joined(node: Apply, arguments: Sequence[Read]) -> Read:
    if node.type.is_vector:
        return lambda: np.concatenate([np.atleast_1d(read()) for read in arguments])
    width = node.arguments[0].type.bits
    return lambda: sum(read() << (width * place) for place, read in enumerate(arguments))


def half_of(read: Read, source: ValueType, target: ValueType, is_high: bool) -> Read:
    if not source.is_vector:
        shift, mask = (target.bits if is_high else 0), (1 << target.bits) - 1
        return lambda: read() >> shift & mask
    start = target.lanes if is_high else 0
    if not target.is_vector:
        return as_scalar(target, lambda: read()[start])
    return lambda: read()[start : start + target.lanes]


def reduction(effect: Effect, read: Read) -> Read:
    """A tree over adjacent halves would be another order; integer and min/max have none."""
    pairwise = MEANINGS[
        {
            Effect.REDUCE_ADD: Effect.ADD,
            Effect.REDUCE_SMIN: Effect.SMIN,
            Effect.REDUCE_SMAX: Effect.SMAX,
            Effect.REDUCE_UMIN: Effect.UMIN,
            Effect.REDUCE_UMAX: Effect.UMAX,
            Effect.REDUCE_FMINIMUM: Effect.MINIMUM,
            Effect.REDUCE_FMAXIMUM: Effect.MAXIMUM,
        }[effect]
    ]

    def reduce() -> Value:
        lanes = read()
        total = lanes[0]
        for lane in lanes[1:]:
            total = pairwise(total, lane)
        return total

    return reduce

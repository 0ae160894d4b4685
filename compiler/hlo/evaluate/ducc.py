"""The Fourier transforms of older JAX: ``ducc_fft(descriptor, array)`` custom calls.

The descriptor is a FlatBuffer in an array of bytes (flatbuffers.dev/internals): a table of the
transform's kind, the extents of its longer side, the axes, its direction and scale (jaxlib's
ducc_fft.fbs of 2023).
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.hlo.errors import HloEvaluationError
from compiler.hlo.evaluate.numbers import exact
from compiler.hlo.module import Instruction

Array = np.ndarray


class _Field(enum.IntEnum):
    """The fields of the descriptor's table that are read, by their number."""

    KIND = 1
    EXTENTS = 2
    AXES = 5
    IS_FORWARD = 6
    SCALE = 7


class _Kind(enum.IntEnum):
    COMPLEX = 0
    TO_REAL = 1
    FROM_REAL = 2


@dataclass(frozen=True, slots=True)
class Transform:
    """What a descriptor says."""

    kind: _Kind
    extents: tuple[int, ...]
    axes: tuple[int, ...]
    is_forward: bool
    scale: float


def transform_of(data: bytes) -> Transform:
    """Reads a descriptor. Raises HloEvaluationError when it is none."""
    try:
        table = struct.unpack_from("<I", data)[0]
        return Transform(
            _Kind(_scalar(data, table, _Field.KIND, "<b")),
            _vector(data, table, _Field.EXTENTS, "Q"),
            _vector(data, table, _Field.AXES, "I"),
            bool(_scalar(data, table, _Field.IS_FORWARD, "<b")),
            float(_scalar(data, table, _Field.SCALE, "<d")),
        )
    except (struct.error, ValueError):
        raise HloEvaluationError("the descriptor of ducc_fft cannot be read") from None


def _place(data: bytes, table: int, field: _Field) -> int | None:
    """Where a field of a table lies, None when it has its default."""
    directory = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, directory)[0]
    entry = 4 + 2 * field
    offset = struct.unpack_from("<H", data, directory + entry)[0] if entry < size else 0
    return table + offset if offset else None


def _scalar(data: bytes, table: int, field: _Field, form: str) -> Any:
    place = _place(data, table, field)
    return struct.unpack_from(form, data, place)[0] if place is not None else 0


def _vector(data: bytes, table: int, field: _Field, letter: str) -> tuple[int, ...]:
    place = _place(data, table, field)
    if place is None:
        return ()
    start = place + struct.unpack_from("<I", data, place)[0]
    count = struct.unpack_from("<I", data, start)[0]
    return struct.unpack_from(f"<{count}{letter}", data, start + 4)


def ducc_fft(instruction: Instruction, operands: list[Any]) -> Array:
    """The transform that the first operand describes, of the second one."""
    transform = transform_of(np.asarray(operands[0], np.uint8).tobytes())
    array, axes = exact(operands[1]), transform.axes
    result: Array
    if transform.kind is _Kind.FROM_REAL:
        result = np.fft.rfftn(array, axes=axes)
    elif transform.kind is _Kind.TO_REAL:
        lengths = [transform.extents[axis] for axis in axes]
        result = np.fft.irfftn(array, s=lengths, axes=axes, norm="forward")
    elif transform.is_forward:
        result = np.fft.fftn(array, axes=axes)
    else:
        result = np.fft.ifftn(array, axes=axes, norm="forward")
    return np.asarray(result * transform.scale).astype(instruction.array.element_type.dtype)


TARGETS = {"ducc_fft": ducc_fft}
"""Custom call targets and what they compute."""

"""PyTorch's element types as HLO's, and the type that an operation of several computes in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from compiler.hlo.shape import ElementType
from isas.errors import UnsupportedError

Number: TypeAlias = bool | int | float | complex

_NAMES = {
    "bool": ElementType.PRED,
    "uint8": ElementType.U8,
    "uint16": ElementType.U16,
    "uint32": ElementType.U32,
    "uint64": ElementType.U64,
    "int8": ElementType.S8,
    "int16": ElementType.S16,
    "int32": ElementType.S32,
    "int64": ElementType.S64,
    "float16": ElementType.F16,
    "bfloat16": ElementType.BF16,
    "float32": ElementType.F32,
    "float64": ElementType.F64,
    "complex64": ElementType.C64,
    "complex128": ElementType.C128,
    "float8_e4m3fn": ElementType.F8E4M3FN,
    "float8_e4m3fnuz": ElementType.F8E4M3FNUZ,
    "float8_e5m2": ElementType.F8E5M2,
    "float8_e5m2fnuz": ElementType.F8E5M2FNUZ,
}
_TORCH_NAMES = {kind: name for name, kind in _NAMES.items()}


def element_type(dtype: Any) -> ElementType:
    """The element type of a `torch.dtype`. Raises UnsupportedError for quantized types."""
    found = _NAMES.get(str(dtype).removeprefix("torch."))
    if found is None:
        raise UnsupportedError(f"{dtype} has no HLO type")
    return found


def torch_name(kind: ElementType) -> str:
    """The name of the `torch.dtype` of an element type: `float32`."""
    return _TORCH_NAMES[kind]


_RANKS = (
    ElementType.PRED, ElementType.U8, ElementType.S8, ElementType.S16, ElementType.S32,
    ElementType.S64, ElementType.F16, ElementType.BF16, ElementType.F32, ElementType.F64,
    ElementType.C64, ElementType.C128,
)  # fmt: skip


def _category(kind: ElementType) -> int:
    """0 truth values, 1 integers, 2 floats, 3 complex numbers."""
    if kind is ElementType.PRED:
        return 0
    return 1 if kind.is_integer else 2 if kind.is_float else 3


def of_number(number: Number) -> ElementType:
    """The type that PyTorch gives a Python number on its own."""
    if isinstance(number, bool):
        return ElementType.PRED
    if isinstance(number, int):
        return ElementType.S64
    return ElementType.F32 if isinstance(number, float) else ElementType.C64


def joined(one: ElementType, other: ElementType) -> ElementType:
    """The smallest type that both go into, by PyTorch's table."""
    if one is other:
        return one
    kinds = {one, other}
    if kinds == {ElementType.U8, ElementType.S8}:
        return ElementType.S16
    if kinds == {ElementType.F16, ElementType.BF16}:
        return ElementType.F32
    if kinds == {ElementType.F64, ElementType.C64}:
        return ElementType.C128
    return max(one, other, key=_rank)


def _rank(kind: ElementType) -> tuple[int, int]:
    place = _RANKS.index(kind) if kind in _RANKS else kind.bits
    return (_category(kind), place)


def promoted(
    arrays: Sequence[ElementType], scalars: Sequence[ElementType], numbers: Sequence[Number]
) -> ElementType:
    """The common type of arrays with dimensions, zero-dimensional arrays and Python numbers.

    The later groups count only where their category is higher (integer, float, complex), as in
    PyTorch (docs: Tensor Attributes, type promotion).
    """
    groups = (arrays, scalars, [of_number(number) for number in numbers])
    found: ElementType | None = None
    for group in groups:
        kind = _joined_all(group)
        if kind is None:
            continue
        if found is None or _category(kind) > _category(found):
            found = _lifted(found, kind, is_number=group is groups[2])
    return found or ElementType.F32


def _joined_all(kinds: Sequence[ElementType]) -> ElementType | None:
    found: ElementType | None = None
    for kind in kinds:
        found = kind if found is None else joined(found, kind)
    return found


def _lifted(found: ElementType | None, kind: ElementType, is_number: bool) -> ElementType:
    """A number's complex type follows the floats it meets: f64 and a complex number make c128."""
    if is_number and found is not None and kind.is_complex and found.is_float:
        return found.complex
    return kind


def as_float(kind: ElementType) -> ElementType:
    """The type of a division or a square root: integers and truth values become float32."""
    return kind if kind.is_float or kind.is_complex else ElementType.F32


def lowest(kind: ElementType) -> Number:
    """What every value of the type is at least."""
    if kind is ElementType.PRED:
        return False
    if kind.is_float:
        return -math.inf
    return -(1 << (kind.bits - 1)) if kind.is_signed else 0


def highest(kind: ElementType) -> Number:
    """What every value of the type is at most."""
    if kind is ElementType.PRED:
        return True
    if kind.is_float:
        return math.inf
    return (1 << (kind.bits - kind.is_signed)) - 1

"""HLO's element types as types of the IR, in registers and in memory."""

from __future__ import annotations

from compiler.hlo.shape import ElementType, Family
from compiler.llvm.types import BF16, F16, F32, F64, I1, I8, Kind, Type
from isas.errors import UnsupportedError

_FLOATS = {
    ElementType.F16: F16,
    ElementType.BF16: BF16,
    ElementType.F32: F32,
    ElementType.F64: F64,
}


def is_covered(element: ElementType) -> bool:
    """Whether code generation knows values of this type."""
    if element in _FLOATS or element is ElementType.PRED:
        return True
    return element.family in (Family.SIGNED, Family.UNSIGNED) and element.bits >= 8


def register_type(element: ElementType) -> Type:
    """How a value is held while it is computed with: pred as i1, integers as they are.

    Raises UnsupportedError for types the IR cannot hold.
    """
    if not is_covered(element):
        raise UnsupportedError(f"code generation does not cover the element type {element}")
    if element is ElementType.PRED:
        return I1
    return _FLOATS.get(element) or Type(Kind.INT, element.bits)


def memory_type(element: ElementType) -> Type:
    """How an array holds a value: pred takes a byte, 0 or 1."""
    return I8 if element is ElementType.PRED else register_type(element)


def computing_type(element: ElementType) -> Type:
    """The type that arithmetic runs in: half precision floats compute in f32 and round after each
    operation."""
    type = register_type(element)
    return F32 if type.is_float and type.bits < 32 else type

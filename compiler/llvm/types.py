"""The types of the IR: integers, floats and pointers, and fixed vectors of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Kind(Enum):
    """What a scalar (or one lane) holds."""

    VOID = "void"
    LABEL = "label"
    INT = "int"
    FLOAT = "float"  # IEEE 754 binary16, binary32, binary64 by `bits`
    BFLOAT = "bfloat"
    POINTER = "pointer"

    # Enum's own hash is Python code; types are hashed all the time.
    __hash__ = object.__hash__


_FLOAT_NAMES = {16: "half", 32: "float", 64: "double"}


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar (`lanes` = 0) or a fixed vector (`lanes` > 0) of it. `bits` counts one lane."""

    kind: Kind
    bits: int = 0
    lanes: int = 0
    address_space: int = 0

    def __str__(self) -> str:
        scalar = self._scalar_name()
        return f"<{self.lanes} x {scalar}>" if self.lanes else scalar

    def _scalar_name(self) -> str:
        if self.kind is Kind.INT:
            return f"i{self.bits}"
        if self.kind is Kind.FLOAT:
            return _FLOAT_NAMES[self.bits]
        if self.kind is Kind.POINTER:
            return f"ptr addrspace({self.address_space})" if self.address_space else "ptr"
        return self.kind.value

    @property
    def is_vector(self) -> bool:
        return self.lanes > 0

    @property
    def is_int(self) -> bool:
        return self.kind is Kind.INT

    @property
    def is_float(self) -> bool:
        return self.kind in (Kind.FLOAT, Kind.BFLOAT)

    @property
    def is_pointer(self) -> bool:
        return self.kind is Kind.POINTER

    @property
    def is_bool(self) -> bool:
        """i1 or a vector of i1."""
        return self.kind is Kind.INT and self.bits == 1

    @property
    def scalar(self) -> Type:
        return replace(self, lanes=0)

    @property
    def size_bytes(self) -> int:
        """Bytes in memory; i1 takes one byte a lane, pointers eight."""
        one = 8 if self.is_pointer else max(1, self.bits // 8)
        return one * max(1, self.lanes)

    def with_lanes(self, lanes: int) -> Type:
        """The same element in `lanes` lanes (0 or 1: the scalar)."""
        return replace(self, lanes=0 if lanes <= 1 else lanes)

    def with_bits(self, bits: int) -> Type:
        return replace(self, bits=bits)

    def as_int(self) -> Type:
        """The integer type of the same bits and lanes."""
        return Type(Kind.INT, self.bits, self.lanes)

    def as_bool(self) -> Type:
        """The type of a comparison of two such values."""
        return Type(Kind.INT, 1, self.lanes)


VOID = Type(Kind.VOID)
LABEL = Type(Kind.LABEL)
I1 = Type(Kind.INT, 1)
I8 = Type(Kind.INT, 8)
I16 = Type(Kind.INT, 16)
I32 = Type(Kind.INT, 32)
I64 = Type(Kind.INT, 64)
F16 = Type(Kind.FLOAT, 16)
BF16 = Type(Kind.BFLOAT, 16)
F32 = Type(Kind.FLOAT, 32)
F64 = Type(Kind.FLOAT, 64)
PTR = Type(Kind.POINTER, 64)


def pointer(address_space: int = 0) -> Type:
    """A 64-bit pointer into an address space (0 generic, NVPTX: 1 global, 3 shared, 5 local)."""
    return Type(Kind.POINTER, 64, 0, address_space)


def vector(element: Type, lanes: int) -> Type:
    return element.with_lanes(lanes)

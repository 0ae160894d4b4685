"""Value types: what an operand holds, written i32, f32, bf16, v8f32, flags, code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache


class TypeKind(Enum):
    """How bits are read: integer, IEEE float, bfloat, condition flags, a place in the code."""

    INT = "i"
    FLOAT = "f"
    BFLOAT = "bf"
    FLAGS = "flags"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class ValueType:
    """`lanes` elements of `bits` bits each; a scalar has one lane."""

    kind: TypeKind
    bits: int
    lanes: int = 1

    @property
    def total_bits(self) -> int:
        """Bits of all lanes together."""
        return self.bits * self.lanes

    @property
    def is_int(self) -> bool:
        """Whether the elements are integers (signedness lives in effects, not in types)."""
        return self.kind is TypeKind.INT

    @property
    def is_float(self) -> bool:
        """Whether the elements are IEEE floats or bfloats."""
        return self.kind in (TypeKind.FLOAT, TypeKind.BFLOAT)

    @property
    def is_vector(self) -> bool:
        """Whether there is more than one lane."""
        return self.lanes > 1

    @property
    def element(self) -> ValueType:
        """The type of one lane."""
        return self if self.lanes == 1 else ValueType(self.kind, self.bits)

    def with_lanes(self, lanes: int) -> ValueType:
        """The same element with another number of lanes."""
        return ValueType(self.kind, self.bits, lanes)

    def __str__(self) -> str:
        if self.kind in (TypeKind.FLAGS, TypeKind.CODE):
            return str(self.kind.value)
        prefix = f"v{self.lanes}" if self.lanes > 1 else ""
        return f"{prefix}{self.kind.value!s}{self.bits}"


I1 = ValueType(TypeKind.INT, 1)
I8 = ValueType(TypeKind.INT, 8)
I16 = ValueType(TypeKind.INT, 16)
I32 = ValueType(TypeKind.INT, 32)
I64 = ValueType(TypeKind.INT, 64)
F16 = ValueType(TypeKind.FLOAT, 16)
F32 = ValueType(TypeKind.FLOAT, 32)
F64 = ValueType(TypeKind.FLOAT, 64)
BF16 = ValueType(TypeKind.BFLOAT, 16)
FLAGS = ValueType(TypeKind.FLAGS, 5)
"""The five condition bits; see `effects.FLAG_BITS` for their places."""
CODE = ValueType(TypeKind.CODE, 64)
"""A place in the program: a branch target, `next`, the program counter."""

_PATTERN = re.compile(r"(?:v(\d+))?(bf|f|i)(\d+)")


@cache
def parse_type(text: str) -> ValueType | None:
    """The type written `text` (`i32`, `v8f32`, `bf16`), or None when it is not one."""
    if text in ("flags", "code"):
        return FLAGS if text == "flags" else CODE
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    lanes, kind, bits = match.groups()
    return ValueType(TypeKind(kind), int(bits), int(lanes) if lanes else 1)

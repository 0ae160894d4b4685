"""Operand kinds: what may stand in an operand's place, and the type of value it then holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from isas.values import ValueType


class Role(Enum):
    """What an operand is."""

    REGISTER = "register"
    MEMORY = "memory"
    IMMEDIATE = "immediate"
    LABEL = "label"


class ImmediateEncoding(Enum):
    """How an immediate's number is held; `isas.immediates` says which numbers fit."""

    RANGE = "range"
    ARM_LOGICAL = "arm_logical"
    ARM_FLOAT8 = "arm_float8"
    ARM_MOVE = "arm_move"
    FLOAT_BITS = "float_bits"
    LANES_IN_128 = "lanes_in_128"
    LANES_TWO_SOURCES = "lanes_two_sources"
    LANES_HALVES = "lanes_halves"
    LANES_ACROSS_64 = "lanes_across_64"
    LANES_PAIRS = "lanes_pairs"
    LANES_BLEND = "lanes_blend"
    LANES_EXTRACT = "lanes_extract"


@dataclass(frozen=True, slots=True)
class ImmediateForm:
    """Numbers an immediate operand may be: `minimum..maximum`, in steps of `multiple`."""

    minimum: int
    maximum: int
    multiple: int = 1
    encoding: ImmediateEncoding = ImmediateEncoding.RANGE


@dataclass(frozen=True, slots=True)
class AddressForm:
    """What an address may be made of: base + index * scale + displacement, or a symbol.

    `scales` is empty when there is no index. Displacements run from `minimum` to `maximum` in
    steps of `multiple`; with `index_excludes_displacement`, an index allows no displacement (arm).
    """

    has_base: bool = True
    scales: tuple[int, ...] = ()
    minimum: int = 0
    maximum: int = 0
    multiple: int = 1
    has_symbol: bool = False
    index_excludes_displacement: bool = False
    requires_index: bool = False
    space: str = ""

    def allows_displacement(self, displacement: int) -> bool:
        """Whether `displacement` (bytes) can be written in the instruction."""
        in_range = self.minimum <= displacement <= self.maximum
        return in_range and displacement % self.multiple == 0


@dataclass(frozen=True, slots=True)
class OperandKind:
    """A row of operands.yaml: a register view, a memory width and form, an immediate, a label.

    `bits` is the width of the value held (memory: the bytes accessed, times 8); it may be less
    than the view's (`xmm32`: the low 32 bits of an xmm register). `element_bits` is set where the
    assembly text fixes the element (`.4s`). `suffix` follows the register's name in the text.
    `text_view` is the view whose name the text shows, where it is not `view`: `mov eax, ecx` as the
    zero extension into rax writes an r64 spelled as an r32.
    """

    name: str
    role: Role
    bits: int
    class_name: str = ""
    view: str = ""
    element_bits: int | None = None
    suffix: str = ""
    address: AddressForm | None = None
    immediate: ImmediateForm | None = None
    pointer: str = ""
    text_view: str = ""

    @property
    def is_register(self) -> bool:
        """Whether the operand is a register."""
        return self.role is Role.REGISTER

    @property
    def is_memory(self) -> bool:
        """Whether the operand is an address in memory."""
        return self.role is Role.MEMORY

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ShapeOperand:
    """One operand of a shape: its name on the card, its kind, and the type of its value."""

    name: str
    kind: OperandKind
    type: ValueType

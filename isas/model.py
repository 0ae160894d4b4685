"""The data types of instructions and ISAs: operand kinds, cards, shapes, calling convention.

A *card* is one instruction as the manual has it; its *shapes* are the card with its operand kinds
fixed (xmm or ymm, register or memory). Everything an instruction does is derived from a shape's
typed effects once, and kept in `Shape.facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from isas.cores import Core
from isas.effects import Assignment, Expression
from isas.registers import Register, RegisterClass, RegisterFile
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


@dataclass(frozen=True, slots=True)
class ShapeFacts:
    """What follows from a shape's effects; names refer to operands or implicit registers.

    `reads` are register operands whose value is read, `writes` those written; the registers inside
    addresses are those of the memory operands and are always read. `implicit_reads/writes` are
    fixed registers and flags. `tied` names the operands that are both read and written. `loads`
    and `stores` name memory operands whose contents are read and written; `addresses` those of
    which only the address is used (lea).
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    implicit_reads: tuple[str, ...]
    implicit_writes: tuple[str, ...]
    tied: tuple[str, ...]
    loads: tuple[str, ...]
    stores: tuple[str, ...]
    addresses: tuple[str, ...]
    target: str | None
    is_branch: bool
    is_conditional: bool
    is_return: bool
    is_barrier: bool
    is_move: bool
    is_load_only: bool
    is_store_only: bool
    is_constant_only: bool
    writes_flags: bool
    reads_flags: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a selector may replace by a shape: `result = expression`.

    `result` names the written operand (or implicit register); for a store it is the memory operand
    and `is_store` holds; for a branch it is `pc` and `condition` is an i1 expression or, for one
    that reads flags, a condition applied to `flags`. `clobbers` are implicit registers that the
    instruction changes besides. `is_refined` marks a pattern that holds wherever the simpler
    operation is defined (a masked shift is a shift), by the rule named in `rule`. `requires` lists
    what implicit registers must hold before (`edx = ashr(eax, 31)` before idiv).
    """

    result: str
    expression: Expression
    type: ValueType
    is_store: bool = False
    clobbers: tuple[str, ...] = ()
    rule: str = ""
    requires: tuple[Assignment, ...] = ()

    @property
    def is_refined(self) -> bool:
        """Whether a named rule made this pattern out of the effect."""
        return bool(self.rule)


@dataclass(frozen=True, eq=False)
class Shape:
    """A card with its operands fixed. Compared by identity; `id` is its place in the ISA.

    `operands` are in the card's `with` order (text order is the template's). `rest` names the
    operand whose upper bits fill the destination beyond its type (scalar x86 operations);
    it is a read in time, but its value does not matter to the result's type.
    """

    id: int
    card: Card
    operands: tuple[ShapeOperand, ...]
    effects: tuple[Assignment, ...]
    needs: tuple[str, ...]
    unit: str
    width: int
    rest: str | None
    template: str
    facts: ShapeFacts
    patterns: tuple[Pattern, ...]
    code: str = ""

    @cached_property
    def by_name(self) -> Mapping[str, ShapeOperand]:
        """Operands by name."""
        return {operand.name: operand for operand in self.operands}

    @property
    def mnemonic(self) -> str:
        """The first word of the assembly text."""
        return self.card.mnemonic

    @cached_property
    def title(self) -> str:
        """A unique readable name: `vaddps ymm, ymm, m256`."""
        return f"{self.card.name} " + ", ".join(str(operand.kind) for operand in self.operands)

    def __str__(self) -> str:
        return self.title

    def __hash__(self) -> int:
        return self.id


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """One instruction's card as written, plus where it was written (for errors and `--why`)."""

    name: str
    mnemonic: str
    asm: str
    does: str
    unit: str
    doc: str
    file: str
    line: int
    shapes: tuple[Shape, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class CallingConvention:
    """How a kernel receives its arguments: pointers and integers, in order.

    CPU: `arguments` are registers; more of them lie on the stack, eight bytes each, above the
    `return_address_bytes` that a call pushes (0 where it goes to a register). `callee_saved` must
    be kept.
    simt: no argument registers; parameters are loaded from `parameter_space`.
    """

    arguments: tuple[Register, ...]
    returns: tuple[Register, ...]
    callee_saved: tuple[Register, ...]
    caller_saved: tuple[Register, ...]
    stack_pointer: Register | None
    stack_alignment_bytes: int
    red_zone_bytes: int = 0
    parameter_space: str = ""
    float_arguments: tuple[Register, ...] = ()
    return_address_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Guards:
    """How the ISA's instructions carry a predicate: the register class and the text around it."""

    class_name: str
    view: str
    positive: str
    negative: str


class Syntax(Enum):
    """Which assembler's spelling of addresses, immediates and labels the text follows."""

    INTEL = "intel"
    GNU_ARM = "gnu_arm"
    PTX = "ptx"


@dataclass(frozen=True, eq=False)
class Isa:
    """A whole instruction set, as loaded from its folder. `vector_class` may be empty (simt)."""

    name: str
    title: str
    syntax: Syntax
    pointer_bits: int
    registers: RegisterFile
    kinds: Mapping[str, OperandKind]
    cards: Mapping[str, Card]
    shapes: tuple[Shape, ...]
    calling: CallingConvention
    guards: Guards | None
    cores: Mapping[str, Core]
    folder: str
    triple: str = ""
    data_layout: str = ""
    comment: str = "#"

    def register_class(self, name: str) -> RegisterClass:
        """The class `name`; raises RegisterError (through lookup) when there is none."""
        return self.registers.classes[name]

    def shapes_for(self, features: frozenset[str]) -> tuple[Shape, ...]:
        """The shapes that a core with these features has."""
        return tuple(shape for shape in self.shapes if features.issuperset(shape.needs))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Machine:
    """An ISA with a core: `x86/zen3`."""

    isa: Isa
    core: Core

    @property
    def name(self) -> str:
        """`isa/core`."""
        return f"{self.isa.name}/{self.core.name}"

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes this core has."""
        return self.isa.shapes_for(frozenset(self.core.features))

    def __str__(self) -> str:
        return self.name

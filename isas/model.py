"""The data types of instructions and ISAs: operand kinds, cards, shapes, calling convention.

A *card* is one instruction as the manual has it; its *shapes* are the card with its operand kinds
fixed (xmm or ymm, register or memory). Everything an instruction does is derived from a shape's
typed effects once, and kept in `Shape.facts` and `Shape.patterns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from isas.cores import Core
from isas.effects import Assignment
from isas.facts import Pattern, ShapeFacts, derive_facts, derive_patterns
from isas.operands import (
    AddressForm,
    ImmediateEncoding,
    ImmediateForm,
    OperandKind,
    Role,
    ShapeOperand,
)
from isas.registers import Register, RegisterClass, RegisterFile

__all__ = [
    "AddressForm",
    "CallingConvention",
    "Card",
    "Guards",
    "ImmediateEncoding",
    "ImmediateForm",
    "Isa",
    "Machine",
    "OperandKind",
    "Pattern",
    "Register",
    "RegisterClass",
    "RegisterFile",
    "Role",
    "Shape",
    "ShapeFacts",
    "ShapeOperand",
    "Syntax",
]


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
    code: str = ""

    @cached_property
    def facts(self) -> ShapeFacts:
        """Reads, writes, loads, stores, branches: everything that follows from the effects."""
        return derive_facts(self.by_name, self.effects)

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """What a selector may match, exact patterns before refined ones."""
        return derive_patterns(self.effects)

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

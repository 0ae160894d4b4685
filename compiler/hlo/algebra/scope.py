"""What a rewrite rule sees: one instruction, its operands as they are now, and a pen.

A rule takes a `Scope` and an instruction and returns the name of what replaces it (its own name
when it was changed in place), or None. It may look through operands, and add instructions in
front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from compiler.hlo.attributes import NO_ATTRIBUTES, Attributes
from compiler.hlo.literal import literal_of
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rewriter import ComputationEditor
from compiler.hlo.shape import ArrayShape, ElementType, Shape


@dataclass(slots=True)
class Scope:
    """The computation under edit, and the instruction in front of which additions stand."""

    editor: ComputationEditor
    at: Instruction
    module: Module

    def get(self, name: str) -> Instruction:
        """An instruction as it is now, its operands resolved."""
        found = self.editor.instruction(self.editor.resolve(name))
        return found.with_operands(tuple(map(self.editor.resolve, found.operands)))

    def operand(self, instruction: Instruction, number: int = 0) -> Instruction:
        return self.get(instruction.operands[number])

    def operands(self, instruction: Instruction) -> tuple[Instruction, ...]:
        return tuple(map(self.get, instruction.operands))

    def add(
        self,
        opcode: Opcode,
        shape: Shape,
        operands: Sequence[str] = (),
        attributes: Attributes = NO_ATTRIBUTES,
    ) -> str:
        """A new instruction before the one at hand, with its origins."""
        return self.editor.add(
            opcode,
            shape,
            operands,
            attributes,
            sources=(self.at,),
            before=self.at.name,
            name=self.at.name,
        )

    def computation(self, name: str) -> Computation:
        """A computation that instructions here call, as it was before this pass."""
        return self.module.computation(name)

    def users(self, name: str) -> tuple[str, ...]:
        """Who used an instruction before this pass; empty for one that the pass added."""
        return self.editor.computation.users(name)

    def turn(
        self, opcode: Opcode, operands: Sequence[str], attributes: Attributes = NO_ATTRIBUTES
    ) -> str:
        """Makes another operation of the instruction at hand; name, shape and origins stay."""
        current = self.get(self.at.name)
        self.editor.rewrite(
            replace(
                current,
                opcode=opcode,
                operands=tuple(operands),
                attributes=attributes,
                origin=current.origins,
            )
        )
        return self.at.name

    def constant(self, kind: ElementType, value: object) -> str:
        """A scalar constant."""
        literal = literal_of(np.asarray(value, kind.dtype))
        return self.editor.add(
            Opcode.CONSTANT,
            ArrayShape(kind),
            sources=(self.at,),
            before=self.at.name,
            name="constant",
            literal=literal,
        )

    def splat(self, shape: ArrayShape, scalar: str) -> str:
        """An array with one value everywhere; the scalar itself for a scalar shape."""
        if shape.is_scalar:
            return scalar
        return self.add(Opcode.BROADCAST, shape, (scalar,), Attributes(dimensions=()))

    def filled(self, shape: ArrayShape, value: object) -> str:
        """An array of one constant."""
        return self.splat(shape, self.constant(shape.element_type, value))


Rule: TypeAlias = Callable[[Scope, Instruction], str | None]


def is_splat(scope: Scope, instruction: Instruction) -> bool:
    """True of a scalar, or a broadcast of one."""
    if instruction.opcode is Opcode.BROADCAST:
        return scope.operand(instruction).array.is_scalar
    return instruction.is_array and instruction.array.is_scalar


def splat_value(scope: Scope, instruction: Instruction) -> np.generic | None:
    """The one value of an array that is a constant everywhere, else None."""
    if instruction.opcode is Opcode.BROADCAST:
        return splat_value(scope, scope.operand(instruction))
    if instruction.opcode is Opcode.CONSTANT and instruction.literal is not None:
        return instruction.literal.scalar
    return None


def is_value(found: np.generic | None, value: float) -> bool:
    """True when a constant is this number exactly, sign of zero included."""
    if found is None or np.iscomplexobj(found):
        return False
    number = float(found)
    return number == value and np.signbit(number) == np.signbit(value)


def is_number(found: np.generic | None, value: int) -> bool:
    """True when a constant equals this whole number; -0.0 does not count as 0."""
    return is_value(found, float(value))


def all_ones(kind: ElementType) -> int:
    """The integer of a type whose bits are all set."""
    return -1 if kind.is_signed else (1 << kind.bits) - 1


def same_array(one: Instruction, other: Instruction) -> bool:
    """True when element types and dimensions agree."""
    return (
        one.array.element_type is other.array.element_type
        and one.array.dimensions == other.array.dimensions
    )

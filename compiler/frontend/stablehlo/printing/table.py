"""How each HLO instruction is written in StableHLO: one entry per opcode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from compiler.frontend.stablehlo.lower.elementwise import SAME_NAMES
from compiler.frontend.stablehlo.printing import outside, regions, structured
from compiler.frontend.stablehlo.printing.spelling import dense, type_name
from compiler.hlo.attributes import ComparisonType
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import OPCODES, Opcode
from compiler.hlo.shape import ArrayShape, Shape

if TYPE_CHECKING:
    from compiler.frontend.stablehlo.printing.functions import FunctionPrinter

Writer: TypeAlias = "Callable[[FunctionPrinter, Computation, Instruction], None]"

_CHLO = ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh", "erf")
_CHOOSES_OPERANDS = (Opcode.SELECT, Opcode.CLAMP, Opcode.COMPLEX, Opcode.REAL, Opcode.IMAG)


def print_instruction(
    printer: FunctionPrinter, computation: Computation, instruction: Instruction
) -> None:
    """Writes one instruction and binds its name. Raises HloUnsupportedError."""
    writer = WRITERS.get(instruction.opcode)
    if writer is None:
        raise printer.refused(f"operation {instruction.opcode}")
    writer(printer, computation, instruction)


def _plain(name: str) -> Writer:
    """``name %a, %b : types``; operands of several float widths are brought to the widest."""

    def write(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
        pairs = [(p.name(o), _array(p, computation, o)) for o in instruction.operands]
        declared = instruction.array
        if instruction.opcode not in _CHOOSES_OPERANDS:
            pairs = _widened(p, pairs)
        shapes = [shape for _, shape in pairs]
        result_shape = _natural(instruction.opcode, declared, shapes)
        result = p.new_name(instruction.name)
        kinds = _types(name, shapes, result_shape)
        p.add(f"{result} = {name} {', '.join(n for n, _ in pairs)}{p.kept(instruction)} : {kinds}")
        p.trees[instruction.name] = converted(p, result, result_shape, declared)

    return write


def _natural(opcode: Opcode, declared: ArrayShape, shapes: list[ArrayShape]) -> ArrayShape:
    """The shape that StableHLO gives the result: of the operands' element type."""
    keeps = opcode in _CHOOSES_OPERANDS or opcode in (Opcode.IS_FINITE, Opcode.ABS)
    if keeps or not shapes or shapes[0].element_type is declared.element_type:
        return declared
    return declared.with_element_type(shapes[0].element_type)


def _types(name: str, shapes: list[ArrayShape], result: ArrayShape) -> str:
    """The short form where all types are the same, else the function type."""
    texts = [type_name(s) for s in shapes]
    end = type_name(result)
    if name.startswith("chlo."):
        return f"{', '.join(texts)} -> {end}"
    if name == "stablehlo.select" and texts[1:] == [end, end]:
        return f"{texts[0]}, {end}"
    if all(text == end for text in texts):
        return end
    return f"({', '.join(texts)}) -> {end}"


def _array(p: FunctionPrinter, computation: Computation, operand: str) -> ArrayShape:
    shape = computation.instruction(operand).shape
    if not isinstance(shape, ArrayShape):
        raise p.refused(f"an operand of shape {shape}")
    return shape.with_layout(None)


def _widened(
    p: FunctionPrinter, pairs: list[tuple[str, ArrayShape]]
) -> list[tuple[str, ArrayShape]]:
    kinds = {shape.element_type for _, shape in pairs}
    if len(kinds) <= 1 or not all(kind.is_float for kind in kinds):
        return pairs
    widest = max(kinds, key=lambda kind: kind.bits)
    return [
        (
            converted(p, name, shape, shape.with_element_type(widest)),
            shape.with_element_type(widest),
        )
        for name, shape in pairs
    ]


def converted(p: FunctionPrinter, name: str, source: Shape, target: Shape) -> str:
    """A value as another element type; itself where that is the same."""
    if type_name(source) == type_name(target):
        return name
    result = p.new_name("convert")
    p.add(f"{result} = stablehlo.convert {name} : ({type_name(source)}) -> {type_name(target)}")
    return result


def _convert(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    operand = instruction.operands[0]
    source = _array(p, computation, operand)
    result = p.new_name(instruction.name)
    kinds = f"({type_name(source)}) -> {type_name(instruction.shape)}"
    p.add(f"{result} = stablehlo.convert {p.name(operand)}{p.kept(instruction)} : {kinds}")
    p.trees[instruction.name] = result


def _alias(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    """Instructions that hand their first operand on."""
    p.trees[instruction.name] = p.tree(instruction.operands[0])


def _constant(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    literal = instruction.literal
    if literal is None or literal.is_elided:
        raise p.refused("a constant whose digits were left out")
    if literal.array is None:
        raise p.refused("a constant tuple")
    result = p.new_name(instruction.name)
    value = dense(literal.array, instruction.array.element_type)
    p.add(f"{result} = stablehlo.constant{p.kept(instruction)} {value}")
    p.trees[instruction.name] = result


def _compare(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    pairs = _widened(p, [(p.name(o), _array(p, computation, o)) for o in instruction.operands])
    kind = pairs[0][1].element_type
    chosen = instruction.attributes.get("type")
    word = (
        "FLOAT" if kind.is_float or kind.is_complex else "SIGNED" if kind.is_signed else "UNSIGNED"
    )
    if chosen is ComparisonType.TOTALORDER:
        word = "TOTALORDER" if kind.is_float else word
    direction = instruction.attributes["direction"].value
    result = p.new_name(instruction.name)
    names = ", ".join(name for name, _ in pairs)
    kinds = f"({', '.join(type_name(s) for _, s in pairs)}) -> {type_name(instruction.shape)}"
    p.add(
        f"{result} = stablehlo.compare {direction}, {names}, {word}{p.kept(instruction)} : {kinds}"
    )
    p.trees[instruction.name] = result


def _tuple(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    p.trees[instruction.name] = tuple(p.tree(o) for o in instruction.operands)


def _element(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    p.trees[instruction.name] = p.tree(instruction.operands[0])[instruction.tuple_index]


def _token(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    names = ", ".join(p.name(o) for o in instruction.operands)
    result = p.new_name(instruction.name)
    p.add(f"{result} = stablehlo.after_all {names} : !stablehlo.token".replace("  :", " :"))
    p.trees[instruction.name] = result


def _no_operands(name: str) -> Writer:
    def write(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
        result = p.new_name(instruction.name)
        p.add(f"{result} = {name}{p.kept(instruction)} : {type_name(instruction.shape)}")
        p.trees[instruction.name] = result

    return write


WRITERS: dict[Opcode, Writer] = {
    **{OPCODES[n.replace("_", "-")]: _plain(f"stablehlo.{n}") for n in SAME_NAMES},
    **{OPCODES[n]: _plain(f"chlo.{n}") for n in _CHLO},
    Opcode.ATAN: _plain("chlo.atan"),
    Opcode.MULHI: _plain("chlo.mulhi"),
    Opcode.REAL: _plain("stablehlo.real"),
    Opcode.IMAG: _plain("stablehlo.imag"),
    Opcode.COMPARE: _compare,
    Opcode.CONSTANT: _constant,
    Opcode.CONVERT: _convert,
    Opcode.COPY: _alias,
    Opcode.DOMAIN: _alias,
    Opcode.ADD_DEPENDENCY: _alias,
    Opcode.TUPLE: _tuple,
    Opcode.GET_TUPLE_ELEMENT: _element,
    Opcode.AFTER_ALL: _token,
    Opcode.REPLICA_ID: _no_operands("stablehlo.replica_id"),
    Opcode.PARTITION_ID: _no_operands("stablehlo.partition_id"),
    **structured.WRITERS,
    **outside.WRITERS,
    **regions.WRITERS,
}
"""How each opcode is written; an opcode without an entry cannot be said."""

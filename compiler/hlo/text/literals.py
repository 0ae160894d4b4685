"""Reads and writes the literals of constants: ``2.5``, ``{ {1, 2}, {3, 4} }``, ``(1, -inf)``,
``{...}``.

Reading splits the text into its values and its skeleton of braces and commas; both are compared
with what the shape asks for before anything is allocated, so that a wrong literal costs only its
own length.
"""

from __future__ import annotations

import math
import re

import numpy as np

from compiler.hlo.errors import Malformed
from compiler.hlo.literal import ELIDED, Literal
from compiler.hlo.shape import ArrayShape, ElementType, Family, Shape, TupleShape
from compiler.hlo.text.floats import float_array, float_texts
from compiler.hlo.text.tokens import without_comments

_SPACE = re.compile(r"\s+")
_PREFIX = re.compile(r"[a-z][a-z0-9]*\[[^\[\]]*\](?:\{(?:\d[^{}]*)?\}(?=[^,)]))?")
_VALUE = re.compile(r"[^{},()]+(?:\([^()]*\))?|\([^()]*(?:\([^()]*\)[^()]*)*\)")
_INTEGER = re.compile(r"[+-]?\d+\Z")
_SHOWN = 24
_MOST_EMPTY_BRACES = 4096
"""An array without elements but with more rows than this is written ``{}``."""


def parse_literal(text: str, shape: Shape) -> Literal:
    """The literal of a shape. Raises Malformed when the text does not spell one."""
    if "/" in text:
        text = without_comments(text)
    compact = _SPACE.sub("", text)
    if isinstance(shape, TupleShape):
        return _parse_tuple(compact, shape)
    if not isinstance(shape, ArrayShape):
        raise Malformed(f"a constant cannot have shape {shape}")
    return _parse_array(compact, shape)


def _parse_tuple(text: str, shape: TupleShape) -> Literal:
    if text == "{...}":
        return ELIDED
    if len(text) < 2 or text[0] != "(" or text[-1] != ")":
        raise Malformed(f"expected a tuple literal in parentheses, found '{text[:_SHOWN]}'")
    parts = _split(text[1:-1])
    if len(parts) != len(shape.elements):
        expected = f"{len(shape.elements)} elements in the tuple literal"
        raise Malformed(f"expected {expected}, found {len(parts)}")
    pairs = zip(parts, shape.elements, strict=True)
    return Literal(elements=tuple(parse_literal(part, element) for part, element in pairs))


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no bracket."""
    parts: list[str] = []
    depth, begin = 0, 0
    for match in re.finditer(r"[{}(),\[\]]", text):
        mark = match[0]
        if mark in "{([":
            depth += 1
        elif mark in "})]":
            depth -= 1
        elif depth == 0:
            parts.append(text[begin : match.start()])
            begin = match.end()
    return [*parts, text[begin:]] if text else []


def _parse_array(text: str, shape: ArrayShape) -> Literal:
    prefix = _PREFIX.match(text)
    if prefix is not None:
        text = text[prefix.end() :]
    if "..." in text:
        return ELIDED
    if not shape.is_static:
        raise Malformed(f"a constant needs a static shape, not {shape}")
    values = _VALUE.findall(text)
    if len(values) != shape.element_count:
        expected = f"{shape.element_count} values for {shape}"
        raise Malformed(f"expected {expected}, found {len(values)}")
    _check_skeleton(text, shape)
    flat = _array_of(values, shape.element_type)
    array = flat.reshape(shape.dimensions)
    array.setflags(write=False)
    return Literal(array)


def _check_skeleton(text: str, shape: ArrayShape) -> None:
    found = _VALUE.sub("", text)
    if shape.element_count == 0 and found == "{}":
        return
    dimensions = _printed_dimensions(shape.dimensions)
    length = 0
    for extent in reversed(dimensions):
        length = 2 + extent * length + max(extent - 1, 0)
    if length == len(found):
        skeleton = ""
        for extent in reversed(dimensions):
            skeleton = "{" + ",".join([skeleton] * extent) + "}"
        if skeleton == found:
            return
    raise Malformed(f"the braces of the literal do not nest as {shape} asks")


def _printed_dimensions(dimensions: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions that have braces: all, or those down to the first empty one."""
    return dimensions[: dimensions.index(0) + 1] if 0 in dimensions else dimensions


def _array_of(values: list[str], kind: ElementType) -> np.ndarray:
    if kind.family is Family.PREDICATE:
        return np.array([_truth(value) for value in values], dtype=np.bool_)
    if kind.is_integer:
        return _integer_array(values, kind)
    if kind.is_complex:
        return _complex_array(values, kind)
    return float_array(values, kind)


def _truth(value: str) -> bool:
    if value in ("true", "false"):
        return value == "true"
    if _INTEGER.match(value) is None:
        raise Malformed(f"expected true, false or an integer, found '{value[:_SHOWN]}'")
    return value.strip("+-0") != ""


def _integer_array(values: list[str], kind: ElementType) -> np.ndarray:
    low = -(1 << (kind.bits - 1)) if kind.is_signed else 0
    high = (1 << (kind.bits - (1 if kind.is_signed else 0))) - 1
    numbers: list[int] = []
    for value in values:
        if _INTEGER.match(value) is None or len(value) > 24:
            raise Malformed(f"expected an integer for {kind}, found '{value[:_SHOWN]}'")
        number = int(value)
        if number < 0 and kind is ElementType.U64 and number >= -(2**63):
            number += 2**64
        if not low <= number <= high:
            raise Malformed(f"{number} does not fit in {kind} ({low} to {high})")
        numbers.append(number)
    return np.array(numbers, dtype=np.int64 if kind.bits < 64 else kind.dtype).astype(kind.dtype)


def _complex_array(values: list[str], kind: ElementType) -> np.ndarray:
    parts: list[str] = []
    for value in values:
        pair = value[1:-1].split(",") if value.startswith("(") else [value, "0"]
        if len(pair) != 2:
            raise Malformed(f"expected a complex value (real, imaginary), found '{value[:_SHOWN]}'")
        parts.extend(pair)
    return float_array(parts, kind.real).view(kind.dtype)


def print_literal(literal: Literal, shape: Shape, limit: int | None = None) -> str:
    """A literal as HLO text; arrays of more than ``limit`` values are elided."""
    if literal.is_elided:
        return "{...}"
    if isinstance(shape, TupleShape):
        pairs = zip(literal.elements, shape.elements, strict=True)
        return f"( {', '.join(print_literal(e, s, limit) for e, s in pairs)} )"
    array = literal.array
    if array is None or not isinstance(shape, ArrayShape):
        return "{...}"
    if limit is not None and array.size > limit:
        return "{...}"
    return _nest(_texts(array, shape.element_type), array.shape)


def _texts(array: np.ndarray, kind: ElementType) -> list[str]:
    flat = np.ascontiguousarray(array).reshape(-1)
    if kind.family is Family.PREDICATE:
        if array.ndim == 0:
            return ["true" if flat[0] else "false"]
        return ["1" if value else "0" for value in flat]
    if kind.is_integer:
        return [str(int(value)) for value in flat]
    if kind.is_complex:
        halves = float_texts(flat.view(kind.real.dtype), kind.real)
        pairs = zip(halves[::2], halves[1::2], strict=True)
        return [f"({real}, {imaginary})" for real, imaginary in pairs]
    return float_texts(flat, kind)


def _nest(values: list[str], dimensions: tuple[int, ...]) -> str:
    if not dimensions:
        return values[0]
    printed = _printed_dimensions(dimensions)
    if 0 in dimensions:
        braces = math.prod(printed[:-1])
        if braces > _MOST_EMPTY_BRACES:
            return "{}"
        values = ["{}"] * braces
        printed = printed[:-1]
    elif len(printed) == 1:
        return "{" + ", ".join(values) + "}"
    for extent in reversed(printed):
        rows = range(0, len(values), extent)
        values = ["{ " + ", ".join(values[row : row + extent]) + " }" for row in rows]
    return values[0]

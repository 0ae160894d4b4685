"""Reads shapes and layouts from HLO text: ``f32[2,<=5]{1,0:T(8,128)S(1)}``, ``(s32[],
token[])``.
"""

from __future__ import annotations

import re

from compiler.hlo.errors import Malformed
from compiler.hlo.shape import (
    ELEMENT_TYPES,
    UNBOUNDED,
    ArrayShape,
    BufferShape,
    ElementType,
    Layout,
    OpaqueShape,
    Shape,
    TokenShape,
    TupleShape,
)
from compiler.hlo.text.tokens import without_comments

_ARRAY = re.compile(r"([a-z][a-z0-9]*)\s*\[([^\[\]]*)\]\s*(?:\{(.*)\})?\s*\Z", re.DOTALL)
_EXTENT = re.compile(r"(<=)?\s*(\d+|\?)\Z")
_ORDER = re.compile(r"\s*((?:\d+\s*(?:,\s*\d+\s*)*)?)(?::(.*))?\Z", re.DOTALL)
_PROPERTY = re.compile(r"\s*(SC|[DTL#*ESPM]|)\(((?:[^()]|\([^()]*\))*)\)")
_PIECE = re.compile(
    r"\s*([(),]|b(?=\()|[a-z][a-z0-9]*\[[^\[\]]*\](?:\s*\{(?:[\d:][^{}]*(?:\{[^{}]*\}[^{}]*)*)?\})?)"
)
_DIMENSION_TYPES = re.compile(r"[DCSH]\+?~?(?:\s*,\s*[DCSH]\+?~?)*\Z")
_BEFORE_SHAPE = (",", "(", "b")
_MAX_EXTENT = 2**62

MAX_TUPLE_DEPTH = 128
"""How deep tuple shapes may nest."""


def parse_shape(text: str) -> Shape:
    """The shape that a text spells. Raises Malformed."""
    if "*/" in text or "//" in text:
        text = without_comments(text)
    stripped = text.strip()
    if stripped.startswith(("(", "b(")):
        return _parse_tuple(stripped)
    return parse_array_shape(stripped)


def _parse_tuple(text: str) -> Shape:
    """A tuple or buffer shape, read with an explicit stack."""
    stack: list[tuple[bool, list[Shape]]] = [(False, [])]
    position = 0
    is_buffer = False
    last = ","
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None or not _follows(last, piece[1]):
            found = text[position : position + 20].strip()
            if last in _BEFORE_SHAPE:
                raise Malformed(f"expected a shape, found '{found}'")
            raise Malformed(f"expected ',' or ')' after a shape, found '{found}'")
        position = piece.end()
        token = last = piece[1]
        if token == "b":
            is_buffer = True
        elif token == "(":
            if len(stack) > MAX_TUPLE_DEPTH:
                raise Malformed(f"tuple shapes nest more than {MAX_TUPLE_DEPTH} deep")
            stack.append((is_buffer, []))
            is_buffer = False
        elif token == ")":
            _close(stack)
        elif token != ",":
            stack[-1][1].append(parse_array_shape(token))
    if len(stack) != 1 or len(stack[0][1]) != 1:
        raise Malformed("expected ')' at the end of the tuple shape")
    return stack[0][1][0]


def _follows(last: str, token: str) -> bool:
    """Commas stand between elements, and only there."""
    if token in (",", ")"):
        return last != "," and (token == ")" or last != "(")
    return last in _BEFORE_SHAPE


def _close(stack: list[tuple[bool, list[Shape]]]) -> None:
    is_buffer, elements = stack.pop()
    if not stack:
        raise Malformed("found ')' without '('")
    if not is_buffer:
        stack[-1][1].append(TupleShape(tuple(elements)))
        return
    if len(elements) != 1 or not isinstance(elements[0], ArrayShape):
        raise Malformed("expected one array shape in b(...)")
    stack[-1][1].append(BufferShape(elements[0]))


def parse_array_shape(text: str) -> Shape:
    """An array, token or opaque shape. Raises Malformed."""
    if "*/" in text:
        text = without_comments(text)
    match = _ARRAY.match(text)
    if match is None:
        raise Malformed(f"expected a shape like f32[2,3]{{1,0}}, found '{text[:40]}'")
    kind = ELEMENT_TYPES.get(match[1])
    if kind is None:
        raise Malformed(f"unknown element type '{match[1]}'")
    if kind is ElementType.TOKEN:
        return TokenShape()
    if kind is ElementType.OPAQUE:
        return OpaqueShape()
    dimensions, dynamic = _parse_extents(match[2])
    layout = None if match[3] is None else parse_layout(match[3], len(dimensions))
    return ArrayShape(kind, dimensions, layout, dynamic)


def _parse_extents(text: str) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    if not text.strip():
        return (), ()
    dimensions: list[int] = []
    dynamic: list[bool] = []
    for part in text.split(","):
        match = _EXTENT.match(part.strip())
        if match is None:
            raise Malformed(f"expected a dimension (4, <=4 or ?), found '{part.strip()}'")
        extent = UNBOUNDED if match[2] == "?" else int(match[2])
        if extent > _MAX_EXTENT:
            raise Malformed(f"dimension {extent} does not fit in 62 bits")
        dimensions.append(extent)
        dynamic.append(match[1] is not None or extent == UNBOUNDED)
    return tuple(dimensions), tuple(dynamic) if any(dynamic) else ()


def parse_layout(text: str, rank: int) -> Layout:
    """A layout from the text between its braces. Raises Malformed."""
    match = _ORDER.match(text)
    if match is None:
        raise Malformed(f"expected a layout like {{1,0:T(8,128)}}, found '{{{text}}}'")
    order = tuple(int(part) for part in match[1].split(",")) if match[1].strip() else ()
    if sorted(order) != list(range(rank)):
        raise Malformed(f"layout {{{match[1].strip()}}} is no permutation of {rank} dimensions")
    if not match[2]:
        return Layout(order)
    return _with_properties(order, match[2])


def _with_properties(order: tuple[int, ...], text: str) -> Layout:
    tiles: list[tuple[int | None, ...]] = []
    found: dict[str, str] = {}
    position, last = 0, ""
    while text[position:].strip():
        match = _PROPERTY.match(text, position)
        if match is None or not (match[1] or last):
            raise Malformed(
                f"expected a layout property such as T(8,128), found '{text[position:]}'"
            )
        position = match.end()
        last = match[1] or last
        if last == "T":
            tiles.append(_parse_tile(match[2]))
        elif last == "SC":
            found["SC"] = found.get("SC", "") + f"({match[2]})"
        elif match[1]:
            found[last] = match[2].strip()
        else:
            raise Malformed(f"found '({match[2]})' after layout property {last}")
    types = found.get("D", "")
    if types and _DIMENSION_TYPES.match(types) is None:
        raise Malformed(f"expected dimension types such as D(D,C), found 'D({types})'")
    if "P" in found and not types:
        raise Malformed("only a sparse array, with D(...), has a physical shape P(...)")
    return Layout(
        order,
        tuple(tiles),
        dimension_types=types,
        tail_padding_elements=_count(found.get("L", "1")),
        index_type=found.get("#", ""),
        pointer_type=found.get("*", ""),
        element_size_bits=_count(found.get("E", "0")),
        memory_space=_count(found.get("S", "0")),
        splits=found.get("SC", ""),
        physical_shape=found.get("P", ""),
        metadata_prefix_bytes=_count(found.get("M", "0")),
    )


def _parse_tile(text: str) -> tuple[int | None, ...]:
    if not text.strip():
        return ()
    return tuple(None if p.strip() == "*" else _count(p) for p in text.split(","))


def _count(text: str) -> int:
    stripped = text.strip()
    if not stripped.isdigit() or len(stripped) > 18:
        raise Malformed(f"expected a number in the layout, found '{stripped}'")
    return int(stripped)

"""Reads and writes the typed values of attributes: numbers, lists, slices, windows, labels."""

from __future__ import annotations

import re
from typing import Any

from compiler.hlo.attributes import (
    ConvolutionLabels,
    ConvolutionSide,
    PadDimension,
    SliceLimits,
    TypedLiteral,
    Verbatim,
    Window,
    WindowDimension,
)
from compiler.hlo.errors import Malformed
from compiler.hlo.module import Alias, Donor
from compiler.hlo.shape import ArrayShape
from compiler.hlo.text.literals import parse_literal, print_literal
from compiler.hlo.text.shapes import parse_array_shape

_INTEGER = re.compile(r"-?\d{1,19}\Z")
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)\Z")
_RANGE = re.compile(r"\s*,?\s*\[\s*(\d+)\s*:\s*(\d+)\s*(?::\s*(\d+)\s*)?\]")
_WINDOW_PART = re.compile(r"[\s,]*([a-z_]+)=([\dx_\-]+)")
_ALIAS = re.compile(
    r"[\s,]*\{([\d,\s]*)\}\s*:\s*\(\s*(\d+)\s*(?:,\s*\{([\d,\s]*)\}\s*)?(?:,\s*((?:may|must)-alias)\s*)?\)"
)
_TYPED_LITERAL = re.compile(r"([a-z]\w*\s*\[[^\[\]]*\](?:\{[\d,\s]*\})?)\s*(.+)\Z", re.DOTALL)
_DONOR = re.compile(r"[\s,]*\(\s*(\d+)\s*,\s*\{([\d,\s]*)\}\s*\)")
_BOUND = r"(?:rtol|atol|ulps)\s*=\s*[\d.eE+\-]+"
_ACCURACY = re.compile(
    rf"\{{\s*(?:mode\s*=\s*(?:default|highest)"
    rf"|tolerance\s*=\s*\{{\s*{_BOUND}(?:\s*,\s*{_BOUND})*\s*\}})\s*\}}\Z"
)


def read_int(text: str) -> int:
    if _INTEGER.match(text) is None:
        raise Malformed(f"expected an integer, found '{text[:40]}'")
    return int(text)


def read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Malformed(f"expected a number, found '{text[:40]}'") from None


def read_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise Malformed(f"expected true or false, found '{text[:40]}'")
    return text == "true"


def write_bool(value: bool) -> str:
    return "true" if value else "false"


def read_string(text: str) -> str:
    """The text between the quotes, escapes as they stand."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise Malformed(f"expected a quoted string, found '{text[:40]}'")
    return text[1:-1]


def write_string(value: str) -> str:
    return f'"{value}"'


def read_name(text: str) -> str:
    match = _NAME.match(text)
    if match is None:
        raise Malformed(f"expected a name, found '{text[:40]}'")
    return match[1]


def _inside_braces(text: str, what: str) -> str:
    if len(text) < 2 or text[0] != "{" or text[-1] != "}":
        raise Malformed(f"expected {what} in braces, found '{text[:40]}'")
    return text[1:-1]


def _items(inside: str) -> list[str]:
    return [part.strip() for part in inside.split(",")] if inside.strip() else []


def read_names(text: str) -> tuple[str, ...]:
    return tuple(map(read_name, _items(_inside_braces(text, "names"))))


def write_list(values: tuple[object, ...]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def write_names(values: tuple[str, ...]) -> str:
    return "{" + ", ".join(values) + "}"


def read_words(text: str) -> tuple[str, ...]:
    return tuple(_items(_inside_braces(text, "words")))


def read_ints(text: str) -> tuple[Any, ...]:
    """``{1,2}`` as a tuple of integers, ``{{0,1},{2,3}}`` as a tuple of such tuples."""
    inside = _inside_braces(text, "integers")
    if "{" not in inside:
        return tuple(map(read_int, _items(inside)))
    groups = re.findall(r"\{[^{}]*\}", inside)
    if re.sub(r"\{[^{}]*\}|[\s,]", "", inside):
        raise Malformed(f"expected lists of integers, found '{text[:40]}'")
    return tuple(tuple(map(read_int, _items(group[1:-1]))) for group in groups)


def write_ints(values: tuple[Any, ...]) -> str:
    return "{" + ",".join(write_ints(v) if isinstance(v, tuple) else str(v) for v in values) + "}"


def read_slice(text: str) -> tuple[SliceLimits, ...]:
    """``{[0:4:2], [1:3]}``."""
    inside = _inside_braces(text, "ranges like [0:4:2]")
    limits: list[SliceLimits] = []
    position = 0
    while inside[position:].strip():
        match = _RANGE.match(inside, position)
        if match is None:
            raise Malformed(f"expected a range like [0:4:2], found '{inside[position:][:40]}'")
        position = match.end()
        limits.append(SliceLimits(int(match[1]), int(match[2]), int(match[3] or 1)))
    return tuple(limits)


def write_slice(values: tuple[SliceLimits, ...]) -> str:
    parts = [
        f"[{v.start}:{v.limit}]" if v.stride == 1 else f"[{v.start}:{v.limit}:{v.stride}]"
        for v in values
    ]
    return "{" + ", ".join(parts) + "}"


def read_padding(text: str) -> tuple[PadDimension, ...]:
    """``0_0x1_2_3``: low, high and interior padding per dimension."""
    if not text:
        return ()
    padding: list[PadDimension] = []
    for part in text.split("x"):
        numbers = part.split("_")
        if len(numbers) not in (2, 3):
            raise Malformed(f"expected low_high or low_high_interior, found '{part}'")
        padding.append(PadDimension(*map(read_int, numbers)))
    return tuple(padding)


def write_padding(values: tuple[PadDimension, ...]) -> str:
    return "x".join(f"{v.low}_{v.high}" + (f"_{v.interior}" if v.interior else "") for v in values)


def read_window(text: str) -> Window:
    """``{size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x0}``."""
    inside = _inside_braces(text, "a window")
    parts: dict[str, list[str]] = {}
    position = 0
    while inside[position:].strip():
        match = _WINDOW_PART.match(inside, position)
        if match is None or match[1] not in _WINDOW_KEYS:
            raise Malformed(f"expected one of {', '.join(_WINDOW_KEYS)} in the window")
        position = match.end()
        parts[match[1]] = match[2].split("x")
    return Window(_window_dimensions(parts))


_WINDOW_KEYS = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")


def _window_dimensions(parts: dict[str, list[str]]) -> tuple[WindowDimension, ...]:
    rank = len(parts.get("size", ()))
    for key, values in parts.items():
        if len(values) != rank:
            raise Malformed(f"window {key} has {len(values)} dimensions, size has {rank}")

    def numbers(key: str, default: int) -> list[int]:
        return [read_int(v) for v in parts[key]] if key in parts else [default] * rank

    pads = [_pad_pair(v) for v in parts.get("pad", ["0_0"] * rank)]
    columns = zip(
        numbers("size", 1),
        numbers("stride", 1),
        pads,
        numbers("lhs_dilate", 1),
        numbers("rhs_dilate", 1),
        numbers("rhs_reversal", 0),
        strict=True,
    )
    return tuple(
        WindowDimension(size, stride, pad[0], pad[1], base, window, bool(reversal))
        for size, stride, pad, base, window, reversal in columns
    )


def _pad_pair(text: str) -> tuple[int, int]:
    numbers = text.split("_")
    if len(numbers) != 2:
        raise Malformed(f"expected low_high in the window's pad, found '{text}'")
    return read_int(numbers[0]), read_int(numbers[1])


def write_window(window: Window) -> str:
    dims = window.dimensions
    if not dims:
        return "{}"
    parts = ["size=" + "x".join(str(d.size) for d in dims)]
    if any(d.stride != 1 for d in dims):
        parts.append("stride=" + "x".join(str(d.stride) for d in dims))
    if any(d.pad_low or d.pad_high for d in dims):
        parts.append("pad=" + "x".join(f"{d.pad_low}_{d.pad_high}" for d in dims))
    if any(d.base_dilation != 1 for d in dims):
        parts.append("lhs_dilate=" + "x".join(str(d.base_dilation) for d in dims))
    if any(d.window_dilation != 1 for d in dims):
        parts.append("rhs_dilate=" + "x".join(str(d.window_dilation) for d in dims))
    if any(d.is_reversed for d in dims):
        parts.append("rhs_reversal=" + "x".join(str(int(d.is_reversed)) for d in dims))
    return "{" + " ".join(parts) + "}"


def read_labels(text: str) -> ConvolutionLabels | Verbatim:
    """``b01f_01io->b01f``; labels with unknown dimensions (``?``) stay text."""
    if "?" in text:
        return Verbatim(text)
    match = re.match(r"([0-9bf]+)_([0-9io]+)->([0-9bf]+)\Z", text)
    if match is None:
        raise Malformed(f"expected dimension labels like b01f_01io->b01f, found '{text[:40]}'")
    sides = (_side(match[1], "b", "f"), _side(match[2], "o", "i"), _side(match[3], "b", "f"))
    if len({len(side.spatial) for side in sides}) != 1:
        raise Malformed(f"the three parts of '{text}' must have equally many spatial dimensions")
    return ConvolutionLabels(*sides)


def _side(text: str, first: str, second: str) -> ConvolutionSide:
    rank = len(text) - 2
    wanted = sorted([first, second, *map(str, range(rank))])
    if rank < 0 or rank > 10 or sorted(text) != wanted:
        raise Malformed(f"labels '{text}' are not {first}, {second} and the spatial dimensions")
    spatial = tuple(text.index(str(i)) for i in range(rank))
    return ConvolutionSide(text.index(first), text.index(second), spatial)


def write_labels(labels: ConvolutionLabels) -> str:
    input_text = _side_text(labels.input, "b", "f")
    return (
        f"{input_text}_{_side_text(labels.kernel, 'o', 'i')}->{_side_text(labels.output, 'b', 'f')}"
    )


def _side_text(side: ConvolutionSide, first: str, second: str) -> str:
    places = {side.first: first, side.second: second}
    places.update({place: str(i) for i, place in enumerate(side.spatial)})
    return "".join(places[i] for i in sorted(places))


def read_aliases(text: str) -> tuple[Alias, ...]:
    """``{ {0}: (1, {}, may-alias) }``."""
    inside = _inside_braces(text, "aliases")
    aliases: list[Alias] = []
    position = 0
    while inside[position:].strip():
        match = _ALIAS.match(inside, position)
        if match is None:
            raise Malformed(
                f"expected an alias like {{0}}: (1, {{}}), found '{inside[position:][:40]}'"
            )
        position = match.end()
        output, parameter_index = (
            tuple(map(read_int, _items(match[group] or ""))) for group in (1, 3)
        )
        aliases.append(Alias(output, int(match[2]), parameter_index, match[4] or ""))
    return tuple(aliases)


def read_donors(text: str) -> tuple[Donor, ...]:
    """``{ (0, {1}) }``: a parameter's number and the part of it that may be overwritten."""
    inside = _inside_braces(text, "buffer donors")
    donors: list[Donor] = []
    position = 0
    while inside[position:].strip():
        match = _DONOR.match(inside, position)
        if match is None:
            raise Malformed(f"expected a donor like (0, {{}}), found '{inside[position:][:40]}'")
        position = match.end()
        donors.append(Donor(int(match[1]), tuple(map(read_int, _items(match[2])))))
    return tuple(donors)


def write_donors(donors: tuple[Donor, ...]) -> str:
    parts = [f"({d.parameter}, {write_ints(d.parameter_index)})" for d in donors]
    return "{ " + ", ".join(parts) + " }"


def read_typed_literal(text: str) -> TypedLiteral:
    """``s32[3,1]{1,0} { {2}, {0}, {1} }``."""
    match = _TYPED_LITERAL.match(text)
    shape = parse_array_shape(match[1]) if match else None
    if match is None or not isinstance(shape, ArrayShape):
        raise Malformed(f"expected a shape and its values, found '{text[:40]}'")
    return TypedLiteral(shape, parse_literal(match[2], shape))


def write_typed_literal(value: TypedLiteral) -> str:
    return f"{value.shape} {print_literal(value.literal, value.shape)}"


def read_accuracy(text: str) -> Verbatim:
    """``{mode=highest}`` or ``{tolerance={rtol=0.5, atol=1.0, ulps=2}}``."""
    if _ACCURACY.match(text) is None:
        raise Malformed(f"expected {{mode=...}} or {{tolerance={{...}}}}, found '{text[:40]}'")
    return Verbatim(text)


def write_aliases(aliases: tuple[Alias, ...]) -> str:
    parts = [
        f"{write_ints(a.output_index)}: ({a.parameter}, {write_ints(a.parameter_index)}"
        + (f", {a.kind})" if a.kind else ")")
        for a in aliases
    ]
    return "{ " + ", ".join(parts) + " }"

"""Arguments of functions as text: array shapes, alone or in tuples, lists and dictionaries.

`f32[8,128]`, `(f32[2], s32[])`, `{w: f32[8,4], b: f32[4]}`, `[f32[2], None]`.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from compiler.hlo.errors import Malformed
from compiler.hlo.shape import ArrayShape
from compiler.hlo.text.shapes import parse_shape
from isas.errors import InputError

Tree: TypeAlias = "ArrayShape | tuple[Tree, ...] | list[Tree] | dict[str, Tree] | None"

_TOKEN = re.compile(
    r"\s*(?:(?P<shape>\w+\[[^\]]*\](?:\{[^}]*\})?)|(?P<word>'[^']*'|\"[^\"]*\"|\w+)|(?P<mark>.))"
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_HINT = "write for example 'f32[8,128]', 's32[]' for a number, or '(f32[2], f32[3])' for a pair"


def read_argument(text: str) -> Tree:
    """One argument. Raises InputError for what is neither a static array nor a tree of them."""
    if not text.strip().startswith(tuple(_CLOSING)):
        return read_shape(text)
    tokens = [(m.lastgroup or "", m[m.lastgroup or 0]) for m in _TOKEN.finditer(text.strip())]
    found, rest = _tree(text, tokens)
    if rest:
        raise _fault(text, f"'{rest[0][1]}' stands behind its end")
    return found


def read_shape(text: str) -> ArrayShape:
    """`f32[8,128]` as a static array shape. Raises InputError for anything else."""
    try:
        shape = parse_shape(text.strip())
    except Malformed as error:
        raise InputError(f"'{text}' is not a shape: {error}", where="--args", hint=_HINT) from None
    if not isinstance(shape, ArrayShape) or not shape.is_static or shape.element_type.bits == 0:
        raise InputError(f"'{text}' is not a static array", where="--args", hint=_HINT)
    return shape.with_layout(None)


Tokens: TypeAlias = list[tuple[str, str]]


def _tree(text: str, tokens: Tokens) -> tuple[Tree, Tokens]:
    """The tree that the tokens begin with, and what stands behind it."""
    if not tokens:
        raise _fault(text, "it ends too early")
    (kind, word), rest = tokens[0], tokens[1:]
    if kind == "shape":
        return read_shape(word), rest
    if word == "None":
        return None, rest
    if word not in _CLOSING:
        raise _fault(text, f"'{word}' is no shape")
    return _collection(text, word, rest)


def _collection(text: str, opening: str, tokens: Tokens) -> tuple[Tree, Tokens]:
    """The elements up to the closing bracket, as a tuple, list or dictionary."""
    closing = ("mark", _CLOSING[opening])
    keys: list[str] = []
    elements: list[Tree] = []
    while tokens and tokens[0] != closing:
        if opening == "{":
            key, tokens = _key(text, tokens)
            keys.append(key)
        element, tokens = _tree(text, tokens)
        elements.append(element)
        if tokens and tokens[0] == ("mark", ","):
            tokens = tokens[1:]
        elif tokens and tokens[0] != closing:
            raise _fault(text, f"'{tokens[0][1]}' stands where a comma is expected")
    if not tokens:
        raise _fault(text, f"'{closing[1]}' is missing")
    if opening == "{":
        return dict(zip(keys, elements, strict=True)), tokens[1:]
    return (tuple(elements) if opening == "(" else elements), tokens[1:]


def _key(text: str, tokens: Tokens) -> tuple[str, Tokens]:
    if len(tokens) < 2 or tokens[0][0] != "word" or tokens[1] != ("mark", ":"):
        raise _fault(text, "a name and ':' are expected in braces")
    return tokens[0][1].strip("'\""), tokens[2:]


def _fault(text: str, what: str) -> InputError:
    return InputError(f"'{text}' is not an argument: {what}", where="--args", hint=_HINT)

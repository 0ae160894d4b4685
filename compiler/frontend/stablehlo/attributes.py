"""Reads the attribute values of StableHLO text (`values` says what they become)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from compiler.frontend.stablehlo.dense import parse_dense, parse_resource
from compiler.frontend.stablehlo.source import Source
from compiler.frontend.stablehlo.types import ScalarType, TypeAliases, TypeParser
from compiler.frontend.stablehlo.values import (
    Choice,
    Dense,
    Dictionary,
    ForeignAttribute,
    Labels,
    Record,
    Resource,
    Symbol,
    Typed,
    Value,
)
from compiler.hlo.errors import Malformed
from compiler.hlo.shape import ElementType

_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_SYMBOL = re.compile(r'@([A-Za-z_$.][\w$.\-]*|"(?:[^"\\]|\\.)*")')
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)")
_KEY = re.compile(r'[A-Za-z_][\w$.\-]*|"(?:[^"\\]|\\.)*"')
_ALIAS = re.compile(r"#([A-Za-z_][\w$]*|\d+)(?![\w$.<])")
_DIALECT = re.compile(r"#([A-Za-z_][\w$]*(?:\.[\w$]+)*)")
_WORD = re.compile(r"[A-Za-z_][\w$.]*")
_ARRAY = re.compile(r"array<\s*(\w+)\s*:?")
_ENUM = re.compile(r"\s*(\w+)\s+(\w+)\s*\Z")
_FIELD = re.compile(
    r"\s*(\w+)\s*=\s*(\[[^\[\]]*\]|<[^<>]*>|#[\w.]+<[^<>]*>|[^,\s\[\]<>]+)\s*(?:,|\Z)"
)
_LABELS = re.compile(r"\s*\[([^\]]*)\]\s*x\s*\[([^\]]*)\]\s*->\s*\[([^\]]*)\]\s*\Z")
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def unescaped(text: str) -> str:
    """The characters that a quoted string stands for."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 16)) if len(code) == 2 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(one, text) if "\\" in text else text


class AttributeParser:
    """Reads attribute values. ``resources`` maps resource keys to their hexadecimal text."""

    def __init__(self, source: Source, aliases: TypeAliases) -> None:
        self.source = source
        self.types = TypeParser(source, aliases)
        self.places: dict[str, int] = {}
        self.resources: dict[str, str] = {}
        self._resolving: set[str] = set()

    def parse(self) -> Value:
        """One value: int, float, bool, str, tuple (list or array), dict, a class of this module,
        or a type. Raises HloSyntaxError.
        """
        source = self.source
        source.enter()
        value = self._parse()
        source.leave()
        return value

    def _parse(self) -> Value:
        source = self.source
        reader = self._READERS.get(source.text[source.position : source.position + 1])
        if reader is not None:
            return reader(self)
        if _NUMBER.match(source.text, source.position):
            return self._number()
        return self._word()

    def dictionary(self) -> Dictionary:
        """``{key = value, key}``; a key alone is true."""
        source = self.source
        start = source.position
        source.expect("{", "before the attributes")
        entries = Dictionary()
        while not source.accept("}"):
            if entries:
                source.expect(",", "between attributes")
            at = source.position
            key = unescaped(source.require(_KEY, "an attribute's name")[0].strip('"'))
            if key in entries:
                raise source.error(f"attribute {key} is given twice", at)
            entries[key] = self.parse() if source.accept("=") else True
        entries.text = source.text[start : source.text.rindex("}", start, source.position) + 1]
        return entries

    def labels(self) -> Labels:
        """``[b, 0, f]x[0, i, o]->[b, 0, f]`` up to the third bracket."""
        source = self.source
        sides = []
        for mark in ("x", "->", ""):
            start = source.position
            if not source.peek("["):
                raise source.error(f"expected dimension labels in brackets, found {source.shown()}")
            sides.append(_words(source.balanced()))
            if mark and not source.accept(mark):
                raise source.error(f"expected '{mark}' between dimension labels", start)
        return Labels(*sides)

    def location(self) -> str | None:
        """``loc(...)``: its inside, or None when there is none."""
        source = self.source
        if not source.peek("loc("):
            return None
        source.position += len("loc")
        return source.balanced()

    def _string(self) -> Value:
        source = self.source
        text = unescaped(source.require(_STRING, "a string")[1])
        if source.accept(":"):
            self.types.parse()
        return text

    def symbol(self) -> Symbol:
        source = self.source
        name = source.require(_SYMBOL, "a name such as @main")[1]
        while source.accept("::"):
            name = source.require(_SYMBOL, "a name such as @main")[1]
        return Symbol(unescaped(name[1:-1]) if name.startswith('"') else name)

    def _list(self) -> Value:
        source = self.source
        source.expect("[", "before the list")
        values: list[Value] = []
        while not source.accept("]"):
            if values:
                source.expect(",", "in the list")
            values.append(self.parse())
        return tuple(values)

    def plain(self) -> Value:
        """A value whose type does not follow: a colon after it belongs to the operation."""
        source = self.source
        if _NUMBER.match(source.text, source.position):
            return self._bare_number()[0]
        text = source.match(_STRING)
        return self.parse() if text is None else unescaped(text[1])

    def _number(self) -> Value:
        value, is_hex = self._bare_number()
        if not self.source.accept(":"):
            return value
        kind = self.types.parse()
        return self._typed(value, kind, is_hex) if isinstance(kind, ScalarType) else value

    def _bare_number(self) -> tuple[int | float, bool]:
        """A number, and whether it was hexadecimal."""
        source = self.source
        at = source.position
        text = source.require(_NUMBER, "a number")[0]
        is_hex = "0x" in text
        if len(text) > 40 and not is_hex and "." not in text:
            raise source.error(f"the number {text[:24]}... is too large", at)
        is_float = not is_hex and any(mark in text for mark in ".eE")
        value: int | float = float(text) if is_float else int(text, 16 if is_hex else 10)
        return value, is_hex

    def _typed(self, value: int | float, kind: ScalarType, is_hex: bool) -> Value:
        element = kind.element_type
        if element.is_float:
            if is_hex:
                bits = int(value) & ((1 << (8 * element.size_bytes)) - 1)
                pattern = np.array([bits], dtype=np.uint64).astype(f"u{element.size_bytes}")
                value = float(pattern.view(element.dtype)[0])
            return Typed(float(value), kind)
        if element is ElementType.PRED:
            return bool(value)
        return value

    def _word(self) -> Value:
        source = self.source
        if source.peek("array<"):
            return self._array()
        if source.peek("dense<"):
            return self._dense()
        if source.peek("dense_resource<"):
            return self._resource()
        for foreign in (
            "affine_map<",
            "affine_set<",
            "opaque<",
            "sparse<",
            "strided<",
            "distinct[",
        ):
            if source.peek(foreign):
                return self._foreign()
        if source.peek("loc("):
            return ForeignAttribute(f"loc({self.location()})")
        if self.types.starts():
            return self.types.parse()
        at = source.position
        word = source.require(_WORD, "an attribute's value")[0]
        known = {"true": True, "false": False, "unit": True}
        if word in known:
            value = known[word]
            if source.accept(":"):
                self.types.parse()
            return value
        raise source.error(f"expected an attribute's value, found '{word}'", at)

    def _foreign(self) -> ForeignAttribute:
        source = self.source
        start = source.position
        while not source.peek("<") and not source.peek("["):
            source.position += 1
        source.balanced()
        if source.peek("<"):
            source.balanced()
        if source.accept(":"):
            self.types.parse()
        return ForeignAttribute(source.text[start : source.position].strip())

    def _array(self) -> Value:
        source = self.source
        at = source.position
        kind = source.require(_ARRAY, "array<type: values>")[1]
        end = source.text.find(">", source.position)
        if end < 0:
            raise source.error("this array is never closed", at)
        words = _words(source.text[source.position : end])
        source.position = end
        source.expect(">", "at the end of the array")
        try:
            if kind == "i1":
                return tuple(word in ("true", "1", "-1") for word in words)
            if kind.startswith("i"):
                return tuple(int(word, 0) for word in words)
            return tuple(float(word) for word in words)
        except ValueError:
            raise source.error("expected numbers in the array", at) from None

    def _dense(self) -> Dense:
        source = self.source
        at = source.position
        text = self._dense_text()
        source.expect(":", "and a type after dense<...>")
        kind = self.types.parse()
        try:
            return Dense(parse_dense(text, kind), kind)
        except Malformed as error:
            raise source.error(str(error), at) from None

    def _dense_text(self) -> str:
        """What stands between the brackets of dense<...>."""
        source = self.source
        start = source.position + len("dense<")
        opening = source.text.find('"', start)
        end = source.text.find(">", start)
        if 0 <= opening < end and not source.text[start:opening].strip():
            end = source.text.find(">", source.text.find('"', opening + 1))
        if end < 0:
            raise source.error("this dense<...> is never closed")
        source.position = end
        source.expect(">", "at the end of dense<...>")
        return source.text[start:end]

    def _resource(self) -> Value:
        source = self.source
        at = source.position
        source.position += len("dense_resource")
        key = source.balanced().strip().strip('"')
        source.expect(":", "and a type after dense_resource<...>")
        kind = self.types.parse()
        blob = self.resources.get(key)
        if blob is None:
            return Resource(key, kind)
        try:
            return Dense(parse_resource(blob, kind), kind)
        except Malformed as error:
            raise source.error(f"resource {key}: {error}", at) from None

    def _hash(self) -> Value:
        """An alias, ``#dialect.kind<...>`` or ``#dialect<kind ...>``."""
        source = self.source
        start = source.position
        alias = source.match(_ALIAS)
        if alias is not None:
            return self._resolved(alias[1], start)
        name = source.require(_DIALECT, "an attribute such as #stablehlo<precision DEFAULT>")[1]
        inside = source.balanced() if source.peek("<") else ""
        value = _dialect_value(name, inside)
        if value is None:
            return ForeignAttribute(source.text[start : source.position].strip())
        return value

    def _resolved(self, name: str, at: int) -> Value:
        source = self.source
        place = self.places.get(name)
        if place is None:
            raise source.error(f"#{name} is not defined", at)
        if name in self._resolving:
            raise source.error(f"#{name} is defined by itself", at)
        self._resolving.add(name)
        back, source.position = source.position, place
        value = self.parse()
        source.position = back
        self._resolving.discard(name)
        return value

    _READERS: ClassVar[dict[str, Callable[[AttributeParser], Value]]] = {
        '"': _string,
        "@": symbol,
        "[": _list,
        "{": dictionary,
        "#": _hash,
        "(": lambda self: self.types.parse(),
        "!": lambda self: self.types.parse(),
    }


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _dialect_value(name: str, inside: str) -> Value | None:
    """A dialect attribute's value, or None when it is not understood."""
    dialect, _, kind = name.partition(".")
    if dialect not in ("stablehlo", "chlo", "mhlo"):
        return None
    if not kind:
        match = _ENUM.match(inside)
        return Choice(match[1], match[2]) if match else None
    if kind == "conv":
        labels = _LABELS.match(inside)
        if labels is not None:
            return Labels(*(_words(labels[i]) for i in (1, 2, 3)))
        inside = inside.strip().removeprefix("raw")
    fields = record_fields(inside)
    if fields is not None:
        return Record(kind, fields)
    return Choice(kind, inside.strip()) if re.fullmatch(r"\s*\w+\s*", inside) else None


def record_fields(text: str) -> dict[str, Any] | None:
    """``key = value, key = [values]`` as a dictionary, or None when it is not of that form."""
    fields: dict[str, Any] = {}
    position = 0
    while text[position:].strip():
        match = _FIELD.match(text, position)
        if match is None:
            return None
        position = match.end()
        fields[match[1]] = _field_value(match[2])
    return fields


def _field_value(text: str) -> Any:
    if text.startswith("["):
        return tuple(_field_value(word) for word in _words(text[1:-1]))
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text

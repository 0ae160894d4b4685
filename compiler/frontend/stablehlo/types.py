"""The types that StableHLO text writes, and the HLO shapes they stand for.

The grammar is MLIR's builtin types (mlir.llvm.org/docs/Dialects/Builtin) with the tuple, token and
quantised types of the StableHLO specification (openxla.org/stablehlo/spec, "Types").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.frontend.stablehlo.source import Source
from compiler.hlo.infer.base import array
from compiler.hlo.shape import (
    ELEMENT_TYPES,
    UNBOUNDED,
    ArrayShape,
    ElementType,
    Shape,
    TokenShape,
    TupleShape,
)

_DIMENSION = re.compile(r"(\?|\d{1,18})\s*x\s*")
_PLAIN = re.compile(r"tensor<(?:[\d?]+x)*[a-z][a-zA-Z0-9]*>")
_WORD = re.compile(r"[A-Za-z_][\w$]*")
_DIALECT_TYPE = re.compile(r"!([A-Za-z_][\w$.]*)")
_INTEGER = re.compile(r"(s|u)?i(\d{1,4})\Z")
_BOUNDS = re.compile(
    r"#stablehlo\.(?:bounds<([^<>]*)>|type_extensions<\s*bounds\s*=\s*\[([^\]]*)\]\s*>)"
)
_ENCODING = re.compile(r"#[\w$.]+(?:<)?")
_NUMBER = r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?"
_WHOLE = r"[-+]?\d{1,10}"
_QUANTIZED = re.compile(
    rf"\s*([siu]+\d+)\s*(?:<\s*({_WHOLE})\s*:\s*({_WHOLE})\s*>)?\s*:\s*(\w+)\s*(?::\s*(\d+)\s*)?,"
    rf"\s*(?:(\{{[^{{}}]*\}})|({_NUMBER})\s*(?::\s*({_WHOLE}))?)\s*\Z"
)
_SCALE = re.compile(rf"\s*({_NUMBER})\s*(?::\s*({_WHOLE}))?\s*\Z")


@dataclass(frozen=True, slots=True)
class QuantizedType:
    """``!quant.uniform<i8:f32:1, {0.5:3, 2.0:0}>``: integers that stand for (q - zero) * scale.

    One scale and zero point for the whole tensor, or one per index along ``axis``. Stored values
    lie from ``low`` to ``high``.
    """

    storage: ElementType
    expressed: ElementType
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    low: int
    high: int
    axis: int | None = None


@dataclass(frozen=True, slots=True)
class TensorType:
    """A ranked tensor: its array shape, and how its elements are quantised if they are."""

    shape: ArrayShape
    quantized: QuantizedType | None = None

    def __str__(self) -> str:
        return str(self.shape)


@dataclass(frozen=True, slots=True)
class TupleType:
    elements: tuple[MlirType, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


@dataclass(frozen=True, slots=True)
class TokenType:
    def __str__(self) -> str:
        return "token"


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A plain element type, as attributes have it: ``i64``."""

    element_type: ElementType

    def __str__(self) -> str:
        return str(self.element_type)


@dataclass(frozen=True, slots=True)
class FunctionType:
    inputs: tuple[MlirType, ...]
    results: tuple[MlirType, ...]


@dataclass(frozen=True, slots=True)
class ForeignType:
    """A type that is read over; a value of it cannot be lowered. ``text`` is its spelling."""

    text: str

    def __str__(self) -> str:
        return self.text


MlirType: TypeAlias = "TensorType | TupleType | TokenType | ScalarType | FunctionType | ForeignType"


@dataclass(slots=True)
class TypeAliases:
    """``!name = type`` definitions by name."""

    types: dict[str, MlirType] = field(default_factory=dict)


def shape_of(kind: MlirType) -> Shape | None:
    """The HLO shape of a value of this type, or None when HLO has none."""
    if isinstance(kind, TensorType):
        return kind.shape
    if isinstance(kind, TokenType):
        return TokenShape()
    if isinstance(kind, ScalarType):
        return array(kind.element_type, ())
    if isinstance(kind, TupleType):
        shapes = [shape_of(element) for element in kind.elements]
        return TupleShape(tuple(s for s in shapes if s is not None)) if None not in shapes else None
    return None


def element_type(name: str) -> ElementType | None:
    """The element type of an MLIR name (``i1``, ``ui8``, ``f8E4M3FN``), or None."""
    match = _INTEGER.match(name)
    if match is not None:
        if match[2] == "1" and not match[1]:
            return ElementType.PRED
        return ELEMENT_TYPES.get(("u" if match[1] == "u" else "s") + match[2])
    if name == "index":
        return ElementType.S64
    found = ELEMENT_TYPES.get(name.lower())
    return found if found is not None and found.is_float else None


class TypeParser:
    """Reads types from a source."""

    def __init__(self, source: Source, aliases: TypeAliases) -> None:
        self.source = source
        self.aliases = aliases
        self._plain: dict[str, MlirType] = {}

    def starts(self) -> bool:
        """True when a type, and nothing else, can begin here."""
        source = self.source
        if source.peek("!"):
            return True
        match = _WORD.match(source.text, source.position)
        if match is None:
            return False
        opens = source.text[match.end() : match.end() + 1] == "<"
        compound = match[0] in ("tensor", "tuple", "complex", "vector", "memref")
        return (compound and opens) or element_type(match[0]) is not None or match[0] == "none"

    def parse(self) -> MlirType:
        source = self.source
        plain = _PLAIN.match(source.text, source.position)
        if plain is not None:
            return self._remembered(plain[0])
        source.enter()
        kind = self._parse()
        source.leave()
        return kind

    def _remembered(self, text: str) -> MlirType:
        """A tensor type without inner brackets, parsed once for each spelling."""
        source = self.source
        known = self._plain.get(text)
        if known is None:
            known = self._plain[text] = self._parse()
            return known
        source.position += len(text)
        source.skip()
        return known

    def _parse(self) -> MlirType:
        source = self.source
        if source.peek("("):
            return self._function()
        if source.peek("!"):
            return self._dialect()
        start = source.position
        word = source.require(_WORD, "a type")[0]
        if word == "tensor":
            return self._tensor(start)
        if word == "tuple":
            return self._tuple()
        if word == "complex":
            return self._complex()
        found = element_type(word)
        if found is not None:
            return ScalarType(found)
        if source.peek("<"):
            source.balanced()
            return ForeignType(source.text[start : source.position].strip())
        if word == "none" or _INTEGER.match(word) or re.match(r"t?f\d", word):
            return ForeignType(word)
        raise source.error(f"expected a type, found '{word}'", start)

    def list_in_parentheses(self) -> tuple[MlirType, ...]:
        """``(type, type)``."""
        source = self.source
        source.expect("(", "before the types")
        types: list[MlirType] = []
        while not source.accept(")"):
            if types:
                source.expect(",", "between types")
            types.append(self.parse())
        return tuple(types)

    def results(self) -> tuple[MlirType, ...]:
        """What follows an arrow: one type, or several in parentheses."""
        if self.source.peek("("):
            return self.list_in_parentheses()
        return (self.parse(),)

    def _function(self) -> FunctionType:
        inputs = self.list_in_parentheses()
        self.source.expect("->", "in a function type")
        return FunctionType(inputs, self.results())

    def _tuple(self) -> MlirType:
        """``<type, type>``: a tuple, or what an asynchronous operation will yield."""
        source = self.source
        source.expect("<", "before the element types")
        elements: list[MlirType] = []
        while not source.accept(">"):
            if elements:
                source.expect(",", "between tuple elements")
            elements.append(self.parse())
        return TupleType(tuple(elements))

    def _complex(self) -> MlirType:
        source = self.source
        source.expect("<", "after 'complex'")
        start = source.position
        part = self.parse()
        source.expect(">", "after the complex component")
        kinds = {ElementType.F32: ElementType.C64, ElementType.F64: ElementType.C128}
        kind = kinds.get(part.element_type) if isinstance(part, ScalarType) else None
        if kind is None:
            raise source.error(f"complex components are f32 or f64, not {part}", start)
        return ScalarType(kind)

    def _dialect(self) -> MlirType:
        source = self.source
        start = source.position
        name = source.require(_DIALECT_TYPE, "a type")[1]
        if name in ("stablehlo.token", "mhlo.token", "chlo.token"):
            return TokenType()
        if name == "stablehlo.future":
            return self._tuple()
        if name == "quant.uniform":
            raise source.error("a quantised type stands only inside a tensor", start)
        if source.peek("<"):
            source.balanced()
        elif name in self.aliases.types:
            return self.aliases.types[name]
        return ForeignType(source.text[start : source.position].strip())

    def _tensor(self, start: int) -> MlirType:
        source = self.source
        source.expect("<", "after 'tensor'")
        if source.peek("*"):
            source.position = source.text.index("<", start)
            source.balanced()
            return ForeignType(source.text[start : source.position].strip())
        extents: list[int] = []
        while (match := source.match(_DIMENSION)) is not None:
            extents.append(UNBOUNDED if match[1] == "?" else int(match[1]))
        if source.peek("!quant.uniform<"):
            kind, quantized = self._quantized()
        else:
            kind, quantized = self._element(start), None
        bounds = self._encoding(len(extents)) if source.accept(",") else None
        source.expect(">", "at the end of the tensor type")
        if kind is None:
            return ForeignType(source.text[start : source.position].strip())
        dynamic = tuple(extent == UNBOUNDED for extent in extents)
        if bounds is not None:
            pairs = zip(extents, bounds, strict=True)
            extents = [b if e == UNBOUNDED and b is not None else e for e, b in pairs]
        shape = array(kind, extents, dynamic)
        return TensorType(shape, quantized)

    def _element(self, start: int) -> ElementType | None:
        source = self.source
        kind = self.parse()
        if isinstance(kind, ScalarType):
            return kind.element_type
        if isinstance(kind, ForeignType):
            return None
        raise source.error(f"{kind} cannot be the element type of a tensor", start)

    def _encoding(self, rank: int) -> list[int | None] | None:
        """The bounds that an encoding gives, None for one that says something else."""
        source = self.source
        start = source.position
        match = source.match(_BOUNDS)
        if match is None:
            found = source.require(_ENCODING, "an encoding such as #stablehlo.bounds<3, ?>")
            if found[0].endswith("<"):
                source.position = start + len(found[0]) - 1
                source.balanced()
            return None
        words = [word.strip() for word in (match[1] or match[2] or "").split(",") if word.strip()]
        numeric = all(word == "?" or (word.isdigit() and len(word) < 19) for word in words)
        if not numeric or len(words) != rank:
            raise source.error(f"expected {rank} bounds, each a number or '?'", start)
        return [None if word == "?" else int(word) for word in words]

    def _quantized(self) -> tuple[ElementType | None, QuantizedType | None]:
        source = self.source
        start = source.position
        source.require(_DIALECT_TYPE, "a quantised type")
        text = source.balanced()
        match = _QUANTIZED.match(text)
        if match is None:
            return None, None
        storage, expressed = element_type(_storage(match[1])), element_type(match[4])
        if storage is None or expressed is None or not expressed.is_float:
            raise source.error(f"'{text.strip()[:40]}' is no quantised type", start)
        scales, zeros = _scales(match[6], match[7], match[8])
        if not scales:
            raise source.error("a quantised type needs a scale", start)
        low, high = _limits(storage, match[2], match[3])
        axis = None if match[5] is None else int(match[5])
        return storage, QuantizedType(storage, expressed, scales, zeros, low, high, axis)


def _storage(name: str) -> str:
    """``u8`` of quantised types as ``ui8``."""
    return f"ui{name[1:]}" if re.match(r"u\d", name) else name


def _scales(
    listed: str | None, scale: str | None, zero: str | None
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    if listed is None:
        return (float(scale or 1),), (int(zero or 0),)
    matches = [_SCALE.match(part) for part in listed[1:-1].split(",")]
    if not all(matches):
        return (), ()
    pairs = [(float(m[1]), int(m[2] or 0)) for m in matches if m is not None]
    return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def _limits(storage: ElementType, low: str | None, high: str | None) -> tuple[int, int]:
    if low is not None and high is not None:
        return int(low), int(high)
    if storage.is_signed:
        return -(1 << (storage.bits - 1)), (1 << (storage.bits - 1)) - 1
    return 0, (1 << storage.bits) - 1

"""The pretty forms of StableHLO, CHLO, check and func operations.

Most share one grammar: operands, enumeration words and ``key = value`` pairs between commas, then
attributes, then types. The others (reduce, while, convolution, func.func ...) have their own
readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from compiler.frontend.stablehlo.attributes import record_fields
from compiler.frontend.stablehlo.forms import (
    parse_convolution,
    parse_reduce,
    parse_scan,
    parse_while,
)
from compiler.frontend.stablehlo.functions import parse_function, parse_module
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.parser import Parser
from compiler.frontend.stablehlo.values import Dense, Record

_KEY = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_BARE = re.compile(r"[A-Z_]+\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_FORMAT = re.compile(r"e(\d{1,4})m(\d{1,4})\b")
_RANGE = re.compile(r"\s*(-?\d+)\s*:\s*(-?\d+)\s*(?::\s*(-?\d+))?\s*\Z")
_INDEX = re.compile(r"\[\s*(\d{1,6})\s*\]")

SHORT_NAMES = {"return": "func.return", "call": "func.call", "module": "builtin.module"}
"""Operations of the func and builtin dialects are written without their dialect."""

_KEYS: dict[tuple[str, str], str] = {
    ("broadcast_in_dim", "dims"): "broadcast_dimensions",
    ("dynamic_broadcast_in_dim", "dims"): "broadcast_dimensions",
    ("reverse", "dims"): "dimensions",
    ("transpose", "dims"): "permutation",
    ("broadcast", "sizes"): "broadcast_sizes",
    ("dynamic_slice", "sizes"): "slice_sizes",
    ("concatenate", "dim"): "dimension",
    ("get_dimension_size", "dim"): "dimension",
    ("set_dimension_size", "dim"): "dimension",
    ("iota", "dim"): "iota_dimension",
    ("dynamic_iota", "dim"): "iota_dimension",
    ("pad", "low"): "edge_padding_low",
    ("pad", "high"): "edge_padding_high",
    ("pad", "interior"): "interior_padding",
    ("fft", "type"): "fft_type",
    ("fft", "length"): "fft_length",
    ("rng", "distribution"): "rng_distribution",
    ("rng_bit_generator", "algorithm"): "rng_algorithm",
    ("einsum", "config"): "einsum_config",
    ("unary_einsum", "config"): "einsum_config",
    ("dot", "precision"): "precision_config",
    ("dot_general", "precision"): "precision_config",
}
"""(operation, key of the pretty form) to the attribute's generic name."""

_PAIRWISE = frozenset({"stablehlo.optimization_barrier", "mhlo.optimization_barrier"})
_SILENT = frozenset(
    {"func.return", "stablehlo.return", "stablehlo.trace", "chlo.return", "mhlo.return"}
)


def parse_pretty(parser: Parser, operation: Operation) -> Operation:
    """The rest of an operation whose bare name was just read."""
    operation.name = SHORT_NAMES.get(operation.name, operation.name)
    if operation.dialect == "sdy" and operation.mnemonic in ("mesh",):
        return _read_over(parser, operation)
    reader = _READERS.get(operation.name) or _READERS.get(_as_stablehlo(operation.name))
    if reader is not None:
        reader(parser, operation)
        return operation
    if "." not in operation.name:
        raise parser.source.error(f"unknown operation '{operation.name}'", operation.at)
    _items(parser, operation)
    return operation


def _as_stablehlo(name: str) -> str:
    """MHLO's forms are those of StableHLO."""
    return name.replace("mhlo.", "stablehlo.", 1) if name.startswith("mhlo.") else name


def _read_over(parser: Parser, operation: Operation) -> Operation:
    """``sdy.mesh @name = <...>``: a definition that changes no value."""
    parser.attributes.symbol()
    parser.source.expect("=", "after the name")
    parser.source.balanced()
    return operation


def _items(parser: Parser, operation: Operation) -> None:
    """Operands, words and pairs; attributes; types."""
    source = parser.source
    has_more = True
    if source.accept("("):
        while not source.accept(")"):
            source.accept(",")
            if not _item(parser, operation):
                raise source.error(f"expected an operand, found {source.shown()}")
        has_more = source.accept(",")
    while has_more and not (
        source.peek(":") or source.peek("{") or source.peek("<{") or source.peek("attributes")
    ):
        has_more = _item(parser, operation) and source.accept(",")
    parser.optional_attributes(operation)
    _types(parser, operation)


def _item(parser: Parser, operation: Operation) -> bool:
    """One operand, pair, word, name, string or constant; False when none comes next."""
    source = parser.source
    if source.peek("%"):
        operation.operands.append(parser.use())
        return True
    if source.peek("@"):
        key = "callee" if operation.name == "func.call" else "call_target_name"
        operation.attributes[key] = parser.attributes.symbol().name
        _arguments(parser, operation)
        return True
    if source.peek('"'):
        operation.attributes["name"] = parser.attributes.plain()
        if source.peek("%"):
            operation.operands.append(parser.use())
        return True
    if source.peek("dense"):
        operation.attributes["value"] = parser.attributes.parse()
        return True
    pair = source.match(_KEY)
    if pair is not None:
        _pair(parser, operation, pair[1])
        return True
    word = source.match(_BARE)
    if word is not None:
        taken = "comparison_direction" in operation.attributes
        operation.attributes["compare_type" if taken else "comparison_direction"] = word[0]
        return True
    return False


def _arguments(parser: Parser, operation: Operation) -> None:
    """``(%a, %b)`` after a callee's name."""
    source = parser.source
    source.expect("(", "before the arguments")
    while not source.accept(")"):
        source.accept(",")
        operation.operands.append(parser.use())


def _pair(parser: Parser, operation: Operation, key: str) -> None:
    source = parser.source
    mnemonic = operation.mnemonic
    if key == "format":
        match = source.require(_FORMAT, "a format such as e8m10")
        operation.attributes.update(exponent_bits=int(match[1]), mantissa_bits=int(match[2]))
        return
    if mnemonic == "dot_general" and key in ("batching_dims", "contracting_dims"):
        _dot_dimensions(parser, operation, key.removesuffix("_dims"))
        return
    name = _KEYS.get((mnemonic, key), key)
    if source.peek("<"):
        operation.attributes[name] = Record(name, record_fields(source.balanced()) or {})
    elif source.peek("["):
        operation.attributes[name] = _bracketed(parser)
    elif _WORD.match(source.text, source.position):
        operation.attributes[name] = _word_or_value(parser)
    else:
        operation.attributes[name] = parser.attributes.plain()


def _word_or_value(parser: Parser) -> object:
    source = parser.source
    word = _WORD.match(source.text, source.position)
    if word is not None and word[0] in ("true", "false"):
        source.require(_WORD, "a truth value")
        return word[0] == "true"
    if word is None or word[0] in ("dense", "array", "unit"):
        return parser.attributes.parse()
    source.require(_WORD, "a word")
    return word[0]


def _bracketed(parser: Parser) -> object:
    """A list of numbers, or of enumeration words."""
    source = parser.source
    start = source.position
    text = source.balanced()
    words = [word.strip() for word in text.split(",") if word.strip()]
    if all(re.fullmatch(r"-?\d{1,18}", word) for word in words):
        return tuple(int(word) for word in words)
    if all(_WORD.fullmatch(word) and word not in ("true", "false") for word in words):
        return tuple(words)
    source.position = start
    return parser.attributes.parse()


def _dot_dimensions(parser: Parser, operation: Operation, kind: str) -> None:
    source = parser.source
    left = parser.attributes.parse()
    source.expect("x", "between the dimensions of both sides")
    right = parser.attributes.parse()
    known = operation.attributes.setdefault("dot_dimension_numbers", Record("dot", {}))
    known.fields[f"lhs_{kind}_dimensions"] = left
    known.fields[f"rhs_{kind}_dimensions"] = right


def _types(parser: Parser, operation: Operation) -> None:
    """The types after the colon, as far as the form has them."""
    source = parser.source
    value = operation.attributes.get("value")
    if not source.peek(":"):
        if isinstance(value, Dense) and operation.dialect != "check":
            operation.result_types = (value.kind,)
        return
    types = parser.type_suffix(operation)
    parser.optional_attributes(operation)
    if operation.operand_types is not None:
        return
    if operation.name in _SILENT or operation.dialect == "check":
        operation.operand_types = types if operation.dialect != "check" else None
    elif operation.name in _PAIRWISE:
        operation.operand_types = operation.result_types = types
    else:
        operation.result_types = types[-1:]


def _constant(parser: Parser, operation: Operation) -> None:
    """``{attributes} value : type``; the type stands once, or once more for other values. Where
    the value's type is not the result's (quantised ones): ``() {value = ...} : () -> type``.
    """
    source = parser.source
    if source.accept("("):
        source.expect(")", "after the operands of a constant")
        parser.optional_attributes(operation)
        parser.type_suffix(operation)
        return
    parser.optional_attributes(operation)
    value = parser.attributes.parse()
    operation.attributes["value"] = value
    kind = getattr(value, "kind", None)
    if source.accept(":"):
        kind = parser.types.parse()
    if kind is None:
        raise source.error("a constant needs a type", operation.at)
    operation.result_types = (kind,)


def _slice(parser: Parser, operation: Operation) -> None:
    """``%a [0:4:2, 1:3] : types``."""
    source = parser.source
    operation.operands.append(parser.use())
    at = source.position
    if not source.peek("["):
        raise source.error(f"expected ranges such as [0:4:2], found {source.shown()}")
    ranges = [part for part in source.balanced().split(",") if part.strip()]
    matches = [_RANGE.match(part) for part in ranges]
    if not all(matches):
        raise source.error("expected ranges such as [0:4:2, 1:3]", at)
    found = [m for m in matches if m is not None]
    operation.attributes.update(
        start_indices=tuple(int(m[1]) for m in found),
        limit_indices=tuple(int(m[2]) for m in found),
        strides=tuple(int(m[3] or 1) for m in found),
    )
    parser.optional_attributes(operation)
    _types(parser, operation)


def _tuple_element(parser: Parser, operation: Operation) -> None:
    """``%tuple[1] : types``."""
    operation.operands.append(parser.use())
    operation.attributes["index"] = int(parser.source.require(_INDEX, "an index such as [0]")[1])
    parser.optional_attributes(operation)
    _types(parser, operation)


def _composite(parser: Parser, operation: Operation) -> None:
    """``"name" %a, %b {attributes} : types``."""
    operation.attributes["name"] = parser.attributes.plain()
    _items(parser, operation)


def _sharding_constraint(parser: Parser, operation: Operation) -> None:
    """``%a <@mesh, [...]> : type``: the value itself."""
    operation.operands.append(parser.use())
    parser.source.balanced()
    _types(parser, operation)


_READERS: dict[str, Callable[[Parser, Operation], None]] = {
    "builtin.module": parse_module,
    "func.func": parse_function,
    "stablehlo.constant": _constant,
    "chlo.constant": _constant,
    "arith.constant": _constant,
    "stablehlo.slice": _slice,
    "stablehlo.get_tuple_element": _tuple_element,
    "stablehlo.composite": _composite,
    "stablehlo.convolution": parse_convolution,
    "stablehlo.dynamic_conv": parse_convolution,
    "stablehlo.reduce": parse_reduce,
    "stablehlo.while": parse_while,
    "chlo.scan": parse_scan,
    "sdy.sharding_constraint": _sharding_constraint,
}

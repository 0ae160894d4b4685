"""How each understood attribute is read from and written as HLO text: one table row per key.

Attributes without a row, and values that a row declares foreign (``dim_labels`` with ``?``), stay
`Verbatim`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from compiler.hlo.attributes import (
    ComparisonDirection,
    ComparisonType,
    FftType,
    FusionKind,
    RandomAlgorithm,
    RandomDistribution,
    TransposeKind,
    Verbatim,
)
from compiler.hlo.errors import Malformed
from compiler.hlo.text import values
from compiler.hlo.text.shapes import parse_shape
from compiler.hlo.text.tokens import without_comments

_PRECISIONS = ("default", "high", "highest", "packed_nibble")
_PRODUCTS = (
    "unset",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_bf16_bf16_f32_x9",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
)
_METADATA_FIELD = re.compile(r'(\w+)=("[^"\\]*(?:\\.[^"\\]*)*"|\{[^{}]*\}|[^\s{}]+)')


@dataclass(frozen=True, slots=True)
class Codec:
    """How one kind of value is read (raises Malformed) and written."""

    read: Callable[[str], Any]
    write: Callable[[Any], str]


def _one_of(text: str, choices: Collection[str]) -> str:
    """The choice that a text spells, letters of either case. Raises Malformed."""
    found = next((choice for choice in choices if choice.lower() == text.lower()), None)
    if found is None:
        raise Malformed(f"expected one of {', '.join(choices)}, found '{text[:40]}'")
    return found


def _enumeration(kind: type[enum.Enum], any_case: bool = False) -> Codec:
    """A closed choice, spelled exactly or with letters of either case."""
    by_text = {str(member.value): member for member in kind}

    def read(text: str) -> Any:
        if any_case:
            text = _one_of(text, by_text)
        elif text not in by_text:
            raise Malformed(f"expected one of {', '.join(by_text)}, found '{text[:40]}'")
        return by_text[text]

    return Codec(read, lambda value: str(value.value))


def _words(*choices: str) -> Codec:
    """One of these words, kept as text."""
    return Codec(lambda text: Verbatim(_one_of(text, choices)), str)


def _read_algorithm(text: str) -> RandomAlgorithm | Verbatim:
    """``rng_philox`` of random bits, or ``dot_bf16_bf16_f32_x3``: how a product is to be made."""
    generators = {str(member.value): member for member in RandomAlgorithm}
    word = _one_of(text, (*generators, *_PRODUCTS))
    return generators.get(word) or Verbatim(word)


def _read_precision(text: str) -> tuple[str, ...]:
    return tuple(_one_of(word, _PRECISIONS) for word in values.read_words(text))


def _read_shape(text: str) -> Verbatim:
    parse_shape(text)
    return Verbatim(text)


INT = Codec(values.read_int, str)
FLOAT = Codec(values.read_float, repr)
BOOL = Codec(values.read_bool, values.write_bool)
STRING = Codec(values.read_string, values.write_string)
NAME = Codec(values.read_name, str)
NAMES = Codec(values.read_names, values.write_names)
INTS = Codec(values.read_ints, values.write_ints)
WORDS = Codec(values.read_words, values.write_list)

CODECS: dict[str, Codec] = {
    **dict.fromkeys(
        (
            "index",
            "iota_dimension",
            "index_vector_dim",
            "channel_id",
            "exponent_bits",
            "mantissa_bits",
            "feature_group_count",
            "batch_group_count",
            "feature_index",
            "k",
            "delta",
            "num_carries",
            "cross_program_prefetch_index",
            "replica_count",
            "num_partitions",
        ),
        INT,
    ),
    **dict.fromkeys(
        (
            "dimensions",
            "lhs_contracting_dims",
            "rhs_contracting_dims",
            "lhs_batch_dims",
            "rhs_batch_dims",
            "lhs_ragged_dims",
            "rhs_group_dims",
            "dynamic_slice_sizes",
            "slice_sizes",
            "offset_dims",
            "collapsed_slice_dims",
            "start_index_map",
            "operand_batching_dims",
            "start_indices_batching_dims",
            "update_window_dims",
            "inserted_window_dims",
            "scatter_dims_to_operand_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
            "fft_length",
            "source_target_pairs",
            "shifts",
        ),
        INTS,
    ),
    **dict.fromkeys(
        (
            "is_stable",
            "unique_indices",
            "indices_are_sorted",
            "lower",
            "left_side",
            "unit_diagonal",
            "is_host_transfer",
            "largest",
            "use_global_device_ids",
            "constrain_layout",
            "is_reverse",
            "is_associative",
            "custom_call_has_side_effect",
            "is_scheduled",
            "is_composite",
        ),
        BOOL,
    ),
    **dict.fromkeys(
        (
            "to_apply",
            "calls",
            "condition",
            "body",
            "select",
            "scatter",
            "true_computation",
            "false_computation",
        ),
        NAME,
    ),
    **dict.fromkeys(("branch_computations", "called_computations", "control-predecessors"), NAMES),
    **dict.fromkeys(
        (
            "custom_call_target",
            "infeed_config",
            "outfeed_config",
            "execution_thread",
            "async_execution_thread",
        ),
        STRING,
    ),
    "epsilon": FLOAT,
    "operand_precision": Codec(_read_precision, values.write_list),
    "direction": _enumeration(ComparisonDirection),
    "type": _enumeration(ComparisonType),
    "kind": _enumeration(FusionKind),
    "fft_type": _enumeration(FftType),
    "algorithm": Codec(_read_algorithm, lambda value: str(getattr(value, "value", value))),
    "distribution": _enumeration(RandomDistribution, any_case=True),
    "transpose_a": _enumeration(TransposeKind),
    "slice": Codec(values.read_slice, values.write_slice),
    "padding": Codec(values.read_padding, values.write_padding),
    "window": Codec(values.read_window, values.write_window),
    "dim_labels": Codec(values.read_labels, values.write_labels),
    "input_output_alias": Codec(values.read_aliases, values.write_aliases),
    "parameter_replication": WORDS,
    **dict.fromkeys(
        ("indices", "multi_shifts"),
        Codec(values.read_typed_literal, values.write_typed_literal),
    ),
    "outfeed_shape": Codec(_read_shape, str),
    "result_accuracy": Codec(values.read_accuracy, str),
    "buffer_donor": Codec(values.read_donors, values.write_donors),
    "api_version": _words(
        "API_VERSION_ORIGINAL",
        "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI",
    ),
    "schedule": _words("SCHEDULE_NONE", "SCHEDULE_EARLIEST", "SCHEDULE_LATEST"),
    "padding_type": _words("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"),
}
"""How the understood attributes are spelled, by key."""


def read_attribute(key: str, text: str) -> Any:
    """The value of an attribute. Raises Malformed."""
    codec = CODECS.get(key)
    if codec is None:
        return Verbatim(text)
    if "/" in text and codec is not STRING:
        text = without_comments(text)
    return codec.read(text.strip())


def write_attribute(key: str, value: Any) -> str:
    """``key=value`` as HLO text."""
    if isinstance(value, Verbatim):
        return f"{key}={value.text}"
    codec = CODECS.get(key)
    return f"{key}={codec.write(value) if codec else value}"


def metadata_field(text: str, key: str) -> str | None:
    """One entry of ``metadata={...}`` without its quotes, or None."""
    for name, value in _METADATA_FIELD.findall(text):
        if name == key:
            return value[1:-1] if value.startswith('"') else str(value)
    return None

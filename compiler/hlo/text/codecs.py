"""How each understood attribute is read from and written as HLO text: one table row per key.

Attributes without a row, and values that a row declares foreign (``dim_labels`` with ``?``), stay
`Verbatim`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
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

_COMMENT = re.compile(r"/\*.*?\*/|//[^\r\n]*", re.DOTALL)
_METADATA_FIELD = re.compile(r'(\w+)=("[^"\\]*(?:\\.[^"\\]*)*"|\{[^{}]*\}|[^\s{}]+)')


@dataclass(frozen=True, slots=True)
class Codec:
    """How one kind of value is read (raises Malformed) and written."""

    read: Callable[[str], Any]
    write: Callable[[Any], str]


def _enumeration(kind: type[enum.Enum], is_open: bool = False) -> Codec:
    """A closed choice; an open one keeps foreign words verbatim."""
    by_text = {str(member.value): member for member in kind}

    def read(text: str) -> Any:
        found = by_text.get(text)
        if found is None and is_open:
            return Verbatim(text)
        if found is None:
            raise Malformed(f"expected one of {', '.join(by_text)}, found '{text[:40]}'")
        return found

    return Codec(read, lambda value: str(value.value))


def _words(*choices: str) -> Codec:
    """One of these words, kept as text."""

    def read(text: str) -> Verbatim:
        if text not in choices:
            raise Malformed(f"expected one of {', '.join(choices)}, found '{text[:40]}'")
        return Verbatim(text)

    return Codec(read, str)


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
    "operand_precision": WORDS,
    "direction": _enumeration(ComparisonDirection),
    "type": _enumeration(ComparisonType, is_open=True),
    "kind": _enumeration(FusionKind, is_open=True),
    "fft_type": _enumeration(FftType),
    "algorithm": _enumeration(RandomAlgorithm, is_open=True),
    "distribution": _enumeration(RandomDistribution),
    "transpose_a": _enumeration(TransposeKind),
    "slice": Codec(values.read_slice, values.write_slice),
    "padding": Codec(values.read_padding, values.write_padding),
    "window": Codec(values.read_window, values.write_window),
    "dim_labels": Codec(values.read_labels, values.write_labels),
    "input_output_alias": Codec(values.read_aliases, values.write_aliases),
    "parameter_replication": WORDS,
    "result_accuracy": Codec(values.read_accuracy, str),
    "buffer_donor": Codec(values.read_donors, str),
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
        text = _COMMENT.sub("", text)
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

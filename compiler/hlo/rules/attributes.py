"""Which attributes each operation takes, and which it cannot do without.

The table follows XLA's parser (openxla/xla, xla/hlo/parser/hlo_parser.cc). A key that no operation
knows is kept and not judged; a known one at an operation that does not take it is a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.hlo.infer.base import check
from compiler.hlo.module import Instruction, Module
from compiler.hlo.opcodes import Opcode, Trait
from compiler.hlo.shape import ArrayShape, ElementType, Shape

ANYWHERE = frozenset(
    {
        "backend_config",
        "control-predecessors",
        "frontend_attributes",
        "origin",
        "parameter_number",
        "parameter_replication",
        "sharding",
        "statistics",
        "wrapped_opcode",
    }
)
"""What every instruction may carry."""


HEADER = frozenset(
    {
        "alias_passthrough_params",
        "allow_spmd_sharding_propagation_to_output",
        "allow_spmd_sharding_propagation_to_parameters",
        "buffer_donor",
        "entry_computation_layout",
        "input_output_alias",
        "is_scheduled",
        "num_partitions",
        "origin_recovery_table",
        "replica_count",
    }
)
"""What only the module's header may carry."""


@dataclass(frozen=True, slots=True)
class Takes:
    """The attributes of one operation: those it needs and those it may have."""

    needs: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()


def _takes(needs: str = "", may: str = "") -> Takes:
    return Takes(frozenset(needs.split()), frozenset(may.split()))


_GROUPS = "replica_groups channel_id"
_GATHER = f"{_GROUPS} constrain_layout use_global_device_ids mode"
_CHANNEL = _takes(may="channel_id is_host_transfer")
_PRODUCT = "lhs_contracting_dims rhs_contracting_dims lhs_batch_dims rhs_batch_dims"
_DOT = f"{_PRODUCT} operand_precision algorithm"
_CONVOLUTION = "window feature_group_count batch_group_count operand_precision"
_NORM = _takes("epsilon feature_index")
_DIMENSIONS = _takes("dimensions")
_THREAD = "calls async_execution_thread output_to_operand_aliasing"

TAKES: dict[Opcode, Takes] = {
    **{o: _takes(may="result_accuracy") for o in Opcode if Trait.TRANSCENDENTAL in o.traits},
    Opcode.ALL_GATHER: _takes("dimensions", _GATHER),
    Opcode.ALL_GATHER_START: _takes("dimensions", _GATHER),
    Opcode.ALL_REDUCE: _takes("to_apply", _GATHER),
    Opcode.ALL_REDUCE_START: _takes("to_apply", _GATHER),
    Opcode.ALL_TO_ALL: _takes("", f"{_GROUPS} dimensions constrain_layout"),
    Opcode.ASYNC_START: _takes("", _THREAD),
    Opcode.ASYNC_UPDATE: _takes("", _THREAD),
    Opcode.ASYNC_DONE: _takes("", _THREAD),
    Opcode.BATCH_NORM_GRAD: _NORM,
    Opcode.BATCH_NORM_INFERENCE: _NORM,
    Opcode.BATCH_NORM_TRAINING: _NORM,
    Opcode.BROADCAST: _takes("", "dimensions"),
    Opcode.CALL: _takes("", "to_apply calls is_composite output_to_operand_aliasing"),
    Opcode.CHOLESKY: _takes("", "lower"),
    Opcode.COLLECTIVE_BROADCAST: _takes("", _GROUPS),
    Opcode.COLLECTIVE_PERMUTE: _takes("source_target_pairs", "channel_id slice_sizes"),
    Opcode.COLLECTIVE_PERMUTE_START: _takes("source_target_pairs", "channel_id slice_sizes"),
    Opcode.COLLECTIVE_REDUCE: _takes("", f"to_apply {_GATHER}"),
    Opcode.COMPARE: _takes("direction", "type"),
    Opcode.CONCATENATE: _DIMENSIONS,
    Opcode.CONDITIONAL: _takes("", "true_computation false_computation branch_computations"),
    Opcode.CONVOLUTION: _takes("dim_labels", f"{_CONVOLUTION} conv_kind algorithm"),
    Opcode.COPY_START: _takes("", "cross_program_prefetch_index is_cross_program_prefetch"),
    Opcode.CUSTOM_CALL: _takes(
        "custom_call_target",
        f"{_CONVOLUTION} dim_labels operand_layout_constraints custom_call_has_side_effect "
        "to_apply calls called_computations output_to_operand_aliasing padding_type literal "
        "schedule api_version",
    ),
    Opcode.DOMAIN: _takes("domain"),
    Opcode.DOT: _takes("", f"{_DOT} sparsity"),
    Opcode.DYNAMIC_SLICE: _takes("dynamic_slice_sizes"),
    Opcode.FFT: _takes("fft_type fft_length"),
    Opcode.FUSION: _takes("kind calls", "output_to_operand_aliasing"),
    Opcode.GATHER: _takes(
        "offset_dims collapsed_slice_dims start_index_map index_vector_dim slice_sizes",
        "indices_are_sorted operand_batching_dims start_indices_batching_dims",
    ),
    Opcode.GET_DIMENSION_SIZE: _DIMENSIONS,
    Opcode.GET_TUPLE_ELEMENT: _takes("index"),
    Opcode.INFEED: _takes("", "infeed_config"),
    Opcode.IOTA: _takes("iota_dimension"),
    Opcode.MAP: _takes("to_apply", "dimensions"),
    Opcode.OUTFEED: _takes("", "outfeed_config outfeed_shape"),
    Opcode.PAD: _takes("padding"),
    Opcode.RAGGED_ALL_TO_ALL: _takes("", f"{_GROUPS} dimensions"),
    Opcode.RAGGED_DOT: _takes("", f"{_DOT} lhs_ragged_dims rhs_group_dims"),
    Opcode.RECV: _CHANNEL,
    Opcode.RECV_DONE: _CHANNEL,
    Opcode.REDUCE: _takes("dimensions to_apply"),
    Opcode.REDUCE_PRECISION: _takes("exponent_bits mantissa_bits"),
    Opcode.REDUCE_SCATTER: _takes("dimensions to_apply", _GATHER),
    Opcode.REDUCE_WINDOW: _takes("to_apply", "window"),
    Opcode.RESHAPE: _takes("", "inferred_dimension"),
    Opcode.REVERSE: _DIMENSIONS,
    Opcode.RNG: _takes("distribution"),
    Opcode.RNG_BIT_GENERATOR: _takes("algorithm"),
    Opcode.RNG_GET_AND_UPDATE_STATE: _takes("delta"),
    Opcode.SCALED_DOT: _takes("", _DOT),
    Opcode.SCAN: _takes("dimensions to_apply num_carries", "is_reverse is_associative"),
    Opcode.SCATTER: _takes(
        "update_window_dims inserted_window_dims scatter_dims_to_operand_dims index_vector_dim "
        "to_apply",
        "indices_are_sorted unique_indices input_batching_dims scatter_indices_batching_dims",
    ),
    Opcode.SELECT_AND_SCATTER: _takes("select scatter", "window"),
    Opcode.SEND: _CHANNEL,
    Opcode.SEND_DONE: _CHANNEL,
    Opcode.SET_DIMENSION_SIZE: _DIMENSIONS,
    Opcode.SHUFFLE: _takes("dimensions mode", "shifts multi_shifts indices"),
    Opcode.SLICE: _takes("slice"),
    Opcode.SORT: _takes("dimensions to_apply", "is_stable"),
    Opcode.TOPK: _takes("k", "largest"),
    Opcode.TRANSPOSE: _DIMENSIONS,
    Opcode.TRIANGULAR_SOLVE: _takes("", "left_side lower unit_diagonal transpose_a"),
    Opcode.WHILE: _takes("condition body"),
}
"""Operations that are not listed take no attributes of their own."""

_NOTHING = Takes()
_KNOWN = HEADER.union(*(takes.needs | takes.may for takes in TAKES.values()))


def check_attributes(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    """Raises InferenceError for an attribute that is missing or out of place."""
    opcode = instruction.opcode
    takes = TAKES.get(opcode, _NOTHING)
    given = instruction.attributes
    for key in sorted(takes.needs):
        check(key in given, f"attribute {key} is missing")
    wrapped = given.get("wrapped_opcode")
    inner = TAKES.get(wrapped, _NOTHING) if isinstance(wrapped, Opcode) else _NOTHING
    for key in given:
        fits = key in takes.may or key in takes.needs or key not in _KNOWN or key in ANYWHERE
        fits = fits or key in inner.may or key in inner.needs
        check(fits, f"{opcode} takes no attribute {key}")
    if opcode is Opcode.CONDITIONAL:
        _check_branches(instruction, shapes)


def stray_in_header(module: Module) -> str:
    """The key of a header's attribute that belongs to operations; empty: none does."""
    strays = ((_KNOWN | ANYWHERE) - HEADER - {"frontend_attributes"}) & module.attributes.keys()
    return min(strays, default="")


def _check_branches(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    """A truth value chooses between two named computations, a number from a list."""
    selector = shapes[0] if shapes else None
    truth = isinstance(selector, ArrayShape) and selector.element_type is ElementType.PRED
    keys = ("true_computation", "false_computation") if truth else ("branch_computations",)
    for key in keys:
        check(key in instruction.attributes, f"attribute {key} is missing")

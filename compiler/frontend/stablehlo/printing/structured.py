"""Writers of operations without regions that have attributes: moves, dot, convolution, gather."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from compiler.frontend.stablehlo.printing.spelling import (
    i64_array,
    i64_matrix,
    ints,
    truth,
    type_name,
)
from compiler.hlo.attributes import (
    ConvolutionLabels,
    ConvolutionSide,
    RandomAlgorithm,
    TransposeKind,
    Window,
)
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, Shape, TupleShape, leaves

if TYPE_CHECKING:
    from compiler.frontend.stablehlo.printing.functions import FunctionPrinter

Writer: TypeAlias = "Callable[[FunctionPrinter, Computation, Instruction], None]"
Attributes: TypeAlias = dict[str, str]


def operands_of(
    p: FunctionPrinter, computation: Computation, instruction: Instruction
) -> list[tuple[str, Shape]]:
    """The operands' names and shapes, tuples as their leaves."""
    from compiler.frontend.stablehlo.printing.functions import flat

    found: list[tuple[str, Shape]] = []
    for operand in instruction.operands:
        shapes = leaves(computation.instruction(operand).shape)
        found += zip(flat(p.tree(operand)), shapes, strict=True)
    return found


def written(name: str, attributes: Callable[[Instruction], Attributes] | None = None) -> Writer:
    """An operation in generic form with attributes made from the instruction."""

    def write(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
        from compiler.frontend.stablehlo.printing.functions import shaped

        entries = attributes(instruction) if attributes is not None else {}
        operands = operands_of(p, computation, instruction)
        names = p.generic(name, instruction, operands, entries)
        p.trees[instruction.name] = shaped(names, instruction.shape)

    return write


def _dimensions(key: str) -> Callable[[Instruction], Attributes]:
    return lambda i: {key: i64_array(i.dimensions)}


def _one_dimension(key: str) -> Callable[[Instruction], Attributes]:
    return lambda i: {key: f"{i.dimensions[0]} : i64"}


def _slice(i: Instruction) -> Attributes:
    limits = i.attributes["slice"]
    return {
        "limit_indices": i64_array([s.limit for s in limits]),
        "start_indices": i64_array([s.start for s in limits]),
        "strides": i64_array([s.stride for s in limits]),
    }


def _pad(i: Instruction) -> Attributes:
    padding = i.attributes["padding"]
    return {
        "edge_padding_high": i64_array([d.high for d in padding]),
        "edge_padding_low": i64_array([d.low for d in padding]),
        "interior_padding": i64_array([d.interior for d in padding]),
    }


def _iota(i: Instruction) -> Attributes:
    return {"iota_dimension": f"{i.attributes['iota_dimension']} : i64"}


def _reduce_precision(i: Instruction) -> Attributes:
    return {k: f"{i.attributes[k]} : i32" for k in ("exponent_bits", "mantissa_bits")}


def _precision(i: Instruction) -> Attributes:
    words = i.attributes.get("operand_precision", ())
    listed = ", ".join(f"#stablehlo<precision {w.upper()}>" for w in words)
    return {"precision_config": f"[{listed}]"} if words else {}


def _dot(i: Instruction) -> Attributes:
    dims = i.dot
    fields = (
        ("lhs_batching_dimensions", dims.lhs_batch),
        ("rhs_batching_dimensions", dims.rhs_batch),
        ("lhs_contracting_dimensions", dims.lhs_contracting),
        ("rhs_contracting_dimensions", dims.rhs_contracting),
    )
    inside = ", ".join(f"{key} = {ints(v)}" for key, v in fields if v)
    return {"dot_dimension_numbers": f"#stablehlo.dot<{inside}>", **_precision(i)}


def _ragged_dot(i: Instruction) -> Attributes:
    dims, get = i.dot, i.attributes.get
    fields = (
        ("lhs_batching_dimensions", dims.lhs_batch),
        ("rhs_batching_dimensions", dims.rhs_batch),
        ("lhs_contracting_dimensions", dims.lhs_contracting),
        ("rhs_contracting_dimensions", dims.rhs_contracting),
        ("lhs_ragged_dimensions", get("lhs_ragged_dims", ())),
        ("rhs_group_dimensions", get("rhs_group_dims", ())),
    )
    inside = ", ".join(f"{key} = {ints(v)}" for key, v in fields)
    return {"ragged_dot_dimension_numbers": f"#chlo.ragged_dot<{inside}>"}


def _convolution(i: Instruction) -> Attributes:
    labels = i.attributes["dim_labels"]
    window: Window = i.attributes.get("window", Window())
    dims = window.dimensions
    get = i.attributes.get
    entries = {
        "batch_group_count": f"{get('batch_group_count', 1)} : i64",
        "dimension_numbers": _labels(labels),
        "feature_group_count": f"{get('feature_group_count', 1)} : i64",
        "lhs_dilation": i64_array([d.base_dilation for d in dims]),
        "padding": i64_matrix([(d.pad_low, d.pad_high) for d in dims]),
        "rhs_dilation": i64_array([d.window_dilation for d in dims]),
        "window_strides": i64_array([d.stride for d in dims]),
        **_precision(i),
    }
    if not dims:
        del entries["padding"]
    if any(d.is_reversed for d in dims):
        listed = ", ".join(truth(d.is_reversed) for d in dims)
        entries["window_reversal"] = f"array<i1: {listed}>"
    return entries


def _labels(labels: ConvolutionLabels) -> str:
    sides = (
        _side(labels.input, "b", "f"),
        _side(labels.kernel, "o", "i"),
        _side(labels.output, "b", "f"),
    )
    return f"#stablehlo.conv<[{sides[0]}]x[{sides[1]}]->[{sides[2]}]>"


def _side(side: ConvolutionSide, first: str, second: str) -> str:
    places = {side.first: first, side.second: second}
    places.update({place: str(n) for n, place in enumerate(side.spatial)})
    return ", ".join(places[n] for n in sorted(places))


def numbers(i: Instruction, keys: dict[str, str]) -> str:
    """Dimension numbers as the fields of an attribute, empty lists left out."""
    fields = [f"{theirs} = {ints(i.attributes.get(ours, ()))}" for ours, theirs in keys.items()
              if i.attributes.get(ours)]  # fmt: skip
    fields.append(f"index_vector_dim = {i.attributes['index_vector_dim']}")
    return ", ".join(fields)


_GATHER = {
    key: key
    for key in (
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    )
}


def _gather(i: Instruction) -> Attributes:
    return {
        "dimension_numbers": f"#stablehlo.gather<{numbers(i, _GATHER)}>",
        "indices_are_sorted": truth(i.attributes.get("indices_are_sorted", False)),
        "slice_sizes": i64_array(i.attributes["slice_sizes"]),
    }


def _fft(i: Instruction) -> Attributes:
    return {
        "fft_length": i64_array(i.attributes["fft_length"]),
        "fft_type": f"#stablehlo<fft_type {i.attributes['fft_type'].value}>",
    }


def _triangular_solve(i: Instruction) -> Attributes:
    get = i.attributes.get
    transpose = get("transpose_a", TransposeKind.NO_TRANSPOSE)
    return {
        "left_side": truth(get("left_side", False)),
        "lower": truth(get("lower", False)),
        "transpose_a": f"#stablehlo<transpose {transpose.value}>",
        "unit_diagonal": truth(get("unit_diagonal", False)),
    }


def _batch_norm(i: Instruction) -> Attributes:
    epsilon = np.float32(i.attributes.get("epsilon", 0.0))
    return {
        "epsilon": f"{epsilon:.8e} : f32",
        "feature_index": f"{i.attributes['feature_index']} : i64",
    }


_ALGORITHMS = {
    RandomAlgorithm.DEFAULT: "DEFAULT",
    RandomAlgorithm.THREE_FRY: "THREE_FRY",
    RandomAlgorithm.PHILOX: "PHILOX",
}


def _rng_bits(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    algorithm = instruction.attributes["algorithm"]
    if algorithm not in _ALGORITHMS or not isinstance(instruction.shape, TupleShape):
        raise p.refused("random bits in this form")
    entries = {"rng_algorithm": f"#stablehlo<rng_algorithm {_ALGORITHMS[algorithm]}>"}
    write = written("stablehlo.rng_bit_generator", lambda i: entries)
    write(p, computation, instruction)


def _rng(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    shape = instruction.array
    extents = p.new_name("shape")
    kind = f"tensor<{shape.rank}xi64>"
    inner = ints(shape.dimensions) if shape.rank else ""
    p.add(f"{extents} = stablehlo.constant dense<{inner}> : {kind}")
    names = ", ".join(p.name(o) for o in instruction.operands)
    kinds = ", ".join(type_name(computation.instruction(o).shape) for o in instruction.operands)
    word = instruction.attributes["distribution"].name
    result = p.new_name(instruction.name)
    p.add(
        f"{result} = stablehlo.rng {names}, {extents}, distribution = {word} : "
        f"({kinds}, {kind}) -> {type_name(shape)}"
    )
    p.trees[instruction.name] = result


def _top_k(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    """CHLO knows the greatest elements only; the least are asked for in MHLO's words."""
    count = f"{instruction.attributes['k']} : i64"
    name, entries = "chlo.top_k", {"k": count}
    if not instruction.attributes.get("largest", True):
        least = f"{{k = {count}, largest = false}}"
        name = "stablehlo.custom_call"
        entries = {"call_target_name": '"mhlo.topk"', "mhlo.attributes": least}
    written(name, lambda i: entries)(p, computation, instruction)


def _opt_barrier(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    written("stablehlo.optimization_barrier")(p, computation, instruction)


def _bitcast(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    """Transposed into memory order, reshaped, and transposed back."""
    source = computation.instruction(instruction.operands[0]).shape
    target = instruction.shape
    if not isinstance(source, ArrayShape) or not isinstance(target, ArrayShape):
        p.trees[instruction.name] = p.tree(instruction.operands[0])
        return
    name = p.name(instruction.operands[0])
    if source.element_type is not target.element_type:
        name, source = _other_type(p, name, source, target)
    order = tuple(reversed(source.minor_to_major))
    name, dimensions = _transposed(p, name, source, source.dimensions, order)
    back = tuple(reversed(target.minor_to_major))
    physical = tuple(target.dimensions[d] for d in back)
    kinds = (ArrayShape(source.element_type, d) for d in (dimensions, physical))
    left, right = (type_name(kind) for kind in kinds)
    if left != right:
        result = p.new_name(instruction.name)
        p.add(f"{result} = stablehlo.reshape {name} : ({left}) -> {right}")
        name = result
    inverse = tuple(int(v) for v in np.argsort(back))
    p.trees[instruction.name] = _transposed(p, name, target, physical, inverse)[0]


def _other_type(
    p: FunctionPrinter, name: str, source: ArrayShape, target: ArrayShape
) -> tuple[str, ArrayShape]:
    """The same bits as another type of the same width."""
    if source.element_type.bits != target.element_type.bits:
        raise p.refused("a bitcast to elements of another width")
    result = p.new_name("bitcast_convert")
    after = source.with_element_type(target.element_type)
    kinds = f"({type_name(source)}) -> {type_name(after)}"
    p.add(f"{result} = stablehlo.bitcast_convert {name} : {kinds}")
    return result, after


def _transposed(
    p: FunctionPrinter,
    name: str,
    shape: ArrayShape,
    dimensions: tuple[int, ...],
    order: tuple[int, ...],
) -> tuple[str, tuple[int, ...]]:
    """A value in another order of dimensions, and its extents then."""
    after = tuple(dimensions[d] for d in order)
    if order == tuple(range(len(order))):
        return name, dimensions
    result = p.new_name("transpose")
    left, right = (type_name(ArrayShape(shape.element_type, d)) for d in (dimensions, after))
    p.add(f"{result} = stablehlo.transpose {name}, dims = {ints(order)} : ({left}) -> {right}")
    return result, after


WRITERS: dict[Opcode, Writer] = {
    Opcode.BROADCAST: written("stablehlo.broadcast_in_dim", _dimensions("broadcast_dimensions")),
    Opcode.RESHAPE: written("stablehlo.reshape"),
    Opcode.TRANSPOSE: written("stablehlo.transpose", _dimensions("permutation")),
    Opcode.REVERSE: written("stablehlo.reverse", _dimensions("dimensions")),
    Opcode.CONCATENATE: written("stablehlo.concatenate", _one_dimension("dimension")),
    Opcode.SLICE: written("stablehlo.slice", _slice),
    Opcode.PAD: written("stablehlo.pad", _pad),
    Opcode.IOTA: written("stablehlo.iota", _iota),
    Opcode.DYNAMIC_SLICE: written(
        "stablehlo.dynamic_slice",
        lambda i: {"slice_sizes": i64_array(i.attributes["dynamic_slice_sizes"])},
    ),
    Opcode.DYNAMIC_UPDATE_SLICE: written("stablehlo.dynamic_update_slice"),
    Opcode.BITCAST_CONVERT: written("stablehlo.bitcast_convert"),
    Opcode.BITCAST: _bitcast,
    Opcode.REDUCE_PRECISION: written("stablehlo.reduce_precision", _reduce_precision),
    Opcode.GET_DIMENSION_SIZE: written("stablehlo.get_dimension_size", _one_dimension("dimension")),
    Opcode.SET_DIMENSION_SIZE: written("stablehlo.set_dimension_size", _one_dimension("dimension")),
    Opcode.DOT: written("stablehlo.dot_general", _dot),
    Opcode.RAGGED_DOT: written("chlo.ragged_dot", _ragged_dot),
    Opcode.CONVOLUTION: written("stablehlo.convolution", _convolution),
    Opcode.GATHER: written("stablehlo.gather", _gather),
    Opcode.FFT: written("stablehlo.fft", _fft),
    Opcode.CHOLESKY: written(
        "stablehlo.cholesky", lambda i: {"lower": truth(i.attributes.get("lower", False))}
    ),
    Opcode.TRIANGULAR_SOLVE: written("stablehlo.triangular_solve", _triangular_solve),
    Opcode.BATCH_NORM_TRAINING: written("stablehlo.batch_norm_training", _batch_norm),
    Opcode.BATCH_NORM_INFERENCE: written("stablehlo.batch_norm_inference", _batch_norm),
    Opcode.BATCH_NORM_GRAD: written("stablehlo.batch_norm_grad", _batch_norm),
    Opcode.RNG: _rng,
    Opcode.RNG_BIT_GENERATOR: _rng_bits,
    Opcode.TOPK: _top_k,
    Opcode.OPT_BARRIER: _opt_barrier,
}

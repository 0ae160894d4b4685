"""The table from opcode to inference rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from compiler.hlo.attributes import Attributes
from compiler.hlo.infer import control, elementwise, linear, shuffle, structured
from compiler.hlo.infer.base import CannotInfer, InferenceError, Request
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import Shape

if TYPE_CHECKING:
    from compiler.hlo.module import Computation

Rule = Callable[[Request], Shape]

_DECLARED = (Opcode.CONVERT, Opcode.STOCHASTIC_CONVERT)
"""Elementwise, but the result's type is the instruction's own choice."""

_BY_ARITY: dict[int | None, Rule] = {1: elementwise.unary, 2: elementwise.binary}

_ELEMENTWISE: dict[Opcode, Rule] = {
    opcode: _BY_ARITY[opcode.arity]
    for opcode in Opcode
    if opcode.is_elementwise and opcode.arity in _BY_ARITY and opcode not in _DECLARED
}

_RULES: dict[Opcode, Rule] = {
    **_ELEMENTWISE,
    Opcode.COPY: elementwise.same_as_first,
    Opcode.OPT_BARRIER: elementwise.same_as_first,
    Opcode.DOMAIN: elementwise.same_as_first,
    Opcode.ADD_DEPENDENCY: elementwise.same_as_first,
    Opcode.ALL_REDUCE_DONE: elementwise.same_as_first,
    Opcode.ALL_REDUCE: control.operands,
    Opcode.ALL_REDUCE_START: control.operands,
    Opcode.COLLECTIVE_BROADCAST: control.operands,
    Opcode.REDUCE_PRECISION: elementwise.reduce_precision,
    Opcode.SELECT: elementwise.select,
    Opcode.CLAMP: elementwise.clamp,
    Opcode.MAP: elementwise.mapped,
    Opcode.TRANSPOSE: elementwise.transpose,
    Opcode.REVERSE: elementwise.reverse,
    Opcode.SHUFFLE: shuffle.shuffle,
    Opcode.SLICE: elementwise.slice_,
    Opcode.CONCATENATE: elementwise.concatenate,
    Opcode.PAD: elementwise.pad,
    Opcode.DYNAMIC_SLICE: elementwise.dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: elementwise.dynamic_update_slice,
    Opcode.DOT: structured.dot,
    Opcode.CONVOLUTION: structured.convolution,
    Opcode.REDUCE: structured.reduce,
    Opcode.REDUCE_WINDOW: structured.reduce_window,
    Opcode.SELECT_AND_SCATTER: structured.select_and_scatter,
    Opcode.GATHER: structured.gather,
    Opcode.SCATTER: structured.scatter,
    Opcode.SORT: structured.sort,
    Opcode.TOPK: structured.topk,
    Opcode.FFT: linear.fft,
    Opcode.CHOLESKY: linear.cholesky,
    Opcode.TRIANGULAR_SOLVE: linear.triangular_solve,
    Opcode.BATCH_NORM_TRAINING: structured.batch_norm,
    Opcode.BATCH_NORM_INFERENCE: structured.batch_norm,
    Opcode.BATCH_NORM_GRAD: structured.batch_norm,
    Opcode.SET_DIMENSION_SIZE: structured.set_dimension_size,
    Opcode.GET_DIMENSION_SIZE: structured.get_dimension_size,
    Opcode.TUPLE: control.tuple_,
    Opcode.GET_TUPLE_ELEMENT: control.get_tuple_element,
    Opcode.AFTER_ALL: control.token,
    Opcode.SEND_DONE: control.token,
    Opcode.OUTFEED: control.token,
    Opcode.PARTITION_ID: control.u32,
    Opcode.REPLICA_ID: control.u32,
    Opcode.CALL: control.call,
    Opcode.FUSION: control.call,
    Opcode.WHILE: control.while_,
    Opcode.CONDITIONAL: control.conditional,
    Opcode.COPY_START: control.copy_start,
    Opcode.COPY_DONE: cast(Rule, control.element(0)),
    Opcode.SEND: control.send,
    Opcode.RECV_DONE: control.recv_done,
}


def can_infer(opcode: Opcode) -> bool:
    """True when the result shape follows from operands and attributes."""
    return opcode in _RULES


def infer_shape(
    opcode: Opcode,
    shapes: Sequence[Shape],
    attributes: Attributes,
    computations: Mapping[str, Computation],
) -> Shape:
    """The shape that an operation yields, in the default layout.

    ``computations`` holds the called ones by name. Raises InferenceError with the broken rule, and
    CannotInfer when the shape has to be written.
    """
    if opcode.arity is not None and len(shapes) != opcode.arity:
        raise InferenceError(f"needs {opcode.arity} operands, has {len(shapes)}")
    rule = _RULES.get(opcode)
    if rule is None:
        raise CannotInfer("it does not follow from the operands")
    return rule(Request(opcode, shapes, attributes, computations))

"""Activation functions and their gradients."""

from __future__ import annotations

import math

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.dtypes import Number
from compiler.frontend.torch.pointwise import GT, LE, LT, Rule
from compiler.hlo.attributes import ComparisonDirection
from compiler.hlo.opcodes import Opcode

_GE = ComparisonDirection.GE
_TANH_SCALE, _TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715


def _logistic(b: Builder, x: Value) -> Value:
    return b.emit(Opcode.LOGISTIC, x)


def relu(b: Builder, x: Value) -> Value:
    return b.binary(Opcode.MAXIMUM, x, 0)


def threshold_backward(b: Builder, grad: Value, x: Value, threshold: Number) -> Value:
    return b.select(b.compare(LE, x, threshold), 0, grad, grad.kind)


def gelu(b: Builder, x: Value, *, approximate: str = "none") -> Value:
    return b.multiply(x, _gelu_weight(b, x, approximate))


def _gelu_weight(b: Builder, x: Value, approximate: str) -> Value:
    """The normal distribution function of x, or its approximation by tanh."""
    if approximate == "tanh":
        return b.multiply(0.5, b.add(1, b.emit(Opcode.TANH, _gelu_inner(b, x))))
    return b.multiply(0.5, b.add(1, b.emit(Opcode.ERF, b.multiply(x, math.sqrt(0.5)))))


def _gelu_inner(b: Builder, x: Value) -> Value:
    cube = b.multiply(b.multiply(x, x), x)
    return b.multiply(_TANH_SCALE, b.add(x, b.multiply(_TANH_CUBIC, cube)))


def gelu_backward(b: Builder, grad: Value, x: Value, *, approximate: str = "none") -> Value:
    square = b.multiply(x, x)
    weight = _gelu_weight(b, x, approximate)
    if approximate == "tanh":
        tanh = b.emit(Opcode.TANH, _gelu_inner(b, x))
        inner = b.multiply(_TANH_SCALE, b.add(1, b.multiply(3 * _TANH_CUBIC, square)))
        steep = b.multiply(0.5, b.multiply(b.subtract(1, b.multiply(tanh, tanh)), inner))
    else:
        density = b.emit(Opcode.EXP, b.multiply(square, -0.5))
        steep = b.multiply(density, 1 / math.sqrt(2 * math.pi))
    return b.multiply(grad, b.add(weight, b.multiply(x, steep)))


def silu(b: Builder, x: Value) -> Value:
    return b.multiply(x, _logistic(b, x))


def silu_backward(b: Builder, grad: Value, x: Value) -> Value:
    gate = _logistic(b, x)
    slope = b.add(1, b.multiply(x, b.subtract(1, gate)))
    return b.multiply(grad, b.multiply(gate, slope))


def sigmoid_backward(b: Builder, grad: Value, output: Value) -> Value:
    return b.multiply(grad, b.multiply(output, b.subtract(1, output)))


def tanh_backward(b: Builder, grad: Value, output: Value) -> Value:
    return b.multiply(grad, b.subtract(1, b.multiply(output, output)))


def hardtanh(b: Builder, x: Value, min_val: Number = -1, max_val: Number = 1) -> Value:
    return b.binary(Opcode.MINIMUM, b.binary(Opcode.MAXIMUM, x, min_val), max_val)


def hardtanh_backward(b: Builder, grad: Value, x: Value, min_val: Number, max_val: Number) -> Value:
    outside = b.emit(Opcode.OR, b.compare(LE, x, min_val), b.compare(_GE, x, max_val))
    return b.select(outside, 0, grad, grad.kind)


def leaky_relu(b: Builder, x: Value, negative_slope: Number = 0.01) -> Value:
    return b.select(b.compare(GT, x, 0), x, b.multiply(x, negative_slope), x.kind)


def leaky_relu_backward(
    b: Builder, grad: Value, x: Value, negative_slope: Number, _from_result: bool
) -> Value:
    return b.select(b.compare(GT, x, 0), grad, b.multiply(grad, negative_slope), grad.kind)


def elu(
    b: Builder, x: Value, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1
) -> Value:
    below = b.multiply(b.emit(Opcode.EXPM1, b.multiply(x, input_scale)), alpha * scale)
    return b.select(b.compare(GT, x, 0), b.multiply(x, scale), below, x.kind)


def elu_backward(
    b: Builder,
    grad: Value,
    alpha: Number,
    scale: Number,
    input_scale: Number,
    is_result: bool,
    x: Value,
) -> Value:
    if is_result:
        slope = b.multiply(b.add(x, alpha * scale), input_scale)
    else:
        factor = alpha * scale * input_scale
        slope = b.multiply(b.emit(Opcode.EXP, b.multiply(x, input_scale)), factor)
    below = b.multiply(grad, slope)
    return b.select(b.compare(LE, x, 0), below, b.multiply(grad, scale), grad.kind)


def softplus(b: Builder, x: Value, beta: Number = 1, threshold: Number = 20) -> Value:
    scaled = b.multiply(x, beta)
    soft = b.divide(b.emit(Opcode.LOG1P, b.emit(Opcode.EXP, scaled)), beta)
    return b.select(b.compare(GT, scaled, threshold), x, soft, x.kind)


def softplus_backward(b: Builder, grad: Value, x: Value, beta: Number, threshold: Number) -> Value:
    scaled = b.multiply(x, beta)
    soft = b.multiply(grad, _logistic(b, scaled))
    return b.select(b.compare(GT, scaled, threshold), grad, soft, grad.kind)


def hardsigmoid(b: Builder, x: Value) -> Value:
    return b.divide(hardtanh(b, b.add(x, 3), 0, 6), 6)


def hardswish(b: Builder, x: Value) -> Value:
    return b.multiply(x, hardsigmoid(b, x))


def shrink_backward(b: Builder, grad: Value, x: Value, lambd: Number = 0.5) -> Value:
    return b.select(b.compare(LE, b.emit(Opcode.ABS, x), lambd), 0, grad, grad.kind)


def mish(b: Builder, x: Value) -> Value:
    return b.multiply(x, b.emit(Opcode.TANH, softplus(b, x)))


def prelu(b: Builder, x: Value, weight: Value) -> Value:
    return b.select(b.compare(LT, x, 0), b.multiply(x, weight), x, x.kind)


TABLE: dict[str, Rule] = {
    "aten.relu": relu, "aten.threshold_backward": threshold_backward,
    "aten.gelu": gelu, "aten.gelu_backward": gelu_backward,
    "aten.silu": silu, "aten.silu_backward": silu_backward,
    "aten.sigmoid_backward": sigmoid_backward, "aten.tanh_backward": tanh_backward,
    "aten.hardtanh": hardtanh, "aten.hardtanh_backward": hardtanh_backward,
    "aten.relu6": lambda b, x: hardtanh(b, x, 0, 6),
    "aten.leaky_relu": leaky_relu, "aten.leaky_relu_backward": leaky_relu_backward,
    "aten.elu": elu, "aten.elu_backward": elu_backward,
    "aten.softplus": softplus, "aten.softplus_backward": softplus_backward,
    "aten.hardsigmoid": hardsigmoid, "aten.hardswish": hardswish, "aten.mish": mish,
    "aten._prelu_kernel": prelu, "aten.softshrink_backward": shrink_backward,
    "aten.hardshrink_backward": shrink_backward,
}  # fmt: skip
"""Rules by operator."""

"""Rules for dots and convolutions: what can be said by their own numbers, and simpler forms."""

from __future__ import annotations

from dataclasses import replace

from compiler.hlo.algebra.scope import Rule, Scope, is_value, splat_value
from compiler.hlo.attributes import (
    Attributes,
    ConvolutionLabels,
    ConvolutionSide,
    PadDimension,
    Window,
    WindowDimension,
)
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape


def dot(scope: Scope, instruction: Instruction) -> str | None:
    """A dot reads a transposed operand as it lies; its dimension numbers say the rest."""
    for number, side in enumerate(("lhs", "rhs")):
        operand = scope.operand(instruction, number)
        if operand.opcode is Opcode.TRANSPOSE:
            found = _through_transpose(scope, instruction, operand, number, side)
            if found is not None:
                return found
    return None


def _through_transpose(
    scope: Scope, instruction: Instruction, operand: Instruction, number: int, side: str
) -> str | None:
    order = operand.dimensions
    contracting = instruction.attributes.get(f"{side}_contracting_dims", ())
    batch = instruction.attributes.get(f"{side}_batch_dims", ())
    free = [order[d] for d in range(len(order)) if d not in contracting and d not in batch]
    if free != sorted(free):
        return None
    changed = {f"{side}_contracting_dims": tuple(order[d] for d in contracting)}
    if batch:
        changed[f"{side}_batch_dims"] = tuple(order[d] for d in batch)
    operands = list(instruction.operands)
    operands[number] = operand.operands[0]
    return scope.turn(Opcode.DOT, operands, instruction.attributes.updated(changed))


def transposed_dot(scope: Scope, instruction: Instruction) -> str | None:
    """The transpose of a product is the product of the operands in the other order."""
    operand = scope.operand(instruction)
    if operand.opcode is not Opcode.DOT or len(scope.users(operand.name)) != 1:
        return None
    batch = operand.dot.lhs_batch
    lhs = scope.operand(operand)
    left = len(operand.dot.lhs_free(lhs.array.rank))
    kept = tuple(range(len(batch)))
    middle = len(batch) + left
    swapped = kept + tuple(range(middle, operand.array.rank)) + tuple(range(len(batch), middle))
    if instruction.dimensions != swapped or operand.attributes.get("operand_precision"):
        return None
    attributes = Attributes({_other_side(key): value for key, value in operand.attributes.items()})
    return scope.turn(Opcode.DOT, tuple(reversed(operand.operands)), attributes)


def _other_side(key: str) -> str:
    swapped = {"lhs": "rhs", "rhs": "lhs"}
    side, _, rest = key.partition("_")
    return f"{swapped[side]}_{rest}" if side in swapped else key


def _labels(instruction: Instruction) -> ConvolutionLabels | None:
    found = instruction.attributes.get("dim_labels")
    return found if isinstance(found, ConvolutionLabels) else None


def _with(instruction: Instruction, **changed: object) -> Attributes:
    return instruction.attributes.updated(changed)


def convolution_of_transpose(scope: Scope, instruction: Instruction) -> str | None:
    """A convolution reads a transposed operand as it lies; its labels say where what is."""
    labels = _labels(instruction)
    if labels is None:
        return None
    sides = [labels.input, labels.kernel]
    for number in (0, 1):
        operand = scope.operand(instruction, number)
        if operand.opcode is Opcode.TRANSPOSE:
            sides[number] = _before_transpose(sides[number], operand.dimensions)
            operands = list(instruction.operands)
            operands[number] = operand.operands[0]
            changed = ConvolutionLabels(sides[0], sides[1], labels.output)
            attributes = _with(instruction, dim_labels=changed)
            return scope.turn(Opcode.CONVOLUTION, operands, attributes)
    return None


def _before_transpose(side: ConvolutionSide, order: tuple[int, ...]) -> ConvolutionSide:
    spatial = tuple(order[d] for d in side.spatial)
    return ConvolutionSide(order[side.first], order[side.second], spatial)


def transposed_convolution(scope: Scope, instruction: Instruction) -> str | None:
    """A convolution can write its result transposed at once."""
    operand = scope.operand(instruction)
    if operand.opcode is not Opcode.CONVOLUTION or len(scope.users(operand.name)) != 1:
        return None
    labels = _labels(operand)
    if labels is None:
        return None
    places = {old: new for new, old in enumerate(instruction.dimensions)}
    side = labels.output
    spatial = tuple(places[d] for d in side.spatial)
    output = ConvolutionSide(places[side.first], places[side.second], spatial)
    changed = ConvolutionLabels(labels.input, labels.kernel, output)
    return scope.turn(Opcode.CONVOLUTION, operand.operands, _with(operand, dim_labels=changed))


def convolution_of_reverse(scope: Scope, instruction: Instruction) -> str | None:
    """A kernel that is reversed along spatial dimensions is a reversed window."""
    labels = _labels(instruction)
    kernel = scope.operand(instruction, 1)
    if labels is None or kernel.opcode is not Opcode.REVERSE:
        return None
    places = {d: n for n, d in enumerate(labels.kernel.spatial)}
    if not set(kernel.dimensions) <= set(places):
        return None
    window: Window = instruction.attributes["window"]
    turned = {places[d] for d in kernel.dimensions}
    dimensions = tuple(
        replace(d, is_reversed=not d.is_reversed) if n in turned else d
        for n, d in enumerate(window.dimensions)
    )
    operands = (instruction.operands[0], kernel.operands[0])
    attributes = _with(instruction, window=Window(dimensions))
    return scope.turn(Opcode.CONVOLUTION, operands, attributes)


def convolution_of_pad(scope: Scope, instruction: Instruction) -> str | None:
    """Zeros put around an image are padding of the window."""
    labels = _labels(instruction)
    image = scope.operand(instruction)
    if labels is None or image.opcode is not Opcode.PAD:
        return None
    if not is_value(splat_value(scope, scope.operand(image, 1)), 0.0):
        return None
    edges: tuple[PadDimension, ...] = image.attributes["padding"]
    window: Window = instruction.attributes["window"]
    spatial = labels.input.spatial
    if any(e != PadDimension(0, 0) for d, e in enumerate(edges) if d not in spatial):
        return None
    pairs = [(edges[d], w) for d, w in zip(spatial, window.dimensions, strict=True)]
    if any(e.interior or w.base_dilation != 1 or min(e.low, e.high) < 0 for e, w in pairs):
        return None
    dimensions = tuple(
        replace(w, pad_low=w.pad_low + e.low, pad_high=w.pad_high + e.high) for e, w in pairs
    )
    operands = (image.operands[0], instruction.operands[1])
    attributes = _with(instruction, window=Window(dimensions))
    return scope.turn(Opcode.CONVOLUTION, operands, attributes)


def plain_window(scope: Scope, instruction: Instruction) -> str | None:
    """Settings that change nothing are left out: reversal and dilation of a window of one."""
    window: Window | None = instruction.attributes.get("window")
    if window is None:
        return None
    dimensions = tuple(
        replace(d, is_reversed=False, window_dilation=1) if d.size == 1 else d
        for d in window.dimensions
    )
    if dimensions == window.dimensions:
        return None
    attributes = _with(instruction, window=Window(dimensions))
    return scope.turn(Opcode.CONVOLUTION, instruction.operands, attributes)


def pointwise_convolution(scope: Scope, instruction: Instruction) -> str | None:
    """A convolution whose window is one element, moved one by one, is a dot over the features."""
    labels = _labels(instruction)
    window: Window = instruction.attributes.get("window", Window())
    get = instruction.attributes.get
    grouped = get("feature_group_count", 1) != 1 or get("batch_group_count", 1) != 1
    if labels is None or grouped or any(d != WindowDimension(1) for d in window.dimensions):
        return None
    kernel = scope.operand(instruction, 1)
    drawn = _without_window(scope, kernel, labels.kernel)
    free = [d for d in range(instruction.array.rank) if d != labels.input.second]
    image = scope.operand(instruction).array
    extents = [image.dimensions[d] for d in free] + [kernel.array.dimensions[labels.kernel.first]]
    kind = instruction.array.element_type
    product = scope.add(
        Opcode.DOT,
        ArrayShape(kind, tuple(extents)),
        (instruction.operands[0], drawn),
        _dot_attributes(instruction, labels),
    )
    return scope.turn(Opcode.TRANSPOSE, (product,), Attributes(dimensions=_order(labels, free)))


def _dot_attributes(instruction: Instruction, labels: ConvolutionLabels) -> Attributes:
    contracted = 1 if labels.kernel.first < labels.kernel.second else 0
    found: dict[str, object] = {
        "lhs_contracting_dims": (labels.input.second,),
        "rhs_contracting_dims": (contracted,),
    }
    precision = instruction.attributes.get("operand_precision")
    if precision is not None:
        found["operand_precision"] = precision
    return Attributes(found)


def _without_window(scope: Scope, kernel: Instruction, side: ConvolutionSide) -> str:
    """The kernel as a matrix, its spatial dimensions of extent 1 dropped."""
    kept = sorted((side.first, side.second))
    shape = ArrayShape(kernel.array.element_type, tuple(kernel.array.dimensions[d] for d in kept))
    return scope.add(Opcode.RESHAPE, shape, (kernel.name,))


def _order(labels: ConvolutionLabels, free: list[int]) -> tuple[int, ...]:
    """For every dimension of the result, where the dot has it: the image's free dimensions in
    order, then the output features."""
    found = {labels.output.second: len(free)}
    sources = (labels.input.first, *labels.input.spatial)
    targets = (labels.output.first, *labels.output.spatial)
    for source, target in zip(sources, targets, strict=True):
        found[target] = free.index(source)
    return tuple(found[d] for d in range(len(found)))


RULES: dict[Opcode, tuple[Rule, ...]] = {
    Opcode.DOT: (dot,),
    Opcode.TRANSPOSE: (transposed_dot, transposed_convolution),
    Opcode.CONVOLUTION: (
        plain_window,
        convolution_of_transpose,
        convolution_of_reverse,
        convolution_of_pad,
        pointwise_convolution,
    ),
}

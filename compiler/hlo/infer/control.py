"""Shapes of tuples, calls, loops, branches, tokens and asynchronous pairs."""

from __future__ import annotations

from compiler.hlo.infer.base import (
    CannotInfer,
    InferenceError,
    Request,
    array,
    check,
    one_or_tuple,
)
from compiler.hlo.module import Computation
from compiler.hlo.shape import (
    ArrayShape,
    ElementType,
    Shape,
    TokenShape,
    TupleShape,
    compatible,
)

U32 = array(ElementType.U32, ())


def tuple_(request: Request) -> Shape:
    return TupleShape(tuple(request.shapes))


def get_tuple_element(request: Request) -> Shape:
    shape = request.operand(0)
    index = request.require("index")
    if not isinstance(shape, TupleShape):
        raise InferenceError(f"the operand must be a tuple, it is {shape}")
    check(0 <= index < len(shape.elements), f"index {index} is out of range for {shape}")
    return shape.elements[index]


def element(index: int) -> object:
    """The rule: yields this element of its tuple operand."""

    def rule(request: Request) -> Shape:
        shape = request.operand(0)
        if not isinstance(shape, TupleShape) or len(shape.elements) <= index:
            raise InferenceError(f"the operand must be a tuple with element {index}, it is {shape}")
        return shape.elements[index]

    return rule


def token(request: Request) -> Shape:
    return TokenShape()


def u32(request: Request) -> Shape:
    return U32


def check_signature(computation: Computation, shapes: tuple[Shape, ...], what: str) -> None:
    """The computation must take exactly these shapes."""
    parameters = computation.parameters
    rule = f"{what} {computation.name} takes {len(parameters)} parameters, {len(shapes)} are given"
    check(len(parameters) == len(shapes), rule)
    for i, (parameter, shape) in enumerate(zip(parameters, shapes, strict=True)):
        rule = (
            f"{what} {computation.name} takes {parameter.shape} as parameter {i}, {shape} is given"
        )
        check(compatible(parameter.shape, shape), rule)


def call(request: Request) -> Shape:
    computation = request.callee("to_apply" if "to_apply" in request.attributes else "calls")
    check_signature(computation, tuple(request.shapes), "computation")
    return computation.shape


def while_(request: Request) -> Shape:
    shape = one_or_tuple(tuple(request.shapes))
    condition, body = request.callee("condition"), request.callee("body")
    check_signature(condition, (shape,), "condition")
    check_signature(body, (shape,), "body")
    rule = f"the body yields {body.shape}, the loop carries {shape}"
    check(compatible(body.shape, shape), rule)
    result = condition.shape
    truth = isinstance(result, ArrayShape) and result.element_type is ElementType.PRED
    check(
        truth and isinstance(result, ArrayShape) and result.is_scalar, f"condition yields {result}"
    )
    return shape


def branches(request: Request) -> tuple[str, ...]:
    """The branch computations of a conditional, in the order of their operands."""
    names = request.attributes.get("branch_computations")
    if names is not None:
        return tuple(names)
    return request.require("true_computation"), request.require("false_computation")


def conditional(request: Request) -> Shape:
    selector = request.array(0)
    names = branches(request)
    by_index = selector.element_type in (ElementType.S32, ElementType.PRED)
    check(
        by_index and selector.is_scalar, f"the selector must be pred[] or s32[], it is {selector}"
    )
    rule = f"has {len(request.shapes) - 1} operands for {len(names)} branches"
    check(len(request.shapes) - 1 == len(names), rule)
    results: list[Shape] = []
    for name, shape in zip(names, request.shapes[1:], strict=True):
        computation = request.computations.get(name)
        if computation is None:
            raise CannotInfer(f"computation {name} is not defined before")
        check_signature(computation, (shape,), "branch")
        results.append(computation.shape)
    for result in results[1:]:
        check(compatible(result, results[0]), f"branches yield {results[0]} and {result}")
    return results[0]


def operands(request: Request) -> Shape:
    """One operand gives its own shape, several a tuple of theirs."""
    check(bool(request.shapes), "needs at least one operand")
    return one_or_tuple(tuple(request.shapes))


def copy_start(request: Request) -> Shape:
    shape = request.operand(0)
    return TupleShape((shape, shape, U32))


def send(request: Request) -> Shape:
    return TupleShape((request.operand(0), U32, TokenShape()))


def recv_done(request: Request) -> Shape:
    shape = request.operand(0)
    if not isinstance(shape, TupleShape) or not shape.elements:
        raise InferenceError(f"the operand must be a recv, it is {shape}")
    return TupleShape((shape.elements[0], TokenShape()))

"""Pretty forms with a grammar of their own: reduce, while, convolution and scan."""

from __future__ import annotations

import re

from compiler.frontend.stablehlo.operations import Block, Operation, Use
from compiler.frontend.stablehlo.parser import VALUE, Parser
from compiler.frontend.stablehlo.types import MlirType, TensorType
from compiler.hlo.infer.base import array

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
_KEY = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")


def parse_reduce(parser: Parser, operation: Operation) -> None:
    """``(%a init: %x), (%b init: %y) applies add across dimensions = [0] : types``, or with
    ``reducer(%p: t, %q: t) { ... }`` after the types.
    """
    source = parser.source
    inits: list[Use] = []
    while True:
        source.expect("(", "before an operand")
        operation.operands.append(parser.use())
        source.expect("init", "after the operand")
        source.expect(":", "after init")
        inits.append(parser.use())
        source.expect(")", "after the initial value")
        if not source.accept(","):
            break
    operation.operands.extend(inits)
    applied = None
    applied_at = source.position
    if source.accept_word("applies"):
        applied_at = source.position
        applied = source.require(_NAME, "the operation that is applied")[0]
    source.expect("across", "before the dimensions")
    source.expect("dimensions", "after across")
    source.expect("=", "after dimensions")
    operation.attributes["dimensions"] = parser.attributes.parse()
    parser.optional_attributes(operation)
    parser.type_suffix(operation)
    if operation.operand_types is None or not operation.result_types:
        raise source.error("reduce needs the types of its operands and results", operation.at)
    if applied is not None:
        operation.regions.append(_applied(operation, applied, applied_at, inits))
    else:
        operation.regions.append(_reducer(parser, len(inits)))


def _applied(operation: Operation, name: str, at: int, inits: list[Use]) -> Block:
    """The region that ``applies`` stands for: one operation on two scalars."""
    scalar: MlirType = (operation.operand_types or operation.result_types)[-1]
    if isinstance(scalar, TensorType):
        scalar = TensorType(array(scalar.shape.element_type, ()), scalar.quantized)
    inner = Operation(name, at, [Use("lhs", 0, at), Use("rhs", 0, at)])
    inner.results, inner.result_types = [("result", 1)], (scalar,)
    back = Operation("stablehlo.return", at, [Use("result", 0, at)])
    return Block([("lhs", scalar), ("rhs", scalar)], [inner, back])


def _reducer(parser: Parser, count: int) -> Block:
    """``reducer(%lhs: t, %rhs: t) (%lhs: t, %rhs: t) { ... }``: one pair per operand."""
    source = parser.source
    source.expect("reducer", "before the reduction's region")
    lefts: list[tuple[str, MlirType]] = []
    rights: list[tuple[str, MlirType]] = []
    while source.peek("("):
        at = source.position
        source.accept("(")
        pair = parser.block_arguments(")")
        if len(pair) != 2:
            raise source.error("a reducer takes its arguments in pairs", at)
        lefts.append(pair[0])
        rights.append(pair[1])
    if len(lefts) != count:
        raise source.error(f"the reducer has {len(lefts)} pairs for {count} operands")
    return parser.region([*lefts, *rights])


def parse_while(parser: Parser, operation: Operation) -> None:
    """``(%i = %start, ...) : types attributes {...} cond { ... } do { ... }``."""
    source = parser.source
    names: list[str] = []
    source.expect("(", "before the loop's values")
    while not source.accept(")"):
        if names:
            source.expect(",", "between the loop's values")
        names.append(source.require(VALUE, "a loop value such as %iterArg")[1])
        source.expect("=", "after the loop value")
        operation.operands.append(parser.use())
    types: tuple[MlirType, ...] = ()
    if names or source.peek(":"):
        types = parser.type_suffix(operation)
    if len(types) != len(names):
        message = f"the loop has {len(names)} values and {len(types)} types"
        raise source.error(message, operation.at)
    operation.operand_types = operation.result_types = types
    parser.optional_attributes(operation)
    arguments = list(zip(names, types, strict=True))
    source.expect("cond", "before the loop's condition")
    operation.regions.append(parser.region(arguments))
    source.expect("do", "before the loop's body")
    operation.regions.append(parser.region(arguments))


def parse_convolution(parser: Parser, operation: Operation) -> None:
    """``(%a, %b) dim_numbers = [...]x[...]->[...], window = {...} {attributes} : types``."""
    source = parser.source
    source.expect("(", "before the operands")
    while not source.accept(")"):
        source.accept(",")
        operation.operands.append(parser.use())
    source.expect("dim_numbers", "after the operands")
    source.expect("=", "after dim_numbers")
    operation.attributes["dimension_numbers"] = parser.attributes.labels()
    if source.accept(","):
        source.expect("window", "after the dimension numbers")
        source.expect("=", "after window")
        _window(parser, operation)
    parser.optional_attributes(operation)
    parser.type_suffix(operation)


_WINDOW_KEYS = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


def _window(parser: Parser, operation: Operation) -> None:
    source = parser.source
    source.expect("{", "before the window")
    while not source.accept("}"):
        source.accept(",")
        at = source.position
        key = source.require(_KEY, "a window setting such as stride")[1]
        if key not in _WINDOW_KEYS:
            raise source.error(f"'{key}' is none of {', '.join(_WINDOW_KEYS)}", at)
        operation.attributes[_WINDOW_KEYS[key]] = parser.attributes.parse()


def parse_scan(parser: Parser, operation: Operation) -> None:
    """``(%inputs) inits(%carries) dimension=0 attributes {...} { region } : types``."""
    source = parser.source
    counts = []
    for word in ("", "inits"):
        if word:
            source.expect(word, "after the inputs")
        source.expect("(", "before the operands")
        before = len(operation.operands)
        while not source.accept(")"):
            source.accept(",")
            operation.operands.append(parser.use())
        counts.append(len(operation.operands) - before)
    operation.attributes["operandSegmentSizes"] = tuple(counts)
    source.expect("dimension", "after the initial values")
    source.expect("=", "after dimension")
    operation.attributes["dimension"] = parser.attributes.plain()
    if source.accept_word("attributes"):
        operation.attributes.update(parser.attributes.dictionary())
    operation.regions.append(parser.region())
    parser.type_suffix(operation)

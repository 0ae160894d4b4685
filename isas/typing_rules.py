"""How each effect's arguments give its result type: one function per `Rule` of the effect table.

A `Call` is one application under typing. Types flow up from arguments that know theirs, and down
from the target to constants, immediates and conversions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Protocol

from isas.effects import EFFECTS, Apply, Effect, Expression, Operand, Rule
from isas.errors import HobError
from isas.operands import Role, ShapeOperand
from isas.values import CODE, FLAGS, I1, I32, I64, TypeKind, ValueType, parse_type


class DoesError(HobError):
    """A mistake inside a `does` text; `offset` is the character it stands at."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


class Typer(Protocol):
    """What a call asks of the typer of its shape."""

    operands: Mapping[str, ShapeOperand]

    def expression(self, node: ast.expr, expected: ValueType | None) -> Expression:
        """The typed expression of a node."""

    def checked(self, node: ast.expr, expected: ValueType) -> Expression:
        """The same, which must have the expected type."""


def fail_at(node: ast.AST, message: str) -> DoesError:
    """The error that points at a node."""
    return DoesError(message, getattr(node, "col_offset", 0))


def constant_value(node: ast.expr) -> int | float | None:
    """The number a node writes (with an optional minus), or None."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    if not isinstance(inner, ast.Constant) or not isinstance(inner.value, int | float):
        return None
    return -inner.value if negative else inner.value


def _lanes(node: ast.expr) -> tuple[int, ...] | None:
    if isinstance(node, ast.List):
        values = [constant_value(item) for item in node.elts]
        integers = tuple(value for value in values if isinstance(value, int))
        return integers if len(integers) == len(values) else None
    value = constant_value(node)
    return (value,) if isinstance(value, int) else None


def dotted_name(node: ast.expr) -> str:
    """An effect's name: `fma`, `icmp.slt`, `flags.and` (a Python keyword, hence its capital)."""
    if isinstance(node, ast.Name):
        return node.id.lower() if node.id in ("And", "Or") else node.id
    if isinstance(node, ast.Attribute):
        last = node.attr.lower() if node.attr in ("And", "Or") else node.attr
        return f"{dotted_name(node.value)}.{last}"
    return "?"


class Call:
    """One application under typing: argument nodes, explicit type, literal lanes, expectation."""

    def __init__(
        self, typer: Typer, node: ast.Call, effect: Effect, expected: ValueType | None
    ) -> None:
        self.typer = typer
        self.node = node
        self.effect = effect
        self.expected = expected
        arguments = list(node.args)
        self.explicit: ValueType | None = None
        if arguments and isinstance(arguments[-1], ast.Name):
            is_operand = arguments[-1].id in typer.operands
            self.explicit = None if is_operand else parse_type(arguments[-1].id)
            if self.explicit is not None and self.explicit not in (FLAGS, CODE):
                arguments.pop()
            else:
                self.explicit = None
        self.literal: tuple[tuple[int, ...], ...] = ()
        if arguments and effect.rule in (Rule.SHUFFLE, Rule.EXTRACT, Rule.INSERT):
            lanes = _lanes(arguments[-1])
            if lanes is not None:
                self.literal = (lanes,)
                arguments.pop()
        self.arguments = arguments

    def fail(self, message: str) -> DoesError:
        """An error at this application."""
        return fail_at(self.node, message)

    def argument(self, index: int, expected: ValueType | None = None) -> Expression:
        """Argument `index`, typed."""
        return self.typer.expression(self.arguments[index], expected)

    def common(self, indices: tuple[int, ...], hint: ValueType | None) -> tuple[Expression, ...]:
        """Arguments of one type: the first that knows its own type decides, else the hint."""
        for index in indices:
            if not self._is_flexible(self.arguments[index]):
                hint = self.argument(index, hint).type
                break
        if hint is None:
            raise self.fail(f"nothing says which type {self.effect} works on")
        return tuple(self.typer.checked(self.arguments[index], hint) for index in indices)

    def _is_flexible(self, node: ast.expr) -> bool:
        if constant_value(node) is not None:
            return True
        if isinstance(node, ast.Name) and node.id in self.typer.operands:
            return self.typer.operands[node.id].kind.role is Role.IMMEDIATE
        if not isinstance(node, ast.Call):
            return False
        inner = EFFECTS.get(dotted_name(node.func))
        if inner is None:
            return False
        ends_in_type = (
            bool(node.args)
            and isinstance(node.args[-1], ast.Name)
            and (node.args[-1].id not in self.typer.operands)
            and parse_type(node.args[-1].id) is not None
        )
        if inner.rule in _FROM_CONTEXT:
            return not ends_in_type
        if inner.rule in (Rule.INT, Rule.FLOAT):
            return all(self._is_flexible(argument) for argument in node.args)
        return False

    def result(self) -> ValueType:
        """The explicit or expected type of the result."""
        found = self.explicit or self.expected
        if found is None:
            raise self.fail(f"say the type {self.effect} gives: {self.effect}(..., i32)")
        return found

    def make(
        self,
        arguments: tuple[Expression, ...],
        result: ValueType,
        attributes: tuple[int | str, ...] = (),
    ) -> Apply:
        """The typed application."""
        return Apply(self.effect, arguments, result, attributes)


_FROM_CONTEXT = frozenset(
    {
        Rule.INT_WIDEN, Rule.INT_NARROW, Rule.FLOAT_WIDEN, Rule.FLOAT_NARROW, Rule.INT_TO_FLOAT,
        Rule.FLOAT_TO_INT, Rule.BITCAST, Rule.SPLAT,
    }
)  # fmt: skip


def _int(call: Call) -> Apply:
    arguments = call.common(tuple(range(len(call.arguments))), call.explicit or call.expected)
    if not arguments[0].type.is_int:
        raise call.fail(f"{call.effect} works on integers, not {arguments[0].type}")
    return call.make(arguments, arguments[0].type)


def _float(call: Call) -> Apply:
    arguments = call.common(tuple(range(len(call.arguments))), call.explicit or call.expected)
    if not arguments[0].type.is_float:
        raise call.fail(f"{call.effect} works on floats, not {arguments[0].type}")
    return call.make(arguments, arguments[0].type)


def _compare(call: Call) -> Apply:
    arguments = call.common((0, 1), None)
    is_right = (
        arguments[0].type.is_int if call.effect.rule is Rule.ICMP else arguments[0].type.is_float
    )
    if not is_right:
        raise call.fail(f"{call.effect} cannot compare {arguments[0].type}")
    return call.make(arguments, I1.with_lanes(arguments[0].type.lanes))


def _select(call: Call) -> Apply:
    values = call.common((1, 2), call.explicit or call.expected)
    lanes = values[0].type.lanes
    condition = call.argument(0, I1.with_lanes(lanes))
    if condition.type not in (I1, I1.with_lanes(lanes)):
        raise call.fail(f"the condition of select is {condition.type}, not i1 per lane")
    return call.make((condition, *values), values[0].type)


def _convert(call: Call) -> Apply:
    result = call.result()
    argument = call.argument(0)
    _check_conversion(call, argument.type, result)
    return call.make((argument,), result)


_CONVERSIONS: Mapping[Rule, tuple[bool, bool, int]] = {
    # rule: from float, to float, sign of (bits of result - bits of argument), 0 for any
    Rule.INT_WIDEN: (False, False, 1),
    Rule.INT_NARROW: (False, False, -1),
    Rule.FLOAT_WIDEN: (True, True, 1),
    Rule.FLOAT_NARROW: (True, True, -1),
    Rule.INT_TO_FLOAT: (False, True, 0),
    Rule.FLOAT_TO_INT: (True, False, 0),
}


def _check_conversion(call: Call, source: ValueType, result: ValueType) -> None:
    if call.effect.rule is Rule.BITCAST:
        is_fine = source.total_bits == result.total_bits
    else:
        from_float, to_float, direction = _CONVERSIONS[call.effect.rule]
        kinds = source.is_float == from_float and result.is_float == to_float
        kinds = kinds and (source.is_int or source.is_float) and (result.is_int or result.is_float)
        sizes = direction == 0 or (result.bits - source.bits) * direction > 0
        is_fine = kinds and sizes and source.lanes == result.lanes
    if not is_fine:
        raise call.fail(f"{call.effect} cannot make {result} of {source}")


def _splat(call: Call) -> Apply:
    result = call.result()
    argument = call.argument(0, result.element)
    if argument.type != result.element:
        raise call.fail(f"splat of {argument.type} cannot give {result}")
    return call.make((argument,), result)


def _lane_number(call: Call, index: int, lanes: int) -> tuple[Expression, ...]:
    if not call.literal:
        return (call.argument(index, I32),)
    if len(call.literal[0]) != 1 or not 0 <= call.literal[0][0] < lanes:
        raise call.fail(f"a lane number below {lanes} is expected")
    return ()


def _extract(call: Call) -> Apply:
    vector = call.argument(0)
    lane = _lane_number(call, 1, vector.type.lanes)
    return call.make((vector, *lane), vector.type.element, call.literal[0] if call.literal else ())


def _insert(call: Call) -> Apply:
    vector = call.argument(0, call.expected)
    scalar = call.typer.checked(call.arguments[1], vector.type.element)
    lane = _lane_number(call, 2, vector.type.lanes)
    attributes = call.literal[0] if call.literal else ()
    return call.make((vector, scalar, *lane), vector.type, attributes)


def _shuffle(call: Call) -> Apply:
    first, second = call.common((0, 1), None)
    if not call.literal:
        return call.make((first, second, call.argument(2, I32)), call.expected or first.type)
    lanes = call.literal[0]
    if any(not -1 <= lane < 2 * first.type.lanes for lane in lanes):
        raise call.fail(f"lanes must be below {2 * first.type.lanes}")
    return call.make((first, second), first.type.with_lanes(len(lanes)), lanes)


def _permute(call: Call) -> Apply:
    vector, lanes = call.argument(0), call.argument(1)
    if not lanes.type.is_int or lanes.type.lanes != vector.type.lanes:
        raise call.fail(f"permute of {vector.type} needs as many integers, not {lanes.type}")
    return call.make((vector, lanes), vector.type)


def _concat(call: Call) -> Apply:
    if not call.arguments:
        raise call.fail("concat needs at least one part")
    parts = tuple(call.argument(index) for index in range(len(call.arguments)))
    first = parts[0].type
    if any(part.type.element != first.element for part in parts):
        raise call.fail("concat needs parts of one element type")
    lanes = sum(part.type.lanes for part in parts)
    is_wide_int = first.is_int and lanes == len(parts)
    if is_wide_int and not (call.expected and call.expected.is_vector):
        return call.make(parts, ValueType(TypeKind.INT, first.bits * lanes))
    return call.make(parts, first.with_lanes(lanes))


def _half(call: Call) -> Apply:
    whole = call.argument(0)
    if whole.type.is_vector:
        return call.make((whole,), whole.type.with_lanes(whole.type.lanes // 2))
    return call.make((whole,), ValueType(whole.type.kind, whole.type.bits // 2))


def _reduce(call: Call) -> Apply:
    vector = call.argument(0)
    return call.make((vector,), vector.type.element)


def _address(call: Call) -> Expression:
    node = call.arguments[0]
    operand = call.typer.operands.get(node.id) if isinstance(node, ast.Name) else None
    if operand is None or operand.kind.address is None:
        raise call.fail("address(...) needs a memory operand")
    return Operand(operand.name, I64)


def _load(call: Call) -> Apply:
    raise call.fail("a memory operand used as a value is loaded; load(...) is not written")


def _flags(call: Call) -> Apply:
    if not call.arguments:
        return call.make((), FLAGS)
    arguments = call.common((0, 1), None)
    wants_float = call.effect.rule is Rule.FLAGS_FLOAT
    if arguments[0].type.is_float != wants_float:
        raise call.fail(f"{call.effect} cannot compare {arguments[0].type}")
    return call.make(arguments, FLAGS)


def _condition(call: Call) -> Apply:
    argument = call.argument(0)
    if argument.type != FLAGS:
        raise call.fail(f"{call.effect} reads flags, not {argument.type}")
    return call.make((argument,), I1)


def _gives(result: ValueType) -> Callable[[Call], Apply]:
    return lambda call: call.make((), result)


def _exchange(call: Call) -> Apply:
    value = call.argument(0, call.expected)
    return call.make((value, call.typer.checked(call.arguments[1], I32)), value.type)


def _vote(call: Call) -> Apply:
    result = I1 if call.effect.rule is Rule.VOTE else I32
    return call.make((call.typer.checked(call.arguments[0], I1),), result)


TYPING_RULES: Mapping[Rule, Callable[[Call], Expression]] = {
    Rule.INT: _int,
    Rule.FLOAT: _float,
    Rule.ICMP: _compare,
    Rule.FCMP: _compare,
    Rule.SELECT: _select,
    Rule.INT_WIDEN: _convert,
    Rule.INT_NARROW: _convert,
    Rule.FLOAT_WIDEN: _convert,
    Rule.FLOAT_NARROW: _convert,
    Rule.INT_TO_FLOAT: _convert,
    Rule.FLOAT_TO_INT: _convert,
    Rule.BITCAST: _convert,
    Rule.SPLAT: _splat,
    Rule.EXTRACT: _extract,
    Rule.INSERT: _insert,
    Rule.SHUFFLE: _shuffle,
    Rule.PERMUTE: _permute,
    Rule.CONCAT: _concat,
    Rule.HALF: _half,
    Rule.REDUCE: _reduce,
    Rule.ADDRESS: _address,
    Rule.LOAD: _load,
    Rule.FLAGS_INT: _flags,
    Rule.FLAGS_FLOAT: _flags,
    Rule.FLAGS_NONE: _flags,
    Rule.CONDITION: _condition,
    Rule.RETURN: _gives(CODE),
    Rule.SPECIAL: _gives(I32),
    Rule.LANE_EXCHANGE: _exchange,
    Rule.VOTE: _vote,
    Rule.BALLOT: _vote,
    Rule.BARRIER: _gives(ValueType(TypeKind.INT, 0)),
}

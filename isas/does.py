"""Parses and types a card's `does`: text in, assignments of typed expression trees out.

The text is Python expression syntax, read with `ast` and never run; statements are separated by
`;`. Types flow both ways: up from the operands, and down from the target to constants, immediates
and conversions (`d = zext(a)` widens to d's type; `zext(a, i32)` says so itself).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache

from isas.effects import (
    EFFECTS,
    Apply,
    Assignment,
    Constant,
    Effect,
    Expression,
    Implicit,
    Operand,
    Rule,
)
from isas.errors import HobError
from isas.model import Role, ShapeOperand
from isas.values import CODE, FLAGS, I1, I32, I64, TypeKind, ValueType, parse_type

_KEYWORDS = re.compile(r"(?<![A-Za-z_0-9])(and|or)(?=\()")


class DoesError(HobError):
    """A mistake inside a `does` text; `offset` is the character it stands at."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


Lookup = Callable[[str], ValueType | None]
"""Gives the type of an implicit register (flags, eax), or None when there is none."""


@cache
def parse_does(text: str) -> tuple[ast.stmt, ...]:
    """The statements of a `does` text. Raises DoesError on a syntax error."""
    python = _KEYWORDS.sub(lambda match: match[1][0].upper() + match[1][1:], text)
    try:
        return tuple(ast.parse(python).body)
    except SyntaxError as error:
        raise DoesError(f"not an effect: {error.msg}", max(0, (error.offset or 1) - 1)) from None


@cache
def names_in(text: str) -> frozenset[str]:
    """Every plain name in a `does` text that is not a type or part of an effect's name."""
    nodes = [node for statement in parse_does(text) for node in ast.walk(statement)]
    called = {id(n) for node in nodes if isinstance(node, ast.Call) for n in ast.walk(node.func)}
    names = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in called}
    return frozenset(name for name in names if name == "flags" or parse_type(name) is None)


def type_does(
    text: str, operands: Mapping[str, ShapeOperand], implicit: Lookup
) -> tuple[Assignment, ...]:
    """The typed assignments of a `does` text. Raises DoesError where it is not well typed."""
    typer = _Typer(operands, implicit)
    return tuple(typer.statement(statement) for statement in parse_does(text))


def _fail(node: ast.AST, message: str) -> DoesError:
    return DoesError(message, getattr(node, "col_offset", 0))


class _Typer:
    """Types the expressions of one shape."""

    def __init__(self, operands: Mapping[str, ShapeOperand], implicit: Lookup) -> None:
        self.operands = operands
        self.implicit = implicit

    def statement(self, node: ast.stmt) -> Assignment:
        if isinstance(node, ast.Expr):
            return Assignment(None, self.expression(node.value, None))
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1):
            raise _fail(node, "expected `target = effect`")
        target = node.targets[0]
        if not isinstance(target, ast.Name):
            raise _fail(target, "the target must be one operand or implicit register")
        operand = self.operands.get(target.id)
        if operand is None:
            place = self._implicit(target, target.id)
            return Assignment(place, self.checked(node.value, place.type))
        if operand.kind.role not in (Role.REGISTER, Role.MEMORY):
            raise _fail(target, f"{target.id} is neither register nor memory; it cannot be written")
        value = self.checked(node.value, operand.type)
        if operand.kind.address is not None:
            space = operand.kind.address.space
            return Assignment(Operand(target.id, I64), value, True, space)
        return Assignment(Operand(target.id, operand.type), value)

    def checked(self, node: ast.expr, expected: ValueType) -> Expression:
        """The expression, which must have the expected type."""
        found = self.expression(node, expected)
        if found.type != expected:
            raise _fail(node, f"this is {found.type}, but {expected} is expected")
        return found

    def expression(self, node: ast.expr, expected: ValueType | None) -> Expression:
        if isinstance(node, ast.Name):
            return self._name(node, expected)
        value = constant_value(node)
        if value is not None:
            return self._constant(node, value, expected)
        if isinstance(node, ast.Call):
            return self._call(node, expected)
        raise _fail(node, "expected an operand, a number or an effect(...)")

    def _name(self, node: ast.Name, expected: ValueType | None) -> Expression:
        operand = self.operands.get(node.id)
        if operand is None:
            return self._implicit(node, node.id)
        kind = operand.kind
        if kind.role is Role.LABEL:
            return Operand(node.id, CODE)
        if kind.role is Role.IMMEDIATE:
            if expected is None:
                raise _fail(node, f"the type of immediate {node.id} is not known here")
            return Operand(node.id, expected)
        if kind.address is not None:
            address = Operand(node.id, I64)
            return Apply(Effect.LOAD, (address,), operand.type, (kind.address.space,))
        return Operand(node.id, operand.type)

    def _implicit(self, node: ast.AST, name: str) -> Implicit:
        found = CODE if name in ("pc", "next") else self.implicit(name)
        if found is None:
            known = ", ".join(sorted(self.operands))
            raise _fail(node, f"'{name}' is neither an operand ({known}) nor a fixed register")
        return Implicit(name, found)

    def _constant(
        self, node: ast.AST, value: int | float, expected: ValueType | None
    ) -> Constant:
        if expected is None:
            raise _fail(node, "the type of this number is not known here")
        if expected.is_float:
            return Constant(float(value), expected)
        if isinstance(value, float) or not expected.is_int:
            raise _fail(node, f"{value} is not {expected}")
        return Constant(value, expected)

    def _call(self, node: ast.Call, expected: ValueType | None) -> Expression:
        spelling = _dotted(node.func)
        effect = EFFECTS.get(spelling)
        if effect is None:
            raise _fail(node, f"unknown effect '{spelling}'")
        call = _Call(self, node, effect, expected)
        if effect.arity >= 0 and len(call.arguments) + len(call.literal) != effect.arity:
            raise _fail(node, f"{effect} takes {effect.arity} arguments")
        return _RULES[effect.rule](call)


class _Call:
    """One application under typing: argument nodes, explicit type, literal lanes, expectation."""

    def __init__(
        self, typer: _Typer, node: ast.Call, effect: Effect, expected: ValueType | None
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
        return _fail(self.node, message)

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
        inner = EFFECTS.get(_dotted(node.func))
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


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id.lower() if node.id in ("And", "Or") else node.id
    if isinstance(node, ast.Attribute):
        last = node.attr.lower() if node.attr in ("And", "Or") else node.attr
        return f"{_dotted(node.value)}.{last}"
    return "?"


def _int(call: _Call) -> Apply:
    arguments = call.common(tuple(range(len(call.arguments))), call.explicit or call.expected)
    if not arguments[0].type.is_int:
        raise call.fail(f"{call.effect} works on integers, not {arguments[0].type}")
    return call.make(arguments, arguments[0].type)


def _float(call: _Call) -> Apply:
    arguments = call.common(tuple(range(len(call.arguments))), call.explicit or call.expected)
    if not arguments[0].type.is_float:
        raise call.fail(f"{call.effect} works on floats, not {arguments[0].type}")
    return call.make(arguments, arguments[0].type)


def _compare(call: _Call) -> Apply:
    arguments = call.common((0, 1), None)
    is_right = arguments[0].type.is_int if call.effect.rule is Rule.ICMP else (
        arguments[0].type.is_float
    )
    if not is_right:
        raise call.fail(f"{call.effect} cannot compare {arguments[0].type}")
    return call.make(arguments, I1.with_lanes(arguments[0].type.lanes))


def _select(call: _Call) -> Apply:
    values = call.common((1, 2), call.explicit or call.expected)
    lanes = values[0].type.lanes
    condition = call.argument(0, I1.with_lanes(lanes))
    if condition.type not in (I1, I1.with_lanes(lanes)):
        raise call.fail(f"the condition of select is {condition.type}, not i1 per lane")
    return call.make((condition, *values), values[0].type)


def _convert(call: _Call) -> Apply:
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


def _check_conversion(call: _Call, source: ValueType, result: ValueType) -> None:
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


def _splat(call: _Call) -> Apply:
    result = call.result()
    argument = call.argument(0, result.element)
    if argument.type != result.element:
        raise call.fail(f"splat of {argument.type} cannot give {result}")
    return call.make((argument,), result)


def _lane_number(call: _Call, index: int, lanes: int) -> tuple[Expression, ...]:
    if not call.literal:
        return (call.argument(index, I32),)
    if len(call.literal[0]) != 1 or not 0 <= call.literal[0][0] < lanes:
        raise call.fail(f"a lane number below {lanes} is expected")
    return ()


def _extract(call: _Call) -> Apply:
    vector = call.argument(0)
    lane = _lane_number(call, 1, vector.type.lanes)
    return call.make((vector, *lane), vector.type.element, call.literal[0] if call.literal else ())


def _insert(call: _Call) -> Apply:
    vector = call.argument(0, call.expected)
    scalar = call.typer.checked(call.arguments[1], vector.type.element)
    lane = _lane_number(call, 2, vector.type.lanes)
    attributes = call.literal[0] if call.literal else ()
    return call.make((vector, scalar, *lane), vector.type, attributes)


def _shuffle(call: _Call) -> Apply:
    first, second = call.common((0, 1), None)
    if not call.literal:
        return call.make((first, second, call.argument(2, I32)), call.expected or first.type)
    lanes = call.literal[0]
    if any(not -1 <= lane < 2 * first.type.lanes for lane in lanes):
        raise call.fail(f"lanes must be below {2 * first.type.lanes}")
    return call.make((first, second), first.type.with_lanes(len(lanes)), lanes)


def _permute(call: _Call) -> Apply:
    vector, lanes = call.argument(0), call.argument(1)
    if not lanes.type.is_int or lanes.type.lanes != vector.type.lanes:
        raise call.fail(f"permute of {vector.type} needs as many integers, not {lanes.type}")
    return call.make((vector, lanes), vector.type)


def _concat(call: _Call) -> Apply:
    parts = tuple(call.argument(index) for index in range(len(call.arguments)))
    first = parts[0].type
    if any(part.type.element != first.element for part in parts):
        raise call.fail("concat needs parts of one element type")
    lanes = sum(part.type.lanes for part in parts)
    is_wide_int = first.is_int and lanes == len(parts)
    if is_wide_int and not (call.expected and call.expected.is_vector):
        return call.make(parts, ValueType(TypeKind.INT, first.bits * lanes))
    return call.make(parts, first.with_lanes(lanes))


def _half(call: _Call) -> Apply:
    whole = call.argument(0)
    if whole.type.is_vector:
        return call.make((whole,), whole.type.with_lanes(whole.type.lanes // 2))
    return call.make((whole,), ValueType(whole.type.kind, whole.type.bits // 2))


def _reduce(call: _Call) -> Apply:
    vector = call.argument(0)
    return call.make((vector,), vector.type.element)


def _address(call: _Call) -> Expression:
    node = call.arguments[0]
    operand = call.typer.operands.get(node.id) if isinstance(node, ast.Name) else None
    if operand is None or operand.kind.address is None:
        raise call.fail("address(...) needs a memory operand")
    return Operand(operand.name, I64)


def _load(call: _Call) -> Apply:
    raise call.fail("a memory operand used as a value is loaded; load(...) is not written")


def _flags(call: _Call) -> Apply:
    if not call.arguments:
        return call.make((), FLAGS)
    arguments = call.common((0, 1), None)
    wants_float = call.effect.rule is Rule.FLAGS_FLOAT
    if arguments[0].type.is_float != wants_float:
        raise call.fail(f"{call.effect} cannot compare {arguments[0].type}")
    return call.make(arguments, FLAGS)


def _condition(call: _Call) -> Apply:
    argument = call.argument(0)
    if argument.type != FLAGS:
        raise call.fail(f"{call.effect} reads flags, not {argument.type}")
    return call.make((argument,), I1)


def _gives(result: ValueType) -> Callable[[_Call], Apply]:
    return lambda call: call.make((), result)


def _exchange(call: _Call) -> Apply:
    value = call.argument(0, call.expected)
    return call.make((value, call.typer.checked(call.arguments[1], I32)), value.type)


def _vote(call: _Call) -> Apply:
    result = I1 if call.effect.rule is Rule.VOTE else I32
    return call.make((call.typer.checked(call.arguments[0], I1),), result)


_RULES: Mapping[Rule, Callable[[_Call], Expression]] = {
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

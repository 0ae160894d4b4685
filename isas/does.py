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

from isas.effects import EFFECTS, Apply, Assignment, Constant, Effect, Expression, Implicit, Operand
from isas.operands import Role, ShapeOperand
from isas.typing_rules import TYPING_RULES, Call, DoesError, constant_value, dotted_name, fail_at
from isas.values import CODE, I64, ValueType, parse_type

__all__ = ["DoesError", "names_in", "parse_does", "type_does"]

_KEYWORDS = re.compile(r"(?<![A-Za-z_0-9])(and|or)(?=\()")


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
    except (ValueError, RecursionError, MemoryError) as error:
        raise DoesError(f"not an effect: {error}") from None


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


class _Typer:
    """Types the expressions of one shape."""

    def __init__(self, operands: Mapping[str, ShapeOperand], implicit: Lookup) -> None:
        self.operands = operands
        self.implicit = implicit

    def statement(self, node: ast.stmt) -> Assignment:
        if isinstance(node, ast.Expr):
            return Assignment(None, self.expression(node.value, None))
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1):
            raise fail_at(node, "expected `target = effect`")
        target = node.targets[0]
        if not isinstance(target, ast.Name):
            raise fail_at(target, "the target must be one operand or implicit register")
        operand = self.operands.get(target.id)
        if operand is None:
            place = self._implicit(target, target.id)
            return Assignment(place, self.checked(node.value, place.type))
        if operand.kind.role not in (Role.REGISTER, Role.MEMORY):
            message = f"{target.id} is neither register nor memory; it cannot be written"
            raise fail_at(target, message)
        value = self.checked(node.value, operand.type)
        if operand.kind.address is not None:
            space = operand.kind.address.space
            return Assignment(Operand(target.id, I64), value, True, space)
        return Assignment(Operand(target.id, operand.type), value)

    def checked(self, node: ast.expr, expected: ValueType) -> Expression:
        """The expression, which must have the expected type."""
        found = self.expression(node, expected)
        if found.type != expected:
            raise fail_at(node, f"this is {found.type}, but {expected} is expected")
        return found

    def expression(self, node: ast.expr, expected: ValueType | None) -> Expression:
        if isinstance(node, ast.Name):
            return self._name(node, expected)
        value = constant_value(node)
        if value is not None:
            return self._constant(node, value, expected)
        if isinstance(node, ast.Call):
            return self._call(node, expected)
        raise fail_at(node, "expected an operand, a number or an effect(...)")

    def _name(self, node: ast.Name, expected: ValueType | None) -> Expression:
        operand = self.operands.get(node.id)
        if operand is None:
            return self._implicit(node, node.id)
        kind = operand.kind
        if kind.role is Role.LABEL:
            return Operand(node.id, CODE)
        if kind.role is Role.IMMEDIATE:
            if expected is None:
                raise fail_at(node, f"the type of immediate {node.id} is not known here")
            return Operand(node.id, expected)
        if kind.address is not None:
            address = Operand(node.id, I64)
            return Apply(Effect.LOAD, (address,), operand.type, (kind.address.space,))
        return Operand(node.id, operand.type)

    def _implicit(self, node: ast.AST, name: str) -> Implicit:
        found = CODE if name in ("pc", "next") else self.implicit(name)
        if found is None:
            known = ", ".join(sorted(self.operands))
            raise fail_at(node, f"'{name}' is neither an operand ({known}) nor a fixed register")
        return Implicit(name, found)

    def _constant(self, node: ast.AST, value: int | float, expected: ValueType | None) -> Constant:
        if expected is None:
            raise fail_at(node, "the type of this number is not known here")
        if expected.is_float:
            return Constant(float(value), expected)
        if isinstance(value, float) or not expected.is_int:
            raise fail_at(node, f"{value} is not {expected}")
        return Constant(value, expected)

    def _call(self, node: ast.Call, expected: ValueType | None) -> Expression:
        spelling = dotted_name(node.func)
        effect = EFFECTS.get(spelling)
        if effect is None:
            raise fail_at(node, f"unknown effect '{spelling}'")
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise fail_at(node, f"{effect} takes plain arguments")
        call = Call(self, node, effect, expected)
        if effect.arity >= 0 and len(call.arguments) + len(call.literal) != effect.arity:
            raise fail_at(node, f"{effect} takes {effect.arity} arguments")
        return TYPING_RULES[effect.rule](call)

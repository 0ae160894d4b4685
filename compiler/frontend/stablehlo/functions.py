"""Modules and functions in their pretty forms."""

from __future__ import annotations

import re
from typing import Any

from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.parser import VALUE, Parser
from compiler.frontend.stablehlo.types import FunctionType, MlirType

_VISIBILITY = re.compile(r"(public|private|nested)\b")


def parse_module(parser: Parser, operation: Operation) -> None:
    """``module @name attributes {...} { functions }``."""
    if parser.source.peek("@"):
        operation.attributes["sym_name"] = parser.attributes.symbol().name
    if parser.source.accept_word("attributes"):
        operation.attributes.update(parser.attributes.dictionary())
    operation.regions.append(parser.region())


def parse_function(parser: Parser, operation: Operation) -> None:
    """``func.func public @name(%a: type {attributes}) -> (type {attributes}) { body }``."""
    source = parser.source
    visibility = source.match(_VISIBILITY)
    if visibility is not None:
        operation.attributes["sym_visibility"] = visibility[1]
    operation.attributes["sym_name"] = parser.attributes.symbol().name
    arguments, argument_attributes = _arguments(parser)
    results: list[MlirType] = []
    result_attributes: list[dict[str, Any]] = []
    if source.accept("->"):
        results, result_attributes = _results(parser)
    operation.attributes["function_type"] = FunctionType(
        tuple(kind for _, kind in arguments), tuple(results)
    )
    if any(argument_attributes):
        operation.attributes["arg_attrs"] = tuple(argument_attributes)
    if any(result_attributes):
        operation.attributes["res_attrs"] = tuple(result_attributes)
    if source.accept_word("attributes"):
        operation.attributes.update(parser.attributes.dictionary())
    if source.peek("{"):
        operation.regions.append(parser.region(arguments))


def _arguments(parser: Parser) -> tuple[list[tuple[str, MlirType]], list[dict[str, Any]]]:
    source = parser.source
    source.expect("(", "before the function's arguments")
    arguments: list[tuple[str, MlirType]] = []
    attributes: list[dict[str, Any]] = []
    while not source.accept(")"):
        if arguments:
            source.expect(",", "between arguments")
        name = f"arg{len(arguments)}"
        if source.peek("%"):
            name = source.require(VALUE, "an argument")[1]
            source.expect(":", "and the argument's type")
        arguments.append((name, parser.types.parse()))
        attributes.append(parser.attributes.dictionary() if source.peek("{") else {})
        parser.attributes.location()
    return arguments, attributes


def _results(parser: Parser) -> tuple[list[MlirType], list[dict[str, Any]]]:
    source = parser.source
    if not source.accept("("):
        return [parser.types.parse()], []
    types: list[MlirType] = []
    attributes: list[dict[str, Any]] = []
    while not source.accept(")"):
        if types:
            source.expect(",", "between result types")
        types.append(parser.types.parse())
        attributes.append(parser.attributes.dictionary() if source.peek("{") else {})
    return types, attributes

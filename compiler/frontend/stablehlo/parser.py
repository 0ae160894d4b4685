"""Parses StableHLO text into operations: modules, functions, regions, generic and pretty forms.

The generic form of every MLIR operation is read here; pretty forms are in `pretty`. The grammar is
MLIR's (mlir.llvm.org/docs/LangRef); what StableHLO adds is in openxla.org/stablehlo/spec and in the
forms that its printer writes.
"""

from __future__ import annotations

import re

from compiler.frontend.stablehlo.attributes import AttributeParser
from compiler.frontend.stablehlo.operations import Block, Operation, Use
from compiler.frontend.stablehlo.source import Source
from compiler.frontend.stablehlo.types import MlirType, TypeAliases

VALUE = re.compile(r"%((?:[\w$.]|-(?!>))+)(?:#(\d{1,6}))?")
_RESULT = re.compile(r"%((?:[\w$.]|-(?!>))+)(?:\s*:\s*(\d{1,6}))?")
_GENERIC = re.compile(r'"([\w$.\-]+)"')
_PRETTY = re.compile(r"[A-Za-z_][\w$]*(?:\.[\w$]+)*")
_BLOCK = re.compile(r"\^([\w$.\-]+)")
_ALIAS_PLACE = re.compile(r"^[ \t]*#([A-Za-z_][\w$]*|\d+)[ \t]*=[ \t]*", re.MULTILINE)
_ALIAS = re.compile(r"([#!])([A-Za-z_][\w$]*|\d+)\s*=")
_RESOURCE_BLOB = re.compile(r'([\w$.\-]+)\s*:\s*"(0x[0-9A-Fa-f]*)"')
_METADATA = re.compile(r"\{-#.*?#-\}", re.DOTALL)


class Parser:
    """Parses the operations of one text."""

    def __init__(self, text: str, file: str) -> None:
        self.source = Source(text, file)
        self.aliases = TypeAliases()
        self.attributes = AttributeParser(self.source, self.aliases)
        self.types = self.attributes.types
        self.attributes.places.update((m[1], m.end()) for m in _ALIAS_PLACE.finditer(text))
        for trailer in _METADATA.finditer(text):
            blobs = _RESOURCE_BLOB.findall(trailer[0])
            self.attributes.resources.update(blobs)

    def parse(self) -> list[Operation]:
        """All operations at the top: modules and functions."""
        operations: list[Operation] = []
        source = self.source
        while not source.at_end:
            if not self._definition():
                operations.append(self.operation())
        return operations

    def _definition(self) -> bool:
        """``#name = attribute``, ``!name = type`` or ``{-# resources #-}``."""
        source = self.source
        if source.match(_METADATA):
            return True
        if not source.peek("#") and not source.peek("!"):
            return False
        match = source.require(_ALIAS, "an operation or the definition of an alias")
        if match[1] == "!":
            self.aliases.types[match[2]] = self.types.parse()
        elif source.peek("loc("):
            self.attributes.location()
        else:
            self.attributes.parse()
        return True

    def operation(self) -> Operation:
        source = self.source
        source.enter()
        results = self._results()
        at = source.position
        generic = source.match(_GENERIC)
        if generic is not None:
            operation = self._generic(Operation(generic[1], at))
        else:
            name = source.require(_PRETTY, "an operation")[0]
            from compiler.frontend.stablehlo.pretty import parse_pretty

            operation = parse_pretty(self, Operation(name, at))
        operation.results = results
        operation.location = self.attributes.location() or operation.location
        self._check_results(operation)
        source.leave()
        return operation

    def _results(self) -> list[tuple[str, int]]:
        source = self.source
        results: list[tuple[str, int]] = []
        while source.peek("%"):
            match = source.require(_RESULT, "a value's name")
            results.append((match[1], int(match[2] or 1)))
            if not source.accept(","):
                source.expect("=", "after the results")
                break
        return results

    def _check_results(self, operation: Operation) -> None:
        count = sum(count for _, count in operation.results)
        actual = len(operation.result_types)
        if operation.results and count != actual:
            message = f"{operation.name} yields {actual} values, {count} are named"
            raise self.source.error(message, operation.at)

    def _generic(self, operation: Operation) -> Operation:
        """``(operands) <{properties}> ({regions}) {attributes} : (types) -> types``."""
        source = self.source
        source.expect("(", "before the operands")
        while not source.accept(")"):
            if operation.operands:
                source.expect(",", "between operands")
            operation.operands.append(self.use())
        if source.peek("["):
            raise source.refused("branches between blocks are not StableHLO", source.position)
        if source.accept("<"):
            operation.attributes.update(self.attributes.dictionary())
            source.expect(">", "after the properties")
        if source.peek("("):
            self._regions(operation)
        if source.peek("{"):
            operation.attributes.update(self.attributes.dictionary())
        source.expect(":", "and the operation's type")
        operation.operand_types = self.types.list_in_parentheses()
        source.expect("->", "before the result types")
        operation.result_types = self.types.results()
        return operation

    def _regions(self, operation: Operation) -> None:
        source = self.source
        source.expect("(", "before the regions")
        while True:
            operation.regions.append(self.region())
            if not source.accept(","):
                break
        source.expect(")", "after the regions")

    def use(self) -> Use:
        """``%name`` or ``%name#index``."""
        at = self.source.position
        match = self.source.require(VALUE, "a value such as %0")
        return Use(match[1], int(match[2] or 0), at)

    def region(self, arguments: list[tuple[str, MlirType]] | None = None) -> Block:
        """``{ ^bb0(%a: type): operations }``."""
        source = self.source
        source.expect("{", "before the region")
        block = Block(list(arguments or ()))
        if source.match(_BLOCK):
            if source.accept("("):
                block.arguments.extend(self.block_arguments(")"))
            source.expect(":", "after the block's arguments")
        while not source.accept("}"):
            if source.at_end:
                raise source.error("expected '}' at the end of the region, found the end")
            if source.peek("^"):
                raise source.refused(
                    "a region with several blocks is not StableHLO", source.position
                )
            if not self._definition():
                block.operations.append(self.operation())
        return block

    def block_arguments(self, closing: str) -> list[tuple[str, MlirType]]:
        """``%a: type loc(...), %b: type`` up to the closing bracket."""
        source = self.source
        arguments: list[tuple[str, MlirType]] = []
        while not source.accept(closing):
            if arguments:
                source.expect(",", "between arguments")
            name = source.require(VALUE, "an argument such as %arg0")[1]
            source.expect(":", "and the argument's type")
            arguments.append((name, self.types.parse()))
            self.attributes.location()
        return arguments

    def optional_attributes(self, operation: Operation) -> None:
        """``{...}``, ``attributes {...}`` or ``<{...}>`` when one comes next."""
        source = self.source
        source.accept_word("attributes")
        if source.peek("<{"):
            source.accept("<")
            operation.attributes.update(self.attributes.dictionary())
            source.expect(">", "after the properties")
        if source.peek("{"):
            operation.attributes.update(self.attributes.dictionary())

    def type_suffix(self, operation: Operation) -> tuple[MlirType, ...]:
        """``: types`` or ``: types -> types``; sets operand and result types where an arrow tells
        them apart, and returns the types before it.
        """
        source = self.source
        source.expect(":", f"and the type of {operation.name}")
        return self.types_with_arrow(operation)

    def types_with_arrow(self, operation: Operation) -> tuple[MlirType, ...]:
        source = self.source
        if source.peek("("):
            types = self.types.list_in_parentheses()
        else:
            types = (self.types.parse(),)
            while source.accept(","):
                types += (self.types.parse(),)
        if source.accept("->") or source.accept_word("to"):
            operation.operand_types = types
            operation.result_types = self.types.results()
        return types

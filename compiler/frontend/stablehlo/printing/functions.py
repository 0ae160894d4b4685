"""The printer's frame: modules, functions, regions, names.

Tuples of HLO dissolve: a value of tuple shape is a tree of SSA names, so tuple and
get-tuple-element print nothing, and loops, calls and functions take and yield the leaves. Called
computations become private functions, reducers and loop bodies regions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from compiler.frontend.stablehlo.printing.spelling import function_type, type_name
from compiler.hlo.errors import HloUnsupportedError
from compiler.hlo.module import Alias, Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.quoting import quoted
from compiler.hlo.rewriter import Names
from compiler.hlo.shape import Shape, TupleShape, leaves

Tree: TypeAlias = "str | tuple[Tree, ...]"
"""The SSA name of a value, or of each element of a tuple."""


def print_stablehlo(module: Module) -> str:
    """The module as StableHLO text, with a final newline.

    Raises HloUnsupportedError naming the instruction that StableHLO cannot say.
    """
    return _ModulePrinter(module).print()


def flat(tree: Tree) -> list[str]:
    """The names at the leaves, from left to right."""
    return [tree] if isinstance(tree, str) else [name for part in tree for name in flat(part)]


def shaped(names: Iterable[str], shape: Shape) -> Tree:
    """Names as the tree of a shape."""
    rest = iter(names)

    def build(part: Shape) -> Tree:
        if isinstance(part, TupleShape):
            return tuple(build(element) for element in part.elements)
        return next(rest)

    return build(shape)


class _ModulePrinter:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.pending: list[str] = []
        self.symbols: dict[str, str] = {}
        self.symbol_names = Names(["main"])

    def symbol(self, computation: str) -> str:
        """The function that a computation becomes; it is printed after the present one."""
        if computation not in self.symbols:
            self.symbols[computation] = self.symbol_names.fresh(computation)
            self.pending.append(computation)
        return self.symbols[computation]

    def print(self) -> str:
        module = self.module
        lines = [f"module @{symbol(module.name)}{self._attributes()} {{"]
        self.symbols[module.entry] = "main"
        lines += FunctionPrinter(self, module.entry_computation).print("public", "main")
        while self.pending:
            name = self.pending.pop(0)
            printer = FunctionPrinter(self, module.computation(name))
            lines += printer.print("private", self.symbols[name])
        return "\n".join([*lines, "}"]) + "\n"

    def _attributes(self) -> str:
        get = self.module.attributes.get
        counts = {
            "mhlo.num_partitions": get("num_partitions", 1),
            "mhlo.num_replicas": get("replica_count", 1),
        }
        return f" attributes {{{', '.join(f'{k} = {v} : i32' for k, v in counts.items())}}}"

    def argument_attributes(self, is_entry: bool) -> dict[int, str]:
        """What stands behind an argument's type, by its number among the leaves."""
        if not is_entry:
            return {}
        starts: list[int] = []
        count = 0
        for parameter in self.module.entry_computation.parameters:
            starts.append(count)
            count += len(leaves(parameter.shape))
        return {
            starts[alias.parameter]: f" {{tf.aliasing_output = {_output(alias)} : i32}}"
            for alias in self.module.aliases
            if alias.parameter < len(starts) and not alias.parameter_index
        }


def _output(alias: Alias) -> int:
    return alias.output_index[0] if alias.output_index else 0


def symbol(name: str) -> str:
    """A symbol's name, quoted where it has to be."""
    plain = name.replace(".", "").replace("_", "").isalnum() and not name[:1].isdigit()
    return name if plain else quoted(name)


class FunctionPrinter:
    """Prints one computation and the regions inside it."""

    def __init__(self, module: _ModulePrinter, computation: Computation) -> None:
        self.module = module
        self.computation = computation
        self.names = Names()
        self.lines: list[str] = []
        self.indent = "    "
        self.trees: dict[str, Tree] = {}
        self.shapes: dict[str, Shape] = {}
        self.current: Instruction | None = None

    def print(self, visibility: str, name: str) -> list[str]:
        computation = self.computation
        is_entry = visibility == "public"
        arguments: list[str] = []
        extras = self.module.argument_attributes(is_entry)
        for parameter in computation.parameters:
            tree = self.new_tree(parameter.name, parameter.shape)
            self.trees[parameter.name] = tree
            for leaf, shape in zip(flat(tree), leaves(parameter.shape), strict=True):
                extra = extras.get(len(arguments), "")
                arguments.append(f"{leaf}: {type_name(shape)}{extra}")
        results = leaves(computation.shape)
        self.body(computation)
        self.give_back(computation, "return")
        kinds = ", ".join(map(type_name, results))
        arrow = f" -> ({kinds})" if results else ""
        head = f"  func.func {visibility} @{symbol(name)}({', '.join(arguments)}){arrow} {{"
        return [head, *self.lines, "  }"]

    # Names and values

    def new_name(self, hint: str) -> str:
        return f"%{self.names.fresh(hint)}"

    def new_tree(self, hint: str, shape: Shape) -> Tree:
        return shaped((self.new_name(hint) for _ in leaves(shape)), shape)

    def tree(self, name: str) -> Tree:
        return self.trees[name]

    def name(self, operand: str) -> str:
        """The SSA name of an operand that is one value."""
        tree = self.trees[operand]
        if not isinstance(tree, str):
            raise self.refused("a tuple where StableHLO takes a tensor")
        return tree

    def refused(self, what: str) -> HloUnsupportedError:
        instruction = self.current
        if instruction is None:
            return HloUnsupportedError(f"StableHLO cannot say {what}")
        source = self.module.module.source or self.module.module.name
        place = f"{source}:{instruction.line}" if instruction.line else source
        message = f"{instruction.name} ({instruction.opcode}): StableHLO cannot say {what}"
        return HloUnsupportedError(message, place)

    # Lines

    def add(self, text: str) -> None:
        self.lines.append(f"{self.indent}{text}{self._location()}")

    def _location(self) -> str:
        metadata = self.current.metadata if self.current is not None else None
        if metadata is None or (metadata.op_name is None and metadata.source_file is None):
            return ""
        file, line = metadata.source_file, metadata.source_line
        place = f'"{file}":{line}:0' if file and line else ""
        if metadata.op_name is None:
            return f" loc({place})"
        inner = f"({place})" if place else ""
        return f' loc("{metadata.op_name}"{inner})'

    # Bodies

    def body(self, computation: Computation) -> None:
        """Prints all instructions but the return."""
        from compiler.frontend.stablehlo.printing.table import print_instruction

        for instruction in computation.instructions:
            if instruction.opcode is not Opcode.PARAMETER:
                outer, self.current = self.current, instruction
                self.shapes[instruction.name] = instruction.shape
                print_instruction(self, computation, instruction)
                self.current = outer

    def give_back(self, computation: Computation, word: str) -> None:
        """The return of a function or region."""
        names = flat(self.trees[computation.root])
        kinds = ", ".join(map(type_name, leaves(computation.shape)))
        outer, self.current = self.current, None
        self.add(f"{word} {', '.join(names)} : {kinds}" if names else word)
        self.current = outer

    def region(
        self, name: str, arguments: Sequence[Tree | None], begin: str = "{", end: str = "}"
    ) -> None:
        """A computation as a region. ``arguments`` are the outer values its parameters stand for,
        None for those that become the region's own arguments.
        """
        computation = self.module.module.computation(name)
        outside, self.trees = self.trees, dict(self.trees)
        header: list[str] = []
        for parameter, given in zip(computation.parameters, arguments, strict=True):
            tree = self.new_tree(parameter.name, parameter.shape) if given is None else given
            self.trees[parameter.name] = tree
            if given is None:
                pairs = zip(flat(tree), leaves(parameter.shape), strict=True)
                header += [f"{leaf}: {type_name(shape)}" for leaf, shape in pairs]
        if begin:
            self.lines.append(f"{self.indent}{begin}")
        if header:
            self.lines.append(f"{self.indent}^bb0({', '.join(header)}):")
        self.indent += "  "
        self.body(computation)
        self.give_back(computation, "stablehlo.return")
        self.indent = self.indent[:-2]
        if end:
            self.lines.append(f"{self.indent}{end}")
        self.trees = outside

    def generic(
        self,
        name: str,
        instruction: Instruction,
        operands: Sequence[tuple[str, Shape]],
        attributes: dict[str, str],
        regions: Sequence[Callable[[], None]] = (),
        results: Sequence[Shape] | None = None,
    ) -> list[str]:
        """An operation in its generic form; the names of its results."""
        kinds = list(leaves(instruction.shape)) if results is None else list(results)
        result = self.new_name(instruction.name)
        head = (
            "" if not kinds else f"{result} = " if len(kinds) == 1 else f"{result}:{len(kinds)} = "
        )
        inside = ", ".join(f"{key} = {value}" for key, value in attributes.items())
        properties = f" <{{{inside}}}>" if inside else ""
        text = f'{head}"{name}"({", ".join(o for o, _ in operands)}){properties}'
        tail = f"{self.kept(instruction)} : {function_type([s for _, s in operands], kinds)}"
        if not regions:
            self.add(text + tail)
        else:
            self.lines.append(f"{self.indent}{text} ({{")
            for index, region in enumerate(regions):
                if index:
                    self.lines.append(f"{self.indent}}}, {{")
                region()
            self.add(f"}}){tail}")
        return [result] if len(kinds) == 1 else [f"{result}#{i}" for i in range(len(kinds))]

    def kept(self, instruction: Instruction) -> str:
        """Sharding and frontend attributes, as every operation may have them."""
        parts: list[str] = []
        frontend = instruction.attributes.get("frontend_attributes")
        if frontend is not None and not instruction.attributes.get("is_composite"):
            parts.append(f"mhlo.frontend_attributes = {{{_spaced(str(frontend)[1:-1])}}}")
        sharding = instruction.attributes.get("sharding")
        if sharding is not None:
            parts.append(f"mhlo.sharding = {quoted(str(sharding))}")
        return f" {{{', '.join(parts)}}}" if parts else ""


def _spaced(entries: str) -> str:
    """``key="value"`` entries as ``"key" = "value"``."""
    pairs = re.findall(r'([\w.\-]+)=("(?:[^"\\]|\\.)*")', entries)
    return ", ".join(f'"{key}" = {value}' for key, value in pairs)

"""StableHLO text in, verified HLO modules out.

One text may hold several programs: sections between lines ``// -----``, several modules in one
section, and modules without ``@main``, in which every function that no other calls is a program of
its own (so the StableHLO project's own tests are written).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.frontend.stablehlo.lower.program import Lowering
from compiler.frontend.stablehlo.lower.reading import Fault, Refusal
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.parser import Parser
from compiler.frontend.stablehlo.places import Places
from compiler.frontend.stablehlo.source import Source
from compiler.frontend.stablehlo.types import FunctionType
from compiler.frontend.stablehlo.values import names_in
from compiler.hlo.attributes import NO_ATTRIBUTES, Attributes
from compiler.hlo.module import Alias, Computation, Donor, EntryLayout, Module
from compiler.hlo.text import read_text
from compiler.hlo.verify import verify
from isas.errors import HobError, InputError, UnsupportedError

_SEPARATOR = re.compile(r"^[ \t/]*// -----+.*$", re.MULTILINE)
_FOREIGN_CHARACTER = re.compile(r"[^\w.\-]")
UNNAMED = "module"
"""The name of a module that has none."""


@dataclass(frozen=True, slots=True)
class MlirModule:
    """One module of the text: its functions by name."""

    name: str
    attributes: dict[str, Any]
    functions: dict[str, Operation]
    at: int


def read_stablehlo(path: str | os.PathLike[str]) -> Module:
    """The verified module in a StableHLO text file.

    Raises InputError (unreadable, or several programs), HloSyntaxError, HloVerifyError and
    HloUnsupportedError, each with file:line:column, the line and a caret.
    """
    return parse_stablehlo(read_text(path), str(path))


def parse_stablehlo(text: str, file: str = "<text>") -> Module:
    """The verified module that a text spells. Raises as `read_stablehlo` does."""
    programs = parse_programs(text, file)
    if len(programs) > 1:
        names = ", ".join(program.name for program in programs[:4])
        message = f"this text holds {len(programs)} programs ({names} ...), one was expected"
        raise InputError(message, file, "give one of them a file of its own, with @main")
    return programs[0]


def read_programs(path: str | os.PathLike[str]) -> list[Module]:
    """All programs in a file, each as a verified module. Raises as `read_stablehlo` does."""
    return parse_programs(read_text(path), str(path))


def parse_programs(
    text: str, file: str = "<text>", given: Sequence[np.ndarray] | None = None
) -> list[Module]:
    """All programs in a text, in order. Raises as `read_stablehlo` does.

    With the arrays ``given`` that entries will take, extents that the text leaves open are those of
    the arrays, and the programs hold for the integers among them only.
    """
    programs: list[Module] = []
    for program in parse_each(text, file, given):
        if isinstance(program, HobError):
            raise program
        programs.append(program)
    return programs


def parse_each(
    text: str, file: str = "<text>", given: Sequence[np.ndarray] | None = None
) -> list[Module | HobError]:
    """All programs in a text, in order, with an error in the place of each that cannot be read.

    Raises HloSyntaxError when there are none.
    """
    programs: list[Module | HobError] = []
    for section in _sections(text):
        try:
            programs.extend(_section_programs(section, file, given))
        except HobError as error:
            programs.append(error)
    if not programs:
        raise Source(text, file).error("expected a module or a function, found none")
    return programs


def _sections(text: str) -> list[str]:
    """The parts between separators, each behind as many blank lines as stood before it."""
    sections: list[str] = []
    start = 0
    for match in [*_SEPARATOR.finditer(text), None]:
        end = len(text) if match is None else match.start()
        part = text[start:end]
        if part.strip():
            sections.append("\n" * text.count("\n", 0, start) + part)
        start = len(text) if match is None else match.end()
    return sections


def _section_programs(
    text: str, file: str, given: Sequence[np.ndarray] | None
) -> list[Module | HobError]:
    parser = Parser(text, file)
    places = Places(text)
    modules = _modules(parser.source, parser.parse())
    return [p for each in modules for p in _programs(parser.source, each, places, given)]


def _modules(source: Source, operations: list[Operation]) -> list[MlirModule]:
    """Modules at any depth, and the functions that stand outside of one."""
    modules: list[MlirModule] = []
    loose: dict[str, Operation] = {}
    for operation in operations:
        if operation.name == "builtin.module":
            modules.extend(_nested(source, operation))
        elif operation.name == "func.func":
            _add_function(source, loose, operation)
        elif operation.dialect != "sdy":
            message = f"expected a module or a function, found {operation.name}"
            raise source.error(message, operation.at)
    if loose:
        first = next(iter(loose.values()))
        modules.insert(0, MlirModule(UNNAMED, {}, loose, first.at))
    return modules


def _nested(source: Source, operation: Operation) -> list[MlirModule]:
    inside = [inner for region in operation.regions for inner in region.operations]
    modules = _modules(source, inside)
    name = str(operation.attributes.get("sym_name", UNNAMED))
    return [
        MlirModule(name, operation.attributes, m.functions, operation.at)
        if m.name == UNNAMED and not m.attributes
        else m
        for m in modules
    ]


def _add_function(source: Source, functions: dict[str, Operation], operation: Operation) -> None:
    name = operation.attributes.get("sym_name")
    kind = operation.attributes.get("function_type")
    if not isinstance(name, str) or not isinstance(kind, FunctionType):
        raise source.error("a function needs its name and its type", operation.at)
    if name in functions:
        raise source.error(f"function @{name} is defined twice", operation.at)
    functions[name] = operation


def _programs(
    source: Source, module: MlirModule, places: Places, given: Sequence[np.ndarray] | None
) -> list[Module | HobError]:
    """One HLO module per entry. Functions that no entry reaches are checked all the same."""
    entries = _entries(module)
    programs: list[Module | HobError] = []
    reached: set[str] = set(entries)
    for entry in entries:
        lowering = Lowering(source, module.functions, places)
        try:
            name = _function(lowering, entry, module.functions[entry], given)
            programs.append(_program(lowering, module, entry, name, len(entries) > 1))
        except HobError as error:
            programs.append(error)
        reached |= lowering.reached
    _check_unreached(Lowering(source, module.functions, places), reached)
    return programs


def _entries(module: MlirModule) -> list[str]:
    bodies = {name: f for name, f in module.functions.items() if f.regions}
    if "main" in bodies:
        return ["main"]
    public = [n for n, f in bodies.items() if f.attributes.get("sym_visibility") != "private"]
    called = {name for function in bodies.values() for name in _called(function)}
    free = [name for name in public or bodies if name not in called]
    return free or list(bodies)[:1]


def _called(operation: Operation) -> set[str]:
    """The functions that an operation or its regions name."""
    found: set[str] = set()
    for region in operation.regions:
        for inner in region.operations:
            for value in inner.attributes.values():
                found.update(names_in(value))
            callee = inner.attributes.get("callee")
            found.update((callee,) if isinstance(callee, str) else ())
            found |= _called(inner)
    return found


def _check_unreached(lowering: Lowering, reached: set[str]) -> None:
    """What no entry calls must be right as well, though it may use what Hob does not do."""
    for name, function in lowering.functions.items():
        if function.regions and name not in reached and not lowering.is_dynamic(function):
            try:
                _function(lowering, name, function)
            except UnsupportedError:
                continue


def _function(
    lowering: Lowering,
    name: str,
    function: Operation,
    given: Sequence[np.ndarray] | None = None,
) -> str:
    """Lowers one function; what is wrong with its frame points at the function."""
    try:
        return lowering.function(name) if given is None else lowering.specialised(name, given)
    except Refusal as error:
        raise lowering.source.refused(f"{error} is not supported", function.at) from None
    except Fault as error:
        raise lowering.source.broken(str(error), function.at) from None


def _program(
    lowering: Lowering, module: MlirModule, entry: str, name: str, is_one_of_many: bool
) -> Module:
    """The module whose entry is a lowered function, under its name as a computation."""
    function = module.functions[entry]
    computation = lowering.computations[name]
    wanted = _reachable(lowering.computations, name)
    parameters = tuple(p.shape for p in computation.parameters)
    attributes = _module_attributes(module, function)
    made = Module(
        name=_program_name(module, entry, is_one_of_many),
        computations=wanted,
        entry=name,
        entry_layout=EntryLayout(parameters, computation.shape),
        attributes=Attributes(attributes) if attributes else NO_ATTRIBUTES,
        source=lowering.source.file,
    )
    return verify(made)


def _program_name(module: MlirModule, entry: str, is_one_of_many: bool) -> str:
    """The module's name; the function's where there is no module or several entries."""
    if module.name == UNNAMED:
        return _clean(entry)
    return _clean(f"{module.name}.{entry}" if is_one_of_many else module.name)


def _clean(name: str) -> str:
    cleaned = _FOREIGN_CHARACTER.sub("_", name)
    return cleaned if cleaned[:1].isalpha() or cleaned[:1] == "_" else f"m_{cleaned}"


def _reachable(computations: dict[str, Computation], entry: str) -> tuple[Computation, ...]:
    """The computations that the entry needs, callees first."""
    found: dict[str, None] = {}
    stack = [entry]
    while stack:
        name = stack.pop()
        if name not in found:
            found[name] = None
            stack.extend(c for i in computations[name].instructions for c in i.callees)
    return tuple(c for name, c in computations.items() if name in found)


def _module_attributes(module: MlirModule, function: Operation) -> dict[str, Any]:
    """Replica counts, aliased and donated arguments."""
    kept: dict[str, Any] = {}
    aliases: list[Alias] = []
    donated: list[Donor] = []
    results = len(function.attributes["function_type"].results)
    for number, entries in enumerate(function.attributes.get("arg_attrs", ())):
        output = entries.get("tf.aliasing_output")
        if isinstance(output, int) and 0 <= output < results:
            index = (output,) if results != 1 else ()
            aliases.append(Alias(index, number, (), "may-alias"))
        elif entries.get("jax.buffer_donor") is True:
            donated.append(Donor(number))
    if aliases:
        kept["input_output_alias"] = tuple(aliases)
    if donated:
        kept["buffer_donor"] = tuple(donated)
    for key, name in (
        ("mhlo.num_replicas", "replica_count"),
        ("mhlo.num_partitions", "num_partitions"),
    ):
        count = module.attributes.get(key)
        if isinstance(count, int) and count > 1:
            kept[name] = count
    return kept


def is_stablehlo(path: str | os.PathLike[str], text: str) -> bool:
    """True of a file that is StableHLO by its suffix, or by what it begins with."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix in (".mlir", ".stablehlo"):
        return True
    if suffix == ".hlo":
        return False
    return _BEGINNING.match(text) is not None


_BEGINNING = re.compile(
    r'(?:\s+|//[^\n]*\n)*(?:module\b(?!\s*,)|func\.func\b|"builtin\.module"|[#!]\w+\s*=|\{-#)'
)

__all__ = [
    "is_stablehlo",
    "parse_each",
    "parse_programs",
    "parse_stablehlo",
    "read_programs",
    "read_stablehlo",
]

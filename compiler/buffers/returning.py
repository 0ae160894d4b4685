"""Keeps the caller's word about donated parameters: results that must be returned in their places.

Mostly a result is written over the parameter that `input_output_alias` gives it (see
`compiler.buffers.liveness`). Where that fails although the caller insists (must-alias), because the
parameter is still read, is itself a result, or the result is a constant or another parameter, the
result is copied there last of all, after everybody has read the parameter. XLA inserts such copies
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from compiler.buffers.aliases import Path, Value
from compiler.buffers.facts import gather_facts
from compiler.buffers.liveness import Facts, lifetimes, steps_of, values_read
from compiler.hlo.attributes import Attributes
from compiler.hlo.module import Module, tuple_elements
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.hlo.shape import Shape, TupleShape, subshape
from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedBack(Decision):
    """A result that is copied to the place of a donated parameter, ``chosen``."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    size_bytes: int

    @property
    def template(self) -> str:
        return "{subject} is copied to {chosen} ({size_bytes} bytes): {because}"


def run(module: Module, context: PassContext) -> Module:
    """Adds the last copies of the entry computation."""
    facts = gather_facts(module, module.entry_computation)
    unmet = _unmet(module, facts)
    if not unmet:
        return module
    rewriter = Rewriter(module)
    _Returner(facts, rewriter.edit(module.entry), unmet, context).run()
    return rewriter.build()


def _unmet(module: Module, facts: Facts) -> dict[Path, Value]:
    """The results that must lie in a parameter's place and do not, with that parameter."""
    found = lifetimes(facts, steps_of(facts.computation))
    homes = {array.value: block for block in found.blocks for array in block.arrays}
    names = {p.parameter_number: p.name for p in facts.computation.parameters}
    unmet: dict[Path, Value] = {}
    for alias in module.aliases:
        result = facts.sources.get((facts.computation.root, alias.output_index))
        parameter = (names.get(alias.parameter, ""), alias.parameter_index)
        if not alias.must or result is None or parameter not in homes:
            continue
        if homes.get(result) is not homes[parameter]:
            unmet[alias.output_index] = parameter
    return unmet


@dataclass(slots=True)
class _Returner:
    """The copies of one computation. ``made`` maps a result's path to what is returned there."""

    facts: Facts
    editor: ComputationEditor
    unmet: Mapping[Path, Value]
    context: PassContext
    made: dict[Path, str] = field(default_factory=dict)
    readers: dict[Value, list[str]] = field(default_factory=dict)

    def run(self) -> None:
        computation = self.facts.computation
        for name in steps_of(computation):
            for value in values_read(self.facts, computation.instruction(name)):
                self.readers.setdefault(value, []).append(name)
        self._save_parameters((), computation.shape)
        for path, parameter in self.unmet.items():
            self._copy_back(path, parameter)
        self.editor.set_root(self._rebuilt((), computation.shape))
        if computation.root_instruction.opcode is Opcode.TUPLE:
            self.editor.remove(computation.root)

    def _save_parameters(self, path: Path, shape: Shape) -> None:
        """Copies results that are parameters which another result is going to overwrite."""
        if isinstance(shape, TupleShape):
            for number, element in enumerate(shape.elements):
                self._save_parameters((*path, number), element)
            return
        source = self.facts.sources[self.facts.computation.root, path]
        if source in self.unmet.values():
            self.made[path] = self._copy(self._element(path), shape)
            self.readers.setdefault(source, []).append(self.made[path])

    def _copy_back(self, path: Path, parameter: Value) -> None:
        shape = subshape(self.facts.computation.shape, path)
        name = self.made.get(path) or self._element(path)
        waits = tuple(dict.fromkeys(self.readers.get(parameter, ())))
        attributes = Attributes({"control-predecessors": waits} if waits else {})
        self.made[path] = self._copy(name, shape, attributes)
        source = self.facts.sources[self.facts.computation.root, path]
        self.context.record(
            CopiedBack(
                subject=source[0],
                origins=self.facts.computation.instruction(source[0]).origins,
                chosen=parameter[0],
                because="the caller insists on having it there, where it could not be written",
                size_bytes=shape.size_bytes,
            )
        )

    def _copy(self, name: str, shape: Shape, attributes: Attributes | None = None) -> str:
        source = self.editor.instruction(name)
        return self.editor.add(
            Opcode.COPY, shape, (name,), attributes or Attributes(), sources=(source,), name=name
        )

    def _element(self, path: Path) -> str:
        """An instruction that yields one array of the root."""
        computation = self.facts.computation
        root = computation.root_instruction
        name = root.name
        for depth, number in enumerate(path):
            holder = self.editor.instruction(name)
            if holder.opcode is Opcode.TUPLE:
                name = holder.operands[number]
                continue
            name = self.editor.add(
                Opcode.GET_TUPLE_ELEMENT,
                subshape(computation.shape, path[: depth + 1]),
                (name,),
                Attributes(index=number),
                sources=(root,),
                name=root.name,
            )
        return name

    def _rebuilt(self, path: Path, shape: Shape) -> str:
        """The root with copies in their places."""
        if path in self.made:
            return self.made[path]
        if not any(made[: len(path)] == path for made in self.made):
            return self._element(path)
        inner = enumerate(tuple_elements(shape))
        elements = tuple(self._rebuilt((*path, number), element) for number, element in inner)
        root = self.facts.computation.root_instruction
        return self.editor.add(Opcode.TUPLE, shape, elements, sources=(root,), name=root.name)

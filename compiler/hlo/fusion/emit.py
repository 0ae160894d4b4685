"""Turns finished groups into fusion instructions and their computations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from compiler.hlo.attributes import Attributes, FusionKind
from compiler.hlo.fusion.graph import Graph, is_passive
from compiler.hlo.fusion.trial import computation_of
from compiler.hlo.kernels import is_scalar_broadcast
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rewriter import Names, in_topological_order, merged_origins
from compiler.hlo.rows import Kind, RowStructure, row_structure

_KINDS = {Kind.LOOP: FusionKind.LOOP, Kind.ROWS: FusionKind.INPUT, Kind.DOT: FusionKind.OUTPUT}


@dataclass(frozen=True, slots=True)
class Formed:
    """A fusion instruction with its computation and the proven structure. ``members`` are the
    instructions it is made of, by the names they had before fusion."""

    instruction: Instruction
    computation: Computation
    structure: RowStructure
    members: tuple[str, ...] = ()


@dataclass(slots=True)
class Emitter:
    """Writes the groups of one computation. ``values`` maps an old name to the one that now holds
    its value at the top level; ``used`` holds the names that inner instructions kept."""

    module: Module
    graph: Graph
    names: Names
    values: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    placed: dict[str, list[Instruction]] = field(default_factory=dict)
    formed: list[Formed] = field(default_factory=list)

    def emit(self) -> Computation:
        """The computation with fusions in place of the groups; `formed` lists them afterwards."""
        computation = self.graph.computation
        for instruction in computation:
            if self._stays(instruction.name):
                self.used.add(instruction.name)
        for number in sorted(self.graph.groups, key=self._position):
            self._emit_group(number)
        for instruction in computation:
            if self._is_materialised_broadcast(instruction):
                self._form((instruction.name,), (instruction.name,))
            elif self._stays(instruction.name):
                self.placed.setdefault(instruction.name, []).append(instruction)
        ordered = [i for old in computation for i in self.placed.get(old.name, ())]
        renamed = [_redirected(i, self.values) for i in ordered]
        root = self.values.get(computation.root, computation.root)
        return replace(computation, instructions=in_topological_order(renamed), root=root)

    def _position(self, number: int) -> tuple[int, int]:
        return min(self.graph.positions[n] for n in self.graph.groups[number].names), number

    def _is_materialised_broadcast(self, instruction: Instruction) -> bool:
        found = is_scalar_broadcast(self.graph.computation, instruction)
        return found and self.graph.is_materialised(instruction.name)

    def _stays(self, name: str) -> bool:
        """True of what stands at the top level as it is: no group, or one that is not emitted."""
        home = self.graph.home(name)
        if home is not None:
            return is_passive(self.graph, home)
        if self.graph.is_absorbed(name):
            instruction = self.graph.instruction(name)
            if instruction.opcode is not Opcode.CONSTANT:
                return False
            return self.graph.is_materialised(name)
        return name not in self.graph.copies

    def _emit_group(self, number: int) -> None:
        if is_passive(self.graph, number):
            return
        names = self.graph.groups[number].names
        outputs = tuple(self.graph.outputs((number,)))
        if len(self.graph.closure(names)) == 1 and outputs == tuple(names):
            self.placed[outputs[0]] = [self.graph.instruction(outputs[0])]
            return
        self._form(names, outputs)

    def _form(self, names: Iterable[str], outputs: tuple[str, ...]) -> None:
        if not outputs:
            return
        inputs = tuple(self.graph.inputs(names))
        body = self._renamed(computation_of(self.graph, names, inputs, outputs))
        structure = row_structure(self.module, body)
        last = self.graph.instruction(outputs[-1])
        parts = [i for i in body if i.opcode not in (Opcode.PARAMETER, Opcode.TUPLE)]
        kind = _KINDS[structure.kind] if isinstance(structure, RowStructure) else FusionKind.CUSTOM
        fusion = Instruction(
            name=self.names.fresh("fusion"),
            opcode=Opcode.FUSION,
            shape=body.shape,
            operands=inputs,
            attributes=Attributes(kind=kind, calls=body.name),
            metadata=last.metadata,
            origin=merged_origins(i for i in parts if i.opcode is not Opcode.CONSTANT),
            line=last.line,
        )
        self.placed.setdefault(last.name, []).extend(self._with_elements(fusion, outputs))
        if isinstance(structure, RowStructure):
            members = tuple(self.graph.closure(names))
            self.formed.append(Formed(fusion, body, structure, members))

    def _with_elements(self, fusion: Instruction, outputs: tuple[str, ...]) -> list[Instruction]:
        if len(outputs) == 1:
            self.values[outputs[0]] = fusion.name
            return [fusion]
        placed = [fusion]
        for number, output in enumerate(outputs):
            value = self.graph.instruction(output)
            element = Instruction(
                name=self.names.fresh(output),
                opcode=Opcode.GET_TUPLE_ELEMENT,
                shape=value.shape,
                operands=(fusion.name,),
                attributes=Attributes(index=number),
                metadata=value.metadata,
                origin=value.origins,
                line=value.line,
            )
            self.values[output] = element.name
            placed.append(element)
        return placed

    def _renamed(self, body: Computation) -> Computation:
        """Gives the body names that occur nowhere else in the module."""
        inner: dict[str, str] = {}
        renamed: list[Instruction] = []
        for instruction in body:
            inner[instruction.name] = self._inner_name(instruction)
            current = _redirected(instruction, inner)
            name = inner[instruction.name]
            renamed.append(replace(current, name=name, origin=instruction.origins))
        name = self.names.fresh("fused_computation")
        return Computation(name, tuple(renamed), inner[body.root])

    def _inner_name(self, instruction: Instruction) -> str:
        if instruction.opcode in (Opcode.PARAMETER, Opcode.TUPLE) or instruction.name in self.used:
            return self.names.fresh(instruction.name)
        self.used.add(instruction.name)
        return instruction.name


def _redirected(instruction: Instruction, values: Mapping[str, str]) -> Instruction:
    operands = tuple(values.get(n, n) for n in instruction.operands)
    current = instruction.with_operands(operands)
    before = tuple(dict.fromkeys(values.get(n, n) for n in current.control_predecessors))
    if before == current.control_predecessors:
        return current
    attributes = current.attributes.updated({"control-predecessors": before})
    return replace(current, attributes=attributes)

"""Copy insertion: makes explicit what loops and branches need in places of its own.

A loop keeps its state where it lies and overwrites it; a branch leaves its results where the
conditional's are. So the first state must not be something that is needed elsewhere (a parameter
that was not donated, a constant, a value that is read later, the same value twice), and what
a body or branch hands back must be its own: not another element of the state, a constant, or the
same value twice. Each of these gets a copy, and the journal says why; state that no iteration
changes is never copied. XLA inserts the same copies before it assigns buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from compiler.buffers.aliases import Path, Value, paths, sources
from compiler.hlo.kernels import launched_callees, launching_computations
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.hlo.shape import ArrayShape
from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Decision):
    """A value that got a place of its own. ``chosen`` is the instruction that hands it on."""

    size_bytes: int

    @property
    def template(self) -> str:
        return "{subject} is copied for {chosen} ({size_bytes} bytes): {because}"


def run(module: Module, context: PassContext) -> Module:
    """Inserts copies around and inside all loops and branches."""
    rewriter = Rewriter(module)
    names = dict.fromkeys(c.name for c in launching_computations(module))
    for name in names:
        _Inserter(module, rewriter.edit(name), context, _caller(module, name)).insert()
    return rewriter.build()


def _caller(module: Module, name: str) -> Instruction | None:
    """The loop or conditional that runs a computation; None for the entry."""
    for computation in launching_computations(module):
        for instruction in computation:
            if name in launched_callees(instruction):
                return instruction
    return None


def changing_paths(module: Module, loop: Instruction) -> tuple[Path, ...]:
    """The elements of a loop's state that some iteration may change."""
    body = module.computation(loop.attributes["body"])
    found = sources(module, body)
    state = body.parameters[0].name
    return tuple(p for p, _ in paths(loop.shape) if found[(body.root, p)] != (state, p))


@dataclass(frozen=True, slots=True)
class _Inserter:
    """The copies of one computation."""

    module: Module
    editor: ComputationEditor
    context: PassContext
    caller: Instruction | None

    def insert(self) -> None:
        computation = self.editor.computation
        found = sources(self.module, computation)
        for instruction in computation:
            if instruction.opcode is Opcode.WHILE:
                wanted = changing_paths(self.module, instruction)
                reasons = self._first_state(instruction, wanted, found)
                self._copy(computation.instruction(instruction.operands[0]), reasons)
        self._results(computation, found)

    def _first_state(
        self, loop: Instruction, wanted: tuple[Path, ...], found: Mapping[Value, Value]
    ) -> dict[Path, str]:
        reasons: dict[Path, str] = {}
        kept = (path for path, _ in paths(loop.shape) if path not in wanted)
        seen = {found[(loop.operands[0], path)] for path in kept}
        for path in wanted:
            source = found[(loop.operands[0], path)]
            reason = self._not_ours(source)
            if not reason and source in seen:
                reason = "the state holds it twice"
            if not reason and self._is_read_later(loop, source, found):
                reason = f"it is read after {loop.name} began"
            if reason:
                reasons[path] = f"{loop.name} overwrites its state, and {reason}"
            seen.add(source)
        return reasons

    def _not_ours(self, source: Value) -> str:
        """Why a value may not be overwritten, whoever reads it; empty when it may."""
        instruction = self.editor.computation.instruction(source[0])
        if instruction.opcode is Opcode.CONSTANT:
            return f"{source[0]} is a constant"
        if instruction.opcode is not Opcode.PARAMETER:
            return ""
        if self.caller is None:
            return "" if self._is_donated(instruction, source[1]) else f"{source[0]} is a parameter"
        in_body = (
            self.caller.opcode is Opcode.WHILE
            and self.caller.attributes["body"] == self.editor.computation.name
        )
        if in_body and source[1] in changing_paths(self.module, self.caller):
            return ""
        return f"{source[0]} belongs to {self.caller.name}"

    def _is_donated(self, parameter: Instruction, path: Path) -> bool:
        number = parameter.parameter_number
        return any((a.parameter, a.parameter_index) == (number, path) for a in self.module.aliases)

    def _is_read_later(
        self, loop: Instruction, source: Value, found: Mapping[Value, Value]
    ) -> bool:
        is_after = False
        for instruction in self.editor.computation:
            if instruction is loop:
                is_after = True
            elif (
                is_after
                and not instruction.opcode.is_view
                and self._reads(instruction, source, found)
            ):
                return True
        root = self.editor.computation.root_instruction
        return any(found[(root.name, path)] == source for path, _ in paths(root.shape))

    def _reads(self, instruction: Instruction, source: Value, found: Mapping[Value, Value]) -> bool:
        computation = self.editor.computation
        return any(
            found[(operand, path)] == source
            for operand in instruction.operands
            for path, _ in paths(computation.instruction(operand).shape)
        )

    def _results(self, computation: Computation, found: Mapping[Value, Value]) -> None:
        """Copies of what a body or branch hands back without owning it."""
        if self.caller is None or self._is_condition(computation):
            return
        root = computation.root_instruction
        is_body = self.caller.opcode is Opcode.WHILE
        reasons: dict[Path, str] = {}
        seen: set[Value] = set()
        for path, _ in paths(root.shape):
            source = found[(root.name, path)]
            opcode = computation.instruction(source[0]).opcode
            if is_body and source == (computation.parameters[0].name, path):
                continue
            if opcode is Opcode.PARAMETER:
                word = "another element of the state" if is_body else "the caller's"
                reasons[path] = f"{source[0]} is {word}"
            elif opcode is Opcode.CONSTANT:
                reasons[path] = f"{source[0]} is a constant"
            elif source in seen:
                reasons[path] = "it is handed back twice"
            seen.add(source)
        self._copy(root, reasons)

    def _is_condition(self, computation: Computation) -> bool:
        return self.caller is not None and (
            self.caller.attributes.get("condition") == computation.name
        )

    def _copy(self, holder: Instruction, reasons: Mapping[Path, str]) -> None:
        """Replaces elements of a tuple (or one array) by copies."""
        if not reasons:
            return
        if holder.opcode is Opcode.TUPLE:
            operands = list(holder.operands)
            for path, because in self._flat(reasons):
                operands[path[0]] = self._add(operands[path[0]], holder, because)
            current = self.editor.instruction(holder.name)
            self.editor.rewrite(replace(current, operands=tuple(operands)))
        elif holder.is_array and holder.name == self.editor.computation.root:
            self.editor.set_root(self._add(holder.name, None, reasons[()]))

    def _flat(self, reasons: Mapping[Path, str]) -> Iterator[tuple[Path, str]]:
        """The elements that are arrays; nested tuples are left to the copies of the host."""
        return ((path, because) for path, because in reasons.items() if len(path) == 1)

    def _add(self, name: str, holder: Instruction | None, because: str) -> str:
        source = self.editor.computation.instruction(name)
        if not isinstance(source.shape, ArrayShape):
            return name
        before = None if holder is None else holder.name
        copy = self.editor.add(
            Opcode.COPY, source.shape, (name,), sources=(source,), before=before, name=name
        )
        self.context.record(
            Copied(
                subject=name,
                origins=source.origins,
                chosen=(holder or source).name,
                because=because,
                size_bytes=source.shape.size_bytes,
            )
        )
        return copy

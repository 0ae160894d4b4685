"""Copy insertion: makes explicit what loops and branches need in places of its own.

A loop keeps its state where it lies and overwrites it; a branch leaves its results where the
conditional's are. So the first state must not be something that is needed elsewhere (a parameter
that was not donated, a constant, a value that is read later, the same value twice), and what
a body or branch hands back must be its own: not another element of the state, a constant, or the
same value twice. Each of these gets a copy, and the journal says why. A copy costs no launch where
the kernel that makes the value, or one that makes another element of the state, can write it
beside (`compiler.buffers.widening`); other arrays of equal extents are copied by one kernel; state
that no iteration changes is never copied. XLA inserts such copies before it assigns buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from compiler.buffers.aliases import Path, Value, paths, sources
from compiler.buffers.liveness import ALIGNMENT
from compiler.buffers.widening import runs_alike, widen
from compiler.hlo.attributes import Attributes, FusionKind
from compiler.hlo.kernels import is_kernel, launched_callees, launching_computations
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.hlo.shape import TupleShape
from compiler.journal import Decision

MOST_TOGETHER = 7
"""Arrays that one kernel copies: each is read and written, and both are pointers in registers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Decision):
    """A value that got a place of its own. ``chosen`` is the instruction that hands it on, ``by``
    the kernel that writes the copy beside its own results, if there is one."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    size_bytes: int
    by: str = ""

    @property
    def template(self) -> str:
        if self.by:
            return "{subject} is copied for {chosen} by {by} ({size_bytes} bytes): {because}"
        return "{subject} is copied for {chosen} ({size_bytes} bytes): {because}"


def run(module: Module, context: PassContext) -> Module:
    """Inserts copies around and inside all loops and branches."""
    rewriter = Rewriter(module)
    names = dict.fromkeys(c.name for c in launching_computations(module))
    for name in names:
        editor = rewriter.edit(name)
        _Inserter(module, rewriter, editor, context, _caller(module, name)).insert()
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
    rewriter: Rewriter
    editor: ComputationEditor
    context: PassContext
    caller: Instruction | None
    widened: set[str] = field(default_factory=set)

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
        """Replaces elements of a tuple (or one array) by copies; nested tuples are left to the
        moves of buffer assignment."""
        if holder.opcode is Opcode.TUPLE:
            wanted = {path[0]: why for path, why in reasons.items() if len(path) == 1}
            arrays = [n for n in wanted if self._source(holder.operands[n]).is_array]
            operands = list(holder.operands)
            beside = self._beside(holder, arrays)
            rest = [number for number in arrays if number not in beside]
            for group in self._groups(holder, rest):
                for number, name in zip(group, self._copies(holder, group), strict=True):
                    operands[number] = name
            for number in arrays:
                maker, operands[number] = beside.get(number, ("", operands[number]))
                self._tell(holder.operands[number], holder.name, wanted[number], maker)
            if arrays:
                current = self.editor.instruction(holder.name)
                self.editor.rewrite(replace(current, operands=tuple(operands)))
        elif reasons and holder.is_array and holder.name == self.editor.computation.root:
            self.editor.set_root(self._single(holder.name, None))
            self._tell(holder.name, holder.name, reasons[()])

    def _source(self, name: str) -> Instruction:
        return self.editor.computation.instruction(name)

    def _beside(self, holder: Instruction, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
        """The elements that a kernel copies beside its results: its name and the copy's."""
        wanted: dict[str, list[int]] = {}
        for number in numbers if self.context.options.fuse else ():
            maker = self._maker(holder, number)
            if maker is not None:
                wanted.setdefault(maker, []).append(number)
        found: dict[int, tuple[str, str]] = {}
        for maker, group in wanted.items():
            copied = [self._source(holder.operands[number]) for number in group]
            names = widen(self.module, self.rewriter, self.editor, self._source(maker), copied)
            if names is not None:
                self.widened.add(maker)
                found.update((n, (maker, name)) for n, name in zip(group, names, strict=True))
        return found

    def _maker(self, holder: Instruction, number: int) -> str | None:
        """The kernel that may copy an element: the one that makes it, or for what nobody makes one
        that makes another element. A large copy is not made long before it is needed."""
        source = self._source(holder.operands[number])
        is_large = source.shape.size_bytes > ALIGNMENT
        if source.opcode not in (Opcode.PARAMETER, Opcode.CONSTANT, Opcode.GET_TUPLE_ELEMENT):
            makers = [source.name]
        else:
            makers = [source.operands[0]] if source.operands else []
            if not makers or self._source(makers[0]).opcode is Opcode.PARAMETER:
                in_body = self.caller is not None and self.caller.opcode is Opcode.WHILE
                makers = self._other_makers(holder) if in_body or not is_large else []
        for maker in makers:
            kernel = self._source(maker)
            if self._may_widen(kernel) and runs_alike(kernel, source):
                return maker
        return None

    def _other_makers(self, holder: Instruction) -> list[str]:
        operands = [self._source(name) for name in holder.operands]
        is_element = Opcode.GET_TUPLE_ELEMENT
        return [o.operands[0] if o.opcode is is_element else o.name for o in operands]

    def _may_widen(self, kernel: Instruction) -> bool:
        is_own = is_kernel(self.editor.computation, kernel) and not kernel.has_side_effect
        return is_own and kernel.name not in self.widened

    def _groups(self, holder: Instruction, numbers: Sequence[int]) -> list[list[int]]:
        """The elements that one kernel copies together: those of equal extents."""
        if not self.context.options.fuse:
            return [[number] for number in numbers]
        found: dict[object, list[int]] = {}
        for number in numbers:
            array = self._source(holder.operands[number]).array
            found.setdefault((array.dimensions, array.layout), []).append(number)
        every = MOST_TOGETHER
        return [g[i : i + every] for g in found.values() for i in range(0, len(g), every)]

    def _copies(self, holder: Instruction, group: Sequence[int]) -> list[str]:
        names = [holder.operands[number] for number in group]
        if len(group) == 1:
            return [self._single(names[0], holder.name)]
        return self._together(names, holder.name)

    def _single(self, name: str, before: str | None) -> str:
        source = self._source(name)
        return self.editor.add(
            Opcode.COPY, source.shape, (name,), sources=(source,), before=before, name=name
        )

    def _together(self, names: Sequence[str], before: str) -> list[str]:
        """One kernel with a copy of each array; scalar constants stand inside it."""
        sources = [self._source(name) for name in names]
        operands = tuple(dict.fromkeys(s.name for s in sources if not _is_scalar_constant(s)))
        body = self._body(sources, operands)
        self.rewriter.add_computation(body)
        kernel = self.editor.add(
            Opcode.FUSION,
            body.shape,
            operands,
            Attributes(kind=FusionKind.LOOP, calls=body.name),
            sources=sources,
            before=before,
            name="fusion",
        )
        return [
            self.editor.add(
                Opcode.GET_TUPLE_ELEMENT,
                source.shape,
                (kernel,),
                Attributes(index=number),
                sources=(source,),
                before=before,
                name=source.name,
            )
            for number, source in enumerate(sources)
        ]

    def _body(self, sources: Sequence[Instruction], operands: Sequence[str]) -> Computation:
        fresh = self.rewriter.names.fresh
        placed: dict[str, Instruction] = {}
        for source in sources:
            if source.name in placed:
                continue
            inner = replace(source, name=fresh(source.name), origin=source.origins)
            if source.name in operands:
                number = Attributes(parameter_number=operands.index(source.name))
                inner = replace(
                    inner, opcode=Opcode.PARAMETER, operands=(), attributes=number, literal=None
                )
            placed[source.name] = inner
        copies = [
            Instruction(
                fresh("copy"),
                Opcode.COPY,
                source.shape,
                (placed[source.name].name,),
                metadata=source.metadata,
                origin=source.origins,
                line=source.line,
            )
            for source in sources
        ]
        shape = TupleShape(tuple(source.shape for source in sources))
        root = Instruction(fresh("copies"), Opcode.TUPLE, shape, tuple(c.name for c in copies))
        order = sorted(placed.values(), key=lambda i: i.parameter_number < 0)
        return Computation(fresh("fused_computation"), (*order, *copies, root), root.name)

    def _tell(self, name: str, holder: str, because: str, by: str = "") -> None:
        source = self._source(name)
        self.context.record(
            Copied(
                subject=name,
                origins=source.origins,
                chosen=holder,
                because=because,
                size_bytes=source.shape.size_bytes,
                by=by,
            )
        )


def _is_scalar_constant(instruction: Instruction) -> bool:
    return instruction.opcode is Opcode.CONSTANT and instruction.array.is_scalar

"""A kernel that writes copies beside its own results: no launch, and what it reads anyway is read
once.

Copy insertion (`compiler.buffers.copies`) asks for it where a value is to be copied that a kernel
makes, or where a kernel of equal extents makes another element of the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compiler.buffers.aliases import kernel_body
from compiler.hlo.attributes import Attributes, FusionKind
from compiler.hlo.fusion.trial import LARGEST_BORDER
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.hlo.rows import Kind, RowStructure, roots_of, row_structure
from compiler.hlo.shape import ArrayShape, TupleShape, leaves
from compiler.hlo.walks import squeezed


def runs_alike(kernel: Instruction, source: Instruction) -> bool:
    """True when the loops over a kernel's first result visit an array in the order in which it lies
    in memory."""
    made, copied = leaves(kernel.shape)[0], source.shape
    if not isinstance(made, ArrayShape) or not isinstance(copied, ArrayShape):
        return False
    if len(squeezed(made)) < 2:
        return squeezed(made) == squeezed(copied)
    return made.dimensions == copied.dimensions and made.minor_to_major == copied.minor_to_major


def widen(
    module: Module,
    rewriter: Rewriter,
    editor: ComputationEditor,
    kernel: Instruction,
    sources: Sequence[Instruction],
) -> list[str] | None:
    """Lets a kernel write copies of some values, its own results among them; their names, or None
    when it cannot. The kernel must not have been edited before."""
    body = kernel_body(module, editor.computation, kernel)
    if body is None or not _is_loop(module, body):
        return None
    clone = _Clone(rewriter, kernel, body)
    wide = clone.with_copies(sources)
    if len(clone.operands) + len(roots_of(wide)) > LARGEST_BORDER or not _is_loop(module, wide):
        return None
    rewriter.add_computation(wide)
    names = _results(editor, kernel, wide, sources)
    attributes = Attributes(kind=FusionKind.LOOP, calls=wide.name)
    if kernel.opcode is Opcode.FUSION:
        attributes = kernel.attributes.updated({"calls": wide.name})
    fusion = replace(
        kernel,
        opcode=Opcode.FUSION,
        shape=wide.shape,
        operands=tuple(clone.operands),
        attributes=attributes,
        literal=None,
        origin=kernel.origins,
    )
    element = None if isinstance(kernel.shape, TupleShape) else names.pop(0)
    editor.widen(fusion, element)
    return names


def _is_loop(module: Module, body: Computation) -> bool:
    structure = row_structure(module, body)
    return isinstance(structure, RowStructure) and structure.kind is Kind.LOOP


def _results(
    editor: ComputationEditor,
    kernel: Instruction,
    wide: Computation,
    sources: Sequence[Instruction],
) -> list[str]:
    """Elements of the widened kernel: its one former result, if it was one, and the copies."""
    holders = list(sources)
    if not isinstance(kernel.shape, TupleShape):
        holders.insert(0, kernel)
    first = len(roots_of(wide)) - len(holders)
    return [
        editor.add(
            Opcode.GET_TUPLE_ELEMENT,
            holder.shape,
            (kernel.name,),
            Attributes(index=first + number),
            sources=(holder,),
            before=kernel.name,
            name=holder.name,
        )
        for number, holder in enumerate(holders)
    ]


@dataclass(slots=True)
class _Clone:
    """The body of a kernel under fresh names, which grows. ``inner`` maps names outside and in the
    old body to those in the new one."""

    rewriter: Rewriter
    kernel: Instruction
    body: Computation
    operands: list[str] = field(default_factory=list)
    inner: dict[str, str] = field(default_factory=dict)
    parameters: list[Instruction] = field(default_factory=list)
    placed: list[Instruction] = field(default_factory=list)

    def with_copies(self, sources: Sequence[Instruction]) -> Computation:
        roots = self._copied_body()
        made = dict(zip(self._own_names(sources), roots))
        copies = [self._copy(source, made.get(source.name)) for source in sources]
        inside = {i.name: i.shape for i in (*self.parameters, *self.placed)}
        every = (*roots, *copies)
        shape = TupleShape(tuple(inside[name] for name in every))
        root = Instruction(self._fresh("results"), Opcode.TUPLE, shape, every)
        name = self._fresh("fused_computation")
        return Computation(name, (*self.parameters, *self.placed, root), root.name)

    def _fresh(self, hint: str) -> str:
        return self.rewriter.names.fresh(hint)

    def _copied_body(self) -> list[str]:
        """Takes over the old instructions but a tuple of results; the names of the results."""
        given = list(dict.fromkeys(self.kernel.operands))
        if self.kernel.opcode is Opcode.FUSION:
            given = list(self.kernel.operands)
        for outer, parameter in zip(given, self.body.parameters, strict=True):
            self._parameter(outer, parameter)
        for instruction in self.body:
            if instruction.opcode is not Opcode.PARAMETER and not self._is_results(instruction):
                self._place(instruction)
        return [self.inner[name] for name in roots_of(self.body)]

    def _is_results(self, instruction: Instruction) -> bool:
        return instruction.name == self.body.root and instruction.opcode is Opcode.TUPLE

    def _parameter(self, outer: str, given: Instruction) -> str:
        parameter = replace(
            given,
            name=self._fresh(given.name),
            opcode=Opcode.PARAMETER,
            operands=(),
            attributes=Attributes(parameter_number=len(self.operands)),
            literal=None,
            origin=given.origins,
        )
        self.operands.append(outer)
        self.inner.setdefault(outer, parameter.name)
        self.inner[given.name] = parameter.name
        self.parameters.append(parameter)
        return parameter.name

    def _place(self, instruction: Instruction) -> str:
        name = self._fresh(instruction.name)
        operands = tuple(self.inner[operand] for operand in instruction.operands)
        current = instruction.with_operands(operands)
        self.inner[instruction.name] = name
        self.placed.append(replace(current, name=name, origin=instruction.origins))
        return name

    def _own_names(self, sources: Sequence[Instruction]) -> list[str]:
        """The names outside of the kernel's own results, by their place among them."""
        if not isinstance(self.kernel.shape, TupleShape):
            return [self.kernel.name]
        names = [""] * len(self.kernel.shape.elements)
        for source in sources:
            if source.opcode is Opcode.GET_TUPLE_ELEMENT and source.operands == (self.kernel.name,):
                names[source.tuple_index] = source.name
        return names

    def _copy(self, source: Instruction, made: str | None) -> str:
        if made is None:
            is_scalar = source.opcode is Opcode.CONSTANT and source.array.is_scalar
            made = self.inner.get(source.name) if source.name in self.operands else None
            if made is None:
                made = self._place(source) if is_scalar else self._parameter(source.name, source)
        copy = Instruction(
            self._fresh("copy"),
            Opcode.COPY,
            source.shape,
            (made,),
            metadata=source.metadata,
            origin=source.origins,
            line=source.line,
        )
        self.placed.append(copy)
        return copy.name

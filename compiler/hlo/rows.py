"""Whether a fusion can be one loop nest over rows, and if so, how: the contract of fusion and
lowering.

A kernel visits *rows*. For every row it runs *stages*: an inner loop over the columns that feeds
the accumulators of one or several reduces, scalar work between them, or an inner loop that writes
results of full shape. Softmax is one such kernel: its row is one line of the matrix; the stages are
maximum, sum of exponentials, and the quotient. The condition is that whoever uses a reduced value
needs it for the row at hand only. `row_structure` proves that symbolically: it walks from each
result and each reduce towards the parameters, carrying indices (`compiler.hlo.elements`), and
compares the index at which a reduced value is needed with the row's own variables. A kernel without
reduces is the plain case: no row, one stage that writes. A dot stands alone or at the bottom of an
elementwise epilogue.
"""

from __future__ import annotations

from compiler.hlo.elements import Demand, Indices
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.reduced_rows import ReducedRows
from compiler.hlo.stages import (
    UNIT,
    Axis,
    Kind,
    Read,
    Reason,
    RowStructure,
    Space,
    Stage,
    StageKind,
    WhyNot,
)
from compiler.hlo.walks import (
    Refused,
    axes_in_order,
    check_arrays,
    index_text,
    placed,
    reads_of,
    roots_of,
    squeeze,
    squeezed,
    walk,
)

__all__ = [
    "UNIT",
    "Axis",
    "Kind",
    "Read",
    "Reason",
    "RowStructure",
    "Space",
    "Stage",
    "StageKind",
    "WhyNot",
    "roots_of",
    "row_structure",
    "walk",
]


def row_structure(module: Module, computation: Computation) -> RowStructure | WhyNot:
    """How the instructions of a fusion computation become one kernel, or why they cannot."""
    del module  # the reducers' bodies do not matter to the structure
    return computation.remembered("row structure", _found)


def _found(computation: Computation) -> RowStructure | WhyNot:
    try:
        return _structure(computation)
    except Refused as refused:
        return refused.why


def _structure(computation: Computation) -> RowStructure:
    live = _live(computation)
    reduces = tuple(i for i in live if i.opcode is Opcode.REDUCE)
    dots = tuple(i for i in live if i.opcode is Opcode.DOT)
    if dots and (reduces or len(dots) > 1):
        names = " ".join(i.name for i in (*dots, *reduces))
        raise Refused(Reason.DOT, f"{names} in one kernel")
    if reduces:
        return ReducedRows(computation, reduces).structure()
    return _loop(computation, dots[0] if dots else None)


def _live(computation: Computation) -> list[Instruction]:
    """The instructions that the roots depend on, in the computation's order."""
    needed = {computation.root}
    for instruction in reversed(computation.instructions):
        if instruction.name in needed:
            needed.update(instruction.operands)
    return [i for i in computation if i.name in needed]


def _loop(computation: Computation, dot: Instruction | None) -> RowStructure:
    roots = [computation.instruction(name) for name in roots_of(computation)]
    check_arrays(roots)
    extents = squeezed(roots[0].array)
    needed: dict[Demand, None] = {}
    axes: dict[str, tuple[Axis, ...]] = {}
    for root in roots:
        if squeezed(root.array) != extents:
            raise Refused(Reason.SHAPES, f"{roots[0].name} and {root.name}")
        axes[root.name] = axes_in_order(root.array, Space.COLUMN)
        at = placed(axes[root.name], (), extents)
        found = walk(computation, [(root.name, at)], frozenset((dot.name,)) if dot else frozenset())
        needed |= found
        if dot is not None:
            _check_dot(computation, dot, root, at, found)
    stages = (Stage(StageKind.WRITE, tuple(axes), extents),)
    kind = Kind.LOOP if dot is None else Kind.DOT
    bottom = dot.name if dot else None
    return RowStructure(kind, (), stages, axes, (), bottom, reads_of([needed]), len(needed))


def _check_dot(
    computation: Computation,
    dot: Instruction,
    root: Instruction,
    at: Indices,
    found: dict[Demand, None],
) -> None:
    for operand in computation.operands(dot):
        if operand.opcode is not Opcode.PARAMETER:
            raise Refused(
                Reason.DOT, f"{operand.name} is computed inside, as operand of {dot.name}"
            )
    wanted = tuple(i for i, e in zip(at, root.array.dimensions, strict=True) if e != 1)
    for name, index in found:
        if name != dot.name:
            continue
        if squeeze(index, dot.array) != wanted:
            raise Refused(Reason.INDEX, f"{root.name} needs {name} at {index_text(index)}")

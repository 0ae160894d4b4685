"""Walking from results towards parameters with indices, and the words for where things lie.

Shared by the analyses of kernels without reduces (`compiler.hlo.rows`) and with them
(`compiler.hlo.reduced_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.hlo import indices as ix
from compiler.hlo.elements import Demand, Indices, operand_indices
from compiler.hlo.indices import Index, Variable, of_variable
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape
from compiler.hlo.stages import UNIT, Axis, Read, Reason, Space, WhyNot

LARGEST_WALK = 4000
"""How many scalar values one stage may consist of before the kernel's code counts as too large."""


class Refused(Exception):
    """Carries a WhyNot out of the walk."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.why = WhyNot(reason, detail)


def walk(
    computation: Computation, starts: Iterable[Demand], stops: frozenset[str]
) -> dict[Demand, None]:
    """Everything needed for some elements, in order; ``stops`` are reached but not entered.

    Raises Refused when an instruction has no elemental view or there is too much.
    """
    seen: dict[Demand, None] = {}
    stack = list(starts)
    while stack:
        demand = stack.pop()
        known = len(seen)
        seen[demand] = None
        if len(seen) == known:
            continue
        if known > LARGEST_WALK:
            raise Refused(Reason.SIZE, f"more than {LARGEST_WALK} values for one element")
        name, at = demand
        if name not in stops:
            stack.extend(enter(computation, name, at))
    return seen


def enter(computation: Computation, name: str, at: Indices) -> tuple[Demand, ...]:
    """What one element is made of. Raises Refused when an instruction has no elemental view."""
    instruction = computation.instruction(name)
    if instruction.opcode is Opcode.GET_TUPLE_ELEMENT:
        return ((instruction.operands[0], at),)
    found = operand_indices(computation, instruction, at) if instruction.is_array else None
    if found is None:
        raise Refused(Reason.NOT_ELEMENTAL, f"{name} is a {instruction.opcode}")
    return found


def roots_of(computation: Computation) -> tuple[str, ...]:
    """The instructions whose values a fusion yields, in tuple order (a tuple root is looked
    through).
    """
    root = computation.root_instruction
    return root.operands if root.opcode is Opcode.TUPLE else (root.name,)


def reads_of(needed: list[dict[Demand, None]]) -> dict[str, tuple[Read, ...]]:
    found: dict[str, list[Read]] = {}
    for stage, demands in enumerate(needed):
        for name, at in demands:
            found.setdefault(name, []).append(Read(stage, at))
    return {name: tuple(reads) for name, reads in found.items()}


def check_arrays(roots: Iterable[Instruction]) -> None:
    for root in roots:
        if not root.is_array:
            raise Refused(Reason.NOT_ELEMENTAL, f"{root.name} yields {root.shape}")


def squeezed(shape: ArrayShape) -> tuple[int, ...]:
    return tuple(e for e in shape.dimensions if e != 1)


def squeeze(at: Indices, shape: ArrayShape) -> Indices:
    return tuple(i for i, e in zip(at, shape.dimensions, strict=True) if e != 1)


def axes_in_order(shape: ArrayShape, space: Space) -> tuple[Axis, ...]:
    axes = []
    position = 0
    for extent in shape.dimensions:
        axes.append(UNIT if extent == 1 else Axis(space, position))
        position += extent != 1
    return tuple(axes)


def placed(axes: tuple[Axis, ...], rows: tuple[int, ...], columns: tuple[int, ...]) -> Indices:
    """The element that lies at the current row and column."""
    found: list[Index] = []
    for axis in axes:
        extents = rows if axis.space is Space.ROW else columns
        if axis.space is Space.UNIT:
            found.append(ix.ZERO)
        else:
            found.append(of_variable(Variable(str(axis), extents[axis.position])))
    return tuple(found)


def index_text(at: Indices) -> str:
    return f"[{', '.join(map(str, at))}]"

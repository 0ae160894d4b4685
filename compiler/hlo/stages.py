"""The words in which a kernel's loop structure is told: axes, stages, and reasons against.

`compiler.hlo.rows` proves structures and explains them; fusion and lowering read them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from compiler.hlo.elements import Indices


class Space(enum.Enum):
    """What a dimension of an array runs along."""

    ROW = "row"
    COLUMN = "column"
    UNIT = "unit"


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of an array: row loop or column loop ``position``, or extent 1."""

    space: Space
    position: int = 0

    def __str__(self) -> str:
        return "0" if self.space is Space.UNIT else f"{self.space.value[0]}{self.position}"


UNIT = Axis(Space.UNIT)


class Kind(enum.Enum):
    """What sort of kernel it is."""

    LOOP = "loop"
    ROWS = "rows"
    DOT = "dot"


class StageKind(enum.Enum):
    """What one stage of a row does."""

    REDUCE = "reduce"
    ROW = "row"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the work on a row.

    REDUCE: an inner loop over ``columns`` that computes the reduces ``instructions`` together;
    those that are roots are written at its end. ROW: no loop; the row-shaped values
    ``instructions`` in topological order (roots among them are written here). WRITE: an inner loop
    over ``columns`` that writes the roots ``instructions``.
    """

    kind: StageKind
    instructions: tuple[str, ...]
    columns: tuple[int, ...] = ()

    def __str__(self) -> str:
        loop = f" over [{','.join(map(str, self.columns))}]" if self.columns else ""
        return f"{self.kind.value}{loop}: {' '.join(self.instructions)}"


@dataclass(frozen=True, slots=True)
class RowStructure:
    """The proven loop structure of a kernel.

    ``rows`` are the extents of the row loops (none: one row), ``stages`` what happens in each row.
    ``axes`` say for every root what its dimensions run along, and for every reduce the same of its
    input arrays (its result keeps the row axes). ``kept`` values are computed in several stages at
    the same element and dear enough to be stored for the row. ``dot`` names the dot of a DOT
    kernel; there ``rows`` is empty and the one stage runs over the dot's result. ``reads``
    say, for every instruction (parameters included), in which stages which elements are needed, in
    terms of the variables ``r0 r1 ...`` and ``c0 c1 ...``; the operands of a dot are not among
    them. ``scalar_values`` counts the scalar values that the code computes, a measure of its size.
    """

    kind: Kind
    rows: tuple[int, ...]
    stages: tuple[Stage, ...]
    axes: Mapping[str, tuple[Axis, ...]]
    kept: tuple[str, ...] = ()
    dot: str | None = None
    reads: Mapping[str, tuple[Read, ...]] = field(default_factory=dict, compare=False)
    scalar_values: int = 0

    @property
    def columns(self) -> tuple[int, ...]:
        """The extents of the largest inner loop."""
        return max((s.columns for s in self.stages), key=prod, default=())


@dataclass(frozen=True, slots=True)
class Read:
    """In stage ``stage`` (its number), the element ``at`` of a value is needed."""

    stage: int
    at: Indices


class Reason(enum.Enum):
    """Why instructions cannot be one kernel."""

    REDUCTION_BOUNDARY = "reduction boundary"
    INDEX = "index map not provable"
    DOT = "a dot needs its operands in memory"
    NOT_ELEMENTAL = "no element by element form"
    SHAPES = "results of different shape"
    SIZE = "code too large"


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The reason, and what exactly was met."""

    reason: Reason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}"

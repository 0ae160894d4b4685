"""What a StableHLO text says, before it becomes HLO: operations with regions, as MLIR has them.

Pretty and generic forms parse to the same objects: attributes carry their generic names and values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from compiler.frontend.stablehlo.types import MlirType


@dataclass(frozen=True, slots=True)
class Use:
    """``%name#index`` as an operand; ``at`` is its offset in the text."""

    name: str
    index: int
    at: int

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.index

    def __str__(self) -> str:
        return f"%{self.name}#{self.index}" if self.index else f"%{self.name}"


@dataclass(slots=True)
class Block:
    """Arguments with their types, then operations; the last one returns."""

    arguments: list[tuple[str, MlirType]] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)


@dataclass(slots=True)
class Operation:
    """One operation. ``results`` are (name, count) as written; ``operand_types`` is None when the
    form leaves them out. ``location`` is the inside of ``loc(...)``.
    """

    name: str
    at: int
    operands: list[Use] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    regions: list[Block] = field(default_factory=list)
    results: list[tuple[str, int]] = field(default_factory=list)
    operand_types: tuple[MlirType, ...] | None = None
    result_types: tuple[MlirType, ...] = ()
    location: str | None = None

    @property
    def dialect(self) -> str:
        return self.name.partition(".")[0]

    @property
    def mnemonic(self) -> str:
        return self.name.partition(".")[2]


def free_uses(block: Block) -> list[Use]:
    """The values that a region takes from outside, each once, in order of their first use."""
    found: dict[tuple[str, int], Use] = {}
    _collect(block, set(), found)
    return list(found.values())


def _collect(block: Block, outer: set[str], found: dict[tuple[str, int], Use]) -> None:
    known = outer | {name for name, _ in block.arguments}
    for operation in block.operations:
        for use in operation.operands:
            if use.name not in known:
                found.setdefault(use.key, use)
        for region in operation.regions:
            _collect(region, known, found)
        known.update(name for name, _ in operation.results)

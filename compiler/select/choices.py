"""What the tiler decides: for every node and goal a choice, with the leaves of its tile."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.select.addresses import AddressMatch
from compiler.select.nodes import Node
from compiler.select.tile import Goal, Tile


@dataclass(frozen=True, slots=True)
class RegisterLeaf:
    """Operand `name` takes `node` in a register of class `goal`."""

    name: str
    node: Node
    goal: Goal


@dataclass(frozen=True, slots=True)
class ImmediateLeaf:
    """Operand `name` is the number `value`."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class AddressLeaf:
    """Memory operand `name`; `load` is the node whose value it reads (None: a store or an
    address)."""

    name: str
    match: AddressMatch
    load: Node | None = None


@dataclass(frozen=True, slots=True)
class FlagsLeaf:
    """The compare `node`, wanted in the flags so that `goal`'s condition reads it."""

    node: Node
    goal: Goal


@dataclass(frozen=True, slots=True)
class FixedLeaf:
    """The fixed register `name` must hold `node`."""

    name: str
    node: Node
    goal: Goal


@dataclass(frozen=True, slots=True)
class FrameLeaf:
    """Operand `base` is the stack pointer, and the immediate `offset` how far above it `node`'s
    place in the frame lies."""

    base: str
    offset: str
    node: Node


Leaf = RegisterLeaf | ImmediateLeaf | AddressLeaf | FlagsLeaf | FixedLeaf | FrameLeaf


@dataclass(frozen=True, slots=True)
class Available:
    """The node's own register, computed elsewhere."""

    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Alias:
    """The register of another node already holds the value (in its low bits)."""

    cost: float
    node: Node
    goal: Goal
    rule: str


@dataclass(frozen=True, slots=True)
class Tiled:
    """An instruction with its leaves; `covered` are the nodes inside the tile, root first."""

    cost: float
    tile: Tile
    leaves: tuple[Leaf, ...]
    covered: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A copy from another register class, where the same node is cheaper to have."""

    cost: float
    tile: Tile
    source: Goal


HELD_COST = 0.05
"""What using a constant's register counts, so that an immediate is preferred where one fits."""

Choice = Available | Alias | Tiled | Moved
Labels = dict[Goal, Choice]


@dataclass(slots=True)
class Match:
    """A tile being matched: what it has bound so far and what that costs."""

    tile: Tile
    cost: float
    leaves: list[Leaf] = field(default_factory=list)
    covered: list[Node] = field(default_factory=list)
    bound: dict[str, Node] = field(default_factory=dict)

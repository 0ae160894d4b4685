"""A topological order of groups that survives merging, so that cycles are found by looking nearby.

Merging groups is sound when no path leaves them and comes back. Only nodes that stand between the
first and the last of them in a topological order can lie on such a path. The order is mended in
that window after each merge: what does not depend on the merged groups goes before them, the rest
after (the idea of Pearce and Kelly, A dynamic topological sort algorithm for directed acyclic
graphs, 2006). A producer that nobody but its consumer waits for needs no look: it moves to the
consumer's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.hlo.fusion.graph import Graph

Node: TypeAlias = int | str
"""A group by number, or by name an instruction that belongs to none."""


@dataclass(slots=True)
class Order:
    """``slots`` holds the nodes in order, with holes; ``places`` says where each one stands;
    ``awaited`` are the instructions that others wait for without reading them."""

    graph: Graph
    slots: list[Node | None] = field(default_factory=list)
    places: dict[Node, int] = field(default_factory=dict)
    needs: dict[int, frozenset[str]] = field(default_factory=dict)
    awaited: frozenset[str] = frozenset()

    def admits(self, numbers: Sequence[int]) -> bool:
        """True when merging these groups closes no cycle; the first is their producer."""
        return self._leads_only_to(numbers) or self._window(set(numbers)) is not None

    def merged(self, target: int, others: Sequence[int]) -> None:
        """Mends the order; call it just before `Graph.merge` of the same groups."""
        members = {target, *others}
        if self._leads_only_to((target, *others)):
            self._replace(others[0], target)
            return
        window = self._window(members)
        if window is None:
            return
        first, before, after = window
        last = max(self.places[m] for m in members)
        row: list[Node | None] = [*before, target, *after]
        row += [None] * (last - first + 1 - len(row))
        for member in members:
            del self.places[member]
            self.needs.pop(member, None)
        self.slots[first : last + 1] = row
        for offset, node in enumerate(row):
            if node is not None:
                self.places[node] = first + offset

    def _leads_only_to(self, numbers: Sequence[int]) -> bool:
        """True of a producer and its consumer when nothing else waits for the producer."""
        if len(numbers) != 2:
            return False
        producer = numbers[0]
        names = self.graph.groups[producer].names
        if not names.isdisjoint(self.awaited):
            return False
        for name in names:
            if self.graph.home(name) == producer:
                consumers, outside = self.graph.consumers(name)
                if outside or any(c not in numbers for c in consumers):
                    return False
        return True

    def _replace(self, consumer: int, producer: int) -> None:
        """Puts a producer into the place of its only consumer."""
        self.slots[self.places.pop(producer)] = None
        place = self.places.pop(consumer)
        self.slots[place] = producer
        self.places[producer] = place
        for member in (producer, consumer):
            self.needs.pop(member, None)

    def changed(self, number: int) -> None:
        """A group took in a copy, so its needs are different."""
        self.needs.pop(number, None)

    def removed(self, number: int) -> None:
        """A group is gone."""
        self.slots[self.places.pop(number)] = None
        self.needs.pop(number, None)

    def _window(self, members: set[int]) -> tuple[int, list[Node], list[Node]] | None:
        """(first place, nodes to stand before, nodes to stand after); None on a cycle."""
        places = [self.places[m] for m in members]
        first, last = min(places), max(places)
        before: list[Node] = []
        after: list[Node] = []
        tainted: set[Node] = set()
        for node in self.slots[first : last + 1]:
            if node is None:
                continue
            depends = {self._node(n) for n in self._needs(node)}
            if node in members:
                if depends & tainted:
                    return None
            elif depends & tainted or depends & members:
                tainted.add(node)
                after.append(node)
            else:
                before.append(node)
        return first, before, after

    def _node(self, name: str) -> Node:
        home = self.graph.home(name)
        return name if home is None else home

    def _needs(self, node: Node) -> frozenset[str]:
        if isinstance(node, str):
            instruction = self.graph.instruction(node)
            return frozenset((*instruction.operands, *instruction.control_predecessors))
        found = self.needs.get(node)
        if found is None:
            group = self.graph.groups[node]
            found = self.needs[node] = frozenset(group.inputs | group.controls) - group.names
        return found


def build_order(graph: Graph) -> Order:
    """The order in which the computation itself stands, groups at their first instruction."""
    awaited = (c for i in graph.computation for c in i.control_predecessors)
    order = Order(graph, awaited=frozenset(awaited))
    for instruction in graph.computation:
        home = graph.home(instruction.name)
        node: Node = instruction.name if home is None else home
        if node not in order.places:
            order.places[node] = len(order.slots)
            order.slots.append(node)
    return order

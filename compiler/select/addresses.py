"""Address modes: fitting the arithmetic of an address into base + index * scale + displacement.

An address is taken apart into a constant and terms `node * factor` as far as the additions, shifts
and multiplications inside belong to it alone, are cheap to repeat, or exist only for addresses.
Each way to put it together again that the form allows is a candidate; the cheapest wins, the one
that leaves least to other instructions in case of a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from compiler.select.nodes import Node, NodeKind, constant_node
from isas.effects import Effect
from isas.model import AddressForm
from isas.values import I64


@dataclass(frozen=True, slots=True)
class AddressMatch:
    """base + index * scale + displacement. `base` may be a frame place or a pool constant; `cost`
    is that of having base and index in registers."""

    base: Node | None
    index: Node | None
    scale: int
    displacement: int
    cost: float


Cost = Callable[[Node], float | None]
"""What it costs to have a node in a register for addresses, or None when that is impossible."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The address as `constant` plus the sum of node * factor."""

    terms: tuple[tuple[Node, int], ...]
    constant: int


def match_address(
    node: Node,
    form: AddressForm,
    cost: Cost,
    is_transparent: Callable[[Node], bool],
    is_computed: bool = False,
) -> AddressMatch | None:
    """The cheapest way to write `node` in `form`, or None. `is_computed`: the instruction computes
    the address itself, so `node` cannot be one of its parts."""
    best: AddressMatch | None = None
    for parts in _decompositions(node, is_transparent):
        if is_computed and any(term is node for term, _ in parts.terms):
            continue
        for match in _arrangements(parts, form, cost):
            best = match if best is None or match.cost < best.cost - 1e-9 else best
    return best


def symbol_match(node: Node, form: AddressForm) -> AddressMatch | None:
    """The address of a constant-pool entry, where the form can name one."""
    is_for_constants = form.has_symbol and form.space in ("", "const")
    return AddressMatch(node, None, 1, 0, 0.0) if is_for_constants else None


def _decompositions(node: Node, is_transparent: Callable[[Node], bool]) -> Iterator[_Parts]:
    """From fully taken apart to not at all."""
    seen: list[_Parts] = []
    for depth in (8, 3, 2, 1, 0):
        parts = _flatten(node, 1, depth, is_transparent, is_top=True)
        if parts not in seen:
            seen.append(parts)
            yield parts


def _flatten(
    node: Node, factor: int, depth: int, is_transparent: Callable[[Node], bool], is_top: bool
) -> _Parts:
    if node.kind is NodeKind.CONSTANT and isinstance(node.constant, int):
        return _Parts((), node.constant * factor)
    is_open = depth > 0 and node.kind is NodeKind.OPERATION and (is_top or is_transparent(node))
    if not is_open or node.type != I64:
        return _Parts(((node, factor),), 0)
    if node.effect is Effect.ADD:
        inner = [_flatten(c, factor, depth - 1, is_transparent, False) for c in node.children]
        return _Parts(
            tuple(term for part in inner for term in part.terms),
            sum(part.constant for part in inner),
        )
    multiplier = _multiplier(node)
    if multiplier is not None:
        return _flatten(node.children[0], factor * multiplier, depth - 1, is_transparent, False)
    return _Parts(((node, factor),), 0)


def _multiplier(node: Node) -> int | None:
    """What a shift or multiplication by a constant multiplies its first operand by."""
    if node.effect not in (Effect.SHL, Effect.MUL) or len(node.children) != 2:
        return None
    amount = node.children[1].constant
    if node.children[1].kind is not NodeKind.CONSTANT or not isinstance(amount, int):
        return None
    if node.effect is Effect.MUL:
        return amount
    return 1 << amount if 0 <= amount < 64 else None


def _arrangements(parts: _Parts, form: AddressForm, cost: Cost) -> Iterator[AddressMatch]:
    """The ways to give the terms the roles of base and index."""
    terms = parts.terms
    if not form.has_base:
        if len(terms) == 1 and terms[0][0].kind is NodeKind.FRAME and form.space == "local":
            yield from _finish(terms[0][0], None, 1, parts.constant, form, cost)
        return
    if len(terms) == 1 and terms[0][1] == 1 and not form.requires_index:
        yield from _finish(terms[0][0], None, 1, parts.constant, form, cost)
    if len(terms) == 1 and terms[0][1] - 1 in form.scales and terms[0][1] > 1:
        node, factor = terms[0]
        yield from _finish(node, node, factor - 1, parts.constant, form, cost)
    if len(terms) == 2:
        for base, index in (terms, terms[::-1]):
            if base[1] == 1 and index[1] in form.scales:
                yield from _finish(base[0], index[0], index[1], parts.constant, form, cost)


def _finish(
    base: Node, index: Node | None, scale: int, displacement: int, form: AddressForm, cost: Cost
) -> Iterator[AddressMatch]:
    if not form.allows_displacement(displacement):
        return
    if index is not None and (form.index_excludes_displacement and displacement):
        return
    if index is not None and index.kind is NodeKind.FRAME:
        return
    parts = [base] if base.kind is NodeKind.FRAME else []
    total = 0.0
    for node in (base, index):
        if node is None or node in parts:
            continue
        price = cost(node)
        if price is None:
            return
        total += price
    yield AddressMatch(base, index, scale, displacement, total)


def displaced(node: Node, displacement: int) -> Node:
    """node + displacement as a node (nothing is added for 0)."""
    if displacement == 0:
        return node
    offset = constant_node(displacement, I64)
    return Node(NodeKind.OPERATION, I64, Effect.ADD, (node, offset))

"""Whether a node is what a pattern asks for: types, constants, address spaces, and the few cases in
which different effects come to the same."""

from __future__ import annotations

from compiler.select.nodes import (
    Node,
    NodeKind,
    bits_to_number,
    constant_bits,
    constant_node,
    scalar_bits,
)
from isas.effects import Constant, Effect
from isas.values import ValueType


def as_product(node: Node) -> Node:
    """A shift by a constant, seen as a multiplication."""
    amount = node.children[1].constant
    if node.children[1].kind is not NodeKind.CONSTANT or not isinstance(amount, int):
        return node
    if not 0 <= amount < node.type.bits - 1:
        return node
    factor = constant_node(1 << amount, node.type)
    children = (node.children[0], factor)
    return Node(
        NodeKind.OPERATION, node.type, Effect.MUL, children, value=node.value,
        is_root=node.is_root, is_ghost=node.is_ghost,
    )  # fmt: skip


def is_harmless(saturating: Effect, node: Node) -> bool:
    """Whether a saturating truncation truncates this node: nothing is cut off that could
    saturate."""
    if node.effect is not Effect.TRUNC:
        return False
    most = largest(node.children[0])
    if saturating is Effect.TRUNC_USAT:
        return most < 1 << node.type.bits
    return saturating is Effect.TRUNC_SSAT and most < 1 << (node.type.bits - 1)


def largest(node: Node) -> int:
    """An upper bound of a node's lanes, read as unsigned numbers."""
    bits = node.type.bits
    if node.bound is not None:
        return node.bound
    if node.kind is NodeKind.CONSTANT:
        lanes = node.constant if isinstance(node.constant, tuple) else (node.constant,)
        return max(scalar_bits(lane, node.type.element) for lane in lanes)
    if node.effect is Effect.AND:
        return min(largest(child) for child in node.children)
    if node.effect is Effect.LSHR and node.children[1].kind is NodeKind.CONSTANT:
        scalar = splat_scalar(node.children[1])
        count = scalar.constant if scalar is not None else node.children[1].constant
        return (1 << bits) - 1 >> (count if isinstance(count, int) and count >= 0 else 0)
    if node.effect is Effect.ZEXT:
        return largest(node.children[0])
    if node.effect in (Effect.LOW, Effect.HIGH):
        return largest(node.children[0])
    return (1 << bits) - 1


def is_poison(node: Node) -> bool:
    return node.kind is NodeKind.CONSTANT and node.constant is None


def splat_scalar(node: Node) -> Node | None:
    """The scalar constant in every lane of a constant vector, or None."""
    lanes = node.constant
    if isinstance(lanes, tuple) and all(repr(lane) == repr(lanes[0]) for lane in lanes):
        return constant_node(lanes[0], node.type.element)
    return None


def as_type(value: int | float, type: ValueType, wanted: ValueType) -> int | float:
    """The same bits read as the wanted kind of number."""
    if type.is_float == wanted.is_float:
        return value
    return bits_to_number(scalar_bits(value, type.element), wanted.element)


def is_constant(node: Node, wanted: Constant) -> bool:
    if node.kind is not NodeKind.CONSTANT or not fits(wanted.type, node.type, True):
        return False
    if node.constant is None:
        return False
    return constant_bits(node.constant, node.type) == constant_bits(wanted.value, wanted.type)


def is_space(space: str, attributes: tuple[int | str, ...]) -> bool:
    """Whether memory of this space may be accessed so; generic pointers of kernels are global
    ones."""
    wanted = attributes[0] if attributes else ""
    return space == wanted or (wanted == "" and space == "global")


def fits(wanted: ValueType, found: ValueType, is_bitwise_use: bool) -> bool:
    """Whether a value of type `found` may stand where a card says `wanted`.

    Lanes must agree unless only bits matter; whether a lane is read as an integer or a float is the
    effect's business, but half and bfloat are never mistaken for each other."""
    if wanted.total_bits != found.total_bits:
        return False
    if is_bitwise_use:
        return True
    if wanted.lanes != found.lanes:
        return False
    return not (wanted.is_float and found.is_float and wanted.kind is not found.kind)


def is_transparent(node: Node) -> bool:
    """Whether an address may look inside `node`: it is part of this tree, or exists for
    addresses."""
    return not node.is_root or node.is_ghost

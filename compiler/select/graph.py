"""Cuts a function's value graph into trees: which values get a register of their own.

A value belongs to its user's tree when it has exactly one use, in the same block, and, if it reads
memory, nothing between the two may write what it reads. Comparisons that only flags can hold and
addresses that memory operands absorb whole are *ghosts*: each user has them again, for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from compiler.llvm import ir
from compiler.llvm.ir import Opcode
from compiler.select.addresses import match_address
from compiler.select.coverage import may_write
from compiler.select.homes import homes_of
from compiler.select.nodes import Node, NodeBuilder, NodeKind
from compiler.select.tile import Tile
from compiler.select.tiles import TileSet
from isas.effects import Apply, Effect, Operand, Rule
from isas.model import AddressForm
from isas.values import I64, TypeKind, ValueType

_ALWAYS_ROOTS = frozenset({Rule.LANE_EXCHANGE, Rule.VOTE, Rule.BALLOT, Rule.BARRIER})

DEEPEST_TREE = 24
"""Trees are cut where they get deeper, which bounds recursion and loses next to nothing."""


def build_graph(
    function: ir.Function, tiles: TileSet, covers: Callable[[ir.Instruction], bool]
) -> NodeBuilder:
    """Nodes for every instruction, with roots and ghosts marked. `covers` says whether some
    instruction computes an IR instruction by itself."""
    builder = NodeBuilder()
    for block in function.blocks:
        for instruction in block.instructions:
            if instruction.opcode not in (Opcode.BR, Opcode.RET, Opcode.UNREACHABLE):
                builder.node(instruction)
        _mark_roots(block, builder)
    _mark_compares(builder, tiles)
    _mark_parts(builder, covers)
    _mark_addresses(function, builder, tiles)
    mark_float_bits(builder, homes_of(tiles))
    return builder


_BITS = frozenset({Effect.AND, Effect.OR, Effect.XOR, Effect.BITCAST, Effect.SEXT})


def mark_float_bits(builder: NodeBuilder, home: Callable[[ValueType], str]) -> None:
    """Integers that are only the bits of floats (a sign flipped, a comparison's mask) live with the
    floats: what remains of the candidates after dropping what something else makes or uses."""
    found = {
        value: node
        for value, node in builder.nodes.items()
        if isinstance(value, ir.Instruction)
        and node.type.is_int and not node.type.is_vector and node.type.bits in (32, 64)
        and node.effect in _BITS
    }  # fmt: skip
    changed = True
    while changed:
        changed = False
        for value in list(found):
            if not (_made_of_float_bits(value, found) and _used_as_float_bits(value, found)):
                del found[value]
                changed = True
    for node in found.values():
        node.home = home(ValueType(TypeKind.FLOAT, node.type.bits))


def _made_of_float_bits(value: ir.Instruction, found: Collection[ir.Value]) -> bool:
    if value.opcode is Opcode.SEXT:
        source = value.operands[0]
        return isinstance(source, ir.Instruction) and source.opcode is Opcode.FCMP
    return all(
        isinstance(operand, ir.Constant) or operand in found or operand.type.is_float
        for operand in value.operands
    )


def _used_as_float_bits(value: ir.Instruction, found: Collection[ir.Value]) -> bool:
    return all(
        user in found
        or (user.opcode is Opcode.BITCAST and user.type.is_float)
        or (user.opcode is Opcode.ICMP and _chooses_floats(user))
        for user in value.users
    )


def _chooses_floats(test: ir.Instruction) -> bool:
    return all(user.opcode is Opcode.SELECT and user.type.is_float for user in test.users)


def _mark_roots(block: ir.BasicBlock, builder: NodeBuilder) -> None:
    """Bottom-up, so that where a value's tree is emitted is known before its operands are asked."""
    place: dict[ir.Value, int] = {}
    depth: dict[ir.Value, int] = {}
    positions = {instruction: n for n, instruction in enumerate(block.instructions)}
    writes = [n for n, instruction in enumerate(block.instructions) if may_write(instruction)]
    for index in range(len(block.instructions) - 1, -1, -1):
        instruction = block.instructions[index]
        node = builder.nodes.get(instruction)
        user = _only_user(instruction)
        at_user = place.get(user, positions.get(user, -1)) if user is not None else -1
        if node is None or node.kind is not NodeKind.OPERATION:
            place[instruction] = index
            continue
        if _reads_memory(node) and user is not None and user.block is block:
            at_user = _cut_above(user, builder, place, positions, writes, index)
        node.is_root = (
            user is None
            or user.block is not block
            or user.opcode is Opcode.PHI
            or _is_always_root(node)
            or (_reads_memory(node) and any(index < w < at_user for w in writes))
            or depth.get(user, 0) >= DEEPEST_TREE
        )
        depth[instruction] = 0 if node.is_root or user is None else depth.get(user, 0) + 1
        place[instruction] = index if node.is_root else at_user


def _cut_above(
    user: ir.Instruction,
    builder: NodeBuilder,
    place: dict[ir.Value, int],
    positions: dict[ir.Instruction, int],
    writes: list[int],
    load: int,
) -> int:
    """Where a load's user is computed. If memory is written after the user stands, but not before,
    the user becomes a root where it stands, so that the load may still be a part of it."""
    late = place.get(user, positions[user])
    node = builder.nodes.get(user)
    is_late = any(load < write < late for write in writes)
    is_between = any(load < write < positions[user] for write in writes)
    if is_late and not is_between and node is not None and node.kind is NodeKind.OPERATION:
        node.is_root = True
        late = place[user] = positions[user]
    return late


def _only_user(instruction: ir.Instruction) -> ir.Instruction | None:
    return instruction.users[0] if len(instruction.users) == 1 else None


def _is_always_root(node: Node) -> bool:
    return node.effect is not None and node.effect.rule in _ALWAYS_ROOTS


def _reads_memory(node: Node) -> bool:
    return node.effect is Effect.LOAD


def is_compare(node: Node) -> bool:
    return node.effect is not None and node.effect.rule in (Rule.ICMP, Rule.FCMP)


def _mark_compares(builder: NodeBuilder, tiles: TileSet) -> None:
    for node in builder.nodes.values():
        if is_compare(node) and node.is_root and not has_register_form(node, tiles):
            node.is_ghost = True
            _keep_operands(node)


def _mark_parts(builder: NodeBuilder, covers: Callable[[ir.Instruction], bool]) -> None:
    """What only exists as a part of other operations (a negation inside a fused multiply-add)
    belongs to each of its users, however many there are."""
    for value, node in list(builder.nodes.items()):
        is_shared = node.kind is NodeKind.OPERATION and node.is_root and not node.is_ghost
        if not is_shared or not isinstance(value, ir.Instruction) or is_compare(node):
            continue
        if not covers(value) and not value.has_side_effects:
            node.is_ghost = True
            _keep_operands(node)


def _keep_operands(ghost: Node) -> None:
    """What a ghost is made of is computed once, for all of its users."""
    for child in ghost.children:
        if child.kind is not NodeKind.OPERATION:
            continue
        if child.value is None:
            _keep_operands(child)
        else:
            child.is_root = True


def has_register_form(node: Node, tiles: TileSet) -> bool:
    """Whether some instruction leaves this comparison's outcome in a register as it is."""
    assert node.effect is not None
    operand = node.children[0].type
    return any(
        not tile.goal.startswith("flags:")
        and isinstance(tile.expression, Apply)
        and tile.expression.arguments[0].type == operand
        for tile in tiles.rooted(node.effect)
    )


def _mark_addresses(function: ir.Function, builder: NodeBuilder, tiles: TileSet) -> None:
    """Ghosts are what remains of the candidates after dropping, again and again, those that some
    user cannot absorb."""
    ghosts = [node for node in builder.nodes.values() if _may_be_address(node)]
    for node in ghosts:
        node.is_ghost = True
        _keep_operands(node)
    changed = True
    while changed:
        changed = False
        for node in [n for n in ghosts if n.is_ghost]:
            if not _is_absorbed(node, builder, tiles):
                node.is_ghost = False
                changed = True


def _may_be_address(node: Node) -> bool:
    """A root gep, or an index plus a constant, whose users are all in its own block."""
    value = node.value
    if not isinstance(value, ir.Instruction) or not node.is_root or node.type != I64:
        return False
    if any(user.block is not value.block or user.opcode is Opcode.PHI for user in value.users):
        return False
    is_offset = value.opcode is Opcode.ADD and isinstance(value.operands[1], ir.Constant)
    return bool(value.users) and (is_offset or value.opcode is Opcode.GETELEMENTPTR)


def _is_absorbed(node: Node, builder: NodeBuilder, tiles: TileSet) -> bool:
    assert isinstance(node.value, ir.Instruction)
    return all(_absorbs(user, node.value, builder, tiles) for user in node.value.users)


def _absorbs(user: ir.Instruction, value: ir.Value, builder: NodeBuilder, tiles: TileSet) -> bool:
    """Whether `user` needs no register for `value`: it is a memory operand's whole address, or part
    of an address that is."""
    if user.opcode is Opcode.GETELEMENTPTR:
        node = builder.nodes[user]
        if node.is_root:
            return node.is_ghost
        return all(_absorbs(next_user, user, builder, tiles) for next_user in user.users)
    is_address = user.opcode is Opcode.LOAD or (
        user.opcode is Opcode.STORE and user.operands[1] is value and user.operands[0] is not value
    )
    if not is_address:
        return False
    accessed = builder.nodes[user].type.total_bits
    address = builder.node(value)
    forms = _forms(tiles, accessed, is_store=user.opcode is Opcode.STORE)
    return any(match_address(address, form, _free, _looks_inside) is not None for form in forms)


def _forms(tiles: TileSet, bits: int, is_store: bool) -> Iterator[AddressForm]:
    found: Iterable[Tile] = tiles.stores if is_store else tiles.rooted(Effect.LOAD)
    for tile in found:
        name = tile.pattern.result if is_store else _loaded_operand(tile)
        kind = tile.shape.by_name[name].kind
        if kind.bits == bits and kind.address is not None:
            yield kind.address


def _loaded_operand(tile: Tile) -> str:
    assert isinstance(tile.expression, Apply)
    operand = tile.expression.arguments[0]
    assert isinstance(operand, Operand)
    return operand.name


def _free(node: Node) -> float | None:
    """Values with a register of their own cost nothing; nothing else is free."""
    has_register = node.kind is NodeKind.INPUT or (node.is_root and not node.is_ghost)
    return 0.0 if has_register else None


def _looks_inside(node: Node) -> bool:
    return not node.is_root or node.is_ghost

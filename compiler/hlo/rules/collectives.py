"""Rules of operations among several replicas: groups, pairs, and the shapes they exchange."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from compiler.hlo.attributes import Verbatim
from compiler.hlo.errors import Malformed
from compiler.hlo.infer.base import InferenceError, check, check_dimensions
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import UNBOUNDED, ArrayShape, Shape, TupleShape, compatible, leaves
from compiler.hlo.text.values import read_ints

Groups = tuple[tuple[int, ...], ...]


def groups_of(instruction: Instruction) -> Groups:
    """The replica groups written as lists; empty when left out or spelled as an iota or a mesh."""
    value = instruction.attributes.get("replica_groups")
    text = value.text if isinstance(value, Verbatim) else ""
    if not text.startswith("{"):
        return ()
    try:
        groups = read_ints(text)
    except Malformed as error:
        raise InferenceError(f"replica_groups: {error}") from None
    return tuple(group if isinstance(group, tuple) else (group,) for group in groups)


def _check_groups(instruction: Instruction, is_uniform: bool) -> Groups:
    groups = groups_of(instruction)
    check(all(groups), "replica_groups has an empty group")
    counts = Counter(replica for group in groups for replica in group)
    for replica, count in counts.items():
        check(count == 1, f"replica_groups names replica {replica} more than once")
    for replica in range(len(counts)):
        check(replica in counts, f"replica_groups does not name replica {replica}")
    if is_uniform:
        check(len({len(g) for g in groups}) <= 1, "replica_groups must have groups of one size")
    if instruction.attributes.get("use_global_device_ids", False):
        check("channel_id" in instruction.attributes, "use_global_device_ids needs a channel_id")
        given = str(instruction.attributes.get("replica_groups", "{}"))
        check(given != "{}", "use_global_device_ids needs replica_groups")
    return groups


def _pairs(instruction: Instruction, shapes: tuple[Shape, ...]) -> list[tuple[Shape, Shape]]:
    """Operands and results side by side; several operands make a tuple of results."""
    results = leaves(instruction.shape)
    given = tuple(leaf for shape in shapes for leaf in leaves(shape))
    check(bool(shapes), "needs at least one operand")
    rule = f"has {len(given)} operands and {len(results)} results"
    check(len(results) == len(given), rule)
    return list(zip(given, results, strict=True))


def _all_reduce(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    _check_groups(instruction, is_uniform=False)


def _resized(factor_rule: Callable[[int, int, int], bool], what: str) -> Rule:
    """The rule of an operation that makes one dimension longer or shorter by the group's size."""

    def rule(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
        groups = _check_groups(instruction, is_uniform=True)
        size = len(groups[0]) if groups else 0
        dimensions = instruction.dimensions
        check(len(dimensions) == 1, "needs exactly one dimension")
        for operand, result in _pairs(instruction, shapes):
            if not isinstance(operand, ArrayShape) or not isinstance(result, ArrayShape):
                raise InferenceError(f"operands and results must be arrays, one is {operand}")
            check_dimensions(dimensions, operand.rank, "dimension")
            message = f"{operand} cannot become {result} when dimension {dimensions[0]} is {what}"
            fits = _fits(operand, result, dimensions[0], size, factor_rule)
            check(fits, message + (f" among {size}" if size else ""))

    return rule


def _fits(
    operand: ArrayShape,
    result: ArrayShape,
    along: int,
    size: int,
    factor_rule: Callable[[int, int, int], bool],
) -> bool:
    if operand.rank != result.rank:
        return False
    for i, (before, after) in enumerate(zip(operand.dimensions, result.dimensions, strict=True)):
        if UNBOUNDED in (before, after):
            continue
        if not (factor_rule(before, after, size) if i == along else before == after):
            return False
    return True


def _gathered(before: int, after: int, size: int) -> bool:
    if size or before == 0:
        return after == before * size
    return after >= before and after % before == 0


def _scattered(before: int, after: int, size: int) -> bool:
    return _gathered(after, before, size)


def _all_to_all(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    groups = _check_groups(instruction, is_uniform=True)
    if "dimensions" in instruction.attributes:
        return
    rule = f"has {len(shapes)} operands for groups of {len(groups[0]) if groups else 0}"
    check(not groups or len(groups[0]) == len(shapes), rule)
    for operand, result in _pairs(instruction, shapes):
        check(compatible(operand, shapes[0]), f"operands differ: {shapes[0]} and {operand}")
        check(compatible(operand, result), f"{operand} cannot become {result}")


def _permute(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    pairs = instruction.attributes["source_target_pairs"]
    check(all(isinstance(p, tuple) and len(p) == 2 for p in pairs), "expected pairs of numbers")
    sizes = instruction.attributes.get("slice_sizes", ())
    most = max(1, len(sizes))
    for what, place in (("source", 0), ("target", 1)):
        for number, count in Counter(pair[place] for pair in pairs).items():
            check(count <= most, f"{what} {number} appears more than {most} times")
    check("slice_sizes" not in instruction.attributes or len(shapes) == 4, "needs 4 operands")
    if instruction.opcode is Opcode.COLLECTIVE_PERMUTE_START:
        shape = instruction.shape
        is_pair = isinstance(shape, TupleShape) and len(shape.elements) >= 2
        check(is_pair, f"the result must be (operand, result, ...), it is {shape}")


Rule = Callable[[Instruction, tuple[Shape, ...]], None]

RULES: dict[Opcode, Rule] = {
    Opcode.ALL_REDUCE: _all_reduce,
    Opcode.ALL_REDUCE_START: _all_reduce,
    Opcode.ALL_GATHER: _resized(_gathered, "gathered"),
    Opcode.REDUCE_SCATTER: _resized(_scattered, "scattered"),
    Opcode.ALL_TO_ALL: _all_to_all,
    Opcode.COLLECTIVE_PERMUTE: _permute,
    Opcode.COLLECTIVE_PERMUTE_START: _permute,
}
"""What a collective's groups and shapes must be; each raises InferenceError."""

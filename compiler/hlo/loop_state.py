"""Elements of a loop's state that nobody needs: found by a fixpoint through the body, and removed.

An element is needed when it is read after the loop, by its condition, by something with a side
effect in its body, or by the body on the way to a needed element. The others only keep
themselves alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compiler.hlo.attributes import Attributes
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rewriter import Names, in_topological_order
from compiler.hlo.shape import TupleShape


def without_dead_state(module: Module, effects: frozenset[str]) -> Module:
    """The module with all dead loop state gone; the same object when there is none."""
    for computation in module.computations:
        for loop in computation:
            if loop.opcode is Opcode.WHILE:
                kept = _kept(module, computation, loop, effects)
                if kept is not None:
                    return without_dead_state(_shrunk(module, computation, loop, kept), effects)
    return module


def _kept(
    module: Module, computation: Computation, loop: Instruction, effects: frozenset[str]
) -> tuple[int, ...] | None:
    """The state elements that stay; None when all do or the loop cannot be changed."""
    if not isinstance(loop.shape, TupleShape) or loop.name == computation.root:
        return None
    body, condition = (module.computation(loop.attributes[k]) for k in ("body", "condition"))
    if body.root_instruction.opcode is not Opcode.TUPLE or body is condition:
        return None
    if _references(module, body.name) > 1 or _references(module, condition.name) > 1:
        return None
    inside = [_elements_read(c, c.parameters[0].name) for c in (body, condition)]
    outside = _elements_read(computation, loop.name)
    if outside is None or inside[0] is None or inside[1] is None:
        return None
    needed = set(outside) | set(inside[1]) | _read_by_effects(body, effects)
    needed = _closure(body, needed)
    if len(needed) == len(loop.shape.elements):
        return None
    return tuple(sorted(needed))


def _references(module: Module, name: str) -> int:
    return sum(i.callees.count(name) for c in module.computations for i in c)


def _elements_read(computation: Computation, name: str) -> frozenset[int] | None:
    """The elements that are taken of a tuple; None when it is used as a whole."""
    if name == computation.root:
        return None
    found = set()
    for user in map(computation.instruction, computation.users(name)):
        if user.opcode is not Opcode.GET_TUPLE_ELEMENT:
            return None
        found.add(user.tuple_index)
    return frozenset(found)


def _read_by_effects(body: Computation, effects: frozenset[str]) -> set[int]:
    acting = [i.name for i in body if i.has_side_effect or not effects.isdisjoint(i.callees)]
    return _state_under(body, acting)


def _closure(body: Computation, needed: set[int]) -> set[int]:
    while True:
        roots = [body.root_instruction.operands[k] for k in needed]
        more = needed | _state_under(body, roots)
        if more == needed:
            return needed
        needed = more


def _state_under(body: Computation, names: Iterable[str]) -> set[int]:
    """The state elements that some instructions depend on."""
    parameter = body.parameters[0].name
    seen: set[str] = set()
    waiting = list(names)
    found = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        instruction = body.instruction(name)
        if instruction.opcode is Opcode.GET_TUPLE_ELEMENT and instruction.operands[0] == parameter:
            found.add(instruction.tuple_index)
        else:
            waiting.extend((*instruction.operands, *instruction.control_predecessors))
    return found


def _shrunk(
    module: Module, computation: Computation, loop: Instruction, kept: tuple[int, ...]
) -> Module:
    body, condition = loop.attributes["body"], loop.attributes["condition"]
    taken = [i.name for c in module.computations for i in c]
    changed = {
        body: _body(module.computation(body), kept),
        condition: _reader(module.computation(condition), kept),
        computation.name: _caller(computation, loop, kept, Names(taken)),
    }
    return module.with_computations(tuple(changed.get(c.name, c) for c in module.computations))


def _part(shape: object, kept: tuple[int, ...]) -> TupleShape:
    elements = shape.elements if isinstance(shape, TupleShape) else ()
    return TupleShape(tuple(elements[k] for k in kept))


def _reader(computation: Computation, kept: tuple[int, ...]) -> Computation:
    parameter = computation.parameters[0]
    smaller = replace(parameter, shape=_part(parameter.shape, kept))
    placed = _renumbered(computation, parameter.name, {parameter.name: smaller}, kept)
    return replace(computation, instructions=placed)


def _body(computation: Computation, kept: tuple[int, ...]) -> Computation:
    parameter, root = computation.parameters[0], computation.root_instruction
    operands = tuple(root.operands[k] for k in kept)
    changed = {
        parameter.name: replace(parameter, shape=_part(parameter.shape, kept)),
        root.name: replace(root, shape=_part(root.shape, kept), operands=operands),
    }
    placed = _renumbered(computation, parameter.name, changed, kept)
    return replace(computation, instructions=placed)


def _renumbered(
    computation: Computation,
    source: str,
    changed: Mapping[str, Instruction],
    kept: tuple[int, ...],
) -> tuple[Instruction, ...]:
    """The instructions with elements of ``source`` counted anew; those that read a removed element,
    directly or not, are gone."""
    placed: list[Instruction] = []
    gone: set[str] = set()
    for instruction in (changed.get(i.name, i) for i in computation):
        if instruction.opcode is Opcode.GET_TUPLE_ELEMENT and instruction.operands[0] == source:
            if instruction.tuple_index not in kept:
                gone.add(instruction.name)
                continue
            number = kept.index(instruction.tuple_index)
            attributes = instruction.attributes.updated(index=number)
            instruction = replace(instruction, attributes=attributes)
        if gone.isdisjoint(instruction.operands):
            placed.append(instruction)
        else:
            gone.add(instruction.name)
    return tuple(placed)


def _caller(
    computation: Computation, loop: Instruction, kept: tuple[int, ...], names: Names
) -> Computation:
    start = computation.instruction(loop.operands[0])
    added: list[Instruction] = []
    if start.opcode is Opcode.TUPLE:
        operands = tuple(start.operands[k] for k in kept)
    else:
        added = [_element(start, k, names) for k in kept]
        operands = tuple(i.name for i in added)
    shape = _part(loop.shape, kept)
    smaller = Instruction(
        names.fresh(start.name), Opcode.TUPLE, shape, operands, origin=start.origins
    )
    changed = {loop.name: replace(loop, shape=shape, operands=(smaller.name,))}
    placed = _renumbered(computation, loop.name, changed, kept)
    return replace(computation, instructions=in_topological_order([*added, smaller, *placed]))


def _element(source: Instruction, number: int, names: Names) -> Instruction:
    elements = source.shape.elements if isinstance(source.shape, TupleShape) else ()
    return Instruction(
        names.fresh(source.name),
        Opcode.GET_TUPLE_ELEMENT,
        elements[number],
        (source.name,),
        Attributes(index=number),
        origin=source.origins,
    )

"""Loop-invariant code motion: what a loop computes anew in every iteration from state that never
changes is computed once, in front of the loop.

The value travels as a new element of the loop's state. That costs a load per iteration where
arithmetic was, so cheap elementwise work stays where it is and is fused; what moves has something
dear below it (a product, a reduction, a sort, a transcendental function), and is not larger than
what it is made of. A loop that never runs pays for nothing it needs, but HLO has no traps, so the
result is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.hlo.attributes import Attributes
from compiler.hlo.costs import cost_of
from compiler.hlo.elements import ELEMENTAL
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import Names, in_topological_order
from compiler.hlo.shape import Shape, TupleShape
from compiler.journal import Decision

WORTH_MOVING = 8.0
"""From this cost per element (see `compiler.hlo.costs`) on, a load is cheaper than computing."""

_LEFT = (Opcode.CONSTANT, Opcode.IOTA, Opcode.PARAMETER, Opcode.TUPLE, Opcode.OPT_BARRIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hoisted(Decision):
    """A value of a loop's body that is computed in front of the loop now."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    instructions: int

    @property
    def template(self) -> str:
        return (
            "{subject} and what it is made of ({instructions} instructions) run once before "
            "{chosen}: {because}"
        )


def run(module: Module, context: PassContext) -> Module:
    """Moves invariant work out of every loop, inner loops first."""
    for name in [c.name for c in module.computations_post_order()]:
        for loop in [i.name for i in module.computation(name) if i.opcode is Opcode.WHILE]:
            module = _hoist(module, name, loop, context)
    return module


def _hoist(module: Module, parent: str, name: str, context: PassContext) -> Module:
    computation = module.computation(parent)
    loop = computation.instruction(name)
    if not _is_plain(module, computation, loop):
        return module
    body = module.computation(loop.attributes["body"])
    unchanged = _unchanged_state(body)
    invariant = _invariant(module, body, unchanged)
    leaving = [i for i in body if i.name in invariant and _leaves(body, i, invariant)]
    if not leaving:
        return module
    move = _Move(module, computation, loop, body, tuple(leaving))
    for instruction in leaving:
        context.record(
            Hoisted(
                subject=instruction.name,
                origins=instruction.origins,
                chosen=name,
                because="it depends on state that no iteration changes",
                instructions=len(_cone(body, [instruction.name])),
            )
        )
    return move.apply()


def _is_plain(module: Module, computation: Computation, loop: Instruction) -> bool:
    """True of a loop over a tuple that is taken apart on both sides and whose parts are its own."""
    if not isinstance(loop.shape, TupleShape) or loop.name == computation.root:
        return False
    if loop.control_predecessors or "sharding" in loop.attributes:
        return False
    body, condition = (module.computation(loop.attributes[k]) for k in ("body", "condition"))
    if body is condition or body.root_instruction.opcode is not Opcode.TUPLE:
        return False
    calls = [n for c in module.computations for i in c for n in i.callees]
    if calls.count(body.name) > 1 or calls.count(condition.name) > 1:
        return False
    places = [(computation, loop.name)] + [(c, c.parameters[0].name) for c in (body, condition)]
    return all(_only_elements(where, value) for where, value in places)


def _only_elements(computation: Computation, name: str) -> bool:
    users = map(computation.instruction, computation.users(name))
    return all(u.opcode is Opcode.GET_TUPLE_ELEMENT for u in users) and name != computation.root


def _unchanged_state(body: Computation) -> frozenset[str]:
    """The names of elements of the state that the body hands on as they are."""
    state = body.parameters[0].name
    found = set()
    for number, name in enumerate(body.root_instruction.operands):
        element = body.instruction(name)
        taken = element.opcode is Opcode.GET_TUPLE_ELEMENT and element.operands[0] == state
        if taken and element.tuple_index == number:
            found.add(number)
    return frozenset(
        i.name
        for i in body
        if i.opcode is Opcode.GET_TUPLE_ELEMENT
        and i.operands[0] == state
        and i.tuple_index in found
    )


def _invariant(module: Module, body: Computation, state: frozenset[str]) -> frozenset[str]:
    """Instructions that compute the same in every iteration and have something dear below."""
    same = set(state) | {i.name for i in body if i.opcode in (Opcode.CONSTANT, Opcode.IOTA)}
    dear: set[str] = set()
    for instruction in body:
        if instruction.name in same or not _may_move(module, instruction):
            continue
        if not same.issuperset(instruction.operands):
            continue
        same.add(instruction.name)
        below = dear.intersection(instruction.operands)
        if (_is_dear(instruction) or below) and not _grows(body, instruction):
            dear.add(instruction.name)
    return frozenset(dear)


def _may_move(module: Module, instruction: Instruction) -> bool:
    if instruction.opcode in _LEFT or not instruction.is_array or instruction.opcode.is_control:
        return False
    if instruction.control_predecessors or instruction.has_side_effect or not instruction.operands:
        return False
    called = [i for c in module.callees(instruction) for i in c]
    return not any(i.has_side_effect or i.opcode.is_control for i in called)


def _is_dear(instruction: Instruction) -> bool:
    is_elemental = instruction.opcode in ELEMENTAL or instruction.opcode.is_view
    return not is_elemental or cost_of(instruction) >= WORTH_MOVING


def _grows(body: Computation, instruction: Instruction) -> bool:
    """True of moves and fills whose result is larger than what they are made of."""
    if cost_of(instruction) > 0:
        return False
    read = sum(o.shape.size_bytes for o in body.operands(instruction))
    return instruction.shape.size_bytes > read


def _leaves(body: Computation, instruction: Instruction, invariant: frozenset[str]) -> bool:
    """True when somebody that stays needs the value."""
    return any(user not in invariant for user in body.users(instruction.name))


def _cone(body: Computation, names: Sequence[str]) -> list[Instruction]:
    """The instructions that some depend on, the state's elements excluded, in order."""
    state = body.parameters[0].name
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        instruction = body.instruction(waiting.pop())
        is_state = state in instruction.operands or instruction.name == state
        if instruction.name in found or is_state:
            continue
        found.add(instruction.name)
        waiting.extend(instruction.operands)
    return [i for i in body if i.name in found]


@dataclass(frozen=True, slots=True)
class _Move:
    """The values ``leaving`` a loop's body, and everything around them."""

    module: Module
    computation: Computation
    loop: Instruction
    body: Computation
    leaving: tuple[Instruction, ...]

    def apply(self) -> Module:
        names = Names(i.name for c in self.module.computations for i in c)
        condition = self.module.computation(self.loop.attributes["condition"])
        changed = {
            self.computation.name: self._parent(names),
            self.body.name: self._shorter(names),
            condition.name: self._wider(condition),
        }
        computations = tuple(changed.get(c.name, c) for c in self.module.computations)
        return self.module.with_computations(computations)

    def _shape(self, shape: Shape) -> TupleShape:
        elements = shape.elements if isinstance(shape, TupleShape) else ()
        return TupleShape(elements + tuple(i.shape for i in self.leaving))

    def _wider(self, computation: Computation) -> Computation:
        (parameter,) = computation.parameters
        wide = replace(parameter, shape=self._shape(parameter.shape))
        placed = tuple(wide if i.name == parameter.name else i for i in computation)
        return replace(computation, instructions=placed)

    def _count(self) -> int:
        return len(self.loop.shape.elements) if isinstance(self.loop.shape, TupleShape) else 0

    def _shorter(self, names: Names) -> Computation:
        """The body, reading the values from new state and handing them on."""
        wide = self._wider(self.body)
        state = wide.parameters[0].name
        taken = {
            instruction.name: _element(names, instruction, state, self._count() + number)
            for number, instruction in enumerate(self.leaving)
        }
        stands = {old: new.name for old, new in taken.items()}
        placed: list[Instruction] = list(taken.values())
        for instruction in wide:
            if instruction.name in stands:
                continue
            current = instruction.with_operands(
                tuple(stands.get(n, n) for n in instruction.operands)
            )
            if instruction.name == self.body.root:
                current = replace(
                    current,
                    shape=self._shape(current.shape),
                    operands=(*current.operands, *stands.values()),
                )
            placed.append(current)
        return replace(wide, instructions=in_topological_order(placed))

    def _parent(self, names: Names) -> Computation:
        """The computation around the loop, with the values in front of it."""
        start = self.computation.instruction(self.loop.operands[0])
        added, elements = self._start(names, start)
        inside = self._state_names(elements)
        for instruction in _cone(self.body, [i.name for i in self.leaving]):
            copy = replace(
                instruction.with_operands(tuple(inside[n] for n in instruction.operands)),
                name=names.fresh(instruction.name),
                origin=instruction.origins,
            )
            inside[instruction.name] = copy.name
            added.append(copy)
        values = tuple(inside[i.name] for i in self.leaving)
        shape = self._shape(self.loop.shape)
        state = Instruction(
            names.fresh(start.name),
            Opcode.TUPLE,
            shape,
            (*elements, *values),
            origin=start.origins,
        )
        loop = replace(self.loop, shape=shape, operands=(state.name,))
        placed = [loop if i.name == self.loop.name else i for i in self.computation]
        ordered = in_topological_order([*added, state, *placed])
        return replace(self.computation, instructions=ordered)

    def _start(self, names: Names, start: Instruction) -> tuple[list[Instruction], tuple[str, ...]]:
        """Instructions that take the initial state apart, and the names of its elements."""
        if start.opcode is Opcode.TUPLE:
            return [], start.operands
        shapes = start.shape.elements if isinstance(start.shape, TupleShape) else ()
        added = [
            Instruction(
                names.fresh(start.name),
                Opcode.GET_TUPLE_ELEMENT,
                shape,
                (start.name,),
                Attributes(index=number),
                origin=start.origins,
            )
            for number, shape in enumerate(shapes)
        ]
        return added, tuple(i.name for i in added)

    def _state_names(self, elements: Sequence[str]) -> dict[str, str]:
        """For every element of the state that the body takes, its initial value outside."""
        state = self.body.parameters[0].name
        return {
            i.name: elements[i.tuple_index]
            for i in self.body
            if i.opcode is Opcode.GET_TUPLE_ELEMENT and i.operands[0] == state
        }


def _element(names: Names, source: Instruction, state: str, number: int) -> Instruction:
    return Instruction(
        names.fresh(source.name),
        Opcode.GET_TUPLE_ELEMENT,
        source.shape,
        (state,),
        Attributes(index=number),
        metadata=source.metadata,
        origin=source.origins,
        line=source.line,
    )

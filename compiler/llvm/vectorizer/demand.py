"""What of a loop's body becomes vectors: the values that stores and reductions need, from them
backwards.

Address arithmetic stays scalar (one address serves a whole vector), invariant values are repeated
in front of the loop, and integers that grow steadily become a start plus a constant step vector.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.llvm.analysis.affine import Access
from compiler.llvm.ir import Instruction, Opcode, Value
from compiler.llvm.types import Type
from compiler.llvm.vectorizer.shape import NotVectorizable, Shape, steady_step

_ELEMENTWISE = frozenset(
    {Opcode.ICMP, Opcode.FCMP, Opcode.SELECT, Opcode.FNEG, Opcode.FREEZE, Opcode.CALL}
)


@dataclass(slots=True)
class Demand:
    """`widened`: instructions that become vector instructions, in program order; `loads`: the loads
    among them, `steady`: integers made from a step vector, with the growth per iteration;
    `invariants`: values repeated in every lane; `stores`: the stores."""

    widened: list[Instruction] = field(default_factory=list)
    loads: list[Access] = field(default_factory=list)
    steady: dict[Instruction, int] = field(default_factory=dict)
    invariants: dict[Value, None] = field(default_factory=dict)
    stores: list[Access] = field(default_factory=list)

    def types(self) -> set[Type]:
        """The element types that vectors of this loop have."""
        values: list[Value] = [*self.widened, *self.steady, *self.invariants]
        found = {v.type for v in values if not v.type.is_bool}
        found |= {a.type for a in self.stores if not a.type.is_bool}
        for instruction in self.widened:
            if instruction.opcode in (Opcode.ICMP, Opcode.FCMP):
                found.add(instruction.operands[0].type)
        return found


def demand_of(shape: Shape) -> Demand:
    """Walks back from stores and reductions. Raises NotVectorizable for what has no vector form."""
    demand = Demand()
    wanted: set[Value] = set()
    work: list[Value] = []
    for access in shape.accesses.values():
        if access.is_store:
            demand.stores.append(access)
            work.append(access.instruction.operands[0])
    for reduction in shape.reductions:
        work.append(reduction.last)
    while work:
        value = work.pop()
        if value not in wanted:
            wanted.add(value)
            work.extend(_visit(shape, demand, value))
    places = {i: n for n, i in enumerate(shape.loop.instructions())}
    demand.widened.sort(key=lambda i: places[i])
    demand.loads.sort(key=lambda a: places[a.instruction])
    return demand


def _visit(shape: Shape, demand: Demand, value: Value) -> list[Value]:
    """Files a value under what becomes of it and returns the operands that it needs as vectors."""
    if not isinstance(value, Instruction) or shape.loop.is_invariant(value):
        demand.invariants[value] = None
        return []
    if value.opcode is Opcode.LOAD:
        return _visit_load(shape, demand, value)
    step = _step_of(shape, value)
    if step is not None:
        demand.steady[value] = step
        return []
    if value.opcode is Opcode.PHI:
        if shape.reduction_of(value) is None:
            raise NotVectorizable(f"{value} carries a value from one iteration to the next")
        return []
    if not (value.opcode.is_binary or value.opcode.is_cast or value.opcode in _ELEMENTWISE):
        raise NotVectorizable(f"{value} ({value.opcode.value}) has no vector form")
    if value.type.is_pointer or any(o.type.is_pointer for o in value.operands):
        raise NotVectorizable(f"{value} computes with addresses")
    demand.widened.append(value)
    return list(value.operands)


def _visit_load(shape: Shape, demand: Demand, load: Instruction) -> list[Value]:
    access = shape.accesses[load]
    if access.stride_bytes is None and not _is_computable(shape, load.operands[0]):
        raise NotVectorizable(f"the place {load} reads is not known in advance: {access.why}")
    demand.loads.append(access)
    demand.widened.append(load)
    return []


def _step_of(shape: Shape, value: Instruction) -> int | None:
    """The growth of a steady integer, also of one cut down from 64 bits."""
    if value.opcode is Opcode.TRUNC and not value.type.is_bool:
        return steady_step(shape, value.operands[0])
    if value in shape.inductions:
        return shape.inductions[value].step
    return steady_step(shape, value)


def _is_computable(shape: Shape, value: Value) -> bool:
    """Whether a scalar depends on counters and invariants only, so that any lane's copy can be
    made."""
    if not isinstance(value, Instruction) or shape.loop.is_invariant(value):
        return True
    if value.opcode is Opcode.PHI:
        return value in shape.inductions
    if value.opcode is Opcode.LOAD or value.has_side_effects:
        return False
    return all(_is_computable(shape, operand) for operand in value.operands)


def is_computable(shape: Shape, value: Value) -> bool:
    """See `_is_computable`; for the addresses of stores too."""
    return _is_computable(shape, value)

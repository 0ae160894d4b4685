"""Chooses how many lanes and how many copies of the body a vector loop gets."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Alternative
from compiler.llvm.context import Context
from compiler.llvm.ir import Instruction, Value
from compiler.llvm.vectorizer.cost import OVERHEAD, Cost, scalar_cost, vector_cost
from compiler.llvm.vectorizer.demand import Demand
from compiler.llvm.vectorizer.shape import NotVectorizable, Reduction, Shape

ASSUMED_COUNT = 256  # iterations, where the bound is only known at run time
MOST_PARTS = 4
SMALL_BODY = 8  # instructions; smaller ones gain from sharing the loop control
USUAL_REGISTERS = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """`lanes` per vector, `parts` vectors per iteration. `vector_count` iterations of the scalar
    loop are done by vectors (None: known at run time), the rest by the scalar loop. `alternatives`
    are the costs of the whole loop that were compared."""

    lanes: int
    parts: int
    vector_count: int | None
    alternatives: tuple[Alternative, ...]
    pressure: int

    @property
    def width(self) -> int:
        """Iterations of the scalar loop that one iteration of the vector loop does."""
        return self.lanes * self.parts


def plan_of(shape: Shape, demand: Demand, context: Context) -> Plan:
    """The cheapest form. Raises NotVectorizable when that is the scalar one."""
    widest = max((64 if t.is_pointer else t.bits for t in demand.types()), default=32)
    most = context.target.vector_bits // widest
    if context.options.vector_lanes:
        most = min(most, context.options.vector_lanes)
    if most < 2:
        raise NotVectorizable("one lane is all there is" if most == 1 else "there are no vectors")
    count = ASSUMED_COUNT if shape.count is None else shape.count
    if count < 2:
        raise NotVectorizable(f"it runs {count} times")
    plain = scalar_cost(demand)
    total = count * (plain + OVERHEAD)
    found, refusals = _candidates(shape, demand, most, count, plain, context)
    alternatives = (
        Alternative(name="scalar", cost=total),
        *(Alternative(name=f"{c.lanes} lanes", cost=cost) for c, cost in found),
    )
    if not found:
        raise NotVectorizable(refusals[0])
    best, cost = min(found, key=lambda pair: (pair[1], -pair[0].lanes))
    if cost >= total:
        raise NotVectorizable(f"{best.lanes} lanes would cost {cost:g}, one {total:g}")
    pressure = pressure_of(demand)
    parts = _parts(shape, demand, best.lanes, pressure, context)
    done = None if shape.count is None else count // (best.lanes * parts) * best.lanes * parts
    return Plan(best.lanes, parts, done, alternatives, pressure)


def _candidates(
    shape: Shape, demand: Demand, most: int, count: int, plain: float, context: Context
) -> tuple[list[tuple[Cost, float]], list[str]]:
    """The legal lane counts with the cost of the whole loop, and why others are not."""
    found: list[tuple[Cost, float]] = []
    refusals: list[str] = []
    lanes = 1 << (most.bit_length() - 1)
    while lanes >= 2:
        if lanes > count:
            refusals.append(f"it runs {count} times, fewer than {lanes} lanes")
            lanes //= 2
            continue
        try:
            cost = vector_cost(shape, demand, lanes, context.target)
        except NotVectorizable as refusal:
            refusals.append(refusal.message)
        else:
            whole, rest = divmod(count, lanes)
            loop = whole * (cost.body + OVERHEAD) + rest * (plain + OVERHEAD) + cost.once
            found.append((cost, loop))
        lanes //= 2
    return found, refusals


def _parts(shape: Shape, demand: Demand, lanes: int, pressure: int, context: Context) -> int:
    """How many vectors one iteration does."""
    wanted = context.options.unroll or _useful_parts(shape, demand)
    registers = context.target.register_count("vec") or USUAL_REGISTERS
    vectors = None if shape.count is None else shape.count // lanes
    for parts in range(wanted, 1, -1):
        fits = _registers(shape, demand, pressure, parts) <= registers
        is_whole = vectors is None or vectors % parts == 0
        if context.options.unroll and vectors is not None and vectors >= parts:
            return parts
        if fits and is_whole:
            return parts
    return 1


def _useful_parts(shape: Shape, demand: Demand) -> int:
    """Reductions wait for themselves, so several accumulators help; small bodies share loop
    control."""
    if any(_is_slow_chain(reduction) for reduction in shape.reductions):
        return MOST_PARTS
    size = len(demand.widened) + len(demand.stores)
    return 2 if size <= SMALL_BODY else 1


def _is_slow_chain(reduction: Reduction) -> bool:
    return reduction.phi.type.is_float


def _registers(shape: Shape, demand: Demand, pressure: int, parts: int) -> int:
    """Vector registers alive at once: invariants, accumulators and one part's temporaries (parts
    run one after the other)."""
    repeated = len(demand.invariants) + len(demand.steady)
    return repeated + parts * max(1, len(shape.reductions)) + pressure


def pressure_of(demand: Demand) -> int:
    """The most temporaries of one part that are alive at once."""
    last: dict[Value, int] = {}
    stores = [a.instruction for a in demand.stores]
    for place, instruction in enumerate(demand.widened):
        for operand in instruction.operands:
            last[operand] = place
    for store in stores:
        last[store.operands[0]] = len(demand.widened)
    alive: set[Instruction] = set()
    most = 0
    for place, instruction in enumerate(demand.widened):
        alive = {value for value in alive if last.get(value, -1) > place}
        alive.add(instruction)
        most = max(most, len(alive))
    return most

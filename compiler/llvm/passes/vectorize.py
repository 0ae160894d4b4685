"""Turns innermost counted loops into vector loops.

One iteration of the vector loop does `lanes` iterations of the scalar one in the lanes of vector
registers, and `parts` vectors of them one after the other. This is allowed when the iterations do
not depend on each other, and the pass has to prove it:

- The loop counts to a bound that is fixed when it starts, and its body does not branch.
- Two accesses of which one writes must not meet in different iterations. Parameters marked noalias
are different objects; within one object the addresses are compared as linear forms of the counters.
- A value that is carried from one iteration to the next is a counter, or a reduction: then each
lane collects its own part and the parts are brought together after the loop. For sums and products
of floats that changes the order of rounding, so the operations must say `reassoc` and the options
must not ask for strict order.

It is done when the machine has the instructions and the cost model expects a gain. Unit-stride
accesses become vector loads and stores, values that do not change are repeated in front of the
loop, everything else is put together lane by lane, which has to pay. More than one part helps
reductions (one accumulator would wait for itself) and very small bodies (loop control is shared);
the register limit bounds it.

The scalar loop stays for the iterations that do not fill a vector; where the count is a known
multiple, it goes. What was decided for each loop, with the costs compared, is recorded, and so is
the reason when a loop stays scalar.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision
from compiler.llvm.analysis.loops import Loop, all_loops, loop_forest
from compiler.llvm.context import Context
from compiler.llvm.ir import Function, subject_of
from compiler.llvm.vectorizer.demand import demand_of
from compiler.llvm.vectorizer.plan import Plan, plan_of
from compiler.llvm.vectorizer.shape import NotVectorizable, Shape, shape_of
from compiler.llvm.vectorizer.widen import widen


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectorized(Decision):
    """A loop became a vector loop. `count` is how often the scalar loop ran (None: known at run
    time only), `rest` how many iterations are left to it; alternatives are costs of the whole
    loop."""

    lanes: int = 0
    parts: int = 0
    count: int | None = None
    rest: int | None = None
    accumulators: int = 0

    @property
    def template(self) -> str:
        return "loop {subject}: {chosen}, because {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptScalar(Decision):
    """A loop stayed as it was."""

    @property
    def template(self) -> str:
        return "loop {subject} stays scalar, because {because}"


def run(function: Function, context: Context) -> bool:
    """Widens what can be and pays; returns whether anything changed."""
    if context.target.is_simt or not context.target.vector_bits:
        return False
    changed = False
    for loop in list(all_loops(loop_forest(function))):
        if loop.is_innermost:
            changed |= _visit(function, loop, context)
    return changed


def _visit(function: Function, loop: Loop, context: Context) -> bool:
    subject = subject_of(loop.header)
    origins = tuple(dict.fromkeys(o for i in loop.instructions() for o in i.origins))
    try:
        shape = shape_of(loop, context.options.strict_order)
        demand = demand_of(shape)
        plan = plan_of(shape, demand, context)
    except NotVectorizable as refusal:
        context.record(
            KeptScalar(subject=subject, origins=origins, chosen="scalar", because=refusal.message)
        )
        return False
    widen(function, shape, demand, plan, context.target)
    context.record(_decision(subject, origins, shape, plan))
    return True


def _decision(subject: str, origins: tuple[str, ...], shape: Shape, plan: Plan) -> Vectorized:
    rest = (
        None
        if shape.count is None or plan.vector_count is None
        else (shape.count - plan.vector_count)
    )
    parts = "" if plan.parts == 1 else f", unrolled x{plan.parts}"
    return Vectorized(
        subject=subject,
        origins=origins,
        chosen=f"{plan.lanes} lanes{parts}",
        because=_because(shape, plan, rest),
        alternatives=plan.alternatives,
        lanes=plan.lanes,
        parts=plan.parts,
        count=shape.count,
        rest=rest,
        accumulators=len(shape.reductions) * plan.parts,
    )


def _because(shape: Shape, plan: Plan, rest: int | None) -> str:
    costs = {a.name: a.cost for a in plan.alternatives}
    reason = f"it costs {costs[f'{plan.lanes} lanes']:g} instead of {costs['scalar']:g}"
    if shape.reductions and plan.parts > 1:
        reason += f"; {plan.parts} accumulators hide the latency of the reduction"
    if rest:
        reason += f"; {rest} iterations are left to the scalar loop"
    elif rest == 0:
        reason += "; nothing is left over"
    return reason

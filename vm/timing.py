"""When everything happened: from the dynamic stream to the timeline, by the core's order."""

from __future__ import annotations

from collections.abc import Sequence

from isas.cores import Order
from isas.errors import InternalError
from isas.model import Machine
from isas.program import Program
from isas.tables import MachineTables, machine_tables
from vm.events import find_events
from vm.numeric import LONG_RUN
from vm.stream import Stream
from vm.timeline import Timeline


def time_stream(
    stream: Stream,
    programs: Sequence[Program],
    machine: Machine,
    is_compiled: bool | None = None,
) -> Timeline:
    """The timeline of `stream` on `machine`'s core.

    `programs` are the executable's kernels in the order that `Stream.program` counts them.
    `is_compiled` chooses between plain Python and numba; None lets the length decide. Both give the
    same result. Raises InternalError when stream and programs do not belong together.
    """
    tables = machine_tables(programs, machine)
    _check(stream, tables)
    compiled = len(stream) >= LONG_RUN if is_compiled is None else is_compiled
    if machine.core.order is Order.SIMT:
        from vm.simt import model as simt

        return simt.time_run(stream, tables, programs, simt.parameters_of(machine.core), compiled)
    core = machine.core
    events = find_events(stream, tables, core.l1, core.predictor, compiled)
    if core.order is Order.IN_ORDER:
        from vm.inorder import model as in_order

        parameters = in_order.parameters_of(core)
        return in_order.time_run(stream, tables, events, parameters, compiled)
    from vm.outoforder import model as out_of_order

    return out_of_order.time_run(
        stream, tables, events, out_of_order.parameters_of(core), compiled
    )  # fmt: skip


def _check(stream: Stream, tables: MachineTables) -> None:
    """Every row must name an instruction of its program."""
    if len(stream) == 0:
        return
    last = len(tables.instruction_base) - 2
    if stream.program.min() < 0 or stream.program.max() > last:
        raise InternalError(f"the stream names a program beyond the {last + 1} given")
    base, end = tables.instruction_base[:-1], tables.instruction_base[1:]
    sizes = (end - base)[stream.program]
    if stream.static.min() < 0 or (stream.static >= sizes).any():
        raise InternalError("the stream names an instruction that its program does not have")

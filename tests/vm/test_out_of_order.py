"""The event-driven out-of-order model against a naive clocked machine, and its accounting."""

from __future__ import annotations

import random

import numpy as np
import pytest

from isas.tables import MachineTables
from tests.vm.naive_out_of_order import Machine
from tests.vm.random_programs import random_events, random_stream, random_tables
from vm.events import Events
from vm.outoforder.model import Parameters, time_run
from vm.stalls import Stall
from vm.stream import Stream


def random_parameters(seed: random.Random, ports: int) -> Parameters:
    return Parameters(
        fetch_width=seed.randint(1, 6),
        fetch_queue=seed.randint(1, 20),
        rename_width=seed.randint(1, 5),
        issue_width=seed.randint(1, 6),
        retire_width=seed.randint(1, 5),
        reorder_buffer=seed.randint(2, 24),
        scheduler_entries=seed.randint(2, 16),
        load_queue=seed.randint(1, 6),
        store_queue=seed.randint(1, 5),
        commit_width=seed.randint(1, 2),
        mispredict=seed.randint(1, 9),
        forward=seed.randint(1, 6),
        forward_blocked=seed.randint(3, 12),
        miss_latency=seed.choice([5, 20]),
        ports=tuple(f"p{i}" for i in range(ports)),
    )


def random_case(number: int) -> tuple[Stream, MachineTables, Events, Parameters]:
    seed = random.Random(number)
    ports = seed.randint(1, 5)
    tables = random_tables(seed, seed.randint(1, 12), ports)
    stream = random_stream(seed, tables, seed.randint(1, 40))
    return stream, tables, random_events(seed, tables, stream), random_parameters(seed, ports)


@pytest.mark.parametrize("group", range(8))
def test_equals_a_clocked_machine_cycle_for_cycle(group: int) -> None:
    for number in range(group * 150, group * 150 + 150):
        stream, tables, events, parameters = random_case(number)
        timeline = time_run(stream, tables, events, parameters)
        rows = Machine(tables, events, parameters).run()
        uops = [uop for row in rows for uop in row.uops]
        assert timeline.fetch.tolist() == [row.fetch for row in rows], number
        assert timeline.dispatch.tolist() == [row.dispatch for row in rows], number
        assert timeline.micro_ops.issue.tolist() == [uop.issue for uop in uops], number
        assert timeline.micro_ops.complete.tolist() == [uop.complete for uop in uops], number
        assert timeline.retire.tolist() == [row.retire for row in rows], number
        assert timeline.cycles == rows[-1].retire + 1


def test_retiring_and_stalls_add_up_to_the_cycles() -> None:
    for number in range(300):
        stream, tables, events, parameters = random_case(number)
        timeline = time_run(stream, tables, events, parameters)
        stalls = timeline.stalls()
        assert sum(stalls.values()) == pytest.approx(timeline.cycles, abs=1e-9)
        assert timeline.cycles_per_row().sum() == pytest.approx(timeline.cycles, abs=1e-9)
        assert min(stalls.values()) > 0
        used = np.minimum(tables.slots[events.static], parameters.retire_width).sum()
        assert stalls[Stall.RETIRING] == pytest.approx(used / parameters.retire_width)


def test_every_wait_has_a_cause() -> None:
    for number in range(300):
        stream, tables, events, parameters = random_case(number)
        timeline = time_run(stream, tables, events, parameters)
        uops = timeline.micro_ops
        assert np.all((uops.hold > 0) == (uops.issue > uops.ready))
        late = uops.ready > timeline.dispatch[uops.row] + 1
        assert np.all((uops.wait > 0) == late)
        assert np.all(uops.producer[late] >= 0)
        assert np.all(uops.producer < np.arange(len(uops)))

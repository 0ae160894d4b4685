"""The event-driven SIMT model against a naive clocked machine, and its accounting."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from isas.cores import Cache, Simt, WarpPolicy
from isas.tables import IS_BARRIER, IS_BRANCH, MachineTables
from tests.vm.naive_simt import Machine, Row, Warp
from tests.vm.random_programs import random_tables
from vm.simt.model import Parameters, sort_by_warp, time_launches
from vm.stalls import Stall
from vm.stream import Launch, Stream
from vm.timeline import Occupancy


def random_parameters(seed: random.Random, ports: int) -> Parameters:
    simt = Simt(
        warp_size=32,
        schedulers=seed.randint(1, 3),
        sm_count=seed.randint(1, 3),
        warps_per_sm=8,
        blocks_per_sm=4,
        threads_per_block=256,
        registers_per_sm=65536,
        registers_per_thread=255,
        register_allocation_unit=256,
        shared_bytes_per_sm=4096,
        shared_bytes_per_block=4096,
        shared_banks=4,
        shared_latency_cycles=4,
        sector_bytes=32,
        l2_latency_cycles=12,
        launch_overhead_cycles=seed.choice([0, 7]),
        policy=seed.choice(list(WarpPolicy)),
    )
    cache = Cache(size_bytes=512, ways=2, line_bytes=64, latency_cycles=4)
    return Parameters(simt, cache, seed.choice([20, 40]), tuple(f"p{i}" for i in range(ports)))


def random_simt_tables(seed: random.Random, count: int, ports: int) -> MachineTables:
    tables = random_tables(seed, count, ports, can_eliminate=False)
    flags = tables.flags.copy()
    for i in range(count):
        if seed.random() < 0.1 and not (flags[i] or tables.loads[i] or tables.stores[i]):
            flags[i] = IS_BARRIER
    memory = (tables.loads > 0) | (tables.stores > 0)
    space = np.array([seed.choice([1, 1, 2, 4]) for _ in range(count)]) * memory
    return replace(tables, flags=flags, space=space)


def random_launches(seed: random.Random, tables: MachineTables) -> Stream:
    launches = tuple(
        Launch(0, seed.randint(1, 7), seed.randint(1, 3)) for _ in range(seed.randint(1, 2))
    )
    columns: dict[str, list] = {name: [] for name in ("static", "launch", "warp", "taken", "size")}
    lanes: list[list[int]] = []
    masks: list[int] = []
    for number, launch in enumerate(launches):
        for warp in range(launch.blocks * launch.warps_per_block):
            for _ in range(seed.randint(0, 14)):
                static = seed.randrange(len(tables.slots))
                has_memory = bool(tables.loads[static] or tables.stores[static])
                active = seed.choice([1, 2, 4, 32])
                size = seed.choice([4, 8])
                columns["static"].append(static)
                columns["launch"].append(number)
                columns["warp"].append(warp)
                columns["taken"].append(bool(tables.flags[static] & IS_BRANCH))
                columns["size"].append(size if has_memory else 0)
                masks.append((1 << active) - 1)
                base, stride = seed.randrange(0, 512, 8), seed.choice([0, 4, 8, 64])
                reach = [base + stride * i for i in range(active)] if has_memory else []
                lanes.append(reach)
    order = list(range(len(masks)))
    seed.shuffle(order)
    order.sort(key=lambda i: columns["launch"][i])
    kept: dict[tuple[int, int], list[int]] = {}
    for i in range(len(masks)):
        kept.setdefault((columns["launch"][i], columns["warp"][i]), []).append(i)
    order = [kept[columns["launch"][i], columns["warp"][i]].pop(0) for i in order]

    def column(name: str, dtype: type) -> np.ndarray:
        return np.array([columns[name][i] for i in order], dtype)

    rows = len(order)
    return Stream(
        static=column("static", np.int32),
        program=np.zeros(rows, np.int32),
        launch=column("launch", np.int32),
        warp=column("warp", np.int32),
        address=np.array([lanes[i][0] if lanes[i] else -1 for i in order], np.int64),
        size=column("size", np.int32),
        is_taken=column("taken", np.bool_),
        active=np.array([masks[i] for i in order], np.uint32),
        lane_offsets=np.cumsum([0] + [len(lanes[i]) for i in order]).astype(np.int64),
        lane_addresses=np.array([a for i in order for a in lanes[i]], np.int64),
        launches=launches,
    )


def random_case(
    number: int,
) -> tuple[Stream, MachineTables, list[Occupancy], Parameters]:
    seed = random.Random(number)
    ports = seed.randint(1, 4)
    tables = random_simt_tables(seed, seed.randint(2, 12), ports)
    stream = random_launches(seed, tables)
    parameters = random_parameters(seed, ports)
    occupancy = []
    for launch in stream.launches:
        blocks = seed.randint(1, 3)
        occupancy.append(Occupancy(blocks, blocks * launch.warps_per_block, 8, "blocks"))
    return stream, tables, occupancy, parameters


def run_oracle(
    stream: Stream, tables: MachineTables, occupancy: list[Occupancy], parameters: Parameters
) -> tuple[list[Row], int]:
    rows = [
        Row(i, int(stream.static[i]), stream.lanes(i).tolist(), int(stream.size[i]))
        for i in range(len(stream))
    ]
    launches, age = [], 0
    for number, launch in enumerate(stream.launches):
        warps = []
        for warp in range(launch.blocks * launch.warps_per_block):
            mine = (stream.launch == number) & (stream.warp == warp)
            warps.append(Warp(age, [rows[i] for i in np.flatnonzero(mine)]))
            age += 1
        launches.append(warps)
    machine = Machine(tables, parameters, stream.launches, occupancy)
    return rows, machine.run(launches)


@pytest.mark.parametrize("group", range(4))
def test_equals_a_clocked_machine_cycle_for_cycle(group: int) -> None:
    for number in range(group * 120, group * 120 + 120):
        stream, tables, occupancy, parameters = random_case(number)
        timeline = time_launches(stream, tables, occupancy, parameters)
        rows, cycles = run_oracle(stream, tables, occupancy, parameters)
        assert timeline.micro_ops.issue.tolist() == [row.issue for row in rows], number
        assert timeline.micro_ops.complete.tolist() == [row.complete for row in rows], number
        assert timeline.simt is not None
        assert timeline.simt.sm.tolist() == [row.sm for row in rows], number
        assert timeline.cycles == cycles


def test_retiring_and_stalls_add_up_to_the_cycles() -> None:
    for number in range(200):
        stream, tables, occupancy, parameters = random_case(number)
        timeline = time_launches(stream, tables, occupancy, parameters)
        stalls = timeline.stalls()
        assert sum(stalls.values()) == pytest.approx(timeline.cycles, abs=1e-9)


def test_useful_work_is_the_active_part_of_the_issue_slots() -> None:
    for number in range(100):
        stream, tables, occupancy, parameters = random_case(number)
        alone = replace(parameters, simt=replace(parameters.simt, sm_count=1))
        timeline = time_launches(stream, tables, occupancy, alone)
        active = sum(int(mask).bit_count() for mask in stream.active) / 32
        useful = timeline.stalls().get(Stall.RETIRING, 0.0) * alone.simt.schedulers
        assert useful == pytest.approx(active)


def test_every_wait_has_a_cause_and_a_culprit() -> None:
    for number in range(200):
        stream, tables, occupancy, parameters = random_case(number)
        timeline = time_launches(stream, tables, occupancy, parameters)
        uops = timeline.micro_ops
        assert np.all((uops.hold > 0) == (uops.issue > uops.ready))
        assert np.all((uops.wait > 0) == (uops.ready > timeline.dispatch))
        assert np.all(uops.producer[uops.wait > 0] >= 0)
        assert np.all(uops.blocker[uops.hold > 0] >= 0)


def test_rows_of_a_warp_stay_in_order_and_on_one_scheduler() -> None:
    for number in range(100):
        stream, tables, occupancy, parameters = random_case(number)
        timeline = time_launches(stream, tables, occupancy, parameters)
        by_warp = sort_by_warp(stream)
        assert timeline.simt is not None
        for first, last in pairwise(by_warp.first_row):
            rows = by_warp.order[first:last]
            assert np.all(np.diff(timeline.micro_ops.issue[rows]) > 0)
            assert len(set(timeline.simt.scheduler[rows].tolist())) <= 1

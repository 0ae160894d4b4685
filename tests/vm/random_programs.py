"""Random machine tables and random executions of them, for comparing timing models with oracles."""

from __future__ import annotations

import random
from itertools import accumulate

import numpy as np

from isas.cores import Cache, Predictor
from isas.tables import (
    COMPUTE,
    IS_BRANCH,
    IS_CONDITIONAL,
    LOAD,
    STORE_ADDRESS,
    STORE_DATA,
    MachineTables,
)
from vm.events import Events, find_events
from vm.stream import Launch, Stream

STORAGES = 6
TEMPORARY = STORAGES
SMALL_CACHE = Cache(size_bytes=256, ways=2, line_bytes=32, latency_cycles=3)


def random_tables(
    seed: random.Random, count: int, ports: int, can_eliminate: bool = True
) -> MachineTables:
    """`count` random instructions of one to four micro-ops over `ports` ports."""
    rows = [_random_instruction(seed, ports, can_eliminate) for _ in range(count)]
    uops = [uop for row in rows for uop in row["uops"]]
    classes = 3
    forbidden = [[False] * classes for _ in range(classes)]
    for i in range(classes):
        for j in range(i + 1):
            forbidden[i][j] = forbidden[j][i] = seed.random() < 0.3

    def array(values):
        return np.array(list(values), dtype=np.int64)

    def offsets(counts):
        return array(accumulate(counts, initial=0))

    return MachineTables(
        instruction_base=array([0, count]),
        slots=array(row["slots"] for row in rows),
        loads=array(sum(uop["role"] == LOAD for uop in row["uops"]) for row in rows),
        stores=array(any(uop["role"] == STORE_DATA for uop in row["uops"]) for row in rows),
        alias=array(row["alias"] for row in rows),
        flags=array(row["flags"] for row in rows),
        space=array(0 for _ in rows),
        pairing=array(seed.randrange(classes) for _ in rows),
        first_micro_op=offsets(len(row["uops"]) for row in rows),
        role=array(uop["role"] for uop in uops),
        ports=array(uop["ports"] for uop in uops),
        latency=array(uop["latency"] for uop in uops),
        busy=array(uop["busy"] for uop in uops),
        first_read=offsets(len(uop["reads"]) for uop in uops),
        read_storage=array(s for uop in uops for s, _ in uop["reads"]),
        read_late=array(late for uop in uops for _, late in uop["reads"]),
        first_write=offsets(len(uop["writes"]) for uop in uops),
        write_storage=array(s for uop in uops for s in uop["writes"]),
        forbidden=array(sum(1 << j for j in range(classes) if row[j]) for row in forbidden),
        storages=tuple(range(STORAGES)),
    )


def _uop(seed, ports, role, reads, writes):
    latency = seed.choice([1, 1, 2, 3, 4, 9])
    is_slow = seed.random() < 0.15
    return {
        "role": role,
        "ports": seed.randint(1, 2**ports - 1),
        "latency": latency,
        "busy": seed.choice([2, 5, 8]) if is_slow else 1,
        "reads": [(s, min(late, latency)) for s, late in reads],
        "writes": writes,
    }


def _random_instruction(seed, ports, can_eliminate):
    def reads(most):
        return [
            (seed.randrange(STORAGES), seed.choice([0, 0, 0, 1, 2]))
            for _ in range(seed.randint(0, most))
        ]

    def target():
        return [seed.randrange(STORAGES)]

    kind = seed.random()
    row = {"flags": 0, "alias": -1, "slots": 1}
    if kind < 0.1 and can_eliminate:
        row["alias"] = seed.choice([-1, seed.randrange(STORAGES)])
        sources = [] if row["alias"] < 0 else [(row["alias"], 0)]
        nothing = {"role": COMPUTE, "ports": 0, "latency": 0, "busy": 1}
        row["uops"] = [nothing | {"reads": sources, "writes": target()}]
    elif kind < 0.25:
        row["uops"] = [_uop(seed, ports, LOAD, reads(2), target())]
    elif kind < 0.35:
        row["slots"] = seed.choice([1, 2])
        row["uops"] = [
            _uop(seed, ports, STORE_ADDRESS, reads(2), []),
            _uop(seed, ports, STORE_DATA, reads(1), []),
        ]
    elif kind < 0.4:
        row["slots"] = 2
        row["uops"] = [
            _uop(seed, ports, LOAD, reads(1), [TEMPORARY]),
            _uop(seed, ports, COMPUTE, reads(1) + [(TEMPORARY, 0)], target() + [TEMPORARY + 1]),
            _uop(seed, ports, STORE_ADDRESS, reads(1), []),
            _uop(seed, ports, STORE_DATA, [(TEMPORARY + 1, 0)], []),
        ]
    elif kind < 0.5:
        row["flags"] = IS_BRANCH | IS_CONDITIONAL
        row["uops"] = [_uop(seed, ports, COMPUTE, reads(1), [])]
    else:
        row["uops"] = [_uop(seed, ports, COMPUTE, reads(3), target())]
    return row


def random_stream(seed: random.Random, tables: MachineTables, rows: int) -> Stream:
    """A walk over the instructions with random branches, addresses and sizes."""
    count = len(tables.slots)
    static, address, size, taken = [], [], [], []
    place = 0
    for _ in range(rows):
        is_branch = bool(tables.flags[place] & IS_BRANCH)
        has_memory = bool(tables.loads[place] or tables.stores[place])
        goes = is_branch and seed.random() < 0.5
        static.append(place)
        taken.append(goes)
        bytes_ = seed.choice([4, 8, 16, 32]) if has_memory else 0
        size.append(bytes_)
        address.append(seed.randrange(0, 640, 4) if has_memory else -1)
        place = seed.randrange(count) if goes else (place + 1) % count
    return Stream(
        static=np.array(static, np.int32),
        program=np.zeros(rows, np.int32),
        launch=np.zeros(rows, np.int32),
        warp=np.full(rows, -1, np.int32),
        address=np.array(address, np.int64),
        size=np.array(size, np.int32),
        is_taken=np.array(taken, np.bool_),
        active=np.full(rows, 0xFFFFFFFF, np.uint32),
        launches=(Launch(0),),
    )


def random_events(seed: random.Random, tables: MachineTables, stream: Stream) -> Events:
    """The events of a stream on a tiny cache."""
    return find_events(stream, tables, SMALL_CACHE, seed.choice(list(Predictor)))

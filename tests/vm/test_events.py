"""Cache, store sources and branch predictor against walks written the obvious way."""

from __future__ import annotations

import random

import numpy as np

from isas.cores import Cache, Predictor
from vm.caches import trace_cache
from vm.forwarding import store_sources
from vm.predictor import mispredicted


def test_cache_equals_a_list_of_lines_per_set() -> None:
    for number in range(200):
        seed = random.Random(number)
        cache = Cache(seed.choice([128, 256, 512]), seed.choice([1, 2, 4]), 32, 3)
        rows = seed.randint(0, 60)
        address = [seed.choice([-1, seed.randrange(2048)]) for _ in range(rows)]
        size = [seed.choice([1, 4, 8, 32]) for _ in range(rows)]
        trace = trace_cache(np.array(address, np.int64), np.array(size, np.int64), cache)
        sets: dict[int, list[tuple[int, int]]] = {}
        for row in range(rows):
            if address[row] < 0:
                assert not trace.is_miss[row]
                continue
            missed, owners = False, []
            lines = {address[row] // 32, (address[row] + size[row] - 1) // 32}
            for line in sorted(lines):
                ways = sets.setdefault(line % cache.sets, [])
                held = [entry for entry in ways if entry[0] == line]
                missed = missed or not held
                owners += [owner for _, owner in held]
                entry = held[0] if held else (line, row)
                sets[line % cache.sets] = [entry, *(e for e in ways if e[0] != line)][: cache.ways]
            assert bool(trace.is_miss[row]) == missed, number
            if not missed:
                assert trace.owner[row] == max(owners), number


def test_sources_equal_a_dictionary_of_bytes() -> None:
    for number in range(200):
        seed = random.Random(number)
        rows, step = seed.randint(1, 60), seed.choice([1, 2, 4])
        far = seed.choice([0, 1 << 40])
        address, size, loads, stores = [], [], [], []
        for _ in range(rows):
            is_access = seed.random() < 0.9
            place = seed.randrange(0, 96, step) + seed.choice([0, far, 4090 * step])
            address.append(place if is_access else -1)
            size.append(step * seed.randint(1, 8) if is_access else 0)
            loads.append(int(is_access and seed.random() < 0.6))
            stores.append(int(is_access and seed.random() < 0.5))
        columns = [np.array(c, np.int64) for c in (address, size, loads, stores)]
        source, is_covered = store_sources(*columns, is_compiled=False)
        last: dict[int, int] = {}
        for row in range(rows):
            reach = range(address[row], address[row] + size[row])
            if loads[row]:
                writers = {last.get(byte, -1) for byte in reach}
                assert source[row] == max(writers), number
                assert bool(is_covered[row]) == (max(writers) >= 0 and len(writers) == 1), number
            if stores[row]:
                last |= dict.fromkeys(reach, row)


def test_static_prediction_follows_the_direction_of_the_jump() -> None:
    branch, taken = np.array([0, 1, 0, 1]), np.array([1, 0, 0, 1])
    wrong = mispredicted(branch, taken, np.array([True, False]), Predictor.STATIC)
    assert wrong.tolist() == [0, 0, 1, 1]


def test_two_bit_counters_miss_every_exit_of_a_loop_and_nothing_else() -> None:
    taken = np.array(([1] * 7 + [0]) * 5)
    wrong = mispredicted(np.zeros(40, int), taken, np.array([True]), Predictor.TWO_BIT)
    assert np.array_equal(wrong, 1 - taken)


def test_loop_predictor_foresees_the_exit_after_two_equal_runs() -> None:
    taken = np.array(([1] * 7 + [0]) * 5)
    wrong = mispredicted(np.zeros(40, int), taken, np.array([True]), Predictor.LOOP)
    assert np.flatnonzero(wrong).tolist() == [7, 15]


def test_loop_predictor_cannot_hold_long_runs() -> None:
    taken = np.array(([1] * 100 + [0]) * 4)
    wrong = mispredicted(np.zeros(404, int), taken, np.array([True]), Predictor.LOOP)
    assert np.flatnonzero(wrong).tolist() == [100, 201, 302, 403]

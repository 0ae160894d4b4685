"""Replay against the run itself: memory, values and order of asking."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.options import Options
from isas.errors import InternalError
from lab import road
from vm.memory import ARENA_BASE
from vm.replay import Moment, Replay

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RUNS = [
    ("softmax", "x86/zen3", (("vec", 4),)),
    ("attention", "arm/cortex-a53", (("vec", 4),)),
    ("attention", "simt/volta", (("reg", 18),)),
]


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: f"{run[0]}-{run[1]}")
def result(request: pytest.FixtureRequest) -> road.Result:
    name, machine, registers = request.param
    return road.run(road.load(EXAMPLES / f"{name}.hlo"), machine, Options(registers=registers))


def bits(moment: Moment) -> list[bytes]:
    registers = [value.lanes.tobytes() for value in moment.registers]
    return registers + [slot.lanes.tobytes() for slot in moment.slots]


def test_the_end_of_a_replay_leaves_the_memory_of_the_run(result: road.Result) -> None:
    replay = road.replay(result)
    replay.after(len(replay) - 1)
    assert replay.memory.data == result.execution.memory.data


def test_going_back_shows_what_going_forward_showed(result: road.Result) -> None:
    replay = road.replay(result)
    replay.spacing = 97
    rows = np.random.default_rng(1).integers(0, len(replay), 12)
    forward = {int(row): bits(replay.after(int(row))) for row in np.sort(rows)}
    assert replay.checkpoints
    for row in map(int, rows):
        assert bits(replay.after(row)) == forward[row]
        assert bits(road.replay(result).after(row)) == forward[row]


def test_checkpoints_stay_within_their_budget_and_near_by_is_cheap(result: road.Result) -> None:
    replay = road.replay(result)
    replay.spacing, replay.budget_bytes = 50, 1
    replay.after(len(replay) - 1)
    assert len(replay.checkpoints) == 2
    replay = road.replay(result)
    replay.spacing = 50
    replay.after(50)
    replay.budget_bytes = 16 * replay.kept_bytes
    replay.after(len(replay) - 1)
    assert replay.kept_bytes == sum(kept.size_bytes for kept in replay.checkpoints)
    assert replay.kept_bytes <= replay.budget_bytes
    for row in range(len(replay) - 1, len(replay) - 400, -7):
        assert replay.cost(row) < 100
        replay.after(row)
    rows = [kept.row for kept in replay.checkpoints]
    assert rows == sorted(set(rows))


def test_a_replay_that_was_stopped_goes_on_where_it_was(result: road.Result) -> None:
    replay = road.replay(result)
    replay.spacing = 50
    last = len(replay) - 1

    def stop(row: int) -> None:
        if row >= last // 2:
            raise InternalError("enough")

    with pytest.raises(InternalError, match="enough"):
        replay.after(last, stop)
    assert last - 50 <= replay.cost(last) + last // 2 <= last
    assert bits(replay.after(last)) == bits(road.replay(result).after(last))


def test_only_written_registers_change(result: road.Result) -> None:
    replay = road.replay(result)
    stream, programs = result.execution.stream, result.execution.programs
    for row in range(40, 120):
        instruction = programs[stream.program[row]].instructions[stream.static[row]]
        facts = instruction.shape.facts
        written = {
            storage
            for name in facts.writes
            if (register := instruction.register(name)) is not None
            for storage in register.storages
        }
        for value in replay.after(row).registers:
            register = programs[0].isa.registers.by_name(value.name)
            assert register is not None
            if value.is_changed and value.class_name:
                assert written & set(register.storages), (row, value.name)


def test_stores_show_the_register_that_was_stored() -> None:
    """The value in memory after the last store of a kernel is the register's."""
    name, machine, registers = RUNS[0]
    result = road.run(road.load(EXAMPLES / f"{name}.hlo"), machine, Options(registers=registers))
    replay = road.replay(result)
    stream, program = result.execution.stream, result.execution.programs[0]
    stores = [
        row
        for row in range(len(stream) - 400, len(stream))
        if program.instructions[stream.static[row]].shape.facts.stores
        and program.instructions[stream.static[row]].note == ""
    ]
    assert stores
    for row in stores:
        moment = replay.after(row)
        source = next(
            register
            for name in program.instructions[stream.static[row]].operands
            if (register := program.instructions[stream.static[row]].register(name))
        )
        lanes = next(v.lanes for v in moment.registers if v.name[1:] == source.name[1:])
        start, size = int(stream.address[row]), int(stream.size[row])
        assert start >= ARENA_BASE
        assert bytes(replay.memory.data[start : start + size]) == lanes.tobytes()[:size]


def test_a_row_that_was_not_executed_is_refused() -> None:
    result = road.run(road.load(EXAMPLES / "element_wise_chain.hlo"))
    replay = Replay(
        result.compilation.executable, [bytes(result.data.inputs[0])], result.execution.stream,
        result.execution.steps,
    )  # fmt: skip
    with pytest.raises(InternalError, match="not one of"):
        replay.after(len(replay))
    assert replace(result).cycles == result.cycles

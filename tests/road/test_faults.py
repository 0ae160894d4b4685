"""Small programs that once went wrong somewhere on the road; all must be right on every machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isas
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.options import Options
from lab import road

FOLDER = Path(__file__).parent / "faults"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.hlo"))


def run(name: str, machine: str, **registers: int) -> road.Result:
    module = verify(parse_module((FOLDER / f"{name}.hlo").read_text(), f"{name}.hlo"))
    return road.run(module, machine, Options(registers=tuple(sorted(registers.items()))))


@pytest.mark.parametrize("machine", isas.machine_names())
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_right_on_every_machine(name: str, machine: str) -> None:
    result = run(name, machine)
    assert result.matches, str(result.evaluator)


def test_nothing_is_launched_for_arrays_without_elements() -> None:
    result = run("results_of_nothing", "x86/zen3")
    shapes = [array.shape for array in result.outputs]
    assert shapes == [(3, 4), (0, 0), (5, 2), (3,), (3,)]
    assert (result.outputs[0] == 0).all()
    assert (result.outputs[2] == 1).all()
    assert (result.outputs[4] == -3).all()
    assert len(result.compilation.executable.launches) == 4


def test_the_order_of_elements_counts_on_a_grid_where_the_reducer_shows_it() -> None:
    result = run("order_of_ties", "simt/volta")
    values = result.data.inputs[0]
    last = values.shape[1] - 1 - np.argmax(values[:, ::-1], axis=1)
    assert (result.outputs[0] == last).all()
    assert (result.outputs[1] == values.sum(axis=1) + 5).all()

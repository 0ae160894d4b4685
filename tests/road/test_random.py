"""Random programs of the promised kind, through every level, on every machine.

About eighty run here. `python -m tests.road.differential --seeds 0:1000` runs more, on all machines
in turn; `--registers vec=4`, `--no-fuse` and `--native` (real LLVM as well) make it harder.
"""

from __future__ import annotations

import numpy as np
import pytest

import isas
from compiler.compilation import Stage
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.options import Options
from isas.errors import InputError
from lab import road
from lab.crosscheck.llvm import Llvm
from tests.road.differential import check, difference, ir_outputs, machine_of
from tests.road.noise import spreads
from tests.road.random_programs import RandomProgram, random_program

MACHINES = isas.machine_names()
LIMITS = {
    "x86/zen3": {"vec": 3}, "x86/skylake": {"vec": 4, "gpr": 4}, "arm/cortex-a53": {"vec": 4},
    "simt/volta": {"reg": 14, "pred": 2},
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("batch", range(4))
def test_random_programs_are_right(batch: int, machine: str) -> None:
    first = 10_000 + 100 * batch + 10 * MACHINES.index(machine)
    for seed in range(first, first + 4):
        fault = check(random_program(seed, 10), machine, Options(fuse=seed % 4 != 0))
        assert fault is None, f"{fault}\n{random_program(seed, 10).text}"


@pytest.mark.parametrize("machine", MACHINES)
def test_random_programs_are_right_with_few_registers(machine: str) -> None:
    for seed in range(20_000, 20_003):
        options = Options(registers=tuple(sorted(LIMITS[machine].items())))
        fault = check(random_program(seed, 8), machine, options)
        is_refused = fault is not None and fault.level == InputError.__name__
        assert fault is None or is_refused, f"{fault}\n{random_program(seed, 8).text}"


def test_real_llvm_runs_both_stages_of_the_ir_with_the_same_results() -> None:
    with Llvm() as llvm:
        for seed in range(30_000, 30_004):
            fault = check(random_program(seed, 8), "x86/zen3", Options(), llvm)
            assert fault is None, f"{fault}\n{random_program(seed, 8).text}"


@pytest.mark.parametrize("machine", MACHINES)
def test_the_machine_and_its_ir_agree_bit_for_bit(machine: str) -> None:
    for seed in range(40_000, 40_002):
        program = random_program(seed, 8)
        module = verify(parse_module(program.text))
        result = road.run(module, machine_of(machine), inputs=program.inputs)
        wanted = ir_outputs(result.compilation, program, Stage.LLVM_OPTIMIZED)
        for one, other in zip(result.outputs, wanted, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=program.text)


def test_a_wrong_result_is_seen() -> None:
    text = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] tanh(x)\n}\n"
    program = RandomProgram(0, text, (np.linspace(-1, 1, 4, dtype=np.float32),))
    module = verify(parse_module(text))
    exact = road.evaluate(module, *program.inputs)
    wrong = [exact[0] * np.float32(1.0001)]
    assert difference(module, program, exact, exact) == ""
    assert "output 0[0]" in difference(module, program, wrong, exact)


def test_noise_is_wide_where_numbers_cancel_and_narrow_elsewhere() -> None:
    text = (
        "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  s = f32[4] multiply(x, x)\n"
        "  big = f32[] constant(1e6)\n  b = f32[4] broadcast(big), dimensions={}\n"
        "  t = f32[4] multiply(s, b)\n  u = f32[4] subtract(t, b)\n"
        "  ROOT r = (f32[4], f32[4]) tuple(s, u)\n}\n"
    )
    module = verify(parse_module(text))
    inputs = (np.full(4, 1.0000001, np.float32),)
    narrow, wide = spreads(module, inputs, road.evaluate(module, *inputs))
    assert 0 < narrow.max() < 1e-6
    assert wide.max() > 1e-2

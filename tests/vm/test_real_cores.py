"""Random straight-line programs on the real core files, models against the clocked oracles."""

from __future__ import annotations

import random

import pytest

from isas.catalogue import load_machine
from isas.tables import machine_tables
from tests.vm import naive_in_order, naive_out_of_order
from tests.vm.traces import kernel, repeated
from vm.events import find_events
from vm.inorder import model as in_order
from vm.outoforder import model as out_of_order

X86 = (
    "add r{i}, r{j}", "imul r{i}, r{j}", "mov r{i}, r{j}", "xor r{i}d, r{i}d",
    "vfmadd231ps ymm{i}, ymm{j}, ymm{k}", "vaddps ymm{i}, ymm{j}, ymm{k}",
    "vdivps ymm{i}, ymm{j}, ymm{k}", "vaddps ymm{i}, ymm{j}, ymmword ptr [rdi + {m}]",
    "vmovups ymm{i}, ymmword ptr [rdi + {m}]", "vmovups ymmword ptr [rdi + {m}], ymm{i}",
    "mov qword ptr [rdi + {m}], r{i}", "mov r{i}, qword ptr [rdi + {m}]",
    "vroundps ymm{i}, ymm{j}, 8", "vsqrtps ymm{i}, ymm{j}", "cmp r{i}, r{j}",
    "vxorps xmm{i}, xmm{i}, xmm{i}",
)  # fmt: skip
ARM = (
    "add x{i}, x{j}, x{k}", "mul x{i}, x{j}, x{k}", "madd x{i}, x{j}, x{k}, x{i}",
    "ldr x{i}, [x0, #{m}]", "str x{i}, [x0, #{m}]", "ldr q{i}, [x0, #{m}]",
    "str q{i}, [x0, #{m}]", "fmla v{i}.4s, v{j}.4s, v{k}.4s", "fadd s{i}, s{j}, s{k}",
    "fadd v{i}.4s, v{j}.4s, v{k}.4s", "fdiv s{i}, s{j}, s{k}", "fsqrt d{i}, d{j}",
)  # fmt: skip


def random_text(seed: random.Random, forms: tuple[str, ...], count: int) -> str:
    lines = []
    for _ in range(count):
        i, j, k = (seed.randrange(8, 14) for _ in range(3))
        lines.append(seed.choice(forms).format(i=i, j=j, k=k, m=32 * seed.randrange(6)))
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["x86/zen3", "x86/skylake"])
def test_out_of_order_cores_equal_the_oracle(name: str) -> None:
    machine = load_machine(name)
    parameters = out_of_order.parameters_of(machine.core)
    for number in range(12):
        program = kernel(machine, random_text(random.Random(number), X86, 30))
        stream, tables = repeated(program, 3), machine_tables([program], machine)
        events = find_events(stream, tables, machine.core.l1, machine.core.predictor)
        timeline = out_of_order.time_run(stream, tables, events, parameters)
        rows = naive_out_of_order.Machine(tables, events, parameters).run()
        issues = [uop.issue for row in rows for uop in row.uops]
        assert timeline.micro_ops.issue.tolist() == issues, number
        assert timeline.retire.tolist() == [row.retire for row in rows], number


def test_the_in_order_core_equals_the_oracle() -> None:
    machine = load_machine("arm/cortex-a53")
    parameters = in_order.parameters_of(machine.core)
    for number in range(30):
        program = kernel(machine, random_text(random.Random(number), ARM, 30))
        stream, tables = repeated(program, 3), machine_tables([program], machine)
        events = find_events(stream, tables, machine.core.l1, machine.core.predictor)
        timeline = in_order.time_run(stream, tables, events, parameters)
        rows = naive_in_order.Machine(tables, events, parameters).run()
        issues = [uop.issue for row in rows for uop in row.uops]
        assert timeline.micro_ops.issue.tolist() == issues, number
        assert timeline.retire.tolist() == [row.retire for row in rows], number

"""Random functions under random register limits: allocations pass the checker and keep the
meaning.
"""

from __future__ import annotations

import random

import pytest

from compiler.allocate.allocate import allocate
from compiler.allocate.checker import check_allocation
from compiler.journal import Journal
from compiler.options import Options
from isas import load_machine
from isas.errors import InputError
from tests.allocate.machine_oracle import trace_of
from tests.allocate.machine_programs import random_function

MACHINES = ("x86/zen3", "arm/cortex-a53", "simt/volta")
COUNTS = (1, 2, 3, 4, 5, 6, 8, 12, 40)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", range(12))
def test_allocation_passes_the_checker_and_stores_the_same(name: str, seed: int) -> None:
    machine = load_machine(name)
    source = random.Random(seed)
    function = random_function(machine, seed, source.choice([5, 15, 40, 60]))
    own = frozenset(slot.number for slot in function.slots)
    expected = trace_of(function, machine, seed, own)
    for _ in range(3):
        classes = [name for name in machine.isa.registers.classes if source.random() < 0.7]
        options = Options(registers=tuple((name, source.choice(COUNTS)) for name in classes))
        try:
            result = allocate(function, machine, options, Journal())
        except InputError as error:
            assert "too few" in str(error)
            continue
        check_allocation(function, result.function, result.source, machine, options)
        assert trace_of(result.function, machine, seed, own) == expected

"""Legalisation keeps every bit, selection covers what it leaves, and the selected code computes
what the IR says, on random functions over every type."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.journal import Journal
from compiler.llvm.context import Context
from compiler.llvm.evaluate import evaluate
from compiler.llvm.ir import Function
from compiler.llvm.passes import legalize
from compiler.llvm.pipeline import optimize
from compiler.llvm.verify import verify_function
from compiler.machine.verify import verify_machine_function
from compiler.options import Options
from compiler.select import select, target_of
from isas import load_machine
from isas.program import Grid
from tests.llvm import programs
from tests.select import random_ir
from tests.select.naive import Naive, run_program

MACHINES = ("x86/zen3", "x86/skylake", "arm/cortex-a53", "simt/volta")
CPUS = MACHINES[:3]


def context(name: str) -> Context:
    options = Options()
    return Context(target_of(load_machine(name), options), options, Journal())


def selected(function: Function, name: str, arguments: list[int], memory: np.ndarray) -> np.ndarray:
    """The memory after the selected code ran on a copy of `memory`."""
    machine = load_machine(name)
    code = select(function, machine, Options(), Journal())
    verify_machine_function(code, machine)
    grid = Grid() if machine.isa.calling.parameter_space else None
    return run_program(Naive(code, machine).program(grid), arguments, memory)


def check(name: str, seed: int, *, vectors: bool, halves: bool, steps: int) -> None:
    made = random_ir.random_function(seed, vectors=vectors, halves=halves, steps=steps)
    before = random_ir.memory(seed)
    plain, legal = before.copy(), before.copy()
    evaluate(made.function, random_ir.arguments(), plain)
    legalize.run(made.function, context(name))
    verify_function(made.function)
    evaluate(made.function, random_ir.arguments(), legal)
    assert random_ir.differences(plain, legal, made.stored) == []
    run = selected(made.function, name, random_ir.arguments(), before)
    assert random_ir.differences(legal, run, made.stored) == []


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", range(8))
def test_scalars_of_every_type_come_out_the_same(name: str, seed: int) -> None:
    check(name, seed, vectors=False, halves=seed % 2 == 1, steps=20)


@pytest.mark.parametrize("name", CPUS)
@pytest.mark.parametrize("seed", range(8))
def test_vectors_of_every_type_come_out_the_same(name: str, seed: int) -> None:
    check(name, 100 + seed, vectors=True, halves=seed % 4 == 3, steps=20)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", range(6))
def test_loops_and_branches_after_all_passes_come_out_the_same(name: str, seed: int) -> None:
    function = programs.random_function(200 + seed)
    optimize(function, context(name))
    before = programs.memory(seed)
    expected = before.copy()
    evaluate(function, programs.arguments(), expected)
    run = selected(function, name, programs.arguments(), before)
    assert programs.differences(expected, run) == []

"""Kernels grow one producer at a time: the short analysis of a step finds what the long one finds,
and the work on a long chain grows with its length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.hlo.elements import ELEMENTAL
from compiler.hlo.fusion.decisions import FusionDecision, KernelFormed
from compiler.hlo.fusion.graph import build_graph
from compiler.hlo.fusion.growth import LARGEST_CODE
from compiler.hlo.fusion.order import build_order
from compiler.hlo.fusion.trial import Trial, Trials
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes, trace_hlo_passes
from tests.passes.programs import random_program

OPERATIONS = ("add({x}, p1)", "tanh({x})", "multiply({x}, p1)", "maximum(p1, {x})", "negate({x})")
TAILS = {
    "map": "ROOT r = f32[8,16] exponential({x})",
    "reduce": "zero = f32[] constant(0)\n  "
    "ROOT r = f32[8] reduce({x}, zero), dimensions={{1}}, to_apply=sum",
}


def chain(length: int, tail: str = "map") -> Module:
    """One elementwise operation after another; the parameters are read again and again."""
    lines = ["p0 = f32[8,16] parameter(0)", "p1 = f32[8,16] parameter(1)"]
    last = "p0"
    for number in range(length):
        text = OPERATIONS[number % len(OPERATIONS)].format(x=last)
        last = f"v{number}"
        lines.append(f"{last} = f32[8,16] {text}")
    lines.append(TAILS[tail].format(x=last))
    body = "\n  ".join(lines)
    add = "a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)"
    return parse_module(f"HloModule chain\nsum {{\n  {add}\n}}\nENTRY main {{\n  {body}\n}}\n")


def tree(leaves: int) -> Module:
    """Products of one array with many numbers, added up in pairs of pairs."""
    shape = "f32[8,16]"
    lines, last = [f"p = {shape} parameter(0)"], []
    for number in range(leaves):
        lines.append(f"c{number} = f32[] constant({number}.5)")
        lines.append(f"b{number} = {shape} broadcast(c{number}), dimensions={{}}")
        lines.append(f"v{number} = {shape} multiply(p, b{number})")
        last.append(f"v{number}")
    while len(last) > 1:
        pairs = list(zip(last[::2], last[1::2], strict=True))
        last = [f"{one}.{other}" for one, other in pairs]
        sums = zip(last, pairs, strict=True)
        lines += [f"{name} = {shape} add({one}, {other})" for name, (one, other) in sums]
    lines.append(f"ROOT r = {shape} negate({last[0]})")
    return parse_module("HloModule tree\nENTRY main {\n  " + "\n  ".join(lines) + "\n}\n")


def wide(results: int) -> Module:
    """Many results from one array, each by itself."""
    shape = "f32[8,16]"
    lines = [f"p = {shape} parameter(0)"]
    for number in range(results):
        lines.append(f"c{number} = f32[] constant({number}.5)")
        lines.append(f"b{number} = {shape} broadcast(c{number}), dimensions={{}}")
        lines.append(f"v{number} = {shape} multiply(p, b{number})")
    shapes, names = ", ".join([shape] * results), ", ".join(f"v{n}" for n in range(results))
    lines.append(f"ROOT r = ({shapes}) tuple({names})")
    return parse_module("HloModule wide\nENTRY main {\n  " + "\n  ".join(lines) + "\n}\n")


def calls_made(module: Module) -> int:
    """Calls of Python functions while all tensor-level passes run over a module."""
    count = 0

    def watch(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run_hlo_passes(module, Options(), Journal())
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("make", [chain, partial(chain, tail="reduce"), tree, wide])
def test_the_work_of_the_passes_grows_with_the_length_of_a_program(
    make: Callable[[int], Module],
) -> None:
    calls_made(make(16))
    assert calls_made(make(256)) < 2.3 * calls_made(make(128))


def test_a_chain_becomes_kernels_of_the_largest_code() -> None:
    journal = Journal()
    run_hlo_passes(chain(LARGEST_CODE + 100), Options(), journal)
    told = [entry.decision for entry in journal.entries]
    sizes = sorted(len(d.members) for d in told if isinstance(d, KernelFormed))
    refused = [d for d in told if isinstance(d, FusionDecision) and not d.is_fused]
    assert sum(sizes) == LARGEST_CODE + 101
    assert sizes[-1] == LARGEST_CODE - 2  # the parameter and what is before the kernel are read
    assert f"code too large ({LARGEST_CODE + 1} values)" in [d.because for d in refused]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_a_step_of_growth_finds_what_the_analysis_of_the_whole_kernel_finds(seed: int) -> None:
    snapshots = trace_hlo_passes(random_program(seed, steps=30)[0], Options(), Journal())
    module = next(s.before for s in snapshots if s.name == "fuse")
    computation = module.entry_computation
    graph = build_graph(computation, ELEMENTAL)
    order, trials = build_order(graph), Trials(module, graph)
    for instruction in reversed(computation.instructions):
        number = graph.home(instruction.name)
        users, _ = graph.consumers(instruction.name) if number is not None else ([], False)
        for user in users:
            if number is None or user == number or not order.admits([number, user]):
                continue
            trial = trials.join([number, user])
            whole = Trials(module, graph).join([number, user])
            assert summary(trial) == summary(whole)
            if isinstance(trial, Trial):
                order.merged(number, [user])
                graph.merge(number, [user])
                trials.accept(number, trial)
                break


def summary(trial: Trial | str) -> object:
    if isinstance(trial, str):
        return trial
    analysis = trial.analysis
    return trial.outputs, trial.bytes_moved, analysis.values, analysis.spent, analysis.is_dot

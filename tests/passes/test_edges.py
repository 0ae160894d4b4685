"""Every edge that is left between two kernels has a recorded reason."""

from __future__ import annotations

import pytest

from compiler.hlo.fusion.decisions import FusionDecision, KernelFormed
from compiler.hlo.kernels import is_kernel, launching_computations
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.text import parse_module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import trace_hlo_passes
from tests.passes.helpers import NAMES, case
from tests.passes.programs import random_program


def unexplained(module: Module) -> list[tuple[str, str]]:
    """Pairs of kernels, one reading what the other writes, about which nothing was said."""
    runs = trace_hlo_passes(module, Options(), Journal())
    decisions = next(run.decisions for run in runs if run.name == "fuse")
    told = {(d.subject, d.consumer) for d in decisions if isinstance(d, FusionDecision)}
    formed = {d.subject: set(d.members) for d in decisions if isinstance(d, KernelFormed)}
    fused = next(run.after for run in runs if run.name == "sweep")
    found = []
    for computation in dict.fromkeys(launching_computations(fused)):
        for one, other in edges(computation):
            before, after = (formed.get(i.name, {i.name}) for i in (one, other))
            if not any((a, b) in told for a in before for b in after):
                found.append((one.name, other.name))
    return found


def edges(computation: Computation) -> list[tuple[Instruction, Instruction]]:
    found = []
    for consumer in computation:
        for name in consumer.operands if is_kernel(computation, consumer) else ():
            producer = computation.instruction(name)
            while producer.opcode.is_view and producer.operands:
                producer = computation.instruction(producer.operands[0])
            if is_kernel(computation, producer):
                found.append((producer, consumer))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_edge_of_a_case_is_left_without_a_reason(name: str) -> None:
    assert unexplained(case(name)) == []


def test_an_edge_through_a_broadcast_scalar_has_a_reason() -> None:
    text = """HloModule m
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8,4] parameter(1)
  z = f32[] constant(0)
  n = f32[8] negate(x)
  s = f32[] reduce(n, z), dimensions={0}, to_apply=sum
  u = f32[8] broadcast(s), dimensions={}
  t = f32[8] subtract(x, u)
  w = f32[8,4] broadcast(s), dimensions={}
  f = f32[8,4] multiply(w, y)
  g = f32[8] reduce(f, z), dimensions={1}, to_apply=sum
  ROOT r = (f32[8], f32[8]) tuple(t, g)
}"""
    assert unexplained(parse_module(text)) == []


@pytest.mark.parametrize("seed", range(40))
def test_no_edge_of_a_random_program_is_left_without_a_reason(seed: int) -> None:
    assert unexplained(random_program(seed, steps=20)[0]) == []

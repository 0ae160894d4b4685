"""Whole programs through the tensor passes and buffer assignment, for the tests of lowering."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from compiler.buffers.assign import Assignment, assign
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module
from compiler.journal import Journal
from compiler.llvm.text import text
from compiler.lower import Lowered, lower
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from compiler.target import Target
from tests.lower.harness import logical, physical
from tests.lower.native import Job

CASES = Path(__file__).resolve().parents[1] / "cases" / "jax"
PROGRAMS = (
    "element_wise_chain", "ew_chain", "ew_fma", "gelu_tanh", "logsumexp", "softmax", "layernorm",
    "matmul", "mlp_fwd", "attention", "where_select", "reductions", "transcendentals",
)  # fmt: skip


def tolerance(name: str) -> tuple[float, float]:
    index = json.loads((CASES / "index.json").read_text())
    found = next(p for p in index["programs"] if p["name"] == name)
    return found["rtol"], found["atol"]


def compiled(
    module: Module, target: Target, options: Options
) -> tuple[Module, Assignment, Lowered, Journal]:
    journal = Journal()
    fused = run_hlo_passes(module, options, journal)
    assignment = assign(fused, options, journal)
    return fused, assignment, lower(fused, assignment, target, options, journal), journal


def arena(assignment: Assignment, arrays: Sequence[np.ndarray]) -> bytearray:
    size = max((c.slice.end for c in assignment.constants), default=assignment.arena_bytes)
    found = bytearray(b"\xa5" * (max(size, assignment.arena_bytes) + 64))
    for binding, array in zip(assignment.parameters, arrays, strict=True):
        data = physical(array, binding.shape)
        found[binding.slice.offset : binding.slice.offset + len(data)] = data
    for constant in assignment.constants:
        found[constant.slice.offset : constant.slice.end] = constant.data
    return found


def job(assignment: Assignment, lowered: Lowered, arrays: Sequence[np.ndarray]) -> Job:
    calls = [(k.function, [s.offset for s in k.arguments]) for k in lowered.kernels]
    return Job(text(lowered.llvm_module), calls, bytes(arena(assignment, arrays)))


def outputs(assignment: Assignment, memory: bytes) -> list[np.ndarray]:
    return [logical(memory[b.slice.offset : b.slice.end], b.shape) for b in assignment.outputs]


def load_case(name: str) -> tuple[Module, list[np.ndarray], list[np.ndarray]]:
    module = parse_module((CASES / f"{name}.hlo").read_text())
    with np.load(CASES / f"{name}.npz") as data:
        given = [data[f"in{i}"] for i in range(sum(k.startswith("in") for k in data))]
        expected = [data[f"out{i}"] for i in range(sum(k.startswith("out") for k in data))]
    return module, given, expected

"""`hob breakeven`: the answer follows from the figures it shows."""

from __future__ import annotations

import json
import math

import pytest

from tests.commands.test_passes import SOFTMAX, hob


def figures(capsys, *words: str) -> dict:
    code, out, _ = hob(capsys, "breakeven", *words, "--json")
    assert code == 0
    found: dict = json.loads(out)
    return found


def test_the_number_of_calls_follows_from_cycles_launches_and_seconds(capsys) -> None:
    found = figures(capsys, SOFTMAX, "--dispatch", "5")
    eager, compiled = found["eager"], found["compiled"]
    assert eager["launches"] > compiled["launches"] == 1
    assert eager["compile_seconds"] == 0 < compiled["compile_seconds"]
    per_call = eager["cycles"] / found["clock_hz"] + 5e-6 * eager["launches"]
    assert eager["call_seconds"] == pytest.approx(per_call)
    saved = per_call - compiled["cycles"] / found["clock_hz"] - 5e-6
    assert found["calls"] == pytest.approx(math.ceil(compiled["compile_seconds"] / saved), abs=2)


def test_compiling_never_pays_when_nothing_can_be_joined(capsys) -> None:
    assert figures(capsys, "examples/matmul.hlo")["calls"] is None
    _, out, _ = hob(capsys, "breakeven", "examples/matmul.hlo")
    assert "never pays" in out


def test_a_gpu_pays_for_every_launch(capsys) -> None:
    found = figures(capsys, SOFTMAX, "--machine", "simt/volta", "--dispatch", "0", "--launch", "2")
    eager = found["eager"]
    per_call = eager["cycles"] / found["clock_hz"] + 2e-6 * eager["launches"]
    assert eager["call_seconds"] == pytest.approx(per_call)

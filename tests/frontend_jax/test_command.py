"""`hob run model.py:function --args ...`: traced, run, and errors told with the user's line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tui.commands.options import spread_arguments

pytest.importorskip("jax", reason="JAX is not installed")
TOP = Path(__file__).parents[2]
MODEL = """import jax.numpy as jnp
from helper import scale

def layer(x, w, b):
    return jnp.tanh(x @ w + b) * scale

def wrong(x):
    y = x + 1
    return y @ jnp.ones((5, 2))

def wide(n, x):
    return x * n

def mlp(params, pair):
    print("tracing mlp")
    return jnp.tanh(pair[0] @ params["w"] + params["b"]) + pair[1]

print("importing the model")
number = 3

def scan(x):
    import jax
    return jax.lax.scan(lambda c, y: (c + y, c), x[0], x)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("scale = 2.0\n")
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def hob(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tui.commands.main", *map(str, words)],
        capture_output=True, text=True, cwd=TOP, timeout=300,
    )  # fmt: skip


def test_a_function_runs_with_the_shapes_of_its_arguments(model: Path) -> None:
    shapes = ("f32[4,8]", "f32[8,3]", "f32[3]")
    run = hob("run", f"{model}:layer", "--args", *shapes, "--json")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert document["matches"] is True and document["cycles"] > 0


def test_arguments_may_be_trees_and_what_the_file_prints_stays_out_of_the_report(
    model: Path,
) -> None:
    trees = ("{w: f32[8,3], 'b': f32[3]}", "(f32[4,8], s32[])")
    run = hob("evaluate", f"{model}:mlp", "--args", *trees, "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["outputs"] == ["f32[4,3]"]
    assert "importing the model" in run.stderr and "tracing mlp" in run.stderr


def test_wide_types_and_scalars_are_taken_as_asked(model: Path) -> None:
    from compiler.hlo.module import flat_parameters
    from lab.models import load_program

    module = load_program(f"{model}:wide", ["s32[]", "f64[3]"]).module
    assert [str(s) for s in flat_parameters(module)] == ["s32[]", "f64[3]{0}"]


@pytest.mark.parametrize(
    ("name", "shapes", "parts"),
    [
        ("model.py:wrong", ["f32[3]"], ["model.py:9", "TypeError"]),
        ("model.py:layer", ["f32[3]"], ["model.py:layer", "1 shapes", "layer(x, w, b)"]),
        ("model.py:absent", [], ["no 'absent'", "layer"]),
        ("model.py:number", [], ["int, not a function"]),
        ("model.py", [], ["names no function"]),
        ("none.py:f", [], ["none.py", "no such file"]),
        ("broken.py:f", [], ["broken.py:2", "SyntaxError"]),
        ("raising.py:f", [], ["raising.py:3", "ZeroDivisionError"]),
        ("leaving.py:f", [], ["leaving.py:1", "SystemExit"]),
        ("model.py:layer", ["f32[3"], ["--args", "not a shape"]),
        ("model.py:layer", ["f32[<=3]"], ["--args", "not a static array"]),
        ("model.py:mlp", ["(f32[3]", "f32[3]"], ["'(f32[3]' is not an argument", "')' is missing"]),
        ("model.py:mlp", ["{w f32[3]}"], ["a name and ':' are expected"]),
        ("model.py:mlp", ["[f32[3] f32[3]]"], ["'f32[3]' stands where a comma is expected"]),
        ("model.py:mlp", ["(f32[3]))"], ["')' stands behind its end"]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    model: Path, name: str, shapes: list[str], parts: list[str]
) -> None:
    from isas.errors import InputError
    from lab.models import load_program

    (model.parent / "broken.py").write_text("x = 1\ndef f(:\n")
    (model.parent / "raising.py").write_text("def g():\n    return\na = 1 / 0\n")
    (model.parent / "leaving.py").write_text("raise SystemExit(0)\n")
    with pytest.raises(InputError) as caught:
        load_program(str(model.parent / name), shapes)
    for part in parts:
        assert part in str(caught.value)


def test_the_command_line_exits_2_without_a_traceback(model: Path) -> None:
    run = hob("run", f"{model}:wrong", "--args", "f32[3]")
    assert run.returncode == 2
    assert "model.py:9" in run.stderr and "Traceback" not in run.stderr + run.stdout
    scan = hob("run", f"{model}:scan", "--args", "f32[3,2]")
    assert scan.returncode == 2 and "model.py:23: while" in scan.stderr
    program = hob("run", TOP / "examples" / "softmax.hlo", "--args", "f32[3]")
    assert program.returncode == 2 and "--args" in program.stderr


def test_the_example_prints_result_stablehlo_and_report() -> None:
    run = subprocess.run(
        [sys.executable, "examples/element_wise_chain.py"],
        capture_output=True, text=True, cwd=TOP, timeout=300, env={**os.environ, "PYTHONPATH": "."},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "result: 8.77245" in run.stdout
    assert "stablehlo.sine" in run.stdout and "cycles" in run.stdout


def test_shapes_after_args_may_stand_side_by_side() -> None:
    words = ["run", "--args", "f32[2]", "s32[]", "m.py:f", "--args", "f32[3]", "--json"]
    spread = spread_arguments(words)
    expected = "run --args f32[2] --args s32[] m.py:f --args f32[3] --json"
    assert spread == expected.split()
    trees = spread_arguments(["run", "m.py:f", "--args", "{w: f32[2]}", "(f32[3], None)", "--svg"])
    assert trees[2:] == ["--args", "{w: f32[2]}", "--args", "(f32[3], None)", "--svg"]

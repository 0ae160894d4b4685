# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""Small HLO programs for the tests, and where the stored cases lie."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

CASES = Path(__file__).parent.parent / "cases"


def case_index(group: str) -> list[dict]:
    return json.loads((CASES / group / "index.json").read_text())["programs"]


def case_files() -> list[Path]:
    return sorted(CASES.glob("*/*.hlo"))


def case_arrays(group: str, info: dict) -> tuple[list[np.ndarray], list[np.ndarray]]:
    with np.load(CASES / group / f"{info['name']}.npz") as arrays:
        inputs = [arrays[f"in{i}"] for i in range(info["n_in"])]
        outputs = [arrays[f"out{i}"] for i in range(info["n_out"])]
    return inputs, outputs


def one_op(body: str, *, before: str = "") -> str:
    """A module whose entry has these instruction lines, the last one being the root."""
    lines = [line.strip() for line in body.strip().splitlines()]
    lines[-1] = f"ROOT {lines[-1]}"
    inside = "\n".join(f"  {line}" for line in lines)
    return f"HloModule m\n{before}\nENTRY e {{\n{inside}\n}}\n"


ADD = (
    "add_f32 {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT r = f32[] add(x, y)\n}\n"
)
MAX = "max_f32 {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT r = f32[] maximum(x, y)\n}\n"
GE = "ge_f32 {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT r = pred[] compare(x, y), direction=GE\n}\n"

"""`hob buffers`: the picture, the figures, and whether the program fits."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from compiler.buffers.assign import assign
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from isas.errors import InputError
from lab.memory import read_bytes
from tests.commands.test_passes import SOFTMAX, hob
from tests.passes.helpers import case

SGD = "tests/cases/jax/mlp_train_sgd.hlo"


def test_the_json_agrees_with_the_assignment(capsys) -> None:
    code, out, _ = hob(capsys, "buffers", SGD, "--json", "--memory", "10KB")
    found = json.loads(out)
    module = run_hlo_passes(case("mlp_train_sgd"), Options(), Journal())
    wanted = assign(module, Options(), Journal())
    assert code == 0
    assert found["peak_bytes"] == wanted.peak_bytes
    assert found["lower_bound_bytes"] == wanted.lower_bound_bytes
    assert found["buffer_bytes"] == wanted.buffer_bytes
    assert len(found["placements"]) == len(wanted.placements)
    assert found["fits"] and not found["fits_without_reuse"]
    step = found["peak_step"]
    alive = [p for p in found["placements"] if p["start"] <= step <= p["end"]]
    assert sum(-(-p["size_bytes"] // 64) * 64 for p in alive) >= found["lower_bound_bytes"]


def test_the_picture_shows_every_array_the_peak_and_the_verdict(capsys) -> None:
    code, out, _ = hob(capsys, "buffers", SOFTMAX, "--no-fuse", "--memory", "1MiB")
    assert code == 0
    for part in ("x.1", "peak", "reuse", "temporaries", "fits with reuse", "fits without reuse"):
        assert part in out
    rows = [line for line in out.splitlines() if "│" in line]
    assert len({line.index("│") for line in rows}) == 1
    assert len({len(line) for line in rows}) == 1


def test_the_svg_is_well_formed_and_has_a_box_per_array(tmp_path: Path, capsys) -> None:
    path = tmp_path / "memory.svg"
    code, out, _ = hob(capsys, "buffers", SGD, "--json", "--svg", str(path))
    assert code == 0
    tree = ElementTree.fromstring(path.read_text())
    titles = [e.text or "" for e in tree.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(json.loads(out)["placements"])


NESTED = """HloModule m
inner_body { p = (s32[], f32[8]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  v = f32[8] get-tuple-element(p), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  w = f32[8] sine(v)
  ROOT t = (s32[], f32[8]) tuple(m, w) }
inner_cond { p = (s32[], f32[8]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  last = s32[] constant(3)
  ROOT less = pred[] compare(n, last), direction=LT }
plus { a = f32[8] parameter(0)
  ROOT r = f32[8] negate(a) }
minus { a = f32[8] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[8]) tuple(zero, a)
  l = (s32[], f32[8]) while(t), condition=inner_cond, body=inner_body
  ROOT r = f32[8] get-tuple-element(l), index=1 }
ENTRY main { x = f32[8] parameter(0)
  y = pred[] parameter(1)
  ROOT c = f32[8] conditional(y, x, x), true_computation=plus, false_computation=minus }
"""


def test_what_loops_and_branches_run_is_shown_with_its_own_steps(tmp_path: Path, capsys) -> None:
    program, picture = tmp_path / "nested.hlo", tmp_path / "memory.svg"
    program.write_text(NESTED)
    code, out, _ = hob(capsys, "buffers", str(program), "--json", "--svg", str(picture))
    assert code == 0
    found = {r["computation"]: r for r in json.loads(out)["regions"]}
    assert {n: (r["part"], r["caller"], r["holder"]) for n, r in found.items()} == {
        "plus": ("branch", "c", "main"),
        "minus": ("branch", "c", "main"),
        "inner_cond": ("condition", "l", "minus"),
        "inner_body": ("body", "l", "minus"),
    }
    arena = json.loads(out)["peak_bytes"]
    for region in found.values():
        assert region["placements"]
        for place in region["placements"]:
            assert -1 <= place["start"] <= place["end"] <= len(region["launches"])
            assert place["offset"] + place["size_bytes"] <= arena
    tree = ElementTree.fromstring(picture.read_text())
    titles = [e.text or "" for e in tree.iter("{http://www.w3.org/2000/svg}title")]
    inner = sum(len(region["placements"]) for region in found.values())
    assert len(titles) == len(json.loads(out)["placements"]) + inner
    _, shown, _ = hob(capsys, "buffers", str(program))
    step = found["minus"]["launches"].index("l")
    assert f"body of l, step {step} of minus: inner_body, 2 launches" in shown
    assert "branch of c, step 0 of main: plus, 1 launches" in shown
    assert shown.count("└") == 5


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("16GiB", 16 << 30), ("512 MB", 512_000_000), ("4096", 4096), ("1.5k", 1536)],
)
def test_amounts_of_memory_are_read(text: str, wanted: int) -> None:
    assert read_bytes(text) == wanted


@pytest.mark.parametrize("text", ["", "much", "-1", "5 parsecs", "1e3"])
def test_nonsense_is_no_amount_of_memory(text: str) -> None:
    with pytest.raises(InputError, match="no amount of memory"):
        read_bytes(text)

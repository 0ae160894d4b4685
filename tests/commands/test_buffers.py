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

"""`hob evaluate` and `hob convert`: exit codes, one JSON document, checks, round trips."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tui.commands.main import main

GOOD = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
CHECKED = """func.func @right() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}
// -----
func.func @wrong() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_close %0, %0, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, 2.5]> : tensor<2xf32>
  return
}
"""
KEYS = {
    "program", "programs", "checks", "checks_failed", "failures", "refused", "outputs",
    "max_relative_error", "matches",
}  # fmt: skip


def hob(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return int(stop.value.code or 0)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    np.savez(tmp_path / "good.npz", in0=np.arange(4, dtype=np.float32),
             out0=np.arange(0, 8, 2, dtype=np.float32))  # fmt: skip
    np.savez(tmp_path / "bad.npz", in0=np.arange(4, dtype=np.float32),
             out0=np.arange(4, dtype=np.float32))  # fmt: skip
    return path


def test_stablehlo_is_known_by_its_beginning_whatever_the_file_is_called(good: Path) -> None:
    renamed = good.rename(good.with_suffix(".txt"))
    assert hob("evaluate", renamed, "--inputs", good.with_suffix(".npz")) == 0


def test_expected_outputs_that_agree_exit_0_and_others_exit_1(good: Path, capsys) -> None:
    assert hob("evaluate", good, "--inputs", good.with_suffix(".npz")) == 0
    assert "✔ expected output" in capsys.readouterr().out
    assert hob("evaluate", good, "--inputs", good.with_name("bad.npz")) == 1
    assert "✘ expected output" in capsys.readouterr().out
    assert hob("evaluate", good, "--inputs", good.with_name("bad.npz"), "--atol", "10") == 0


def test_without_inputs_the_seeded_results_are_shown_and_written(good: Path, capsys) -> None:
    out = good.with_name("out.npz")
    assert hob("evaluate", good, "--seed", 3, "--outputs", out) == 0
    assert "out0 f32[4]" in capsys.readouterr().out
    first = np.load(out)["out0"]
    assert hob("evaluate", good, "--seed", 3, "--outputs", out) == 0
    assert np.array_equal(first, np.load(out)["out0"]) and first.shape == (4,)
    assert hob("evaluate", good, "--seed", 4, "--outputs", out) == 0
    assert not np.array_equal(first, np.load(out)["out0"])


def test_a_failed_check_exits_1_and_names_its_line(tmp_path: Path, capsys) -> None:
    path = tmp_path / "checked.mlir"
    path.write_text(CHECKED)
    assert hob("evaluate", path) == 1
    shown = capsys.readouterr().out
    assert "checked.mlir:10: expect_eq failed: 1 of 2 elements differ, 2.0 is not 2.5" in shown
    path.write_text(CHECKED.partition("// -----")[0])
    assert hob("evaluate", path) == 0


def test_json_is_one_document_with_the_same_keys_on_every_exit(tmp_path: Path, capsys) -> None:
    path = tmp_path / "checked.mlir"
    path.write_text(CHECKED)
    assert hob("evaluate", path, "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert set(report) == KEYS
    assert (report["programs"], report["checks"], report["checks_failed"]) == (2, 3, 1)
    assert report["matches"] is False and len(report["failures"]) == 1
    assert hob("evaluate", tmp_path / "missing.mlir", "--json") == 2
    refused = json.loads(capsys.readouterr().out)
    assert set(refused) == KEYS | {"error"} and "no such file" in refused["error"]


def test_the_other_programs_of_a_file_run_beside_one_that_is_refused(
    tmp_path: Path, capsys
) -> None:
    path = tmp_path / "several.mlir"
    broken = "func.func @broken() {\n  stablehlo.frobnicate\n  return\n}\n"
    right, wrong = CHECKED.split("// -----\n")
    path.write_text(f"{right}{broken}// -----\nfunc.func @unread( {{\n// -----\n{wrong}")
    assert hob("evaluate", path) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("right ·") and "✔ 1 of 1 checks passed" in lines[1]
    assert lines[2].startswith(f"✘ {path}:7:3: stablehlo.frobnicate is not supported")
    assert any(line.startswith(f"✘ {path}:11:") for line in lines)
    assert lines[-1] == "4 programs: 1 right, 1 wrong, 2 refused"
    assert hob("evaluate", path, "--json") == 2
    report = json.loads(capsys.readouterr().out)
    assert (report["programs"], report["checks_failed"], len(report["refused"])) == (4, 1, 2)


WRONG = {
    "syntax": ("func.func @main( {", "wrong.mlir:1:"),
    "operation": (GOOD.replace("stablehlo.add", "stablehlo.frobnicate"), "frobnicate"),
    "type": (GOOD.replace("-> tensor<4xf32> {", "-> tensor<5xf32> {"), "f32[5]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_exits_2_with_its_place(name: str, tmp_path: Path, capsys) -> None:
    text, part = WRONG[name]
    path = tmp_path / "wrong.mlir"
    path.write_text(text)
    assert hob("evaluate", path) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and part in captured.err and "Traceback" not in captured.err


def test_wrong_inputs_exit_2(good: Path, tmp_path: Path, capsys) -> None:
    np.savez(tmp_path / "short.npz", in0=np.zeros(3, np.float32))
    assert hob("evaluate", good, "--inputs", tmp_path / "short.npz") == 2
    assert hob("evaluate", good, "--inputs", good) == 2
    checked = tmp_path / "checked.mlir"
    checked.write_text(CHECKED)
    assert hob("evaluate", checked, "--inputs", good.with_suffix(".npz")) == 2
    assert "2 programs" in capsys.readouterr().err


def test_a_program_that_is_not_static_says_so(tmp_path: Path, capsys) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(GOOD.replace("tensor<4xf32>", "tensor<?xf32>"))
    assert hob("evaluate", path) == 2
    shown = capsys.readouterr().err
    assert "parameter 0 is f32[?]{0}, whose dimensions are not static" in shown
    assert "takes the extents of StableHLO from its arrays" in shown


def test_inputs_say_the_extents_that_a_program_leaves_open(good: Path, capsys) -> None:
    path = good.with_name("dynamic.mlir")
    path.write_text(GOOD.replace("tensor<4xf32>", "tensor<?xf32>"))
    assert hob("evaluate", path, "--inputs", good.with_suffix(".npz")) == 0
    assert "f32[4] → f32[4]" in capsys.readouterr().out


def test_stablehlo_is_recognised_by_its_content(good: Path, capsys) -> None:
    plain = good.with_name("program")
    plain.write_text("// a comment\n" + GOOD)
    assert hob("evaluate", plain, "--inputs", good.with_suffix(".npz")) == 0


def test_conversion_by_suffix_and_back_keeps_the_values(good: Path, tmp_path: Path, capsys) -> None:
    hlo, back = tmp_path / "a.hlo", tmp_path / "b.mlir"
    assert hob("convert", good, hlo) == 0 and hlo.read_text().startswith("HloModule")
    assert hob("convert", hlo, back) == 0 and "stablehlo.add" in back.read_text()
    for path in (hlo, back):
        assert hob("evaluate", path, "--inputs", good.with_suffix(".npz")) == 0
    capsys.readouterr()
    assert hob("convert", good, "-") == 0
    assert capsys.readouterr().out == hlo.read_text()


def test_conversion_refuses_unknown_suffixes_and_what_cannot_be_said(
    tmp_path: Path, capsys
) -> None:
    source = tmp_path / "a.hlo"
    source.write_text("HloModule m\nENTRY e {\n  ROOT p = f32[2] constant({...})\n}\n")
    assert hob("convert", source, tmp_path / "b.mlir") == 2
    assert "digits were left out" in capsys.readouterr().err
    assert not (tmp_path / "b.mlir").exists()
    assert hob("convert", source, tmp_path / "b.json") == 2
    assert ".mlir" in capsys.readouterr().err
    assert hob("convert", source, tmp_path / "no" / "b.hlo") == 2

"""Bad input: one clear message on stderr, exit code 2, never a traceback; one JSON document on
stdout."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.commands.calling import Called, hob

GOOD = """HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  ROOT r = f32[4] add(p, p)
}
"""


def hob_process(*words: str | Path) -> Called:
    """Runs the command line in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "tui.commands.main", *map(str, words)],
        capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120,
    )  # fmt: skip
    return Called(run.returncode, run.stdout, run.stderr)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.hlo"
    path.write_text(GOOD)
    return path


def refused(run: Called, *parts: str) -> None:
    assert run.returncode == 2, run.stderr
    assert "Traceback" not in run.stderr + run.stdout
    assert run.stdout == ""
    for part in parts:
        assert part in run.stderr


PROGRAMS = {
    "undefined": (GOOD.replace("add(p, p)", "add(p, q)"), ("q", "4")),
    "shape": (GOOD.replace("ROOT r = f32[4]", "ROOT r = f32[5]"), ("r", "4")),
    "truncated": (GOOD[:60], ()),
    "empty": ("", ()),
    "prose": ("this is not a program\n", ()),
    "opcode": (GOOD.replace("add(p, p)", "frobnicate(p, p)"), ("frobnicate",)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrong_program_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    text, parts = PROGRAMS[name]
    path = tmp_path / f"{name}.hlo"
    path.write_text(text)
    refused(hob("run", path), path.name, *parts)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.hlo"
    path.write_bytes(bytes(range(256)) * 20)
    refused(hob("run", path), "binary.hlo")


def test_a_whole_process_ends_so_too(good: Path, tmp_path: Path) -> None:
    refused(hob_process("run", tmp_path / "none.hlo"), "none.hlo")
    assert hob_process("evaluate", good).returncode == 0


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    refused(hob("run", tmp_path / "none.hlo"), "none.hlo")
    refused(hob("run", tmp_path), tmp_path.name)


def test_an_operation_without_code_generation_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "sort.hlo"
    path.write_text(
        "HloModule m\n\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = pred[] compare(a, b), direction=LT\n}\n\n"
        "ENTRY e {\n  p = f32[4] parameter(0)\n"
        "  ROOT s = f32[4] sort(p), dimensions={0}, to_apply=less\n}\n"
    )
    refused(hob("run", path), "sort", "11")


def test_an_unknown_machine_is_refused_with_the_closest_name(good: Path) -> None:
    refused(hob("run", good, "--machine", "x86/zen4"), "x86/zen4", "x86/zen3")


@pytest.mark.parametrize(
    ("registers", "part"),
    [("vex=3", "vex"), ("vec=0", "vec"), ("vec", "vec"), ("vec=x", "vec=x"),
     ("vec=2,vec=3", "twice"), ("vec=100000", "vec has no 100000 registers"),
     ("gpr=0", "gpr"), ("vec=-1", "vec")],
)  # fmt: skip
def test_impossible_registers_are_refused(good: Path, registers: str, part: str) -> None:
    refused(hob("run", good, "--registers", registers), part)


def test_wrong_inputs_are_refused(good: Path, tmp_path: Path) -> None:
    refused(hob("run", good, "--inputs", tmp_path / "none.npz"), "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"nonsense")
    refused(hob("run", good, "--inputs", tmp_path / "bad.npz"), "bad.npz")
    np.savez(tmp_path / "shape.npz", in0=np.zeros(5, np.float32))
    refused(hob("run", good, "--inputs", tmp_path / "shape.npz"), "in0", "f32[4]")
    np.savez(tmp_path / "empty.npz")
    refused(hob("run", good, "--inputs", tmp_path / "empty.npz"), "empty.npz")


def test_json_on_bad_input_is_one_document_with_the_error(good: Path) -> None:
    run = hob("run", good, "--machine", "nothing", "--json")
    assert run.returncode == 2
    document = json.loads(run.stdout)
    assert "nothing" in document["error"]
    assert document["cycles"] is None
    unknown_option = hob("run", good, "--json", "--frobnicate")
    assert unknown_option.returncode == 2
    assert "error" in json.loads(unknown_option.stdout)


def test_an_unknown_stage_lists_the_known_ones(good: Path) -> None:
    refused(hob("stages", good, "--stage", "banana"), "banana", "llvm-optimized")


def test_wrong_expected_outputs_exit_1_with_a_report(good: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", in0=np.ones(4, np.float32), out0=np.zeros(4, np.float32))
    run = hob("run", good, "--inputs", tmp_path / "w.npz", "--json")
    assert run.returncode == 1
    document = json.loads(run.stdout)
    assert document["matches"] is False
    assert document["max_relative_error"] > 1


def test_a_card_with_an_error_is_shown_with_a_caret(tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "mine"
    shutil.copytree(Path(__file__).parents[2] / "isas" / "x86", folder)
    card = sorted((folder / "instructions").glob("*.yaml"))[0]
    card.write_text(
        card.read_text() + "\nbroken:\n  asm: 'broken {d}'\n  does: 'd = frobnicate(d)'\n"
        "  unit: alu\n  with: {d: r64}\n"
    )
    run = hob("isa", "check", folder)
    refused(run, card.name, "frobnicate", "^")


def test_a_folder_of_inputs_is_refused_in_chinese_too(good: Path, tmp_path: Path) -> None:
    refused(hob("run", good, "--inputs", tmp_path), "is a directory")
    refused(hob("run", good, "--inputs", tmp_path, "--lang", "zh"), "是一个目录")


def test_the_application_without_a_terminal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    refused(hob("tui"), "needs a terminal", "hob show")


def test_an_isa_of_ours_is_checked_by_name_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no mistakes" in hob("isa", "check", "simt").stdout
    refused(hob("isa", "check", "no_such_isa"), "no_such_isa")


def test_a_key_that_does_not_exist_is_refused() -> None:
    refused(hob("show", "start", "--keys", "down,nosuch"), "--keys", "'nosuch'")
    assert hob("show", "start", "--keys", "down,l,question_mark,escape").returncode == 0


def test_the_possible_counts_of_registers_are_told_in_chinese_too(good: Path) -> None:
    run = hob("run", good, "--registers", "vec=10000", "--lang", "zh")
    refused(run, "可用的有：gpr=", "；x86 本身有")
    assert "possible" not in run.stderr

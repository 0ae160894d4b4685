"""`hob why`: kernels and where they end; instructions and where they went."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_passes import hob

PROGRAM = """HloModule small
ENTRY e {
  x = f32[16,16] parameter(0)
  two = f32[] constant(2)
  three = f32[] constant(3)
  six = f32[] multiply(two, three)
  wide = f32[16,16] broadcast(six), dimensions={}
  dead = f32[16,16] cosine(x)
  a = f32[16,16] multiply(x, wide)
  again = f32[16,16] multiply(x, wide)
  s = f32[16,16] add(a, again)
  ROOT d = f32[16,16] dot(s, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "small.hlo"
    path.write_text(PROGRAM)
    return str(path)


def test_a_kernel_tells_what_it_holds_and_why_it_ends(program: str, capsys) -> None:
    code, out, _ = hob(capsys, "why", program, "fusion", "--no-cycles")
    assert code == 0
    assert "multiply(x" in out and "reads x: a parameter" in out
    assert "read by d: a dot needs its operands in memory" in out


def test_an_instruction_is_followed_down_to_machine_code(program: str, capsys) -> None:
    code, out, _ = hob(capsys, "why", program, "%s", "--cycles")
    assert code == 0
    assert "inside fusion" in out
    machine = next(line for line in out.splitlines() if line.startswith("  machine"))
    assert int(machine.split()[1]) > 0
    assert "cycles" in out


def test_folded_shared_and_removed_instructions_say_so(program: str, capsys) -> None:
    _, out, _ = hob(capsys, "why", program, "six", "--no-cycles")
    assert "six is the constant 6" in out
    _, out, _ = hob(capsys, "why", program, "again", "--no-cycles")
    assert "again computes the same as a" in out and "a stands for it" in out
    _, out, _ = hob(capsys, "why", program, "dead", "--no-cycles")
    assert "dead goes away: nobody needs it" in out and "nothing is left of it" in out


def test_an_unknown_name_is_refused_with_close_ones(program: str, capsys) -> None:
    code, _, err = hob(capsys, "why", program, "agan")
    assert code == 2 and "again" in err


def test_a_program_without_code_generation_is_explained_as_far_as_it_goes(
    tmp_path: Path, capsys
) -> None:
    path = tmp_path / "sorted.hlo"
    path.write_text(
        "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n  p = f32[4] parameter(0)\n"
        "  n = f32[4] negate(p)\n  ROOT s = f32[4] sort(n), dimensions={0}, to_apply=less\n}\n"
    )
    code, out, _ = hob(capsys, "why", str(path), "n")
    assert code == 0
    assert "n kept apart from s: no element by element form: s is a sort" in out
    assert "lies at bytes" in out and "does not cover the operation sort" in out

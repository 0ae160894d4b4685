"""Mistakes in YAML are told with file, line, column, the line itself and a caret."""

from __future__ import annotations

from pathlib import Path

import pytest

import isas
from isas.check import check_path
from isas.errors import HobError, InputError
from isas.loader import load_folder
from tests.isas.folders import CARDS, CORE, OPERANDS, REGISTERS, write_isa


def _error(folder: Path, **replaced: str) -> str:
    with pytest.raises(HobError) as caught:
        load_folder(write_isa(folder, **replaced))
    return str(caught.value)


def test_the_toy_isa_is_right(tmp_path: Path) -> None:
    isa = load_folder(write_isa(tmp_path))
    assert [shape.title for shape in isa.shapes] == [
        "add x, x",
        "add w, w",
        "add w, m32",
        "add w, imm",
    ]


GOLDEN = {
    "unquoted asm": (
        CARDS.replace("'{name} {d}, {a}'", "add d a"),
        """toy/instructions/all.yaml:2:8: asm must be quoted: asm: 'add d a'
    asm: add d a
         ^""",
    ),
    "unknown effect": (
        CARDS.replace("add(d, a)", "plus(d, a)"),
        """toy/instructions/all.yaml:3:14: unknown effect 'plus' (in add x, x)
    does: 'd = plus(d, a)'
               ^""",
    ),
    "wrong number of arguments": (
        CARDS.replace("add(d, a)", "add(d, a, a)"),
        """toy/instructions/all.yaml:3:14: add takes 2 arguments (in add x, x)
    does: 'd = add(d, a, a)'
               ^""",
    ),
    "badly typed": (
        CARDS.replace("add(d, a)", "fadd(d, a)"),
        """toy/instructions/all.yaml:3:14: fadd works on floats, not i64 (in add x, x)
    does: 'd = fadd(d, a)'
               ^""",
    ),
    "two widths": (
        CARDS.replace("{d: x, a: x}", "{d: x, a: w}"),
        """toy/instructions/all.yaml:3:21: this is i32, but i64 is expected (in add x, w)
    does: 'd = add(d, a)'
                      ^""",
    ),
    "syntax": (
        CARDS.replace("add(d, a)", "add(d,"),
        """toy/instructions/all.yaml:3:17: not an effect: '(' was never closed (in add x, x)
    does: 'd = add(d,'
                  ^""",
    ),
    "unknown name": (
        CARDS.replace("add(d, a)", "add(a, e)").replace("{d}, ", "{d}, "),
        """toy/instructions/all.yaml:3:21: 'e' is neither an operand (a, d) nor a fixed register (in add x, x)
    does: 'd = add(a, e)'
                      ^""",  # noqa: E501
    ),
    "operand without a use": (
        CARDS.replace("add(d, a)", "add(d, d)"),
        """toy/instructions/all.yaml:6:24: operand a is not used in does (in add)
      - {with: {d: x, a: x}}
                         ^""",
    ),
    "operand without a place in the text": (
        CARDS.replace("{d}, {a}", "{d}"),
        """toy/instructions/all.yaml:6:24: operand a does not appear in asm (in add)
      - {with: {d: x, a: x}}
                         ^""",
    ),
    "text with a place for nothing": (
        CARDS.replace("{d}, {a}", "{d}, {a}, {b}"),
        """toy/instructions/all.yaml:2:8: asm names {b}, which 'with' does not have (in add)
    asm: '{name} {d}, {a}, {b}'
         ^""",
    ),
    "unknown kind": (
        CARDS.replace("{d: x, a: x}", "{d: x, a: ymm}"),
        """toy/instructions/all.yaml:6:24: unknown operand kind 'ymm' for a
      - {with: {d: x, a: ymm}}
                         ^""",
    ),
    "element that does not fit": (
        CARDS.replace("{d: x, a: x}", "{d: x, a: x.f48}"),
        """toy/instructions/all.yaml:6:24: x (64 bits) cannot hold elements 'f48'
      - {with: {d: x, a: x.f48}}
                         ^""",
    ),
    "twice": (
        CARDS + "add:\n  asm: 'x'\n",
        """toy/instructions/all.yaml:8:1: 'add' stands here twice (first: line 1)
  add:
  ^""",
    ),
    "unknown key": (
        CARDS.replace("  unit: alu", "  units: alu"),
        """toy/instructions/all.yaml:4:3: unknown key 'units' in card 'add'; known: like, asm, does, elements, unit, doc, rest, needs, shapes, with, code, opcode
    units: alu
    ^""",  # noqa: E501
    ),
    "unknown parent": (
        CARDS + "sub: {like: .binary, does: 'd = sub(d, a)'}\n",
        """toy/instructions/all.yaml:8:13: like: there is no card '.binary'
  sub: {like: .binary, does: 'd = sub(d, a)'}
              ^""",
    ),
    "parent of itself": (
        CARDS + "a: {like: b}\nb: {like: a}\n",
        """toy/instructions/all.yaml:9:11: like: 'b' inherits from itself
  b: {like: a}
            ^""",
    ),
    "unit no core has": (
        CARDS.replace("unit: alu", "unit: magic"),
        """toy/instructions/all.yaml:4:9: unit 'magic' of add x, x is missing in toy/cores/core.yaml
    unit: magic
          ^""",
    ),
    "a shape that is not a list": (
        CARDS.split("  shapes:")[0] + "  shapes: {d: x}\n",
        """toy/instructions/all.yaml:5:11: expected a list here
    shapes: {d: x}
            ^""",
    ),
    "wrong code": (
        CARDS.replace("  unit: alu", "  unit: alu\n  code: '01 MR | 03 RX'"),
        """toy/instructions/all.yaml:5:9: 'RX' means nothing in code (in add)
    code: '01 MR | 03 RX'
          ^""",
    ),
    "code for another number of operands": (
        CARDS.replace("  unit: alu", "  unit: alu\n  code: 'VEX.0F 58 RVM'"),
        """toy/instructions/all.yaml:5:9: code has no alternative for 2 operands (in add)
    code: 'VEX.0F 58 RVM'
          ^""",
    ),
    "YAML syntax": (
        CARDS.replace("{d: x, a: x}", "{d: x, a: x"),
        """toy/instructions/all.yaml:7:5: did not find expected ',' or '}'
      - {with: {d: w, a: w | m32 | imm}}
      ^""",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_mistake_in_a_card_is_shown_with_its_place(name: str, tmp_path: Path) -> None:
    cards, expected = GOLDEN[name]
    assert _error(tmp_path, cards=cards) == expected


def test_an_immediate_cannot_be_written(tmp_path: Path) -> None:
    message = _error(tmp_path, cards=CARDS.replace("{d: x, a: x}", "{d: imm, a: x}"))
    assert "d is neither register nor memory; it cannot be written (in add imm, x)" in message


def test_a_wrong_register_view_points_at_it(tmp_path: Path) -> None:
    message = _error(tmp_path, operands=OPERANDS.replace("gpr.w", "gpr.q"))
    assert message.startswith("toy/operands.yaml:3:13: there is no register view 'gpr.q'")


def test_a_wrong_write_rule_points_at_it(tmp_path: Path) -> None:
    message = _error(tmp_path, registers=REGISTERS.replace("write: zero", "write: keep", 1))
    assert message.startswith("toy/registers.yaml:12:28: write is 'zero' (the rest) or 'merge'")


def test_a_wrong_port_points_at_it(tmp_path: Path) -> None:
    message = _error(tmp_path, core=CORE.replace("p0 p1, latency: 1", "p0 p7, latency: 1"))
    assert message.startswith("toy/cores/core.yaml:14:16: there is no port 'p7'; ports: p0 p1")


def test_a_core_without_a_figure_says_which(tmp_path: Path) -> None:
    message = _error(tmp_path, core=CORE.replace("memory_latency: 10\n", ""))
    assert "the core lacks 'memory_latency'" in message


def test_words_that_yaml_would_turn_into_numbers_stay_text(tmp_path: Path) -> None:
    cards = CARDS.replace("add:", "off:")
    assert "off" in load_folder(write_isa(tmp_path, cards=cards)).cards


def test_the_check_lists_every_mistake_in_order_of_place(tmp_path: Path) -> None:
    cards = CARDS + "".join(
        f"{name}: {{like: add, does: 'd = {effect}(d, a)'}}\n"
        for name, effect in (("one", "oops"), ("two", "sub"), ("three", "fmul"))
    )
    report = check_path(write_isa(tmp_path, cards=cards))
    places = [str(problem).split(": ")[0] for problem in report.problems]
    assert places == ["toy/instructions/all.yaml:8:29", "toy/instructions/all.yaml:10:31"]
    assert not report.is_fine
    assert str(report).endswith("2 mistakes")


def test_the_check_accepts_a_single_file_of_an_isa(tmp_path: Path) -> None:
    folder = write_isa(tmp_path)
    report = check_path(folder / "instructions" / "all.yaml")
    assert report.is_fine
    assert "1 cards, 4 shapes, cores core: no mistakes" in str(report)


def test_the_check_notes_units_that_no_card_uses(tmp_path: Path) -> None:
    core = CORE + "  idle: {ports: p0, latency: 1}\n"
    report = check_path(write_isa(tmp_path, core=core))
    assert [str(each) for each in report.oddities] == [
        "toy/cores/core.yaml: no card uses unit 'idle'"
    ]


@pytest.mark.parametrize("name", isas.catalogue.isa_names())
def test_the_check_finds_nothing_in_our_own_isas(name: str) -> None:
    report = check_path(isas.load_isa(name).folder)
    assert report.is_fine
    assert report.oddities == ()


def test_a_folder_that_is_no_isa_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not an ISA: it has no registers\.yaml"):
        check_path(tmp_path)
    with pytest.raises(InputError, match="there is no file or folder"):
        check_path(tmp_path / "nowhere")


def test_an_unknown_machine_names_the_closest_and_lists_all() -> None:
    with pytest.raises(InputError) as caught:
        isas.load_machine("x86/zen2")
    text = str(caught.value)
    assert "unknown machine 'x86/zen2'" in text
    assert "did you mean x86/zen3?" in text
    assert all(name in text for name in isas.machine_names())


@pytest.mark.parametrize("name", ["", "x86", "x86/", "/zen3", "zen3", "../x86/zen3", "x86/zen3/"])
def test_a_malformed_machine_name_is_an_input_error(name: str) -> None:
    with pytest.raises(InputError):
        isas.load_machine(name)


def test_a_users_own_folder_is_a_machine(tmp_path: Path) -> None:
    folder = write_isa(tmp_path)
    machine = isas.load_machine(f"{folder}/core")
    assert machine.core.title == "toy core"
    assert [shape.mnemonic for shape in machine.shapes] == ["add"] * 4

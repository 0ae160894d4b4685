"""The catalogues are complete: everything that can be said in English is there in Chinese."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest
from textual.binding import Binding

from compiler.allocate.linear_scan import SpillRule
from compiler.options import Options
from isas.errors import HobError, InputError, InternalError
from lab import road
from lab.report_text import document
from lab.words.catalogue import read_catalogue
from lab.words.language import Language, language_of
from lab.words.width import cell_width
from lab.words.words import words_for
from tests.tui import templates_in_code as code
from tui.app import HobApp
from tui.screens.base import TABS, HobScreen
from tui.screens.compile import CompileScreen
from tui.screens.dialogs import Ask, Choose, Read
from tui.screens.registers import RegistersScreen
from tui.screens.run import RunScreen
from tui.screens.start import _WELCOME, EXAMPLES, StartScreen
from tui.widgets.intervals import Intervals
from tui.widgets.listing import Listing
from tui.widgets.sheet import Sheet
from tui.words_of_commands import COMMANDS_IN_PALETTE
from vm.reasons import STAGE_WORDS
from vm.stalls import STALLS, Group

CHINESE = words_for(Language.CHINESE)
PLACE = re.compile(r"\{(\w+)(?::[^}]*)?\}")
TOP = Path(__file__).resolve().parents[2]
WIDGETS = (
    HobApp, HobScreen, StartScreen, CompileScreen, RegistersScreen, RunScreen, Sheet, Intervals,
    Listing, Ask, Choose, Read,
)  # fmt: skip


def is_chinese(text: str) -> bool:
    return any("一" <= character <= "鿿" for character in text)


def missing(templates: dict[str, Path] | set[str]) -> list[str]:
    """Templates without an entry; those without words need none."""
    return sorted(
        template
        for template in templates
        if template not in CHINESE.entries and re.search("[a-z]{2}", _letters(template))
    )


def _letters(template: str) -> str:
    return PLACE.sub("", template)


def test_stall_causes_and_stages_are_translated() -> None:
    wanted = set(STAGE_WORDS.values()) | {group.value for group in Group}
    for stall in STALLS:
        glossary = stall.glossary
        wanted |= {glossary.title, glossary.template, glossary.meaning, stall.value}
    assert missing(wanted) == []


def test_keys_and_tables_of_the_screens_are_translated() -> None:
    wanted = {name for _, name in TABS} | {text for _, text in EXAMPLES} | {_WELCOME}
    wanted |= {text for title, meaning, _ in COMMANDS_IN_PALETTE for text in (title, meaning)}
    wanted |= {rule.value for rule in SpillRule}
    for widget in WIDGETS:
        bindings = widget.__dict__.get("BINDINGS", ())
        wanted |= {binding.description for binding in bindings if isinstance(binding, Binding)}
    assert missing(wanted) == []


def test_what_the_screens_say_is_translated() -> None:
    assert missing(code.word_templates()) == []


def test_decisions_are_translated() -> None:
    assert missing(code.decision_templates()) == []


def test_errors_and_their_hints_are_translated() -> None:
    assert missing(code.error_templates()) == []


def test_errors_said_through_helpers_are_translated() -> None:
    assert missing(code.wrapped_templates()) == []


def test_the_help_of_the_command_line_is_translated() -> None:
    assert missing(code.option_helps()) == []


def test_translations_name_the_same_fields() -> None:
    for template, translation in CHINESE.entries.items():
        assert set(PLACE.findall(template)) == set(PLACE.findall(translation)), template
        same = translation.replace("：", ": ") == template
        has_words = re.search("[a-z]{3}", _letters(translation))
        assert is_chinese(translation) or same or not has_words, template


def test_reasons_of_a_compilation_are_chinese() -> None:
    module = road.load(TOP / "examples" / "softmax.hlo")
    for machine, registers in (("x86/zen3", (("vec", 4),)), ("simt/volta", ())):
        journal = road.compile(module, machine, Options(registers=registers)).journal
        for entry in journal.entries:
            assert is_chinese(CHINESE.decision(entry.decision)), str(entry.decision)
            because = entry.decision.because
            if because and not re.fullmatch(r"[\w ]+ \d+(, [\w ]+ \d+)*", because):
                assert is_chinese(CHINESE.told(because)), because


def test_a_report_in_chinese_is_as_wide_as_in_english() -> None:
    result = road.run(road.load(TOP / "examples" / "softmax.hlo"))
    report = road.report(result, "softmax.hlo")
    english, chinese = document(report), document(report, CHINESE)
    assert len(english.lines) == len(chinese.lines)
    for line in chinese.lines:
        assert cell_width(line.text) <= 106
        assert is_chinese(line.text) or "softmax" in line.text
    rules = [line.text for line in chinese.lines if line.text.startswith("─")]
    assert {cell_width(rule) for rule in rules} == {106}


def test_finished_errors_are_translated_with_their_values() -> None:
    error = InputError("input in0 has 12 bytes, not 16", where="x.npz", hint="use smaller blocks")
    assert CHINESE.error(error) == "x.npz: 输入 in0 有 12 字节，而非 16\n  请用更小的块"
    assert CHINESE.error(HobError("something nobody translated")).startswith("something")
    assert words_for(Language.ENGLISH).error(error) == str(error)


def test_the_language_comes_from_the_option_or_the_locale() -> None:
    assert language_of("zh", {"LANG": "en_US.UTF-8"}) is Language.CHINESE
    assert language_of(None, {"LANG": "zh_CN.UTF-8"}) is Language.CHINESE
    assert language_of(None, {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}) is Language.ENGLISH
    assert language_of(None, {}) is Language.ENGLISH
    with pytest.raises(InputError, match="fr"):
        language_of("fr", {})


def test_catalogues_are_gettext_files() -> None:
    folder = resources.files("lab.words") / "zh"
    names = [file.name for file in folder.iterdir() if file.name.endswith(".po")]
    assert len(names) >= 5
    joined = read_catalogue('msgid ""\n"a "\n"b\\n"\nmsgstr "c"\n')
    assert joined == {"a b\n": "c"}
    with pytest.raises(InternalError, match="twice"):
        read_catalogue('msgid "a"\nmsgstr "b"\nmsgid "a"\nmsgstr "b"\n')
    with pytest.raises(InternalError, match="neither"):
        read_catalogue('"stray"\n')

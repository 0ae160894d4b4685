"""The catalogues are complete: everything that can be said in English is there in Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from textual.binding import Binding

from compiler.allocate.linear_scan import SpillRule
from compiler.buffers.liveness import Role
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.cse import Shared
from compiler.journal import Decision
from compiler.llvm.passes.legalize import RULES as LEGALIZATIONS
from compiler.llvm.pipeline import LLVM_PASSES
from compiler.pipeline import CONSTRAINTS, HLO_PASSES
from isas.errors import HobError, InputError, InternalError
from lab import road
from lab.pass_table import kind_of
from lab.report_text import document
from lab.words.catalogue import read_catalogue
from lab.words.language import Language, language_of
from lab.words.width import cell_width
from lab.words.words import sentence, words_for
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


def test_every_sentence_below_the_screens_is_translated() -> None:
    left = missing(code.prose_templates())
    beginnings = tuple(text for text in left if text.endswith((", ", "; ")))
    begun = {b for b in beginnings if any(entry.startswith(b) for entry in CHINESE.entries)}
    assert [text for text in left if text not in begun] == []


def test_tables_of_names_and_reasons_are_translated() -> None:
    wanted = {row.why for row in (*HLO_PASSES, *LLVM_PASSES)}
    wanted |= {constraint.reason for constraint in CONSTRAINTS}
    wanted |= {rule.name for rule in LEGALIZATIONS} | {role.value for role in Role}
    wanted |= {kind_of(decision) for decision in _below(Decision)}
    assert missing(wanted) == []
    sources = [road.machine_of(name).core.sources for name in road.machines()]
    assert missing({" ".join(text.split()) for text in sources}) == []


def _below(decision: type[Decision]) -> Iterator[type[Decision]]:
    for each in decision.__subclasses__():
        yield each
        yield from _below(each)


@pytest.mark.parametrize("filling", ["add.{}", "f32[{},8]", "{}7"])
def test_finished_texts_are_recognised_as_the_template_that_made_them(filling: str) -> None:
    for template, translation in CHINESE.finished.items():
        names = PLACE.findall(template)
        touching = re.search(r"\w\{|\}\w|\}\{", template)
        if not names or touching or not all(name.isdigit() for name in names):
            continue
        numbers = set(re.findall(r"\{(\d):d\}", template))
        values = [f"1{i}" if str(i) in numbers else filling.format(i) for i in range(len(names))]
        text = PLACE.sub(r"{\1}", template).format(*values)
        assert CHINESE.told(text) == PLACE.sub(r"{\1}", translation).format(*values), template


def test_names_stay_names() -> None:
    opcodes = {opcode.text for opcode in Opcode}
    assert opcodes.isdisjoint(CHINESE.things)
    shared = Shared(subject="copy", chosen="constant")
    assert CHINESE.decision(shared) == "copy 与 constant 计算相同的值"
    formed = CHINESE.told("fusion needs row frame")
    assert formed == "fusion 需要第 frame 行"
    assert sentence("from {origin}", origin="data").said(CHINESE) == "来自 data"


def test_the_help_of_the_command_line_is_translated() -> None:
    assert missing(code.option_helps()) == []


def test_translations_name_the_same_fields() -> None:
    for template, translation in CHINESE.entries.items():
        assert set(PLACE.findall(template)) == set(PLACE.findall(translation)), template
        same = translation.replace("：", ": ") == template
        has_words = re.search("[a-z]{3}", _letters(translation))
        assert is_chinese(translation) or same or not has_words, template


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

"""Says templates and facts in a language.

Templates are English sentences with `{field}` places and are the catalogues' keys. Texts that are
finished already (an error's message, a decision's reason) are looked up by their shape: the
templates of the catalogues of finished texts become patterns, the one that fits gives the fields
back, and the translation is filled with them. A field that is a sentence is translated in turn; a
single word is a name, and the same in every language, unless it is among the few kinds of things
that messages name so (`things.po`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from string import Formatter
from typing import Any

from compiler.journal import Alternative, Decision
from isas.errors import HobError
from lab.words.catalogue import read_catalogue
from lab.words.language import Language
from vm.diagram import Stage
from vm.reasons import STAGE_WORDS, Reason
from vm.stalls import Stall

_NUMBER = r"(\d[\d .]*)"
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A template as a pattern over finished text, with its translation. `weight` counts the
    template's own letters: of several that fit, the one that explains most wins."""

    template: str
    pattern: re.Pattern[str]
    names: tuple[str, ...]
    translation: str
    weight: int


@dataclass(frozen=True, slots=True)
class Words:
    """One language. Calling it translates a template and fills it in. `entries` are all templates,
    `finished` those of texts that come finished, `things` their single words that are no names,
    `patterns` the finished texts' shapes by a word."""

    language: Language
    entries: Mapping[str, str] = field(default_factory=dict)
    finished: Mapping[str, str] = field(default_factory=dict)
    things: Mapping[str, str] = field(default_factory=dict)
    patterns: Mapping[str, tuple[_Pattern, ...]] = field(default_factory=dict)

    def __call__(self, template: str, **values: Any) -> str:
        translated = self.entries.get(template, template)
        return translated.format(**values) if values else translated

    def told(self, text: str) -> str:
        """A finished English text in this language; what no template fits stays as it is."""
        return self._told(text, 0)

    def _told(self, text: str, depth: int) -> str:
        if not self.entries or not text or depth > _DEEPEST:
            return text
        if depth and _NAME.fullmatch(text):
            return self.things.get(text, text)
        if text in self.finished:
            return self.finished[text]
        excerpt = _EXCERPT.search(text)
        if excerpt is not None:
            return self._told(text[: excerpt.start()], depth) + excerpt[0]
        found = self._fitting(text)
        framed = self._framed(text, found[0].template if found else "", depth)
        if framed is not None:
            return framed
        if found is None:
            return self._by_parts(text, depth)
        pattern, match = found
        values = {
            name: self._told(value, depth + 1)
            for name, value in zip(pattern.names, match.groups(), strict=True)
        }
        return _filled(pattern.translation, values)

    def _framed(self, text: str, template: str, depth: int) -> str | None:
        """A text in a frame that its template has not: whom it concerns, in front or behind."""
        named, within = _NAMED.match(text), _WITHIN.fullmatch(text)
        if named is not None and ": " not in template:
            return f"{named[1]}：{self._told(text[named.end() :], depth + 1)}"
        if within is not None and " (in " not in template.replace(_IN, "") and _IN in self.finished:
            values = {"0": self._told(within[1], depth + 1), "1": within[2]}
            return _filled(self.finished[_IN], values)
        return None

    def _by_parts(self, text: str, depth: int) -> str:
        """Clauses joined by punctuation, and what stands in brackets behind them, are said one by
        one; spaces around a text are kept."""
        stripped = text.strip()
        if stripped != text:
            return text.replace(stripped, self._told(stripped, depth + 1)) if stripped else text
        pieces = _BRACKETS.split(text)
        if len(pieces) > 1:
            return "".join(self._told(piece, depth + 1) for piece in pieces)
        for mark, joined in (("\n", "\n"), ("; ", "；"), (": ", "："), (", ", "，")):
            parts = text.split(mark)
            if len(parts) > 1:
                said = [self._told(part, depth + 1) for part in parts]
                return text if said == parts else joined.join(said)
        return text

    def _fitting(self, text: str) -> tuple[_Pattern, re.Match[str]] | None:
        words = [word for word in _WORD.findall(text) if word in self.patterns]
        candidates = {p.pattern: p for word in words for p in self.patterns[word]}
        ranked = sorted(candidates.values(), key=lambda p: (-p.weight, p.pattern.pattern))
        for pattern in ranked:
            match = pattern.pattern.fullmatch(text)
            if match is not None:
                return pattern, match
        return None

    # Facts

    def decision(self, decision: Decision) -> str:
        """A decision's sentence."""
        if not self.entries:
            return str(decision)
        values = {f.name: getattr(decision, f.name) for f in fields(decision)}
        values |= {name: self.told(values[name]) for name in decision.worded}
        return self(decision.template, **values)

    def alternative(self, alternative: Alternative) -> str:
        """A choice with its cost and remark."""
        cost = "" if alternative.cost is None else f" {alternative.cost:g}"
        note = f" ({self.told(alternative.note)})" if alternative.note else ""
        return f"{self.told(alternative.name)}{cost}{note}"

    def stall(self, stall: Stall) -> str:
        """A cause's title."""
        return self(stall.glossary.title)

    def stage(self, stage: Stage) -> str:
        """What an instruction does in a stage."""
        return self(STAGE_WORDS[stage])

    def reason(self, reason: Reason) -> str:
        """Why an instruction is where it is, without its name and cycles."""
        if reason.stall is None:
            return self.stage(reason.stage)
        return self(
            reason.stall.glossary.template,
            culprit=reason.culprit_text or self("an older instruction"),
            what=reason.what or self("an operand"),
        )

    def error(self, error: HobError) -> str:
        """An error with its place and remedy."""
        hint = self.told(error.hint) if error.hint else None
        return error.told(self.told(error.message), hint)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A template with its values, to be said when the language is known. A value that is a sentence
    or a finished text is said in that language too; other values stay as they are."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def said(self, words: Words) -> str:
        """The sentence in a language."""
        return words(self.template, **{k: _said(v, words) for k, v in self.values.items()})

    def __str__(self) -> str:
        return self.said(ENGLISH)


@dataclass(frozen=True, slots=True)
class Finished:
    """An English text that came finished, such as an error's message."""

    text: str

    def said(self, words: Words) -> str:
        """The text in a language, where a template fits it."""
        return words.told(self.text)


def _said(value: Any, words: Words) -> Any:
    return value.said(words) if isinstance(value, (Sentence, Finished)) else value


def sentence(template: str, **values: Any) -> Sentence:
    """A sentence for later."""
    return Sentence(template, values)


ENGLISH = Words(Language.ENGLISH)
"""English needs no catalogue: its templates stand in the code."""

_WORD = re.compile(r"[A-Za-z]{2,}")
_BRACKETS = re.compile(r"( [\[{] ?| ?[\]}])")
_EXCERPT = re.compile(r"\n[^\n]*\n *\^ *\Z")
"""The user's own line, with a caret below, at the end of a message."""
_NAMED = re.compile(r"([\w.%@/-]+(?: \([\w-]+\))?): ")
"""What a message begins with that names whom it concerns: `add.1: `, `add.1 (add): `."""
_WITHIN = re.compile(r"(.*) \(in ([^()]*)\)", re.DOTALL)
_IN = "{0} (in {1})"
_NAME = re.compile(r"\S+")
_FINISHED = (
    "decisions.po",
    "errors.po",
    "foreign.po",
    "hlo.po",
    "passes.po",
    "reading.po",
    "stablehlo.po",
    "usage.po",
)
"""The catalogues of texts that come finished."""
_THINGS = "things.po"


def _filled(translation: str, values: Mapping[str, str]) -> str:
    """A translation with its fields, whatever their format; doubled braces are braces."""
    pieces = _pieces(translation)
    return "".join(text + ("" if name is None else values[name]) for text, name, _ in pieces)


def _pieces(template: str) -> list[tuple[str, str | None, str]]:
    """A template's texts, each with the name and the format of the place behind it."""
    try:
        parsed = list(Formatter().parse(template))
    except ValueError:  # a text with braces of its own, which has no places
        return [(template, None, "")]
    return [(text, name, form or "") for text, name, form, _ in parsed]


@cache
def words_for(language: Language) -> Words:
    """The words of a language."""
    if language is Language.ENGLISH:
        return ENGLISH
    entries: dict[str, str] = {}
    finished: dict[str, str] = {}
    things: dict[str, str] = {}
    folder = resources.files("lab.words") / language.value
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".po"):
            found = read_catalogue(file.read_text(encoding="utf-8"), file.name)
            entries.update(found)
            finished.update(found if file.name in _FINISHED else {})
            things.update(found if file.name == _THINGS else {})
    return Words(language, entries, finished, things, _patterns(finished))


def _patterns(entries: Mapping[str, str]) -> Mapping[str, tuple[_Pattern, ...]]:
    """Templates with numbered places, which those of finished texts have, by their longest word:
    only texts with that word can fit. A place written `{0:d}` stands for a number only."""
    found: dict[str, list[_Pattern]] = {}
    for template, translation in entries.items():
        pieces = _pieces(template)
        names = tuple(name for _, name, _ in pieces if name is not None)
        if not names or not all(name.isdigit() for name in names):
            continue
        fixed = [text for text, _, _ in pieces]
        expression = "".join(
            re.escape(text) + ("" if name is None else _NUMBER if form == "d" else "(.*?)")
            for text, name, form in pieces
        )
        longest = max(_whole_words(fixed), key=len, default="")
        compiled = re.compile(expression, re.DOTALL)
        pattern = _Pattern(template, compiled, names, translation, len(" ".join(fixed)))
        if longest:
            found.setdefault(longest, []).append(pattern)
    return {word: tuple(patterns) for word, patterns in found.items()}


def _whole_words(fixed: list[str]) -> list[str]:
    """Words of the fixed pieces that no place touches, so that they stand alone in any text."""
    marked = "\x00".join(fixed)
    return re.findall(r"(?<![\x00A-Za-z])[A-Za-z]{2,}(?![\x00A-Za-z])", marked)

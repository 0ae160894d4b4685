"""Errors in many broken programs are said in Chinese, and the user's own text stays as it is."""

from __future__ import annotations

import itertools
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compiler.frontend.stablehlo import parse_stablehlo
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from isas.check import check_path
from isas.errors import HobError
from lab.words.language import Language
from lab.words.words import words_for
from tests.commands.english import english_in, is_chinese

CASES = Path(__file__).resolve().parents[1] / "cases" / "jax"
ISAS = CASES.parents[2] / "isas"
CHINESE = words_for(Language.CHINESE)
LARGEST = 8_000
ATTEMPTS = 12
"""Broken copies of every program."""
_TOKEN = re.compile(r"\w+|\s+|.")
_STRANGE = ("0", "-1", "99999999999", "f32", "pred", "x", "{", "}", "(", "]", '"', "=", "%0", "")
_QUOTED = re.compile(r"%[\w#]+|stablehlo[\w.]*|“[^”]*”|'[^']*'|（在 [^（）]* 中）")
"""Names and pieces of the program inside a message."""


def broken(text: str, seed: int) -> Iterator[str]:
    """Copies with one or two tokens lost, doubled, swapped or strange, or cut short."""
    random_number = random.Random(seed)
    for _ in range(ATTEMPTS):
        tokens = _TOKEN.findall(text)
        for _ in range(random_number.choice((1, 2))):
            place = random_number.randrange(1, len(tokens))
            change = random_number.choice(("lose", "double", "swap", "strange", "cut"))
            if change == "lose":
                del tokens[place]
            elif change == "double":
                tokens.insert(place, random_number.choice(tokens))
            elif change == "swap":
                tokens[place], tokens[place - 1] = tokens[place - 1], tokens[place]
            elif change == "strange":
                tokens[place] = random_number.choice(_STRANGE)
            elif len(tokens) > place + 1:
                del tokens[place + 1 :]
        yield "".join(tokens)


@pytest.mark.parametrize(
    ("suffix", "read"),
    [(".hlo", lambda text: verify(parse_module(text))), (".mlir", parse_stablehlo)],
    ids=["hlo", "stablehlo"],
)
def test_errors_are_chinese(suffix: str, read: Callable[[str], Module]) -> None:
    count = 0
    for seed, path in enumerate(sorted(CASES.glob(f"*{suffix}"))):
        text = path.read_text(encoding="utf-8")
        for attempt in broken(text[:LARGEST], seed):
            try:
                read(attempt)
            except HobError as error:
                count += 1
                check(error)
    assert count > 100


def test_mistakes_in_cards_are_chinese(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(ISAS / "arm", folder)
    count = 0
    for seed, path in enumerate(sorted(folder.rglob("*.yaml"))):
        text = path.read_text(encoding="utf-8")
        for attempt in itertools.islice(broken(text, seed), 4):
            path.write_text(attempt, encoding="utf-8")
            for problem in check_path(folder).problems:
                count += 1
                check(problem)
        path.write_text(text, encoding="utf-8")
    assert count > 20


def check(error: HobError) -> None:
    message, *excerpt = error.message.split("\n")
    said, *kept = CHINESE.told(error.message).split("\n")
    assert is_chinese(said), error
    assert english_in(_QUOTED.sub("", said)) == [], (said, message)
    if excerpt and excerpt[-1].strip() == "^":
        assert kept[-2:] == excerpt[-2:]

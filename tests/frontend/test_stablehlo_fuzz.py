"""Mutated programs: a fixed budget of them, each parsed or refused, never anything else."""

from __future__ import annotations

import random
import re

import pytest

from compiler.frontend.stablehlo import parse_programs
from isas.errors import HobError
from tests.frontend.programs import operation_files

SECTIONS = [
    section
    for file in operation_files()
    for section in file.read_text().split("// -----\n")
    if section.strip()
]
WORD = re.compile(r"%?[\w.]+|->|.|\n")
NUMBERS = ("0", "1", "-1", "99", "4294967296", "9" * 30)
TYPES = (
    "tensor<f32>", "tensor<?xi32>", "tensor<2x2xi1>", "tensor<*xf32>", "!stablehlo.token",
    "tuple<tensor<f32>>", "tensor<1x!quant.uniform<i8:f32, 0.5>>", "index",
)  # fmt: skip
ROUNDS, EACH = 8, 150


def _mutated(text: str, random_: random.Random) -> str:
    kind = random_.randrange(7)
    place = random_.randrange(len(text) or 1)
    end = place + random_.randint(1, 20)
    if kind == 0:
        return text[:place] + text[end:]
    if kind == 1:
        return text[:place] + random_.choice('(){}<>[]%#@!:,=-"x0129 ?\x00é') + text[place:]
    if kind == 2:
        return text[:place] + text[place:end] + text[place:]
    if kind == 3:
        return text[:place]
    if kind == 4:
        words = WORD.findall(text) or [""]
        words[random_.randrange(len(words))] = random_.choice(words)
        return "".join(words)
    pattern, choices = (r"\d+", NUMBERS) if kind == 5 else (r"tensor<[^>]*>", TYPES)
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    match = random_.choice(found)
    return text[: match.start()] + random_.choice(choices) + text[match.end() :]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_mutated_program_is_parsed_or_refused(seed: int) -> None:
    random_ = random.Random(seed)
    refused = 0
    for _ in range(EACH):
        text = random_.choice(SECTIONS)
        for _ in range(random_.randint(1, 3)):
            text = _mutated(text, random_)
        try:
            parse_programs(text, "fuzz.mlir")
        except HobError as error:
            refused += 1
            assert str(error)
    assert 0 < refused < EACH


def test_bytes_without_meaning_are_refused() -> None:
    random_ = random.Random(1)
    for _ in range(200):
        text = "".join(chr(random_.randrange(1, 256)) for _ in range(random_.randrange(80)))
        with pytest.raises(HobError):
            parse_programs(text, "fuzz.mlir")

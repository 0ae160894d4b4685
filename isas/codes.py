"""The `code` of x86 cards: the manual's notation, parsed.

`code` is the manual's own notation with the operand roles of its Op/En column:

    VEX.66.0F38.W0 B8 RVM                                   vfmadd231ps
    01 MR | 03 RM | 83 /0 MI ib | 05 AI id | 81 /0 MI id    add

Alternatives are separated by `|`; the shortest that fits is taken, the first among equals, as
LLVM's assembler does. R, V and M are ModRM.reg, VEX.vvvv and ModRM.r/m; I an immediate, O a
register added to the opcode, A the accumulator, 1 the number one, 4 a register in the last byte.
`@8` holds where the M, A or O operand is 8 bits wide, `#09` is a literal last byte. REX.W, VEX.W
(unless written) and VEX.L follow from the operands' widths. Source: Intel SDM volume 2, chapters 2
and 3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from isas.errors import HobError


class EncodingError(HobError):
    """An instruction has no bytes: its card has no code, or it uses registers that do not exist."""


@dataclass(frozen=True, slots=True)
class Code:
    """One alternative of a `code` text."""

    opcode: bytes
    roles: str
    is_vex: bool = False
    prefix: int = 0
    opcode_map: int = 0
    wide: bool | None = None
    digit: int | None = None
    immediate: str = ""
    literal: bytes = b""
    size: int | None = None


_MAPS = {"0F": 1, "0F38": 2, "0F3A": 3}
_PREFIXES = {"66": 1, "F3": 2, "F2": 3}
IMMEDIATE_SIZES = {"ib": 1, "iw": 2, "id": 4, "io": 8, "cb": 1, "cd": 4}
_HEX = re.compile(r"[0-9A-F]{2}")
_ROLES = re.compile(r"[RVMIOA14]+")


@cache
def parse_code(text: str) -> tuple[Code, ...]:
    """The alternatives of a `code` text. Raises EncodingError where it is not one."""
    return tuple(_parse_alternative(part.split()) for part in text.split("|"))


def _parse_alternative(words: list[str]) -> Code:
    code = Code(b"", "")
    for word in words:
        if word.startswith("VEX"):
            code = _with_vex(code, word.split(".")[1:])
        elif word == "REX.W":
            code = replace(code, wide=True)
        elif _HEX.fullmatch(word):
            code = replace(code, opcode=code.opcode + bytes.fromhex(word))
        elif re.fullmatch("/[0-7]", word):
            code = replace(code, digit=int(word[1:]))
        elif re.fullmatch("#([0-9A-F]{2})+", word):
            code = replace(code, literal=bytes.fromhex(word[1:]))
        elif re.fullmatch("@[0-9]+", word):
            code = replace(code, size=int(word[1:]))
        elif word in IMMEDIATE_SIZES:
            code = replace(code, immediate=word)
        elif _ROLES.fullmatch(word):
            code = replace(code, roles=word)
        else:
            raise EncodingError(f"'{word}' means nothing in code")
    if not code.opcode:
        raise EncodingError("code lacks an opcode byte")
    return code


def _with_vex(code: Code, parts: list[str]) -> Code:
    for part in parts:
        if part in _MAPS:
            code = replace(code, opcode_map=_MAPS[part])
        elif part in _PREFIXES:
            code = replace(code, prefix=_PREFIXES[part])
        elif part in ("W0", "W1"):
            code = replace(code, wide=part == "W1")
        else:
            raise EncodingError(f"'{part}' means nothing after VEX")
    return replace(code, is_vex=True)

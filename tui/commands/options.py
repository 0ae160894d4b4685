"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from compiler.options import Options
    from isas.model import Machine
    from lab.words.words import Words

DEFAULT_MACHINE = "x86/zen3"
_PROGRAM = typer.Argument(help="An HLO or StableHLO file, or model.py:function.", metavar="PROGRAM")

ProgramArgument = Annotated[str, _PROGRAM]
OptionalProgramArgument = Annotated[str | None, _PROGRAM]
MachineOption = Annotated[
    str,
    typer.Option("--machine", "-m", metavar="NAME", help="ISA/core; `hob machines` lists them."),
]
RegistersOption = Annotated[
    str | None,
    typer.Option(
        "--registers",
        metavar="CLASS=N,...",
        help="Registers the allocator may use, such as vec=6,gpr=5.",
    ),
]
FuseOption = Annotated[bool, typer.Option("--fuse/--no-fuse", help="Join operations into kernels.")]
StrictOption = Annotated[
    bool, typer.Option("--strict-order", help="Add up reductions in program order (CPU machines).")
]
FastMathOption = Annotated[
    bool,
    typer.Option("--fast-math", help="Allow rewrites that ignore NaN, infinities, -0, rounding."),
]

ArgumentsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--args",
        metavar="SHAPE ...",
        help="Argument shapes of a Python function, such as 'f32[8,128]' 's32[]'.",
    ),
]
InputsOption = Annotated[
    str | None,
    typer.Option(
        "--inputs", metavar="FILE.npz", help="in0, in1, ... (and out0, ... to compare with)."
    ),
]
OutputsOption = Annotated[
    str | None,
    typer.Option("--outputs", metavar="FILE.npz", help="Where to write out0, out1, ..."),
]
RelativeToleranceOption = Annotated[
    float | None, typer.Option("--rtol", metavar="X", help="Relative tolerance.", min=0.0)
]
AbsoluteToleranceOption = Annotated[
    float | None, typer.Option("--atol", metavar="X", help="Absolute tolerance.", min=0.0)
]
SeedOption = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Seed of the inputs drawn without --inputs.", min=0),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead.")]
_SHAPE = re.compile(r"\w+\[[^\]]*\]\Z|[(\[{]")


def spread_arguments(words: Sequence[str]) -> list[str]:
    """`--args A B C` as `--args A --args B --args C`, for as long as the words look like shapes."""
    spread: list[str] = []
    is_open = False
    for number, word in enumerate(words):
        before = words[number - 1] if number else ""
        is_open = word == "--args" or (
            is_open and (before == "--args" or _SHAPE.match(word) is not None)
        )
        if is_open and word != "--args" and before != "--args":
            spread.append("--args")
        spread.append(word)
    return spread


def words_of(context: typer.Context) -> Words:
    """The words of the language that the command line was asked for."""
    from lab.words.language import Language
    from lab.words.words import words_for

    return words_for(context.obj if isinstance(context.obj, Language) else Language.ENGLISH)


def has_colours() -> bool:
    """Whether pictures have colours: not when NO_COLOR is set and not empty (no-color.org)."""
    return not os.environ.get("NO_COLOR")


def machine_and_options(
    name: str,
    registers: str | None,
    fuse: bool = True,
    strict_order: bool = False,
    fast_math: bool = False,
) -> tuple[Machine, Options]:
    """The loaded machine and the options, checked against it."""
    import isas
    from compiler.allocate.limits import check_register_limits
    from compiler.options import Options

    machine = isas.load_machine(name)
    options = Options(
        registers=read_registers(registers),
        fuse=fuse,
        strict_order=strict_order,
        fast_math=fast_math,
    )
    check_register_limits(machine, options)
    return machine, options


_DIGITS = 5
"""Of a number of registers at most: limits beyond what a machine has are allowed, within reason."""


def read_registers(text: str | None) -> tuple[tuple[str, int], ...]:
    """`vec=6,gpr=5` as sorted pairs. Raises InputError when it is not of that form."""
    from isas.errors import InputError

    limits: dict[str, int] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, equals, number = (piece.strip() for piece in part.partition("="))
        is_number = number.isascii() and number.isdigit()
        if name and is_number and len(number) > _DIGITS:
            raise InputError(f"{name} has no {number} registers", where="--registers")
        if not (name and equals and is_number):
            raise InputError(
                f"'{part.strip()}' is not CLASS=NUMBER",
                where="--registers",
                hint="write for example --registers vec=6,gpr=5",
            )
        if name in limits:
            raise InputError(f"'{name}' is given twice", where="--registers")
        limits[name] = int(number)
    return tuple(sorted(limits.items()))

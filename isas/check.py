"""Checks a folder of machine descriptions and tells everything that is wrong with it.

What `hob isa check PATH` prints: every mistake with its place, or what was found when all is well.
The loader's own checks run (keys, operands used, effects well typed, every unit in every core), and
one more on the loaded ISA: units that a core prices and no card has are noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isas.corefiles import units_of
from isas.errors import HobError, InputError
from isas.loader import read_folder
from isas.model import Isa
from isas.tree import CardError


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The ISA found (None when its tables do not load), its mistakes and its oddities."""

    path: str
    isa: Isa | None
    problems: tuple[HobError, ...]
    warnings: tuple[str, ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether there is nothing wrong."""
        return not self.problems

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        lines += [f"note: {warning}" for warning in self.warnings]
        return "\n".join([*lines, self.summary()])

    def summary(self) -> str:
        """One line: what was found."""
        if self.isa is None or self.problems:
            count = len(self.problems)
            return f"{self.path}: {count} mistake{'s' if count != 1 else ''}"
        cores = ", ".join(sorted(self.isa.cores))
        cards, shapes = len(self.isa.cards), len(self.isa.shapes)
        return f"{self.path}: {cards} cards, {shapes} shapes, cores {cores}: no mistakes"


def check_path(path: str | Path) -> CheckReport:
    """Check the ISA in a folder (or the one that a single file in it belongs to).

    Mistakes are in the report; raises InputError only when there is no ISA at `path`.
    """
    folder = _folder_of(Path(path))
    problems: list[HobError] = []
    try:
        isa: Isa | None = read_folder(folder, problems.append)
    except HobError as error:
        problems.append(error)
        isa = None
    warnings = tuple(_unused_units(isa)) if isa is not None and not problems else ()
    return CheckReport(str(path), isa, tuple(_sorted(problems)), warnings)


def _folder_of(path: Path) -> Path:
    if not path.exists():
        raise InputError(f"there is no file or folder '{path}'")
    for folder in (path, *path.resolve().parents) if path.is_file() else (path,):
        if (folder / "registers.yaml").is_file():
            return folder.resolve()
    hint = "an ISA's folder has registers.yaml, operands.yaml, calling.yaml, instructions/, cores/"
    raise InputError(f"'{path}' is not an ISA: it has no registers.yaml", hint=hint)


def _sorted(problems: list[HobError]) -> list[HobError]:
    def place(problem: HobError) -> tuple[str, int, int]:
        if isinstance(problem, CardError):
            return (problem.file, problem.line, problem.column)
        return ("", 0, 0)

    return sorted(problems, key=place)


def _unused_units(isa: Isa) -> Iterator[str]:
    for core in isa.cores.values():
        used = {name for shape in isa.shapes for name, _ in units_of(core, shape)}
        for unit in core.units:
            if unit not in used and unit.rpartition(".")[0] not in used:
                yield f"{core.file}: no card uses unit '{unit}'"

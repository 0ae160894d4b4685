"""Checks a folder of machine descriptions and tells everything that is wrong with it.

What `hob isa check PATH` prints: every mistake with its place, or what was found when all is well.
The loader's own checks run (keys, operands used, effects well typed, every unit in every core), and
one more on the loaded ISA: units that a core prices and no card has are noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from isas.corefiles import units_of
from isas.errors import HobError, InputError
from isas.loader import read_folder
from isas.model import Isa
from isas.saying import Say, english
from isas.tree import CardError


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The ISA found (None when its tables do not load), its mistakes and its oddities."""

    path: str
    isa: Isa | None
    problems: tuple[HobError, ...]
    oddities: tuple[HobError, ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether there is nothing wrong."""
        return not self.problems

    def __str__(self) -> str:
        return self.told(english, str)

    def told(self, say: Say, tell: Callable[[HobError], str]) -> str:
        """One paragraph per mistake, then what was found. `say` says a template with its values in
        the user's language, `tell` an error."""
        lines = [tell(problem) for problem in self.problems]
        lines += [say("note: {oddity}", oddity=tell(oddity)) for oddity in self.oddities]
        return "\n".join([*lines, self._summary(say)])

    def _summary(self, say: Say) -> str:
        if self.isa is None or self.problems:
            count = len(self.problems)
            if count == 1:
                return say("{path}: 1 mistake", path=self.path)
            return say("{path}: {count} mistakes", path=self.path, count=count)
        return say(
            "{path}: {cards} cards, {shapes} shapes, cores {cores}: no mistakes",
            path=self.path,
            cards=len(self.isa.cards),
            shapes=len(self.isa.shapes),
            cores=", ".join(sorted(self.isa.cores)),
        )


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
    oddities = tuple(_unused_units(isa)) if isa is not None and not problems else ()
    return CheckReport(str(path), isa, tuple(_sorted(problems)), oddities)


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


def _unused_units(isa: Isa) -> Iterator[HobError]:
    for core in isa.cores.values():
        used = {name for shape in isa.shapes for name, _ in units_of(core, shape)}
        for unit in core.units:
            if unit not in used and unit.rpartition(".")[0] not in used:
                yield InputError(f"no card uses unit '{unit}'", core.file)

"""Finding machines by name: `x86/zen3` is the core zen3 of the ISA in the folder x86."""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path

from isas.errors import InputError
from isas.model import Isa, Machine

_HERE = Path(__file__).resolve().parent


def isa_names() -> tuple[str, ...]:
    """The ISAs that come with Hob, sorted."""
    return tuple(sorted(path.parent.name for path in _HERE.glob("*/registers.yaml")))


@cache
def machine_names() -> tuple[str, ...]:
    """Every `isa/core` that comes with Hob, sorted."""
    return tuple(
        f"{isa}/{path.stem}"
        for isa in isa_names()
        for path in sorted((_HERE / isa / "cores").glob("*.yaml"))
    )


def load_isa(name_or_path: str | Path) -> Isa:
    """The ISA called `x86`, or the one in the given folder. Loaded once per folder.

    Raises InputError when there is no such ISA, CardError where a file has a mistake.
    """
    path = _HERE / str(name_or_path)
    if str(name_or_path) not in isa_names():
        path = Path(name_or_path)
        if not (path / "registers.yaml").is_file():
            raise _unknown("ISA", str(name_or_path), isa_names())
    return _load(path.resolve())


@cache
def _load(folder: Path) -> Isa:
    from isas.loader import load_folder

    return load_folder(folder)


def load_machine(name: str) -> Machine:
    """The machine called `x86/zen3`, or `FOLDER/core` with the folder of a user's own ISA.

    Raises InputError, naming the closest machine, when there is none.
    """
    isa_name, _, core_name = name.rpartition("/")
    is_folder = bool(isa_name) and (Path(isa_name) / "registers.yaml").is_file()
    if isa_name not in isa_names() and not is_folder:
        raise _unknown("machine", name, machine_names())
    return _machine(isa_name, core_name)


@cache
def _machine(isa_name: str, core_name: str) -> Machine:
    isa = load_isa(isa_name)
    if core_name not in isa.cores:
        known = machine_names() if isa_name in isa_names() else ()
        own = tuple(f"{isa_name}/{core}" for core in sorted(isa.cores))
        raise _unknown("machine", f"{isa_name}/{core_name}", known or own)
    return Machine(isa, isa.cores[core_name])


def _unknown(what: str, name: str, known: tuple[str, ...]) -> InputError:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
    guess = f"did you mean {close[0]}? " if close else ""
    return InputError(f"unknown {what} '{name}'", hint=f"{guess}known: {', '.join(known)}")

"""Documents and comments name files that exist, and nothing of the machine they were written on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

THIS = Path(__file__)
TOP = THIS.parents[2]
ROOMS = ("isas", "compiler", "vm", "lab", "tui", "tests", "examples", "docs", "bench")
FOLDERS = (*ROOMS, ".ci")
TEXTS = {
    ".py",
    ".md",
    ".toml",
    ".yaml",
    ".hlo",
    ".mlir",
    ".ll",
    ".s",
    ".po",
    ".tcss",
    ".txt",
    ".json",
}

_QUOTED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*|[\w-]+\.(?:py|md|toml)")
_DOTTED = re.compile(rf"(?:{'|'.join(ROOMS)})(?:\.\w+)+")
_SHELL = re.compile(r"(?:examples|docs|bench|tests|isas|\.ci)/[\w./-]*\w")

FOREIGN_PATH = re.compile(r"(?<![\w.:/$}~-])/(?:home|root|Users|work|opt|mnt|srv)/\w")
OUTSIDE = re.compile(r"(?<![\w.])\.\./shared")
REGISTRY = re.compile(
    "|".join(("py" + "pi", "python" + "hosted", "ana" + "conda", "npm" + "js")), re.I
)


def _files() -> Iterator[Path]:
    for name in (*FOLDERS, "hob.py", "README.md", "pyproject.toml"):
        path = TOP / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file


@cache
def _file_names() -> frozenset[str]:
    return frozenset(path.name for path in _files())


def _documents() -> list[Path]:
    return [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]


def _paths_named(text: str) -> Iterator[str]:
    for quoted in _QUOTED.findall(text):
        if _PATH.fullmatch(quoted):
            yield quoted


def _exists(name: str) -> bool:
    if "*" in name:
        return any(TOP.glob(name))
    if "/" in name:
        return (TOP / name).exists()
    return name in _file_names()


def _module_exists(name: str) -> bool:
    """Whether `a.b.c` is a module, or something that module `a.b` (or class `a.b`) defines."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        base = TOP.joinpath(*parts[:length])
        if base.with_suffix(".py").is_file() or base.is_dir():
            rest = parts[length:]
            source = (
                base.with_suffix(".py")
                if base.with_suffix(".py").is_file()
                else base / "__init__.py"
            )
            return not rest or (
                source.is_file()
                and re.search(rf"\b{re.escape(rest[0])}\b", source.read_text()) is not None
            )
    return False


@pytest.mark.parametrize("document", _documents(), ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    linked = re.findall(r"\]\((?!\w+:)([^)#]+)\)", text)
    gone = [name for name in linked if not (document.parent / name).exists()]
    gone += [name for name in (*_paths_named(text), *_SHELL.findall(text)) if not _exists(name)]
    assert gone == []


def test_every_file_or_module_that_python_source_names_in_backticks_exists() -> None:
    gone = []
    count = 0
    for path in (file for file in _files() if file.suffix == ".py" and file != THIS):
        quoted = _QUOTED.findall(path.read_text())
        gone += [(path.name, n) for n in quoted if _PATH.fullmatch(n) and not _exists(n)]
        gone += [(path.name, n) for n in quoted if _DOTTED.fullmatch(n) and not _module_exists(n)]
        count += sum(bool(_PATH.fullmatch(n) or _DOTTED.fullmatch(n)) for n in quoted)
    assert gone == []
    assert count > 50


@pytest.mark.parametrize(
    "rule", [FOREIGN_PATH, OUTSIDE, REGISTRY], ids=["path", "outside", "registry"]
)
def test_no_file_speaks_of_one_machine(rule: re.Pattern[str]) -> None:
    found = []
    for path in _files():
        if path == THIS or (path.suffix not in TEXTS and path.parent.name != ".ci"):
            continue
        text = path.read_text()
        lines = enumerate(text.splitlines(), 1) if rule.search(text) else ()
        found += [f"{path.relative_to(TOP)}:{n}: {line}" for n, line in lines if rule.search(line)]
    assert found == []


def test_the_rules_find_what_they_are_for() -> None:
    assert FOREIGN_PATH.search("see /home/x") and not FOREIGN_PATH.search("a/home/x")
    assert OUTSIDE.search("../shared/cases") and REGISTRY.search("https://" + "PyPI.org")
    assert not _exists("vm/no_such_file.py") and not _module_exists("vm.no_such_module")
    assert _module_exists("vm.numeric.run") and not _module_exists("vm.numeric.no_such_name")
    assert list(_paths_named("`vm/a.py` and `a / b`")) == ["vm/a.py"]

"""Golden files: a function before and after some passes, with the decisions they recorded.

A file begins with `; passes: NAME, NAME` (and perhaps `; options: NAME=VALUE, ...`), then the
function; after the line `; after` stands what comes out. Re-bless all files with `python -m
tests.llvm.golden` and review the difference.
"""

from __future__ import annotations

from pathlib import Path

from compiler.llvm.parse import parse_function
from compiler.llvm.passes import (
    combine,
    contract,
    dce,
    gvn,
    licm,
    mem2reg,
    rotate,
    simplify_cfg,
    unroll,
    vectorize,
)
from compiler.llvm.text import text
from compiler.llvm.verify import verify_function
from compiler.options import Options
from tests.llvm.programs import everything

FOLDER = Path(__file__).with_name("golden")
MARK = "; after\n"
PASSES = {
    "mem2reg": mem2reg.run,
    "combine": combine.run,
    "gvn": gvn.run,
    "licm": licm.run,
    "dce": dce.run,
    "simplify-cfg": simplify_cfg.run,
    "contract": contract.run,
    "vectorize": vectorize.run,
    "unroll": unroll.run,
    "rotate": rotate.run,
}


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.ll"))


def given(content: str) -> str:
    """The part of a file before the mark."""
    return content.split(MARK)[0]


def result(source: str) -> str:
    """What a file should hold: its input, the mark, what the passes make of it, their decisions."""
    header = dict(
        line.removeprefix("; ").split(": ", 1) for line in source.splitlines()[:2] if ": " in line
    )
    context = everything(options=_options(header.get("options", "")))
    function = parse_function(source)
    verify_function(function)
    for name in header["passes"].split(", "):
        PASSES[name](function, context)
        verify_function(function)
    decisions = "".join(f"; {entry.decision}\n" for entry in context.journal.entries)
    return source + MARK + decisions + text(function)


def _options(written: str) -> Options:
    """`unroll=N` and `strict_order=True` are what files ask for."""
    chosen = dict(item.split("=") for item in written.split(", ") if item)
    return Options(
        unroll=int(chosen.get("unroll", 1)), strict_order=chosen.get("strict_order") == "True"
    )


if __name__ == "__main__":
    for path in files():
        path.write_text(result(given(path.read_text())))

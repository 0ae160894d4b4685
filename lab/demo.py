"""The newcomer's first screen: one small program followed down the road, then two on every
machine."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import numpy as np

from compiler.compilation import Compilation, Stage
from compiler.hlo.kernels import is_free
from isas.document import Document, Printer
from lab import road
from lab.amounts import size_text
from lab.words.width import padded, right, shortened, wrapped
from lab.words.words import ENGLISH, Words
from vm.diagram import diagram
from vm.stalls import Stall

PROGRAMS = ("element_wise_chain", "softmax")
PICTURE = "x86/zen3"
PICTURE_ROWS = 13
PICTURE_CYCLES = 56
WIDTH = 106
_CELLS = (8, 14, 7)
"""Cells of the table's numbers, the blanks before them included."""


def program_path(name: str) -> Path:
    """Where a program that comes with Hob lies."""
    return Path(str(resources.files("lab") / "programs" / f"{name}.hlo"))


def demo_document(words: Words = ENGLISH) -> Document:
    """The demo as text: the road of the first program, a pipeline, and the table of machines."""
    modules = {name: road.load(program_path(name)) for name in PROGRAMS}
    results = {
        (name, machine): road.run(module, machine)
        for name, module in modules.items()
        for machine in road.machines()
    }
    printer = Printer("demo")
    for line in _lines(results, words):
        printer.add(line)
    return printer.finish()


Results = dict[tuple[str, str], road.Result]


def _lines(results: Results, words: Words) -> Iterator[str]:
    first = results[(PROGRAMS[0], PICTURE)]
    welcome = words(
        "Hob compiles tensor programs for machines that are YAML files, runs them cycle by cycle, "
        "and can say why every cycle was spent. This is sum(sin(x * 2) + 1) over f32[8]:"
    )
    yield from wrapped(welcome, 88)
    yield ""
    yield from _road(first.compilation, words)
    yield ""
    yield from _picture(results[(PROGRAMS[1], PICTURE)], words)
    yield ""
    yield from _table(results, words)
    yield ""
    yield from _invitation(words)


def _road(compilation: Compilation, words: Words) -> Iterator[str]:
    """One line per stage: its size, and a taste of it."""
    entry = compilation.source.entry_computation
    work = [i.opcode.text for i in entry if not is_free(entry, i)]
    before, after = compilation.unfused, compilation.fused_count
    sizes = {"before": size_text(before.bytes_moved), "after": size_text(after.bytes_moved)}
    moved = words("{before} → {after} moved", **sizes)
    launches = words("{before} launches → {after}", before=before.launches, after=after.launches)
    yield _step("hlo", words("{count} instructions", count=len(entry)), " → ".join(work))
    yield _step("hlo-fused", launches, moved)
    for stage in (Stage.LLVM, Stage.LLVM_OPTIMIZED, Stage.SELECTED, Stage.ASSEMBLY):
        lines = compilation.documents[stage].lines
        made = [line for line in lines if line.origins and line.text.startswith(" ")]
        taste = next((line.text for line in made if "fma" in line.text), made[0].text)
        code = taste.split(" #")[0].split(" ;")[0].strip()
        yield _step(stage.value, words("{count} lines", count=len(made)), code)


def _step(name: str, count: str, taste: str) -> str:
    return shortened(f"  {name:<15} {padded(count, 16)} {taste}", WIDTH)


def _picture(result: road.Result, words: Words) -> Iterator[str]:
    """A few instructions from where the most cycles were lost."""
    yield words(
        "Where {program} loses most on {machine}, a column per cycle:",
        program=PROGRAMS[1],
        machine=PICTURE,
    )
    timeline = result.timeline
    programs = tuple(result.compilation.executable.programs.values())
    start = _busiest(result)
    cycle = int(timeline.fetch[start]) if len(timeline) else 0
    drawn = diagram(timeline, programs, start, PICTURE_ROWS, cycle, PICTURE_CYCLES)
    for line in drawn.lines:
        yield f"  {line.text}"
    legend = words(
        "F fetch  D dispatch  ● waits for data  ○ for a port  I issue  E execute  W retire"
    )
    yield f"  {legend}"


def _busiest(result: road.Result) -> int:
    """The first row of the stretch that waited longest for data among those that fit the
    picture."""
    timeline = result.timeline
    waited = np.minimum(timeline.issue - timeline.dispatch, PICTURE_CYCLES)
    best, most = 0, -1
    for row in range(max(1, len(timeline) - PICTURE_ROWS)):
        part = slice(row, row + PICTURE_ROWS)
        span = int(timeline.retire[part].max(initial=0) - timeline.fetch[part].min(initial=1 << 30))
        lost = int(waited[part].sum())
        if span < PICTURE_CYCLES and lost > most:
            best, most = row, lost
    return best


def _table(results: Results, words: Words) -> Iterator[str]:
    heads = (words("cycles"), words("instructions"), "IPC")
    numbers = "".join(right(head, cells) for head, cells in zip(heads, _CELLS))
    names = f"{padded(words('program'), 20)} {padded(words('machine'), 17)}"
    yield f"  {names}{numbers}   {words('most cycles lost to')}"
    for (name, machine), result in results.items():
        timeline = result.timeline
        figures = (str(result.cycles), str(timeline.instructions), f"{timeline.ipc:.2f}")
        numbers = "".join(f"{text:>{cells}}" for text, cells in zip(figures, _CELLS))
        verdict = "" if result.matches else f"   {words('WRONG RESULT')}"
        yield f"  {name:<20} {machine:<17}{numbers}   {_lost(result, words)}{verdict}"


def _lost(result: road.Result, words: Words) -> str:
    stalls = {c: v for c, v in result.timeline.stalls().items() if c is not Stall.RETIRING}
    if not stalls:
        return words("nothing")
    worst = max(stalls, key=lambda cause: stalls[cause])
    share = stalls[worst] / max(1, result.cycles)
    return words("{cause} ({share:.0%})", cause=words.stall(worst), share=share)


def _invitation(words: Words) -> Iterator[str]:
    yield words(
        "Every result above agrees with a NumPy evaluator. Now with fewer registers, or closer:"
    )
    program = "examples/softmax.hlo"
    for command, meaning in (
        (f"hob run {program} --registers vec=4", words("what four vector registers cost")),
        (f"hob stages {program} --stage assembly --why", words("the code, and why it is so")),
        (f"hob run {program} --machine simt/volta", words("the same rows, a warp each")),
    ):
        yield f"  {command:<54}  {meaning}"

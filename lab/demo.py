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
from lab.report import WIDTH, size
from vm.diagram import diagram
from vm.stalls import Stall

PROGRAMS = ("element_wise_chain", "softmax")
PICTURE = "x86/zen3"
PICTURE_ROWS = 13
PICTURE_CYCLES = 56


def program_path(name: str) -> Path:
    """Where a program that comes with Hob lies."""
    return Path(str(resources.files("lab") / "programs" / f"{name}.hlo"))


def demo_document() -> Document:
    """The demo as text: the road of the first program, a pipeline, and the table of machines."""
    modules = {name: road.load(program_path(name)) for name in PROGRAMS}
    results = {
        (name, machine): road.run(module, machine)
        for name, module in modules.items()
        for machine in road.machines()
    }
    printer = Printer("demo")
    for line in _lines(results):
        printer.add(line)
    return printer.finish()


Results = dict[tuple[str, str], road.Result]


def _lines(results: Results) -> Iterator[str]:
    first = results[(PROGRAMS[0], PICTURE)]
    yield "Hob compiles tensor programs for machines that are YAML files, runs them cycle by cycle,"
    yield "and can say why every cycle was spent. This is sum(sin(x * 2) + 1) over f32[8]:"
    yield ""
    yield from _road(first.compilation)
    yield ""
    yield from _picture(results[(PROGRAMS[1], PICTURE)])
    yield ""
    yield from _table(results)
    yield ""
    yield from _invitation()


def _road(compilation: Compilation) -> Iterator[str]:
    """One line per stage: its size, and a taste of it."""
    entry = compilation.source.entry_computation
    work = [i.opcode.text for i in entry if not is_free(entry, i)]
    before, after = compilation.unfused, compilation.fused_count
    moved = f"{size(before.bytes_moved)} → {size(after.bytes_moved)} moved"
    yield _step("hlo", f"{len(entry)} instructions", " → ".join(work))
    yield _step("hlo-fused", f"{before.launches} launches → {after.launches}", moved)
    for stage in (Stage.LLVM, Stage.LLVM_OPTIMIZED, Stage.SELECTED, Stage.ASSEMBLY):
        lines = compilation.documents[stage].lines
        made = [line for line in lines if line.origins and line.text.startswith(" ")]
        taste = next((line.text for line in made if "fma" in line.text), made[0].text)
        code = taste.split(" #")[0].split(" ;")[0].strip()
        yield _step(stage.value, f"{len(made)} lines", code)


def _step(name: str, count: str, taste: str) -> str:
    text = f"  {name:<15} {count:<16} {taste}"
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _picture(result: road.Result) -> Iterator[str]:
    """A few instructions from where the most cycles were lost."""
    yield f"Where {PROGRAMS[1]} loses most on {PICTURE}, a column per cycle:"
    timeline = result.timeline
    programs = tuple(result.compilation.executable.programs.values())
    start = _busiest(result)
    cycle = int(timeline.fetch[start]) if len(timeline) else 0
    drawn = diagram(timeline, programs, start, PICTURE_ROWS, cycle, PICTURE_CYCLES)
    for line in drawn.lines:
        yield f"  {line.text}"
    yield "  F fetch  D dispatch  ● waits for data  ○ for a port  I issue  E execute  W retire"


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


def _table(results: Results) -> Iterator[str]:
    header = f"  {'program':<20} {'machine':<17} {'cycles':>7} {'instructions':>13} {'IPC':>6}"
    yield f"{header}   most cycles lost to"
    for (name, machine), result in results.items():
        timeline = result.timeline
        verdict = "" if result.matches else "   WRONG RESULT"
        yield (
            f"  {name:<20} {machine:<17} {result.cycles:>7} {timeline.instructions:>13} "
            f"{timeline.ipc:>6.2f}   {_lost(result)}{verdict}"
        )


def _lost(result: road.Result) -> str:
    stalls = {c: v for c, v in result.timeline.stalls().items() if c is not Stall.RETIRING}
    if not stalls:
        return "nothing"
    worst = max(stalls, key=lambda cause: stalls[cause])
    share = stalls[worst] / max(1, result.cycles)
    return f"{worst.glossary.title} ({share:.0%})"


def _invitation() -> Iterator[str]:
    yield "Every result above agrees with a NumPy evaluator. Now with fewer registers, or closer:"
    program = "examples/softmax.hlo"
    yield f"  hob run {program} --registers vec=4          what four vector registers cost"
    yield f"  hob stages {program} --stage assembly --why  the code, and why it is so"
    yield f"  hob run {program} --machine simt/volta       the same rows, a warp each"

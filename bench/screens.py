"""The Run screen's diagram at 100,000 instructions by 1,000,000 cycles: `python bench/screens.py`.

Aims: a frame of 300x90 cells under 16 ms, going anywhere under 100 ms.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from textual.app import App, ComposeResult

from lab import road
from tui.widgets.pipeline import Pipeline
from vm.timeline import Timeline

ROWS, CYCLES = 100_000, 1_000_000
PROGRAM = Path(__file__).resolve().parent.parent / "examples" / "softmax.hlo"


def large_timeline() -> tuple[road.Result, Timeline]:
    """A real run's timeline, repeated to the wanted size and stretched to the wanted cycles."""
    result = road.run(road.load(PROGRAM))
    small = result.timeline
    copies = -(-ROWS // len(small))
    step = CYCLES // copies
    rows = np.arange(len(small) * copies)
    turn, place = rows // len(small), rows % len(small)
    uops = small.micro_ops
    uop = np.tile(np.arange(len(uops)), copies)
    late = np.repeat(np.arange(copies), len(uops)) * step
    micro_ops = replace(
        uops,
        **{name: (getattr(uops, name)[uop] + late) for name in ("ready", "issue", "complete")},
        **{name: getattr(uops, name)[uop] for name in ("static", "port", "wait", "producer", "hold",
                                                       "blocker", "run", "run_culprit", "row")},
    )  # fmt: skip
    first = np.append(small.first_micro_op[:-1][place] + turn * len(uops), len(uop))
    stream = replace(
        small.stream,
        static=small.stream.static[place],
        program=small.stream.program[place],
        warp=small.stream.warp[place],
    )
    stretched = {n: getattr(small, n)[place] + turn * step for n in ("fetch", "dispatch", "retire")}
    timeline = replace(
        small, cycles=CYCLES, stream=stream, static=small.static[place], micro_ops=micro_ops,
        first_micro_op=first, **stretched,
    )  # fmt: skip
    return result, timeline


class Stage(App[None]):
    """Only the diagram."""

    def compose(self) -> ComposeResult:
        yield Pipeline(id="pipeline")


async def measure() -> None:
    """Prints milliseconds of processor time for showing, for a frame, and for going far away."""
    result, timeline = large_timeline()
    app = Stage()
    async with app.run_test(size=(300, 90)) as pilot:
        pipeline = app.query_one(Pipeline)
        started = time.process_time()
        pipeline.show(timeline, result.execution.programs)
        await pilot.pause()
        print(f"{len(timeline):,} rows x {timeline.cycles:,} cycles at 300x90")
        print(f"show      {(time.process_time() - started) * 1000:8.1f} ms")
        frames = []
        for row in np.linspace(0, len(timeline) - 1, 20).astype(int).tolist():
            started = time.process_time()
            pipeline.go_to(row, int(timeline.fetch[row]))
            frame = time.process_time()
            pipeline._seen = None
            for y in range(90):
                pipeline.render_line(y)
            frames.append((time.process_time() - frame, frame - started))
            await pilot.pause()
        print(f"frame     {median(f for f, _ in frames) * 1000:8.1f} ms (aim: 16)")
        print(f"goto      {max(f + g for f, g in frames) * 1000:8.1f} ms at worst (aim: 100)")


if __name__ == "__main__":
    asyncio.run(measure())

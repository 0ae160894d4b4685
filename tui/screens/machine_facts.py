"""A machine's main facts as lines: what it issues, its registers, vectors, memory and clock."""

from __future__ import annotations

from collections.abc import Iterator

from isas.cores import Cache, Core, Order, Simt
from isas.model import Machine
from isas.registers import RegisterClass
from lab.words.words import Words
from tui import look
from tui.cells import fitted, width
from tui.widgets.panel import Line, paragraphs

ORDERS = {
    Order.IN_ORDER: "in order",
    Order.OUT_OF_ORDER: "out of order",
    Order.SIMT: "warps of threads",
}
"""How instructions leave for execution, in words."""
FLOAT_BITS = 32


def machine_lines(machine: Machine, words: Words, cells: int) -> list[Line]:
    """Names at the left, facts at the right, then where the figures come from."""
    facts = list(_facts(machine, words))
    longest = max(width(name) for name, _ in facts) + 2
    lines: list[Line] = []
    for name, text in facts:
        wrapped = paragraphs([(text, look.PLAIN)], cells - longest)
        for place, line in enumerate(wrapped):
            lines.append([(fitted("" if place else name, longest), look.DIM), *line])
    sources = words(" ".join(machine.core.sources.split()))
    return [*lines, [], *paragraphs([(sources, look.DIM)], cells)]


def _facts(machine: Machine, words: Words) -> Iterator[tuple[str, str]]:
    core = machine.core
    clock = words("{clock} GHz", clock=f"{core.clock_ghz:g}")
    yield words("core"), f"{core.title}, {words(ORDERS[core.order])}, {clock}"
    yield words("issue"), _issue(core, words)
    if core.reorder_buffer:
        yield words("window"), words(
            "reorder buffer {reorder}, schedulers {waiting}, loads {loads}, stores {stores}",
            reorder=core.reorder_buffer, waiting=core.scheduler_entries,
            loads=core.load_queue, stores=core.store_queue,
        )  # fmt: skip
    yield words("ports"), " ".join(core.ports)
    classes = machine.isa.registers.classes.values()
    yield words("registers"), words("; ").join(_registers(each, words) for each in classes)
    if core.vector_bits:
        lanes = f"{core.vector_bits // FLOAT_BITS}×f{FLOAT_BITS}"
        yield words("vectors"), words("{bits} bits, {lanes}", bits=core.vector_bits, lanes=lanes)
    if core.simt is not None:
        yield from _simt(core.simt, words)
    yield "L1", _cache(core.l1, words)
    yield words("a miss"), words("{cycles} cycles more", cycles=core.memory_latency_cycles)
    if core.mispredict_cycles:
        yield words("a wrong branch"), words("{cycles} cycles", cycles=core.mispredict_cycles)
    count = len(machine.isa.shapes_for(frozenset(core.features)))
    forms = words("{count} forms", count=count)
    yield words("instructions"), f"{forms}  {' '.join(core.features)}".rstrip()


def _issue(core: Core, words: Words) -> str:
    if core.simt is not None:
        return words(
            "{count} warp schedulers in each SM, an instruction per cycle each",
            count=core.simt.schedulers,
        )
    return words(
        "{fetch} fetched, {issue} issued, {retire} retired per cycle at most",
        fetch=core.fetch_width, issue=core.issue_width, retire=core.retire_width,
    )  # fmt: skip


def _registers(register_class: RegisterClass, words: Words) -> str:
    return words(
        "{name} {count} of {bits} bits",
        name=register_class.name,
        count=register_class.count,
        bits=register_class.views[register_class.spill_view].bits,
    )


def _simt(simt: Simt, words: Words) -> Iterator[tuple[str, str]]:
    yield words("warps"), words(
        "{size} threads each, {warps} in an SM; {count} SMs",
        size=simt.warp_size, warps=simt.warps_per_sm, count=simt.sm_count,
    )  # fmt: skip
    yield (
        words("in an SM"),
        words(
            "{registers} registers, {shared} KB of shared memory in {banks} banks",
            registers=simt.registers_per_sm,
            shared=simt.shared_bytes_per_sm // 1024,
            banks=simt.shared_banks,
        ),
    )


def _cache(cache: Cache, words: Words) -> str:
    return words(
        "{size} KB, {ways} ways, lines of {line} bytes, {cycles} cycles",
        size=cache.size_bytes // 1024, ways=cache.ways, line=cache.line_bytes,
        cycles=cache.latency_cycles,
    )  # fmt: skip

"""The Run screen's panels as lines: why, registers and slots, and totals so far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.style import Style

from isas.program import MemoryOperand, ProgramInstruction, RegisterOperand
from lab import road
from lab.words.words import Words
from tui import look
from tui.cells import fitted, right, width
from tui.totals import Totals
from tui.widgets.panel import Line, beside, paragraphs, plain
from vm.diagram import Stage
from vm.reasons import Reason
from vm.replay import Moment, RegisterValue, SlotValue
from vm.stalls import Wait
from vm.timeline import Timeline


def why_lines(
    result: road.Result, reason: Reason, instruction: ProgramInstruction, words: Words, cells: int
) -> list[Line]:
    """The cause in words, where the instruction comes from, and the legend."""
    stage = reason.stage
    cycles = (
        words("cycle {first}", first=reason.first)
        if reason.first == reason.last
        else words("cycles {first}–{last}", first=reason.first, last=reason.last)
    )
    head = f"{reason.text}  {cycles}  {stage.letter}  {words.reason(reason)}"
    origin = f"%{instruction.origin}" if instruction.origin else "–"
    note = f"  · {words.told(instruction.note)}" if instruction.note else ""
    names = "  ".join(name for name in instruction.names)
    source = words("from {origin}", origin=origin) + note + (f"  ← {names}" if names else "")
    texts = [(head, look.STRONG), (source, look.PLAIN)]
    return [*paragraphs(texts, cells), _legend(result.timeline, words)]


def _legend(timeline: Timeline, words: Words) -> Line:
    """Every letter of the diagram with its meaning."""
    shown = [Stage.WAIT_DATA, Stage.WAIT_RESOURCE, Stage.ISSUE, Stage.EXECUTE]
    names = {
        Stage.FETCH: "fetch",
        Stage.DISPATCH: "dispatch",
        Stage.WAIT_DATA: "waits for data",
        Stage.WAIT_RESOURCE: "waits for a resource",
        Stage.ISSUE: "issue",
        Stage.EXECUTE: "execute",
        Stage.DONE: "done",
        Stage.RETIRE: "retire",
    }
    stages = shown if timeline.simt is not None else list(names)
    pieces: list[tuple[str, Style]] = []
    for stage in stages:
        pieces.append((stage.letter, look.STAGES[stage]))
        pieces.append((f" {words(names[stage])}  ", look.DIM))
    return pieces


def state_lines(
    moment: Moment,
    instruction: ProgramInstruction,
    mask: int | None,
    words: Words,
    cells: int,
    form: str,
) -> list[Line]:
    """Registers after the row: changed ones, those it reads, the rest; and the slots."""
    lines: list[Line] = []
    if mask is not None:
        lines.append(_mask_line(mask, words, cells))
    used = _used(instruction)
    ranked = sorted(
        moment.registers,
        key=lambda r: (
            not r.is_changed,
            r.name not in used and r.name[1:] not in used,
            r.class_name == "",
        ),
    )
    longest = max([width(r.name) for r in moment.registers], default=4)
    slots = [slot for slot in moment.slots if not slot.place.is_kept]
    slot_lines = list(_slot_lines(slots, words, cells, form))
    lines += [_register_line(register, longest, cells, form) for register in ranked[:4]]
    if slot_lines:
        changed = any(slot.is_changed for slot in slots)
        shown = slot_lines if changed else slot_lines[:3]
        lines += [*shown, [("─" * cells, look.DIM)]]
    lines += [_register_line(register, longest, cells, form) for register in ranked[4:]]
    return lines + slot_lines[3:]


def _used(instruction: ProgramInstruction) -> set[str]:
    """Names of the registers the instruction mentions, also without the view's first letter."""
    found: set[str] = set()
    for operand in instruction.operands.values():
        if isinstance(operand, RegisterOperand):
            found |= {operand.register.name, operand.register.name[1:]}
        elif isinstance(operand, MemoryOperand):
            registers = [r for r in (operand.base, operand.index) if r is not None]
            found |= {register.name for register in registers}
    return found


def _mask_line(mask: int, words: Words, cells: int) -> Line:
    """The lanes that are active, drawn, or where there is no room for 32 in hexadecimal."""
    lanes = "".join("■" if mask >> lane & 1 else "·" for lane in range(32))
    count = mask.bit_count()
    text = words("lanes {count}/32", count=count)
    if width(text) + 33 > cells:
        lanes = _hexadecimal(mask, 32)
    return [(f"{text} ", look.STRONG), (lanes, look.PLAIN)]


def _register_line(register: RegisterValue, longest: int, cells: int, form: str) -> Line:
    mark = "▸" if register.is_changed else " "
    style = look.CHANGED if register.is_changed else look.PLAIN
    room = cells - longest - 3
    text = _lanes(register.lanes, room, form)
    return [(f"{fitted(register.name, longest)} {mark}", look.STRONG), (text, style)]


def _slot_lines(slots: list[SlotValue], words: Words, cells: int, form: str) -> Iterator[Line]:
    for slot in slots:
        mark = "▸" if slot.is_changed else " "
        style = look.CHANGED if slot.is_changed else look.PLAIN
        lanes = slot.lanes[0] if slot.lanes.ndim == 2 else slot.lanes
        head = f"{slot.place.name} {' '.join(slot.place.values)}"
        head = fitted(head, min(14, max(8, cells // 3)))
        text = _lanes(lanes, cells - width(head) - 2, form)
        yield [(f"{head} {mark}", look.STRONG), (text, style)]


def _lanes(lanes: NDArray[np.generic], room: int, form: str) -> str:
    """As many lanes as there is room for, and how many there are."""
    if lanes.dtype == np.bool_:
        if len(lanes) > room:
            mask = sum(1 << place for place, lane in enumerate(lanes) if lane)
            return _hexadecimal(mask, len(lanes))
        return "".join("1" if lane else "0" for lane in lanes)
    shown = _formatted(lanes, form)
    if len(shown) == 1:
        return right(shown[0], 0)
    if room < 30:
        return _tight(shown, room)
    cell = max(8, 1 + max(map(width, shown)))
    count = max(1, (room - 6) // cell)
    text = "".join(right(value, cell) for value in shown[:count])
    kind = {"f": "f", "u": "u", "i": "s"}.get(lanes.dtype.kind, "?")
    rest = " …" if count < len(shown) else "  "
    tail = f"{rest}{len(shown)}×{kind}{lanes.dtype.itemsize * 8}"
    return text + tail if width(text) + len(tail) <= room else text + rest.rstrip()


def _hexadecimal(mask: int, lanes: int) -> str:
    """A mask with lane 0 as its lowest bit."""
    return f"0x{mask:0{-(-lanes // 4)}x}"


def _tight(shown: list[str], room: int) -> str:
    """Lanes one after the other, and an ellipsis where some do not fit."""
    text = ""
    for place, value in enumerate(shown):
        longer = f"{text} {value}".lstrip()
        if width(longer) > room - 2 * (place + 1 < len(shown)):
            return f"{text} …"
        text = longer
    return text


def _formatted(lanes: NDArray[np.generic], form: str) -> list[str]:
    if form == "x":
        words = lanes.view(f"u{lanes.dtype.itemsize}")
        return [f"{int(word):x}" for word in words]
    if form == "d" and lanes.dtype.kind == "f":
        lanes = lanes.view(f"i{lanes.dtype.itemsize}")
    if lanes.dtype.kind == "f":
        return [_short(float(value)) for value in lanes]
    if len(lanes) == 1 and not form:
        value = int(lanes[0])
        return [f"{value:#x}" + (f" = {value}" if 9 < value < 1 << 32 else "")]
    return [str(int(value)) for value in lanes]


def _short(value: float) -> str:
    """A float in at most seven characters."""
    for digits in (4, 3, 2, 1):
        text = f"{value:.{digits}g}"
        if len(text) <= 7:
            return text
    return f"{value:.0e}"


def totals_lines(totals: Totals, cycle: int, words: Words, cells: int) -> list[Line]:
    """Counters, what was lost so far, and in the whole run; the largest causes first."""
    timeline, retired = totals.timeline, totals.retired_until(cycle)
    lines: list[Line] = [
        beside(
            (words("cycle {cycle} of {cycles}", cycle=cycle, cycles=timeline.cycles), look.STRONG),
            (f"IPC {timeline.ipc:.2f}", look.PLAIN), cells,
        ),
        plain(words("retired {count} of {total}", count=retired, total=len(timeline))),
    ]  # fmt: skip
    so_far = totals.lost_until(cycle)
    name_room = max(8, cells - 14)
    lines.append(
        [
            (fitted("", name_room), look.DIM),
            (right(words("so far"), 7), look.DIM),
            (right(words("all"), 7), look.DIM),
        ]
    )
    for stall, cycles in totals.stalls.items():
        if cycles < 0.5:
            continue
        glyph = {Wait.DATA: "●", Wait.RESOURCE: "○", Wait.NOTHING: " "}[stall.glossary.wait]
        name = fitted(f"{glyph} {words.stall(stall)}", name_room)
        numbers = right(f"{so_far[stall.code]:.0f}", 7) + right(f"{cycles:.0f}", 7)
        lines.append([(name, look.PLAIN), (numbers, look.STRONG)])
    return lines


def glossary_lines(timeline: Timeline, words: Words, cells: int) -> list[Line]:
    """The causes of this run with their meaning, the most expensive first."""
    lines: list[Line] = []
    for stall, cycles in timeline.stalls().items():
        share = cycles / max(1, timeline.cycles)
        head = f"{stall.glossary.wait.value} {words.stall(stall)}  {cycles:.0f} ({share:.0%})"
        lines += paragraphs(
            [(head, look.STRONG), (f"  {words(stall.glossary.meaning)}", look.PLAIN)], cells
        )
    return lines

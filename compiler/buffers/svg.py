"""The picture of the arena as SVG, true to scale: time to the right, bytes upwards. Below the entry
computation stands a panel for everything that loops and branches run, in steps of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from compiler.buffers.assign import Assignment
from compiler.buffers.liveness import Role
from compiler.buffers.picture import heading
from compiler.buffers.places import Placement
from isas.saying import Say, english

WIDTH, HEIGHT, LEFT, TOP, BELOW = 960, 480, 80, 24, 56
INNER, GAP = 240, 52
"""Height of a panel of what a loop or branch runs, and the room above it."""
COLORS = {
    Role.PARAMETER: "#9ecae1",
    Role.OUTPUT: "#74c476",
    Role.TEMPORARY: "#fdae6b",
    Role.SCRATCH: "#bcbddc",
    Role.CONSTANT: "#d9d9d9",
}
GREYS = {
    Role.PARAMETER: "#d0d0d0",
    Role.OUTPUT: "#a8a8a8",
    Role.TEMPORARY: "#bcbcbc",
    Role.SCRATCH: "#e4e4e4",
    Role.CONSTANT: "#f0f0f0",
}
HATCHES = {
    Role.OUTPUT: "M0 8L8 0",
    Role.TEMPORARY: "M0 0L8 8",
    Role.SCRATCH: "M0 4H8M4 0V8",
    Role.CONSTANT: "M0 4H8",
}
"""Lines in a square of 8 pixels, so that no role is told by its colour alone."""
LEAST_TEXT = 11
"""Boxes lower than this many pixels carry no name."""


def svg(assignment: Assignment, title: str, say: Say = english, is_coloured: bool = True) -> str:
    """A standalone SVG document; every box says its array, bytes and steps when pointed at."""
    inks = Inks(COLORS, "#d62728") if is_coloured else Inks(GREYS, "#000000")
    size = assignment.peak_bytes
    entry = Panel(title, assignment.placements, len(assignment.launches), size, TOP, HEIGHT)
    inner = [
        Panel(
            heading(assignment, region, say),
            [p for p in region.placements if p.array.role is not Role.CONSTANT],
            len(region.launches),
            size,
            TOP + HEIGHT + GAP + number * (INNER + GAP),
            INNER,
        )
        for number, region in enumerate(assignment.regions.values())
    ]
    bottom = (entry, *inner)[-1].bottom
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 16} '
        f'{bottom + BELOW}" font-family="sans-serif" font-size="11">',
        *(_hatch(role) for role in HATCHES),
        *(part for panel in (entry, *inner) for part in _panel(panel, say, inks)),
        _live_line(entry, assignment.live_bytes, inks),
        *_legend((entry, *inner), bottom + 40, say, inks),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture of the arena: arrays over the steps of one computation. ``top`` and ``height``
    are pixels."""

    title: str
    placements: Sequence[Placement]
    steps: int
    size_bytes: int
    top: int
    height: int

    @property
    def bottom(self) -> int:
        return self.top + self.height

    def x(self, step: int) -> float:
        return LEFT + (step + 1) * WIDTH / (self.steps + 2)

    def y(self, offset: int) -> float:
        return self.bottom - offset * self.height / max(self.size_bytes, 1)


def _panel(panel: Panel, say: Say, inks: Inks) -> list[str]:
    return [
        f'<text x="{LEFT}" y="{panel.top - 8}" font-size="13">{escape(panel.title)}</text>',
        f'<rect x="{LEFT}" y="{panel.top}" width="{WIDTH}" height="{panel.height}" '
        f'fill="#f7f7f7"/>',
        *(_box(panel, placement, say, inks) for placement in panel.placements),
        *_axis(panel),
    ]


@dataclass(frozen=True, slots=True)
class Inks:
    """The fill of every role, and the colour of the line of living bytes."""

    roles: Mapping[Role, str]
    line: str


def _hatch(role: Role) -> str:
    return (
        f'<pattern id="{role.value}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<path d="{HATCHES[role]}" stroke="#555" stroke-width="0.5"/></pattern>'
    )


def _filled(place: str, role: Role, inks: Inks) -> str:
    """A rectangle in the role's colour, and its hatching over it."""
    filled = f'<rect {place} fill="{inks.roles[role]}" stroke="#555" stroke-width="0.5"/>'
    return filled + (f'<rect {place} fill="url(#{role.value})"/>' if role in HATCHES else "")


def _box(panel: Panel, placement: Placement, say: Say, inks: Inks) -> str:
    array, place = placement.array, placement.slice
    if not place.size_bytes:
        return ""
    left, right = panel.x(array.start), panel.x(array.end + 1)
    top, bottom = panel.y(place.end), panel.y(place.offset)
    about = say(
        "{name}: {size} bytes at {offset}, steps {start} to {end}, {role}",
        name=array.name,
        size=place.size_bytes,
        offset=place.offset,
        start=array.start,
        end=array.end,
        role=say(array.role.value),
    )
    rectangle = (
        f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
    )
    box = f"<g><title>{escape(about)}</title>{_filled(rectangle, array.role, inks)}"
    room = int((right - left - 6) / 6)
    if bottom - top < LEAST_TEXT or room < 2:
        return box + "</g>"
    name = array.name if len(array.name) <= room else array.name[: room - 1] + "…"
    middle = (top + bottom) / 2 + 4
    return f'{box}<text x="{left + 3:.1f}" y="{middle:.1f}">{escape(name)}</text></g>'


def _live_line(panel: Panel, live_bytes: Sequence[int], inks: Inks) -> str:
    """How many bytes are alive in each step."""
    points = []
    for number, live in enumerate(live_bytes):
        left, right, height = panel.x(number - 1), panel.x(number), panel.y(live)
        points += [f"{left:.1f},{height:.1f}", f"{right:.1f},{height:.1f}"]
    return (
        f'<polyline points="{" ".join(points)}" fill="none" stroke="{inks.line}" '
        f'stroke-width="1.5"/>'
    )


def _axis(panel: Panel) -> list[str]:
    parts = []
    for quarter in range(5):
        offset = panel.size_bytes * quarter // 4
        height = panel.y(offset)
        parts.append(f'<text x="{LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{offset}</text>')
    every = max(1, panel.steps // 24)
    for step in range(0, panel.steps, every):
        parts.append(f'<text x="{panel.x(step) + 2:.1f}" y="{panel.bottom + 14}">{step}</text>')
    return parts


def _legend(panels: Sequence[Panel], height: int, say: Say, inks: Inks) -> list[str]:
    parts = []
    left = float(LEFT)
    used = {p.array.role for panel in panels for p in panel.placements}
    for role in Role:
        if role in used:
            square = f'x="{left}" y="{height - 10}" width="12" height="12"'
            parts.append(_filled(square, role, inks))
            parts.append(f'<text x="{left + 16}" y="{height}">{escape(say(role.value))}</text>')
            left += 110
    parts.append(
        f'<text x="{left}" y="{height}" fill="{inks.line}">— {escape(say("bytes alive"))}</text>'
    )
    return parts

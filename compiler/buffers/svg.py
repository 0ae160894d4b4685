"""The picture of the arena as SVG, true to scale: time to the right, bytes upwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from compiler.buffers.assign import Assignment, Placement
from compiler.buffers.liveness import Role
from isas.saying import Say, english

WIDTH, HEIGHT, LEFT, TOP, BELOW = 960, 480, 80, 24, 56
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
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 16} '
        f'{TOP + HEIGHT + BELOW}" font-family="sans-serif" font-size="11">',
        *(_hatch(role) for role in HATCHES),
        f'<text x="{LEFT}" y="16" font-size="13">{escape(title)}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="#f7f7f7"/>',
        *(_box(assignment, placement, say, inks) for placement in assignment.placements),
        _live_line(assignment, inks),
        *_axis(assignment),
        *_legend(assignment, say, inks),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


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


def _x(assignment: Assignment, step: int) -> float:
    return LEFT + (step + 1) * WIDTH / (len(assignment.launches) + 2)


def _y(assignment: Assignment, offset: int) -> float:
    return TOP + HEIGHT - offset * HEIGHT / max(assignment.peak_bytes, 1)


def _box(assignment: Assignment, placement: Placement, say: Say, inks: Inks) -> str:
    array, place = placement.array, placement.slice
    if not place.size_bytes:
        return ""
    left, right = _x(assignment, array.start), _x(assignment, array.end + 1)
    top, bottom = _y(assignment, place.end), _y(assignment, place.offset)
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


def _live_line(assignment: Assignment, inks: Inks) -> str:
    """How many bytes are alive in each step."""
    points = []
    for number, live in enumerate(assignment.live_bytes):
        left, right = _x(assignment, number - 1), _x(assignment, number)
        height = _y(assignment, live)
        points += [f"{left:.1f},{height:.1f}", f"{right:.1f},{height:.1f}"]
    return (
        f'<polyline points="{" ".join(points)}" fill="none" stroke="{inks.line}" '
        f'stroke-width="1.5"/>'
    )


def _axis(assignment: Assignment) -> list[str]:
    parts = []
    for quarter in range(5):
        offset = assignment.peak_bytes * quarter // 4
        height = _y(assignment, offset)
        parts.append(f'<text x="{LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{offset}</text>')
    every = max(1, len(assignment.launches) // 24)
    for step in range(0, len(assignment.launches), every):
        left = _x(assignment, step)
        parts.append(f'<text x="{left + 2:.1f}" y="{TOP + HEIGHT + 14}">{step}</text>')
    return parts


def _legend(assignment: Assignment, say: Say, inks: Inks) -> list[str]:
    parts = []
    left = float(LEFT)
    height = TOP + HEIGHT + 40
    for role in Role:
        if role in {p.array.role for p in assignment.placements}:
            square = f'x="{left}" y="{height - 10}" width="12" height="12"'
            parts.append(_filled(square, role, inks))
            parts.append(f'<text x="{left + 16}" y="{height}">{escape(say(role.value))}</text>')
            left += 110
    parts.append(
        f'<text x="{left}" y="{height}" fill="{inks.line}">— {escape(say("bytes alive"))}</text>'
    )
    return parts

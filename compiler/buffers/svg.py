"""The picture of the arena as SVG, true to scale: time to the right, bytes upwards."""

from __future__ import annotations

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
LEAST_TEXT = 11
"""Boxes lower than this many pixels carry no name."""


def svg(assignment: Assignment, title: str, say: Say = english) -> str:
    """A standalone SVG document; every box says its array, bytes and steps when pointed at."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 16} '
        f'{TOP + HEIGHT + BELOW}" font-family="sans-serif" font-size="11">',
        f'<text x="{LEFT}" y="16" font-size="13">{escape(title)}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="#f7f7f7"/>',
        *(_box(assignment, placement, say) for placement in assignment.placements),
        _live_line(assignment),
        *_axis(assignment),
        *_legend(assignment, say),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _x(assignment: Assignment, step: int) -> float:
    return LEFT + (step + 1) * WIDTH / (len(assignment.launches) + 2)


def _y(assignment: Assignment, offset: int) -> float:
    return TOP + HEIGHT - offset * HEIGHT / max(assignment.peak_bytes, 1)


def _box(assignment: Assignment, placement: Placement, say: Say) -> str:
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
    box = (
        f'<g><title>{escape(about)}</title><rect x="{left:.1f}" y="{top:.1f}" '
        f'width="{right - left:.1f}" height="{bottom - top:.1f}" fill="{COLORS[array.role]}" '
        f'stroke="#555" stroke-width="0.5"/>'
    )
    room = int((right - left - 6) / 6)
    if bottom - top < LEAST_TEXT or room < 2:
        return box + "</g>"
    name = array.name if len(array.name) <= room else array.name[: room - 1] + "…"
    middle = (top + bottom) / 2 + 4
    return f'{box}<text x="{left + 3:.1f}" y="{middle:.1f}">{escape(name)}</text></g>'


def _live_line(assignment: Assignment) -> str:
    """How many bytes are alive in each step."""
    points = []
    for number, live in enumerate(assignment.live_bytes):
        left, right = _x(assignment, number - 1), _x(assignment, number)
        height = _y(assignment, live)
        points += [f"{left:.1f},{height:.1f}", f"{right:.1f},{height:.1f}"]
    return (
        f'<polyline points="{" ".join(points)}" fill="none" stroke="#d62728" stroke-width="1.5"/>'
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


def _legend(assignment: Assignment, say: Say) -> list[str]:
    parts = []
    left = float(LEFT)
    height = TOP + HEIGHT + 40
    for role in Role:
        if role in {p.array.role for p in assignment.placements}:
            parts.append(
                f'<rect x="{left}" y="{height - 10}" width="12" height="12" fill="{COLORS[role]}"/>'
            )
            parts.append(f'<text x="{left + 16}" y="{height}">{escape(say(role.value))}</text>')
            left += 110
    parts.append(
        f'<text x="{left}" y="{height}" fill="#d62728">— {escape(say("bytes alive"))}</text>'
    )
    return parts

"""Prints a buffer assignment: every array with its place in the arena and the steps it lives in."""

from __future__ import annotations

from compiler.buffers.assign import Assignment, Placement
from isas.document import Document, Printer

BAR = 24


def document(assignment: Assignment) -> Document:
    """One line per array: offset, size, a bar of the steps in which it is alive, role and name."""
    printer = Printer("buffers")
    printer.add(
        f"arena {assignment.peak_bytes} bytes; {assignment.buffer_bytes} without reuse; "
        f"at most {assignment.lower_bound_bytes} alive at once"
    )
    steps = len(assignment.launches)
    printer.add(f"{'offset':>10} {'bytes':>10}  {'steps':<{BAR + 2}}  array")
    for placement in sorted(assignment.placements, key=_place):
        printer.add(_line(placement, steps), placement.array.name, (placement.array.value[0],))
    for constant in assignment.constants:
        where = f"{constant.slice.offset:>10} {constant.slice.size_bytes:>10}"
        line = f"{where}  {'always':<{BAR + 2}}  constant {constant.name}"
        printer.add(line, constant.name, (constant.name,))
    for number, launch in enumerate(assignment.launches):
        printer.add(f"step {number}: {launch}", launch, (launch,))
    return printer.finish()


def _place(placement: Placement) -> tuple[int, int]:
    return (placement.slice.offset, placement.array.start)


def _line(placement: Placement, steps: int) -> str:
    array, place = placement.array, placement.slice
    bar = _bar(array.start, array.end, steps)
    role = str(array.role.value)
    return f"{place.offset:>10} {place.size_bytes:>10}  {bar}  {role} {array.name}"


def _bar(start: int, end: int, steps: int) -> str:
    """Steps -1 to `steps`, scaled to the bar."""
    width = BAR if steps + 2 > BAR else steps + 2
    first = (start + 1) * width // (steps + 2)
    last = max(first, (end + 1) * width // (steps + 2))
    cells = "·" * first + "━" * (last - first + 1) + "·" * (width - last - 1)
    return f"|{cells}|" + " " * (BAR - width)

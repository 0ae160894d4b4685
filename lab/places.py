"""Where an instruction comes from in the user's own program, as JAX and PyTorch tell."""

from __future__ import annotations

import re

from compiler.hlo.module import Instruction, Module
from isas.errors import HobError

_ROW = re.compile(r"\s*(\d+)\s+(.*)", re.DOTALL)
_FIELD = re.compile(r"(\w+)=(\d+)")


def user_place(module: Module, instruction: Instruction) -> str | None:
    """`file:line`, from the metadata itself or through the module's stack frames."""
    metadata = instruction.metadata
    if metadata is None:
        return None
    if metadata.source_file:
        return _joined(metadata.source_file, metadata.source_line)
    if metadata.stack_frame_id is None:
        return None
    frame = _numbers(module, "StackFrames", metadata.stack_frame_id)
    location = _numbers(module, "FileLocations", frame.get("file_location_id", 0))
    file = _row(module, "FileNames", location.get("file_name_id", 0))
    return _joined(file.strip('"'), location.get("line")) if file else None


def place_of(module: Module, error: HobError) -> str | None:
    """The place of the instruction that an error is about: the one on the line of the module's text
    that it names, else the one whose name it begins with. Where a library's function holds it, the
    place of the call."""
    line = (error.where or "").rpartition(":")[2]
    name = error.message.partition(":")[0].partition(" ")[0]
    pairs = [(c, i) for c in module.computations for i in c]
    found = [pair for pair in pairs if pair[1].line and str(pair[1].line) == line]
    found += [pair for pair in pairs if pair[1].name == name]
    for computation, instruction in found:
        place = user_place(module, instruction) or _call_place(module, computation.name, set())
        if place is not None:
            return place
    return None


def _call_place(module: Module, name: str, seen: set[str]) -> str | None:
    """The place of an instruction that calls a computation, callers of callers included."""
    seen.add(name)
    for computation in module.computations:
        for instruction in computation:
            if name not in instruction.callees:
                continue
            place = user_place(module, instruction)
            if place is None and computation.name not in seen:
                place = _call_place(module, computation.name, seen)
            if place is not None:
                return place
    return None


def _joined(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"


def _row(module: Module, table: str, number: int) -> str:
    """The row of a table with this number, empty when there is none."""
    for found in module.tables:
        for row in found.rows if found.name == table else ():
            match = _ROW.match(row)
            if match is not None and int(match[1]) == number:
                return match[2].strip()
    return ""


def _numbers(module: Module, table: str, number: int) -> dict[str, int]:
    return {key: int(value) for key, value in _FIELD.findall(_row(module, table, number))}

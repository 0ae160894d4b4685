"""Rules of a whole module: entry layout, aliases and donors, threads, channels."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.hlo.errors import HloVerifyError
from compiler.hlo.infer.base import check
from compiler.hlo.module import Alias, Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rules.attributes import stray_in_header
from compiler.hlo.shape import ArrayShape, Shape, TupleShape, compatible, subshape

_SENDS = (Opcode.SEND, Opcode.SEND_DONE, Opcode.RECV, Opcode.RECV_DONE)
_ASYNC = (Opcode.ASYNC_START, Opcode.ASYNC_UPDATE, Opcode.ASYNC_DONE)


def check_interface(module: Module) -> None:
    """What the header says about the entry must be true of it. Raises HloVerifyError."""
    stray = stray_in_header(module)
    if stray:
        raise HloVerifyError(f"a module takes no attribute {stray}", module.name)
    _check_entry_layout(module)
    seen: set[tuple[int, ...]] = set()
    for alias in module.aliases:
        problem = _alias_problem(module, alias, seen)
        if problem:
            raise HloVerifyError(problem, module.name)
        seen.add(alias.output_index)
    _check_donors(module)


def _check_entry_layout(module: Module) -> None:
    layout = module.entry_layout
    if layout is None:
        return
    entry = module.entry_computation
    parameters = tuple(p.shape for p in entry.parameters)
    pairs = [*zip(layout.parameters, parameters, strict=False), (layout.result, entry.shape)]
    fits = len(parameters) == len(layout.parameters)
    if not fits or not all(compatible(a, b) for a, b in pairs):
        rule = f"entry_computation_layout {layout} does not fit computation {entry.name}"
        raise HloVerifyError(rule, module.name)


def _check_donors(module: Module) -> None:
    parameters = module.entry_computation.parameters
    aliased = {(alias.parameter, alias.parameter_index) for alias in module.aliases}
    for donor in module.donors:
        number, index = donor.parameter, donor.parameter_index
        part = _part(parameters[number].shape, index) if number < len(parameters) else None
        named = f"buffer_donor names ({number}, {_index(index)})"
        if not isinstance(part, ArrayShape):
            raise HloVerifyError(f"{named}, which is no array of the entry", module.name)
        if (number, index) in aliased:
            rule = f"{named}, which input_output_alias names already"
            raise HloVerifyError(rule, module.name)


def _alias_problem(module: Module, alias: Alias, seen: set[tuple[int, ...]]) -> str:
    entry = module.entry_computation
    parameters = entry.parameters
    if alias.parameter >= len(parameters):
        return f"input_output_alias names parameter {alias.parameter}, there are {len(parameters)}"
    parameter = _part(parameters[alias.parameter].shape, alias.parameter_index)
    output = _part(entry.shape, alias.output_index)
    if parameter is None or output is None:
        return f"input_output_alias {_written(alias)} names a part that is not there"
    if alias.output_index in seen:
        return f"input_output_alias names output {_index(alias.output_index)} twice"
    if _bytes(parameter) != _bytes(output):
        return f"input_output_alias puts {output} into the memory of {parameter}"
    return ""


def _part(shape: Shape, index: tuple[int, ...]) -> Shape | None:
    try:
        return subshape(shape, index)
    except IndexError:
        return None


def _bytes(shape: Shape) -> int:
    return -1 if isinstance(shape, TupleShape) else shape.size_bytes


def _index(index: tuple[int, ...]) -> str:
    return "{" + ",".join(map(str, index)) + "}"


def _written(alias: Alias) -> str:
    parameter = f"({alias.parameter}, {_index(alias.parameter_index)})"
    return f"{_index(alias.output_index)}: {parameter}"


def check_threads(
    computation: Computation, instruction: Instruction, computations: Mapping[str, Computation]
) -> None:
    """What the main thread calls runs there too, unless it is started asynchronously.

    A computation that is started takes its callees along to its thread. Raises InferenceError.
    """
    here = computation.attributes.get("execution_thread", "main")
    if here != "main" or instruction.opcode in _ASYNC:
        return
    for name in instruction.callees:
        there = computations[name].attributes.get("execution_thread", "main")
        check(there == "main", f"computation {name} runs on thread {there}, its caller on main")


def check_channel(instruction: Instruction, channels: dict[int, bool]) -> None:
    """A channel serves send and recv, or collectives, not both. Raises InferenceError."""
    channel = instruction.attributes.get("channel_id")
    if not isinstance(channel, int):
        return
    is_send = instruction.opcode in _SENDS
    rule = f"channel {channel} serves both transfers and collectives"
    check(channels.setdefault(channel, is_send) == is_send, rule)

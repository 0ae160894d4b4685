"""Writers of operations with regions: calls, loops, branches, reductions, sorts, collectives."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from compiler.frontend.stablehlo.printing.outside import channel_of
from compiler.frontend.stablehlo.printing.spelling import (
    i64_array,
    i64_matrix,
    truth,
    type_name,
)
from compiler.frontend.stablehlo.printing.structured import (
    numbers,
    operands_of,
    written,
)
from compiler.hlo.attributes import Window
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.quoting import quoted
from compiler.hlo.shape import ElementType, TupleShape, leaves

if TYPE_CHECKING:
    from compiler.frontend.stablehlo.printing.functions import FunctionPrinter

Writer: TypeAlias = "Callable[[FunctionPrinter, Computation, Instruction], None]"
Attributes: TypeAlias = dict[str, str]

_COMPOSITE = re.compile(r'composite\.(\w+)="((?:[^"\\]|\\.)*)"')


def _applying(
    name: str,
    attributes: Callable[[Instruction], Attributes],
    keys: Sequence[str] = ("to_apply",),
) -> Writer:
    """An operation whose regions are scalar computations."""

    def write(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
        from compiler.frontend.stablehlo.printing.functions import shaped

        called = [instruction.attributes[key] for key in keys]

        def region(callee: str) -> Callable[[], None]:
            count = len(p.module.module.computation(callee).parameters)
            return lambda: p.region(callee, [None] * count, begin="", end="")

        names = p.generic(
            name,
            instruction,
            operands_of(p, computation, instruction),
            attributes(instruction),
            [region(callee) for callee in called],
        )
        p.trees[instruction.name] = shaped(names, instruction.shape)

    return write


def _dimensions(i: Instruction) -> Attributes:
    return {"dimensions": i64_array(i.dimensions)}


def _window(i: Instruction) -> Attributes:
    window: Window = i.attributes.get("window", Window())
    dims = window.dimensions
    return {
        "base_dilations": i64_array([d.base_dilation for d in dims]),
        "padding": i64_matrix([(d.pad_low, d.pad_high) for d in dims]),
        "window_dilations": i64_array([d.window_dilation for d in dims]),
        "window_dimensions": i64_array([d.size for d in dims]),
        "window_strides": i64_array([d.stride for d in dims]),
    }


def _select_window(i: Instruction) -> Attributes:
    return {k: v for k, v in _window(i).items() if not k.endswith("dilations")}


def _sort(i: Instruction) -> Attributes:
    return {
        "dimension": f"{i.dimensions[0]} : i64",
        "is_stable": truth(i.attributes.get("is_stable", False)),
    }


_SCATTER = {
    "update_window_dims": "update_window_dims",
    "inserted_window_dims": "inserted_window_dims",
    "input_batching_dims": "input_batching_dims",
    "scatter_indices_batching_dims": "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims": "scatter_dims_to_operand_dims",
}


def _scatter(i: Instruction) -> Attributes:
    return {
        "indices_are_sorted": truth(i.attributes.get("indices_are_sorted", False)),
        "scatter_dimension_numbers": f"#stablehlo.scatter<{numbers(i, _SCATTER)}>",
        "unique_indices": truth(i.attributes.get("unique_indices", False)),
    }


def _scan(i: Instruction) -> Attributes:
    carries = i.attributes.get("num_carries", 1)
    inputs = len(i.operands) - carries
    outputs = len(leaves(i.shape)) - carries
    return {
        "dimension": f"{i.dimensions[0]} : i64",
        "is_reverse": truth(i.attributes.get("is_reverse", False)),
        "operandSegmentSizes": f"array<i32: {inputs}, {carries}>",
        "resultSegmentSizes": f"array<i32: {outputs}, {carries}>",
    }


def _groups(i: Instruction) -> Attributes:
    """Replica groups and channel. Only lists of numbers are understood."""
    text = str(i.attributes.get("replica_groups", "{}"))
    rows = [
        [int(v) for v in row.split(",") if v.strip()] for row in re.findall(r"\{([\d,\s]+)\}", text)
    ]
    entries = {"replica_groups": i64_matrix(rows or [()]), **channel_of(i)}
    if i.attributes.get("use_global_device_ids", False):
        entries["use_global_device_ids"] = "unit"
    return entries


def _along(key: str) -> Callable[[Instruction], Attributes]:
    return lambda i: {key: f"{i.dimensions[0]} : i64", **_groups(i)}


def _all_to_all(i: Instruction) -> Attributes:
    entries = _groups(i)
    text = str(i.attributes.get("replica_groups", ""))
    first = re.search(r"\{([\d,\s]+)\}", text)
    count = len(first[1].split(",")) if first else 1
    dimension = f"{(i.dimensions or (0,))[0]} : i64"
    return {
        "concat_dimension": dimension,
        "split_count": f"{count} : i64",
        "split_dimension": dimension,
        **entries,
    }


def _while(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    from compiler.frontend.stablehlo.printing.functions import flat, shaped

    shape = instruction.shape
    state = flat(p.tree(instruction.operands[0]))
    kinds = [type_name(leaf) for leaf in leaves(shape)]
    if not state:
        raise p.refused("a loop that carries nothing")
    arguments = [p.new_name("iterArg") for _ in state]
    result = p.new_name(instruction.name)
    head = f"{result}:{len(state)} = " if len(state) > 1 else f"{result} = "
    pairs = ", ".join(f"{a} = {s}" for a, s in zip(arguments, state, strict=True))
    p.lines.append(f"{p.indent}{head}stablehlo.while({pairs}) : {', '.join(kinds)}")
    inner = shaped(arguments, shape)
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    p.region(condition, [inner], begin="cond {", end="} do {")
    p.region(body, [inner], begin="", end="")
    p.add("}")
    names = [result] if len(state) == 1 else [f"{result}#{i}" for i in range(len(state))]
    p.trees[instruction.name] = shaped(names, shape)


def _conditional(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    from compiler.frontend.stablehlo.printing.functions import shaped

    get = instruction.attributes.get
    branches = get("branch_computations") or (get("true_computation"), get("false_computation"))
    selector, *given = instruction.operands
    shape = computation.instruction(selector).array
    is_choice = shape.element_type is ElementType.PRED

    def region(callee: str, operand: str) -> Callable[[], None]:
        return lambda: p.region(callee, [p.tree(operand)], begin="", end="")

    regions = [region(b, o) for b, o in zip(branches, given, strict=True)]
    name = "stablehlo.if" if is_choice else "stablehlo.case"
    operands = [(p.name(selector), shape)]
    names = p.generic(name, instruction, operands, {}, regions)
    p.trees[instruction.name] = shaped(names, instruction.shape)


def _call(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    from compiler.frontend.stablehlo.printing.functions import shaped, symbol

    callee = instruction.callees[0]
    operands = operands_of(p, computation, instruction)
    name = p.module.symbol(callee)
    if instruction.attributes.get("is_composite", False):
        entries = {"decomposition": f"@{symbol(name)}", **_composite(instruction)}
        names = p.generic("stablehlo.composite", instruction, operands, entries)
    else:
        names = p.generic("func.call", instruction, operands, {"callee": f"@{symbol(name)}"})
    p.trees[instruction.name] = shaped(names, instruction.shape)


def _composite(instruction: Instruction) -> Attributes:
    found = dict(_COMPOSITE.findall(str(instruction.attributes.get("frontend_attributes", ""))))
    details = found.get("attributes", "{}").replace('\\"', '"').replace("\\\\", "\\")
    return {
        "name": quoted(found.get("name", "")),
        "composite_attributes": details or "{}",
        "version": f"{found.get('version', '0') or '0'} : i32",
    }


def _tuple_shaped(writer: Writer) -> Writer:
    """For operations whose result StableHLO has as several values."""

    def write(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
        if not isinstance(instruction.shape, TupleShape):
            raise p.refused(f"a result of shape {instruction.shape}")
        writer(p, computation, instruction)

    return write


WRITERS: dict[Opcode, Writer] = {
    Opcode.REDUCE: _applying("stablehlo.reduce", _dimensions),
    Opcode.REDUCE_WINDOW: _applying("stablehlo.reduce_window", _window),
    Opcode.SELECT_AND_SCATTER: _applying(
        "stablehlo.select_and_scatter", _select_window, ("select", "scatter")
    ),
    Opcode.SORT: _applying("stablehlo.sort", _sort),
    Opcode.MAP: _applying("stablehlo.map", _dimensions),
    Opcode.SCATTER: _applying("stablehlo.scatter", _scatter),
    Opcode.SCAN: _tuple_shaped(_applying("chlo.scan", _scan)),
    Opcode.WHILE: _while,
    Opcode.CONDITIONAL: _conditional,
    Opcode.CALL: _call,
    Opcode.FUSION: _call,
    Opcode.ALL_REDUCE: _applying("stablehlo.all_reduce", _groups),
    Opcode.REDUCE_SCATTER: _applying("stablehlo.reduce_scatter", _along("scatter_dimension")),
    Opcode.COLLECTIVE_REDUCE: _applying("stablehlo.collective_reduce", _groups),
    Opcode.ALL_GATHER: written("stablehlo.all_gather", _along("all_gather_dim")),
    Opcode.ALL_TO_ALL: written("stablehlo.all_to_all", _all_to_all),
    Opcode.COLLECTIVE_BROADCAST: written("stablehlo.collective_broadcast", _groups),
}

"""Walks an FX graph of core ATen operators and lowers each node by its rule.

Every result is checked against the shape that PyTorch declares for it and converted to the declared
type. An operator without a rule is named together with its node and the user's line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from compiler.frontend.torch import (
    activations,
    choices,
    contractions,
    creation,
    fourier,
    indexing,
    linalg,
    movement,
    normalization,
    pointwise,
    pooling,
    randomness,
    reductions,
    resampling,
    scans,
    special,
)
from compiler.frontend.torch.build import Builder, Value, array_shape
from compiler.frontend.torch.dtypes import element_type
from compiler.frontend.torch.pointwise import Rule
from compiler.frontend.torch.randomness import Draw
from compiler.hlo.attributes import Metadata
from compiler.hlo.infer import InferenceError
from compiler.hlo.module import Module
from compiler.hlo.shape import ArrayShape
from compiler.hlo.verify import verify
from isas.errors import HobError, InternalError, UnsupportedError

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **pointwise.TABLE,
        **choices.TABLE,
        **activations.TABLE,
        **reductions.TABLE,
        **contractions.TABLE,
        **pooling.TABLE,
        **resampling.TABLE,
        **normalization.TABLE,
        **movement.TABLE,
        **indexing.TABLE,
        **creation.TABLE,
        **scans.TABLE,
        **fourier.TABLE,
        **special.TABLE,
        **linalg.TABLE,
    }
)
"""Rules by operator, with or without its overload (`aten.add`, `aten.sort.stable`)."""

_CHECKS = ("aten._assert", "aten.sym_constrain", "aten._functional_assert",
           "aten._linalg_check_errors")  # fmt: skip
"""Operators that only check: dynamic graphs, and what LAPACK says of a factorisation."""

_UNBACKED = re.compile(r"\bu\d+\b")
"""PyTorch's names for extents that only a run tells."""

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def is_lowered(operator: Any) -> bool:
    """Whether an `OpOverload` has a rule (random ones included)."""
    known = RULES.keys() | randomness.table(_no_draw).keys()
    return _rule_name(str(operator), known) is not None


def _no_draw(_draw: Draw) -> Value:
    raise InternalError("no graph is being lowered")


def _rule_name(name: str, known: Any) -> str | None:
    """The table's key for `aten.add.Tensor`: itself, without the overload, or what it copies."""
    base = name.rpartition(".")[0] if name.count(".") > 1 else name
    for candidate in (name, base, base.removesuffix("_copy")):
        if candidate in known:
            return str(candidate)
    return None


@dataclass(frozen=True, slots=True, eq=False)
class LoweredGraph:
    """A graph as a module. Its parameters are the graph's tensor inputs, then one per draw.

    `inputs` are the numbers of the graph's inputs that are parameters; `outputs` has one entry per
    output of the graph: the number of a result of the module, or None.
    """

    module: Module
    inputs: tuple[int, ...]
    draws: tuple[Draw, ...]
    outputs: tuple[int | None, ...]


@dataclass(slots=True)
class _Walk:
    """The values so far, by node name."""

    graph: Any
    constants: Callable[[str], np.ndarray]
    order: tuple[str, ...] = ()
    b: Builder = field(default_factory=Builder)
    values: dict[str, Any] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    drawn: list[Value] = field(default_factory=list)
    rules: dict[str, Rule] = field(default_factory=dict)

    def draw(self, draw: Draw) -> Value:
        """A parameter for what is drawn before each run, numbered after the graph's own."""
        number = self.own_parameters + len(self.draws)
        self.draws.append(draw)
        return self.b.parameter(draw.shape, "draw", number)

    @property
    def own_parameters(self) -> int:
        return sum(1 for node in self.graph.nodes if node.op == "placeholder" and _is_tensor(node))


def lower_graph(
    graph: Any,
    name: str,
    constants: Callable[[str], np.ndarray] | None = None,
    parameters: Sequence[str] = (),
) -> LoweredGraph:
    """Lowers a `torch.fx.Graph` whose nodes carry fake tensors (`meta["val"]`).

    `constants` yields the tensors that `get_attr` nodes name; `parameters` is the order of the
    inputs, by node name, where it is not the graph's. Raises UnsupportedError for dynamic
    shapes and for operators without a rule, with node and user's line.
    """
    walk = _Walk(graph, constants or _no_constant, tuple(parameters))
    walk.rules = {**RULES, **randomness.table(walk.draw)}
    outputs: tuple[int | None, ...] = ()
    results: list[Value] = []
    for position, node in enumerate(graph.nodes):
        walk.b.metadata = _metadata(node)
        if node.op == "placeholder":
            _placeholder(walk, node, position)
        elif node.op == "get_attr" and not _is_tensor(node):
            walk.values[node.name] = None
        elif node.op == "get_attr":
            walk.values[node.name] = walk.b.array(walk.constants(str(node.target)))
        elif node.op == "call_function":
            walk.values[node.name] = _call(walk, node)
        elif node.op == "output":
            outputs, results = _outputs(walk, node)
        else:
            raise UnsupportedError(f"a graph node of kind {node.op}", where=_where(node))
    module = walk.b.module(name, walk.b.tuple_of(results))
    return LoweredGraph(verify(module), tuple(walk.inputs), tuple(walk.draws), outputs)


def _no_constant(name: str) -> np.ndarray:
    raise InternalError(f"the graph names a constant {name}, and none are given")


# -- nodes ---------------------------------------------------------------------------------------


def _is_tensor(node: Any) -> bool:
    return hasattr(node.meta.get("val"), "dtype")


def _placeholder(walk: _Walk, node: Any, position: int) -> None:
    if _is_tensor(node):
        shape = _shape(node, node.meta["val"])
        number = walk.order.index(node.name) if walk.order else len(walk.inputs)
        walk.values[node.name] = walk.b.parameter(shape, str(node.target), number)
        walk.inputs.append(position)
        return
    value = node.meta.get("val")
    if value is not None and not isinstance(value, bool | int | float | str):
        raise _dynamic(node)
    walk.values[node.name] = value


def _shape(node: Any, fake: Any) -> ArrayShape:
    extents = tuple(fake.shape)
    if not all(isinstance(extent, int) for extent in extents):
        raise _dynamic(node)
    return array_shape(element_type(fake.dtype), extents)


def _dynamic(node: Any) -> UnsupportedError:
    if _UNBACKED.search(str(node.meta.get("val"))):
        return UnsupportedError(
            f"the shape of {node.name} depends on values",
            where=_where(node),
            hint="keep it fixed, with torch.where for example",
        )
    return UnsupportedError(
        f"{node.name} has a dynamic shape ({node.meta.get('val')})",
        where=_where(node),
        hint="compile with torch.compile(..., dynamic=False): one compilation per shape",
    )


def _call(walk: _Walk, node: Any) -> Any:
    name = _operator_name(node.target)
    arguments = [_argument(walk, node, value) for value in node.args]
    keywords = {key: _argument(walk, node, value) for key, value in node.kwargs.items()}
    if name == "getitem":
        return arguments[0][arguments[1]]
    if name.startswith(_CHECKS):
        return None
    if name == "with_effects" and str(arguments[1]).startswith(_CHECKS):
        return arguments[0], None
    rule = _rule(walk, node, name)
    declared = _declared(node)
    if declared:
        walk.b.result_kind = declared[0].element_type
        walk.b.result_strides = tuple(tuple(v.stride()) for v in _tensors(node))
    try:
        result = rule(walk.b, *arguments, **keywords)
    except InferenceError as error:
        raise InternalError(f"{name}: {error}", where=_where(node)) from None
    except HobError as error:
        raise type(error)(
            f"{name}: {error.message}", error.where or _where(node), error.hint
        ) from None
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise UnsupportedError(
            f"{name} with these arguments has no lowering ({error}): {node.format_node()}",
            where=_where(node),
        ) from None
    return _as_declared(walk, node, result, declared)


def _rule(walk: _Walk, node: Any, name: str) -> Rule:
    key = _rule_name(name, walk.rules)
    if key is not None:
        return walk.rules[key]
    if name.startswith("aten._foreach_"):
        single = _rule_name(name.replace("_foreach_", "", 1), walk.rules)
        if single is not None:
            return _each_of(walk.rules[single])
    raise UnsupportedError(
        f"the operator {name} has no lowering",
        where=_where(node),
        hint="leave it out of the compiled function, or let PyTorch break the graph there with "
        "torch._dynamo.graph_break()",
    )


def _each_of(rule: Rule) -> Rule:
    """A rule over lists of equal length; whatever is no list goes to each call."""

    def rule_for_lists(b: Builder, *arguments: Any, **keywords: Any) -> list[Any]:
        lists = [a for a in arguments if isinstance(a, list)]
        rows = []
        for i in range(len(lists[0])):
            row = [a[i] if isinstance(a, list) else a for a in arguments]
            b.result_kind = next(v.kind for v in row if isinstance(v, Value))
            rows.append(rule(b, *row, **keywords))
        return rows

    return rule_for_lists


def _operator_name(target: Any) -> str:
    """`aten.add.Tensor`, `prims.fma`, `getitem`."""
    text = str(target)
    if getattr(target, "__name__", "") == "getitem":
        return "getitem"
    return text.removesuffix(".default")


def _argument(walk: _Walk, node: Any, value: Any) -> Any:
    """A node's argument with values for nodes, lists kept."""
    if isinstance(value, list | tuple):
        return [_argument(walk, node, item) for item in value]
    name = getattr(value, "name", None)
    if name in walk.values and hasattr(value, "op"):
        return walk.values[name]
    if type(value).__name__ in ("SymInt", "SymFloat", "SymBool"):
        raise _dynamic(node)
    return value


# -- results -------------------------------------------------------------------------------------


def _tensors(node: Any) -> list[Any]:
    """The fake tensors that a node yields."""
    value = node.meta.get("val")
    values = value if isinstance(value, list | tuple) else [value]
    return [v for v in values if hasattr(v, "dtype")]


def _declared(node: Any) -> list[ArrayShape]:
    return [_shape(node, fake) for fake in _tensors(node)]


def _as_declared(walk: _Walk, node: Any, result: Any, declared: Sequence[ArrayShape]) -> Any:
    """The result in the declared types. Raises InternalError when shapes differ."""
    value = node.meta.get("val")
    if not isinstance(value, list | tuple):
        return _checked(walk, node, result, declared[0]) if declared else result
    shapes = [_shape(node, v) if hasattr(v, "dtype") else None for v in value]
    found = list(result)
    return [
        r if s is None or not isinstance(r, Value) else _checked(walk, node, r, s)
        for r, s in zip(found, shapes)
    ]


def _checked(walk: _Walk, node: Any, value: Value, shape: ArrayShape) -> Value:
    if value.dimensions != shape.dimensions:
        raise InternalError(
            f"{_operator_name(node.target)} yields {value.shape}, PyTorch says {shape}",
            where=_where(node),
        )
    return walk.b.convert(value, shape.element_type)


def _outputs(walk: _Walk, node: Any) -> tuple[tuple[int | None, ...], list[Value]]:
    found = node.args[0]
    items = found if isinstance(found, list | tuple) else [found]
    results: list[Value] = []
    numbers: list[int | None] = []
    for item in items:
        value = _argument(walk, node, item)
        if isinstance(value, Value):
            numbers.append(len(results))
            results.append(value)
        elif value is None:
            numbers.append(None)
        else:
            raise UnsupportedError(f"the graph returns {value!r}, not a tensor", where=_where(node))
    return tuple(numbers), results


# -- places --------------------------------------------------------------------------------------


def _user_frame(node: Any) -> tuple[str, int] | None:
    """File and line in the user's program: the innermost that PyTorch kept, its own files and
    Hob's left out where there are others."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or node.stack_trace or "")
    own = [frame for frame in frames if not frame[0].startswith(_library_folders())]
    found = (own or frames)[-1:]
    return (found[0][0], int(found[0][1])) if found else None


def _library_folders() -> tuple[str, ...]:
    """Where PyTorch's and Hob's own files are."""
    top = Path(__file__).resolve().parents[3]
    folders = [top / room for room in ("compiler", "lab", "tui")]
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:
        folders.append(Path(torch.__file__).parent)
    return tuple(f"{folder}{os.sep}" for folder in folders)


def _where(node: Any) -> str:
    frame = _user_frame(node)
    place = f"{frame[0]}:{frame[1]}, " if frame else ""
    return f"{place}node {node.name}"


def _metadata(node: Any) -> Metadata:
    """The node and the user's line, as XLA spells it."""
    kind = node.op if node.op != "call_function" else _operator_name(node.target)
    text = f'op_type="{kind}" op_name="{node.name}"'
    frame = _user_frame(node)
    if frame:
        text += f' source_file="{frame[0]}" source_line={frame[1]}'
    return Metadata(f"{{{text}}}")

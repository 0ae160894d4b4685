"""PyTorch modules and functions by name: exported, lowered, weights beside the module."""

from __future__ import annotations

import inspect
import io
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import FunctionType
from typing import Any

from compiler.frontend.torch import decompositions, lower_graph
from compiler.frontend.torch.dtypes import torch_name
from compiler.hlo.shape import ArrayShape
from isas.errors import InputError, UnsupportedError
from lab.argument_shapes import Tree
from lab.models import Program
from lab.torch_backend import import_torch, to_numpy


def export(found: Any, shapes: Sequence[Tree], place: str) -> Program:
    """A `torch.nn.Module` or a function of tensors as a program that takes the arguments first.

    An instance is taken as it is; a class is made without arguments, in evaluation mode. Raises
    InputError and UnsupportedError; what the user's code raises passes through.
    """
    torch = import_torch()
    if isinstance(found, type):
        torch.manual_seed(0)
        found = found().eval()
    model = found if isinstance(found, torch.nn.Module) else _wrapped(torch, found)
    arguments = torch.utils._pytree.tree_map(lambda shape: _example(torch, shape), tuple(shapes))
    _check_count(getattr(found, "forward", found), arguments, place)
    with _quiet():
        exported = torch.export.export(model, arguments, strict=False)
        exported = exported.run_decompositions(decompositions())
    if exported.graph_signature.buffers_to_mutate:
        raise UnsupportedError(
            "changes its buffers when it is called, as batch norm does in training", where=place,
            hint="call .eval() on the model",
        )  # fmt: skip
    return _program(exported, getattr(found, "__name__", type(found).__name__), place)


def _wrapped(torch: Any, function: Any) -> Any:
    """A function as a module, which is what PyTorch exports."""
    inner = _named_forward(function)

    class Function(torch.nn.Module):
        def forward(self, *arguments: Any) -> Any:
            return inner(*arguments)

    return Function()


def _named_forward(function: Any) -> Any:
    """The function under the name `forward`: PyTorch records the lines of such functions only."""
    if not isinstance(function, FunctionType):
        return function
    named = FunctionType(
        function.__code__.replace(co_name="forward"), function.__globals__, "forward",
        function.__defaults__, function.__closure__,
    )  # fmt: skip
    named.__kwdefaults__ = function.__kwdefaults__
    return named


@contextmanager
def _quiet() -> Iterator[None]:
    """PyTorch logs the errors that it also raises, prints graphs before them, and warns about
    itself. What is printed where nothing fails passes on."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    printed = io.StringIO()
    try:
        with warnings.catch_warnings(), redirect_stdout(printed), redirect_stderr(printed):
            warnings.simplefilter("ignore", FutureWarning)
            warnings.filterwarnings("ignore", category=UserWarning, module="contextlib")
            yield
    finally:
        logging.disable(before)
    sys.stdout.write(printed.getvalue())


def _example(torch: Any, shape: ArrayShape | None) -> Any:
    if shape is None:
        return None
    return torch.zeros(shape.dimensions, dtype=getattr(torch, torch_name(shape.element_type)))


def _check_count(function: Any, arguments: Sequence[Any], place: str) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise InputError(
            f"{len(arguments)} shapes are given for {function.__name__}{signature}: {error}",
            where=place,
            hint="give one --args shape per argument, such as --args 'f32[8,128]'",
        ) from None  # fmt: skip


def _program(exported: Any, name: str, place: str) -> Program:
    """Arguments first, weights after them, whatever order the graph has them in."""
    graph = exported.graph_module.graph
    named = {**exported.state_dict, **exported.constants}
    targets = {spec.arg.name: spec.target for spec in exported.graph_signature.input_specs}
    nodes = [node for node in graph.nodes if node.op == "placeholder"]
    weights = [node for node in nodes if targets.get(node.name) in named]
    order = [node for node in nodes if node not in weights] + weights
    lowered = lower_graph(graph, name, parameters=[n.name for n in order])
    if lowered.draws:
        raise UnsupportedError(
            "draws random numbers", where=place, hint="call .eval() on the model"
        )
    arrays = [to_numpy(named[targets[node.name]]) for node in weights]
    return Program(lowered.module, tuple(arrays))

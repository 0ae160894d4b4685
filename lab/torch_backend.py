"""`torch.compile(model, backend="hob")`: PyTorch graphs compiled and run by Hob.

AOTAutograd makes functional forward and backward graphs of core ATen operators; each becomes one
HLO module that runs on a machine (`mode="simulate"`) or in the evaluator (`mode="evaluate"`).
Nothing falls back silently: what has no code generation is named.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.frontend.torch import LoweredGraph, decompositions, keep_dropout, lower_graph
from compiler.hlo.module import Module
from compiler.hlo.shape import ElementType
from compiler.options import Options
from isas.errors import InputError
from isas.model import Machine
from lab import road
from lab.jit_stages import LOGGER, Settings, compile_for, evaluate_for
from lab.modes import Mode, mode_of

if TYPE_CHECKING:
    from compiler.compilation import Compilation
    from lab.report import Report


def import_torch() -> ModuleType:
    """PyTorch, or InputError with the command that installs it."""
    try:
        import torch
    except ImportError as error:
        raise InputError(f"PyTorch is not installed ({error})", hint="pip install torch") from None
    return torch


_NO_TOKEN = np.zeros(0, np.float32)
"""What stands for the tokens that keep checks in order; PyTorch passes None for them."""


@dataclass(slots=True, eq=False)
class CompiledGraph:
    """One graph: its module, its compilation (None in evaluate mode), and how the last run went."""

    kind: str
    """forward, backward or inference."""
    lowered: LoweredGraph
    compilation: Compilation | None
    strides: tuple[tuple[int, ...] | None, ...]
    """For every output the strides that PyTorch expects."""
    last: road.Result | None = None

    @property
    def module(self) -> Module:
        return self.lowered.module

    def report(self) -> Report:
        """The report of the last run. Raises InputError when there was none."""
        if self.last is None:
            raise InputError("no simulated run yet", hint='call the model in mode="simulate"')
        return road.report(self.last, f"{self.module.name} ({self.kind})")

    def __call__(self, *tensors: Any) -> list[Any]:
        """Runs for the graph's inputs; yields its outputs."""
        torch = import_torch()
        given = [tensors[number] for number in self.lowered.inputs]
        given += [draw(torch) for draw in self.lowered.draws]
        results = self._run([_NO_TOKEN if t is None else to_numpy(t) for t in given])
        return [
            None if number is None else from_numpy(results[number], strides)
            for number, strides in zip(self.lowered.outputs, self.strides)
        ]

    def _run(self, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        if self.compilation is None:
            return evaluate_for(self.module, inputs)
        result = road.run(self.compilation, inputs=inputs)
        self.last = result
        if not result.matches:
            LOGGER.warning("%s: the machine differs from the evaluator: %s",
                           self.module.name, result.evaluator)  # fmt: skip
        return result.outputs


class TorchBackend:
    """A backend with its settings; `graphs` are those compiled so far, in order.

    >>> backend = hob.TorchBackend(machine="simt/volta")                        # doctest: +SKIP
    >>> model = torch.compile(model, backend=backend)                           # doctest: +SKIP
    >>> model(x); print(backend.graphs[-1].report())                            # doctest: +SKIP
    """

    def __init__(
        self,
        mode: str | Mode = Mode.SIMULATE,
        machine: Machine | str = road.DEFAULT_MACHINE,
        options: Options | None = None,
    ) -> None:
        self.settings = Settings(mode_of(mode), machine, options or Options())
        self.graphs: list[CompiledGraph] = []
        self._numbers = itertools.count()
        _trace_recurrent_layers(import_torch())

    def __repr__(self) -> str:
        machine = getattr(self.settings.machine, "name", self.settings.machine)
        return f"hob.TorchBackend(mode={self.settings.mode.value!r}, machine={str(machine)!r})"

    def __call__(self, graph_module: Any, inputs: Sequence[Any], **keywords: Any) -> Any:
        """What `torch.compile` calls with a graph and example inputs."""
        chosen = _with_keywords(self, keywords)
        if chosen is not self:
            return chosen(graph_module, inputs)
        if any(map(_is_dynamic, inputs)):
            return self._specialising(graph_module)
        return self._traced(graph_module, inputs)

    def _traced(self, graph_module: Any, inputs: Sequence[Any]) -> Any:
        """The graph with its gradient, compiled for inputs of these shapes."""
        from torch._functorch.aot_autograd import aot_module_simplified

        keep_dropout(graph_module)
        with _math_attention():
            return aot_module_simplified(
                graph_module, inputs,
                fw_compiler=self._compiler("forward"), bw_compiler=self._compiler("backward"),
                inference_compiler=self._compiler("inference"), decompositions=decompositions(),
            )  # fmt: skip

    def _specialising(self, graph_module: Any) -> Any:
        """A graph whose extents PyTorch leaves open, compiled on its first call with each
        combination of shapes and numbers."""
        import torch

        versions: dict[Any, Any] = {}

        def run(*inputs: Any) -> Any:
            key = tuple(map(_kind, inputs))
            if key not in versions:
                LOGGER.warning("the shapes of a graph vary: compiling version %d, for %s",
                               len(versions) + 1, _described(inputs))  # fmt: skip
                versions[key] = self._traced(_with_numbers(graph_module, inputs), inputs)
            return versions[key](*inputs)

        return torch._dynamo.disable(run)

    def _compiler(self, kind: str) -> Callable[[Any, Sequence[Any]], Any]:
        """Compiles one kind of graph, unseen by PyTorch's tracer: backward graphs are compiled, and
        run, while the user's function is being traced."""
        import torch
        from torch._functorch.aot_autograd import make_boxed_func

        def compile_graph(graph_module: Any, _inputs: Sequence[Any]) -> Any:
            return make_boxed_func(torch._dynamo.disable(self.compile(graph_module, kind)))

        return torch._dynamo.disable(compile_graph)

    def compile(self, graph_module: Any, kind: str = "inference") -> CompiledGraph:
        """Compiles a functional graph of core ATen operators. Raises UnsupportedError."""
        name = f"torch_{kind}_{next(self._numbers)}"
        lowered = lower_graph(graph_module.graph, name, _constants(graph_module))
        compilation = None
        if self.settings.mode is Mode.SIMULATE:
            compilation = compile_for(lowered.module, self.settings)
        compiled = CompiledGraph(kind, lowered, compilation, _strides(graph_module.graph))
        self.graphs.append(compiled)
        return compiled


def _trace_recurrent_layers(torch: Any) -> None:
    """PyTorch's tracer leaves `nn.LSTM`, `nn.GRU` and `nn.RNN` out of graphs unless this is set: a
    model of them would silently run in eager mode."""
    torch._dynamo.config.allow_rnn = True


def _is_dynamic(value: Any) -> bool:
    """Whether a graph's example input is a number or has an extent that PyTorch leaves open."""
    torch = import_torch()
    if isinstance(value, torch.Tensor):
        return any(isinstance(extent, torch.SymInt) for extent in value.shape)
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)


def _kind(value: Any) -> Any:
    """What a version of a graph is made for: shape, type and gradient of a tensor, or a number."""
    if hasattr(value, "dtype"):
        return (tuple(value.shape), value.stride(), value.dtype, value.requires_grad)
    return (type(value), value)


def _described(inputs: Sequence[Any]) -> str:
    """The inputs in words: shapes once each, without the model's parameters."""
    torch = import_torch()
    told = []
    for value in inputs:
        if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
            kind = str(value.dtype).removeprefix("torch.")
            told.append(f"{kind}[{','.join(map(str, value.shape))}]")
        elif not isinstance(value, torch.Tensor):
            told.append(str(value))
    return ", ".join(dict.fromkeys(told))


def _with_numbers(graph_module: Any, inputs: Sequence[Any]) -> Any:
    """The graph with its inputs that are numbers replaced by these numbers."""
    import copy

    import torch

    found = copy.copy(graph_module)
    found.graph = copy.deepcopy(graph_module.graph)
    places = [node for node in found.graph.nodes if node.op == "placeholder"]
    numbers = {
        node: value
        for node, value in zip(places, inputs, strict=True)
        if not isinstance(value, torch.Tensor)
    }
    for node in places:
        node.meta = {}
        for user in list(node.users) if node in numbers else ():
            user.args, user.kwargs = torch.fx.node.map_arg(
                (user.args, user.kwargs), lambda used: numbers.get(used, used)
            )
    found.recompile()
    return found


def _with_keywords(backend: TorchBackend, keywords: Mapping[str, Any]) -> TorchBackend:
    """The backend, or one with the settings of `torch.compile(..., options={...})`."""
    given = {**(keywords.get("options") or {})}
    if keywords.get("mode") is not None:
        given["mode"] = keywords["mode"]
    unknown = sorted(set(given) - {"mode", "machine", "options"})
    if unknown:
        raise InputError(
            f"the backend has no option '{unknown[0]}'", where="torch.compile",
            hint='options={"mode": "simulate" or "evaluate", "machine": ..., "options": ...}',
        )  # fmt: skip
    if not given:
        return backend
    settings = backend.settings
    defaults = {"mode": settings.mode, "machine": settings.machine, "options": settings.options}
    return TorchBackend(**{**defaults, **given})


def torch_backend(graph_module: Any, inputs: Sequence[Any], **keywords: Any) -> Any:
    """The backend that `torch.compile(model, backend="hob")` finds through its entry point."""
    return TorchBackend()(graph_module, inputs, **keywords)


@contextmanager
def _math_attention() -> Iterator[None]:
    """Attention as matrix products and a softmax, whose gradients are operators too."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel([SDPBackend.MATH]):
        yield


def _constants(graph_module: Any) -> Callable[[str], np.ndarray]:
    def constant(name: str) -> np.ndarray:
        # While graphs are compiled a mode is active that refuses real tensors.
        from torch.utils._python_dispatch import _disable_current_modes

        found = graph_module
        for part in name.split("."):
            found = getattr(found, part)
        with _disable_current_modes():
            return to_numpy(found)

    return constant


def _strides(graph: Any) -> tuple[tuple[int, ...] | None, ...]:
    """For every output of a graph the strides of its fake tensor."""
    output = next(node for node in graph.nodes if node.op == "output")
    found = output.args[0]
    items = found if isinstance(found, list | tuple) else [found]
    fakes: list[Any] = [getattr(item, "meta", {}).get("val") for item in items]
    return tuple(tuple(f.stride()) if hasattr(f, "stride") else None for f in fakes)


def to_numpy(tensor: Any) -> np.ndarray:
    """A tensor's values as an array; types NumPy lacks go by their bits."""
    torch = import_torch()
    from compiler.frontend.torch.dtypes import element_type

    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    kind = element_type(plain.dtype)
    if not _is_foreign(kind):
        return np.asarray(plain.numpy())
    bits = plain.view(torch.int16 if kind.bits == 16 else torch.uint8).numpy()
    return bits.view(kind.dtype)


def from_numpy(array: np.ndarray, strides: tuple[int, ...] | None) -> Any:
    """A tensor with these strides (row major when None)."""
    torch = import_torch()
    from compiler.frontend.torch.dtypes import torch_name
    from compiler.hlo.shape import element_type_of

    kind = element_type_of(array.dtype)
    content = np.array(array, order="C")
    if kind is not None and _is_foreign(kind):
        bits = torch.from_numpy(content.view(np.int16 if kind.bits == 16 else np.uint8))
        found = bits.view(getattr(torch, torch_name(kind)))
    else:
        found = torch.from_numpy(content)
    if strides is None or found.stride() == strides or 0 in strides:
        return found
    return torch.empty_strided(found.shape, strides, dtype=found.dtype).copy_(found)


def _is_foreign(kind: ElementType) -> bool:
    return bool(kind.dtype.type.__module__ != "numpy")

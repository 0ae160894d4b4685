"""`hob.jit`: a JAX function that Hob compiles and runs, used as `jax.jit` is.

Every new combination of tree, shapes, types and static values is traced and compiled once; the
logger `hob.jit` says so (the first time at INFO, recompilations with what changed at WARNING), and
so does the `on_compile` hook.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.frontend import jax as frontend
from compiler.hlo.module import Module
from compiler.options import Options
from isas.errors import HobError, InputError, UnsupportedError
from isas.model import Machine
from lab import arrays, road
from lab.compile_events import CompileEvent, changes, name_of
from lab.modes import Mode, mode_of
from lab.places import place_of, user_place

if TYPE_CHECKING:
    from compiler.compilation import Compilation
    from lab.report import Report

LOGGER = logging.getLogger("hob.jit")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a jitted function runs."""

    mode: Mode = Mode.SIMULATE
    machine: Machine | str = road.DEFAULT_MACHINE
    options: Options = field(default_factory=Options)


class Lowered:
    """A function traced for arguments of certain shapes; nothing is compiled yet."""

    def __init__(self, traced: frontend.Traced, call: frontend.Call, settings: Settings) -> None:
        self.traced = traced
        self.call = call
        self.settings = settings

    @property
    def module(self) -> Module:
        """Hob's HLO module."""
        return self.traced.module

    @property
    def in_tree(self) -> Any:
        return self.traced.lowered.in_tree

    @property
    def out_tree(self) -> Any:
        return self.traced.lowered.out_tree

    @property
    def out_info(self) -> Any:
        """The result tree, of shapes and types."""
        return self.traced.lowered.out_info

    @property
    def args_info(self) -> Any:
        """The argument tree, of shapes and types and whether they are donated."""
        return self.traced.lowered.args_info

    def cost_analysis(self) -> Any:
        """XLA's count of floating-point operations and bytes, by name, as JAX tells it."""
        return self.traced.lowered.cost_analysis()

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """JAX's own object: an MLIR module for "stablehlo" (the default), an XlaComputation for
        "hlo"; both print."""
        _check_dialect(dialect)
        return self.traced.lowered.compiler_ir(dialect=dialect)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text: "stablehlo" (the default; with its places if asked) or "hlo"."""
        _check_dialect(dialect)
        if dialect == "hlo":
            return frontend.hlo_text(self.traced.lowered)
        return str(self.traced.lowered.as_text(dialect=dialect, debug_info=debug_info))

    def compile(self) -> Compiled:
        """Compiles for the machine. Raises UnsupportedError naming what has no code generation."""
        if self.settings.mode is Mode.EVALUATE:
            return Compiled(self, None)
        return Compiled(self, compile_for(self.module, self.settings))

    def __repr__(self) -> str:
        return f"<Lowered {self.module.name}: {self.module.instruction_count} instructions>"


def _check_dialect(dialect: str | None) -> None:
    if dialect not in (None, "stablehlo", "hlo"):
        raise InputError(
            f"there is no dialect '{dialect}'", where="dialect", hint="choose 'stablehlo' or 'hlo'"
        )


def compile_for(module: Module, settings: Settings) -> Compilation:
    """`road.compile`, with the advice to evaluate where code generation ends."""
    try:
        return road.compile(module, settings.machine, settings.options)
    except UnsupportedError as error:
        advice = 'mode="evaluate" runs it in the evaluator'
        raise UnsupportedError(error.message, error.where, advice) from None


def evaluate_for(module: Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """`road.evaluate`, telling errors with the user's line."""
    try:
        return road.evaluate(module, *inputs)
    except HobError as error:
        place = place_of(module, error)
        if place is None:
            raise
        raise type(error)(error.message, place, error.hint) from None


def refuse_callbacks(module: Module) -> Module:
    """The module, unless it calls back into Python: UnsupportedError with the user's line."""
    for computation in module.computations:
        for instruction in computation:
            target = str(instruction.attributes.get("custom_call_target", ""))
            if "callback" in target:
                raise UnsupportedError(
                    "calls back into Python, which only JAX can run",
                    where=user_place(module, instruction) or instruction.name,
                    hint="leave jax.debug.print, pure_callback and io_callback out of the function",
                )
    return module


@dataclass(frozen=True, slots=True)
class Memory:
    """What a compiled program takes, under JAX's names; the peak is Hob's arena."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    peak_memory_in_bytes: int


def memory_of(module: Module, compilation: Compilation) -> Memory:
    """Temporary is what the arena has beside arguments and results."""
    arguments = sum(shape.size_bytes for shape in arrays.parameter_shapes(module))
    results = sum(shape.size_bytes for shape in road.flat_results(module))
    peak = compilation.assignment.peak_bytes
    return Memory(arguments, results, max(0, peak - arguments - results), peak)


class Compiled:
    """A function compiled for arguments of certain shapes: call it, read its stages, see how it
    went."""

    def __init__(self, lowered: Lowered, compilation: Compilation | None) -> None:
        self.lowered = lowered
        self.compilation = compilation
        self.last: road.Result | None = None
        """The last simulated run; None before, and in evaluate mode."""

    @property
    def module(self) -> Module:
        return self.lowered.module

    @property
    def in_tree(self) -> Any:
        return self.lowered.in_tree

    @property
    def out_tree(self) -> Any:
        return self.lowered.out_tree

    @property
    def out_info(self) -> Any:
        """The result tree, of shapes and types."""
        return self.lowered.out_info

    def cost_analysis(self) -> Any:
        """XLA's count of floating-point operations and bytes, of the program as traced."""
        return self.lowered.cost_analysis()

    def memory_analysis(self) -> Memory:
        """The bytes of arguments, results and everything else. Raises InputError in evaluate
        mode, where no memory is assigned."""
        if self.compilation is None:
            raise InputError("no memory is assigned", hint='compile with mode="simulate"')
        return memory_of(self.module, self.compilation)

    def as_text(self, stage: str | None = None) -> str:
        """The program at a stage (the names of `hob stages`), the optimised HLO by default; the HLO
        as traced in evaluate mode."""
        if self.compilation is None:
            return str(self.module)
        from compiler.compilation import Stage

        for known, document in self.compilation.documents.items():
            if known.value == (stage or Stage.HLO_FUSED.value):
                return str(document)
        known_stages = ", ".join(stage.value for stage in self.compilation.documents)
        raise InputError(f"there is no stage '{stage}', there are: {known_stages}", where="as_text")

    def report(self) -> Report:
        """The report of the last run. Raises InputError when there was none."""
        if self.last is None:
            raise InputError("no simulated run yet", hint='call the function in mode="simulate"')
        return road.report(self.last)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Runs for arguments of exactly the traced shapes and types (static ones left out, as in
        JAX)."""
        statics = frontend.Statics()
        call = frontend.take_apart(self._inner, statics, arguments, keywords)
        if call.key[:2] != self.lowered.call.key[:2]:
            told = [
                ", ".join(f"{name}: {kind}" for name, kind in c.described)
                for c in (call, self.lowered.call)
            ]
            raise InputError(f"compiled for ({told[1]}), called with ({told[0]})")
        return self.run(call)

    @staticmethod
    def _inner(*_arguments: Any, **_keywords: Any) -> None:
        """Stands for the function where only the arguments matter."""

    def run(self, call: frontend.Call) -> Any:
        """Runs for a call that is known to fit."""
        traced = self.lowered.traced
        inputs = traced.inputs(call.leaves)
        if self.compilation is None:
            return traced.results(evaluate_for(self.module, inputs))
        result = road.run(self.compilation, inputs=inputs)
        self.last = result
        if not result.matches:
            LOGGER.warning("%s: the machine differs from the evaluator: %s",
                           self.module.name, result.evaluator)  # fmt: skip
        return traced.results(result.outputs)


class Jitted:
    """What `hob.jit` returns. Called like the function; `lower`, `last` and `report` show how."""

    def __init__(
        self,
        function: Callable[..., Any],
        statics: frontend.Statics,
        donated: frontend.Statics,
        settings: Settings,
        on_compile: Callable[[CompileEvent], None] | None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.statics = statics
        self.donated = donated
        self.settings = settings
        self.on_compile = on_compile
        self.last_compiled: Compiled | None = None
        self._cache: dict[Any, Compiled] = {}
        self._is_told = False

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The function's results as NumPy arrays, in the tree that it returns. Inside a function
        that JAX is tracing it is the plain function, and the log says so once."""
        call = frontend.take_apart(self.function, self.statics, arguments, keywords)
        if call.is_traced:
            self._tell_traced()
            return self.function(*arguments, **keywords)
        compiled = self._cache.get(call.key)
        if compiled is None:
            self._announce(call)
            compiled = self._lower(call).compile()
            self._cache[call.key] = compiled
        self.last_compiled = compiled
        return compiled.run(call)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Methods may be decorated; `self` has to be static or a pytree."""
        return self if instance is None else functools.partial(self, instance)

    def lower(self, *arguments: Any, **keywords: Any) -> Lowered:
        """Traces for these arguments (arrays or `jax.ShapeDtypeStruct`s) without running."""
        return self._lower(frontend.take_apart(self.function, self.statics, arguments, keywords))

    def _lower(self, call: frontend.Call) -> Lowered:
        traced = frontend.trace(self.function, call, self.donated)
        refuse_callbacks(traced.module)
        return Lowered(traced, call, self.settings)

    @property
    def last(self) -> road.Result | None:
        """The last simulated run, None before the first (and in evaluate mode)."""
        return None if self.last_compiled is None else self.last_compiled.last

    def report(self) -> Report:
        """The report of the last run. Raises InputError when there was none."""
        if self.last_compiled is None:
            raise InputError("no run yet", hint="call the function first")
        return self.last_compiled.report()

    @property
    def versions(self) -> int:
        """How many combinations of shapes, types and static values are compiled."""
        return len(self._cache)

    def clear_cache(self) -> None:
        self._cache.clear()

    def trace(self, *arguments: Any, **keywords: Any) -> Any:
        """JAX's own `jax.stages.Traced`, with its `jaxpr`."""
        call = frontend.take_apart(self.function, self.statics, arguments, keywords)
        return frontend.traced_by_jax(self.function, call, self.donated)

    def eval_shape(self, *arguments: Any, **keywords: Any) -> Any:
        """The result tree, of shapes and types."""
        return self.trace(*arguments, **keywords).out_info

    def _tell_traced(self) -> None:
        if not self._is_told:
            LOGGER.warning(
                "%s is called while JAX traces another function: it becomes part of that one and "
                "does not run by itself", name_of(self.function),
            )  # fmt: skip
        self._is_told = True

    def _announce(self, call: frontend.Call) -> None:
        others = [compiled.lowered.call for compiled in self._cache.values()]
        event = CompileEvent(
            name_of(self.function), call.described, len(others) + 1, changes(call, others)
        )
        LOGGER.log(logging.WARNING if event.is_recompilation else logging.INFO, "%s", event)
        if self.on_compile is not None:
            self.on_compile(event)

    def __repr__(self) -> str:
        return f"<hob.jit of {getattr(self.function, '__qualname__', self.function)}>"


_OF_JAX_ALONE = frozenset(
    {
        "abstracted_axes", "backend", "compiler_options", "device", "in_shardings",
        "out_shardings",
    }
)  # fmt: skip
"""Settings of `jax.jit` about devices and XLA, which have no meaning here."""


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = True,
    inline: bool = False,
    mode: str | Mode = Mode.SIMULATE,
    machine: Machine | str = road.DEFAULT_MACHINE,
    options: Options | None = None,
    on_compile: Callable[[CompileEvent], None] | None = None,
    **others: Any,
) -> Any:
    """A JAX function that runs on a machine of Hob's; a decorator with or without arguments.

    `mode="simulate"` compiles and runs cycle by cycle, `mode="evaluate"` runs in the evaluator,
    which knows every operation. Results may take the memory of donated arguments (the caller's
    arrays stay as they are). `keep_unused` and `inline` are accepted because `jax.jit` has them:
    unused arguments are always kept. `on_compile` hears of every compilation before it begins.
    Returns a `Jitted`, or without a function the decorator that makes one. Raises InputError when
    JAX is missing or the settings are not possible.
    """
    _check_settings(others)
    settings = Settings(mode_of(mode), machine, options or Options())
    if function is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames,
            donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            on_compile=on_compile, mode=settings.mode, machine=machine, options=options,
        )  # fmt: skip
    if not callable(function):
        raise InputError(f"hob.jit takes a function, not a {type(function).__name__}")
    frontend.import_jax()
    statics = frontend.statics_of(function, static_argnums, static_argnames)
    donated = frontend.statics_of(function, donate_argnums, donate_argnames, "donate")
    return Jitted(function, statics, donated, settings, on_compile)


def _check_settings(others: Mapping[str, Any]) -> None:
    """Raises InputError for settings that `hob.jit` does not have, unless they are at rest."""
    for name, value in others.items():
        if name not in _OF_JAX_ALONE:
            raise InputError(f"hob.jit has no setting '{name}'")
        if value is not None:
            raise InputError(
                f"hob.jit has no setting '{name}': it is about JAX's own devices and compiler",
                hint="choose with machine=... and options=...",
            )

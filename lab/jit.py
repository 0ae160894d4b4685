"""`hob.jit`: a JAX function that Hob compiles and runs, used as `jax.jit` is.

Every new combination of tree, shapes, types and static values is traced and compiled once; the
logger `hob.jit` says so (the first time at INFO, recompilations with what changed at WARNING), and
so does the `on_compile` hook.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compiler.frontend import jax as frontend
from compiler.hlo.module import Module
from compiler.options import Options
from isas.errors import InputError, UnsupportedError
from isas.model import Machine
from lab import road
from lab.modes import Mode, mode_of

if TYPE_CHECKING:
    from compiler.compilation import Compilation
    from lab.report import Report

LOGGER = logging.getLogger("hob.jit")


@dataclass(frozen=True, slots=True)
class CompileEvent:
    """One compilation: of which function, for which arguments, and what is new about them."""

    function: str
    arguments: tuple[tuple[str, str], ...]
    number: int
    changes: tuple[str, ...] = ()

    @property
    def is_recompilation(self) -> bool:
        return self.number > 1

    def __str__(self) -> str:
        told = ", ".join(f"{name}: {kind}" for name, kind in self.arguments)
        if not self.is_recompilation:
            return f"compiling {self.function}({told})"
        changed = "; ".join(self.changes) or "64-bit mode or weak types differ"
        return f"compiling {self.function}({told}) again, version {self.number}: {changed}"


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

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """JAX's own object: an MLIR module for "stablehlo" (the default), an XlaComputation for
        "hlo"; both print."""
        _check_dialect(dialect)
        return self.traced.lowered.compiler_ir(dialect=dialect)

    def as_text(self, dialect: str | None = None) -> str:
        """The program as text: "stablehlo" (the default) or "hlo"."""
        _check_dialect(dialect)
        if dialect == "hlo":
            return frontend.hlo_text(self.traced.lowered)
        return str(self.traced.lowered.as_text(dialect=dialect))

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
            return traced.results(road.evaluate(self.module, *inputs))
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
        settings: Settings,
        on_compile: Callable[[CompileEvent], None] | None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.statics = statics
        self.settings = settings
        self.on_compile = on_compile
        self.last_compiled: Compiled | None = None
        self._cache: dict[Any, Compiled] = {}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The function's results as NumPy arrays, in the tree that it returns. Inside a function
        that JAX is tracing it is the plain function."""
        call = frontend.take_apart(self.function, self.statics, arguments, keywords)
        if call.has_tracers:
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
        return Lowered(frontend.trace(self.function, call), call, self.settings)

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

    def _announce(self, call: frontend.Call) -> None:
        name = getattr(self.function, "__name__", "function")
        others = [compiled.lowered.call for compiled in self._cache.values()]
        event = CompileEvent(name, call.described, len(others) + 1, _changes(call, others))
        LOGGER.log(logging.WARNING if event.is_recompilation else logging.INFO, "%s", event)
        if self.on_compile is not None:
            self.on_compile(event)

    def __repr__(self) -> str:
        return f"<hob.jit of {getattr(self.function, '__qualname__', self.function)}>"


def _changes(call: frontend.Call, others: Sequence[frontend.Call]) -> tuple[str, ...]:
    """What distinguishes a call from the most similar one that is compiled already."""
    found = [_differences(call, other) for other in others]
    return min(found, key=len, default=())


def _differences(call: frontend.Call, other: frontend.Call) -> tuple[str, ...]:
    new, old = dict(call.described), dict(other.described)
    changed = [f"{n} was {old[n]}, is {k}" for n, k in new.items() if n in old and old[n] != k]
    changed += [f"{name} is new" for name in new if name not in old]
    changed += [f"{name} is gone" for name in old if name not in new]
    return tuple(changed)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    mode: str | Mode = Mode.SIMULATE,
    machine: Machine | str = road.DEFAULT_MACHINE,
    options: Options | None = None,
    on_compile: Callable[[CompileEvent], None] | None = None,
) -> Any:
    """A JAX function that runs on a machine of Hob's; a decorator with or without arguments.

    `mode="simulate"` compiles and runs cycle by cycle, `mode="evaluate"` runs in the evaluator,
    which knows every operation. `on_compile` hears of every compilation before it begins. Returns a
    `Jitted`, or without a function the decorator that makes one. Raises InputError when JAX is
    missing or the settings are not possible.
    """
    settings = Settings(mode_of(mode), machine, options or Options())
    if function is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames,
            on_compile=on_compile, mode=settings.mode, machine=machine, options=options,
        )  # fmt: skip
    if not callable(function):
        raise InputError(f"hob.jit takes a function, not a {type(function).__name__}")
    frontend.import_jax()
    statics = frontend.statics_of(function, static_argnums, static_argnames)
    return Jitted(function, statics, settings, on_compile)

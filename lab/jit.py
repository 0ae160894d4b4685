"""`hob.jit`: a JAX function that Hob compiles and runs, used as `jax.jit` is.

Every new combination of tree, shapes, types and static values is traced and compiled once; the
logger `hob.jit` says so (the first time at INFO, recompilations with what changed at WARNING), and
so does the `on_compile` hook.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

from compiler.frontend import jax as frontend
from compiler.options import Options
from isas.errors import InputError
from isas.model import Machine
from lab import road
from lab.compile_events import CompileEvent, changes, name_of
from lab.jit_stages import LOGGER, Compiled, Lowered, Settings, refuse_callbacks
from lab.modes import Mode, mode_of

if TYPE_CHECKING:
    from lab.report import Report


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
        return self if instance is None else MethodType(self, instance)

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

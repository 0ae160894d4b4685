"""JAX functions in: a function and example arguments become an HLO module.

JAX itself traces the function and prints its HLO; nothing is compiled or run. JAX is imported only
when a function here is called.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from compiler.hlo.module import Module
from compiler.hlo.shape import ElementType
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from isas.errors import InputError, UnsupportedError

Function = Callable[..., Any]


def import_jax() -> ModuleType:
    """JAX, or InputError with the command that installs it."""
    try:
        import jax
    except ImportError as error:
        raise InputError(f"JAX is not installed ({error})", hint="pip install jax") from None
    return jax


@dataclass(frozen=True, slots=True)
class Statics:
    """Some of the arguments, by position and by name: those that are Python values which a trace
    is made for, or those whose memory is given away."""

    positions: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()


def statics_of(
    function: Function,
    argnums: int | Sequence[int] | None,
    argnames: str | Sequence[str] | None,
    kind: str = "static",
) -> Statics:
    """`static_argnums` and `static_argnames` (by the kind, `donate_...`) as one set of arguments,
    each known by both where the signature tells. Raises InputError for positions and names that
    the function does not have."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums or ())
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    positional, others, is_open = _parameters(function)
    if not is_open:
        _check_statics(kind, numbers, names, positional, others)
    count = len(positional)
    positions = {number + count if number < 0 else number for number in numbers}
    positions |= {positional.index(name) for name in names if name in positional}
    named = set(names) | {positional[i] for i in positions if i < count}
    return Statics(frozenset(positions), frozenset(named))


def _parameters(function: Function) -> tuple[list[str], list[str], bool]:
    """The names of positional and keyword-only parameters, and whether there may be others."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], [], True
    kinds = inspect.Parameter
    positional = [
        p.name for p in found if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    only_named = [p.name for p in found if p.kind is kinds.KEYWORD_ONLY]
    is_open = any(p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) for p in found)
    return positional, only_named, is_open


def _check_statics(
    kind: str,
    numbers: Sequence[int],
    names: Sequence[str],
    positional: list[str],
    others: list[str],
) -> None:
    for number in numbers:
        if not -len(positional) <= number < len(positional):
            raise InputError(
                f"there is no argument {number}, the function takes {len(positional)}",
                where=f"{kind}_argnums",
            )
    for name in names:
        if name not in positional and name not in others:
            known = ", ".join(positional + others) or "none"
            raise InputError(
                f"there is no argument '{name}', there are: {known}", where=f"{kind}_argnames"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call taken apart: the array leaves, and all else that the trace depends on.

    `key` is hashable and equal for calls that share a trace; `described` tells its leaves in words,
    name by name.
    """

    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    statics: Statics
    leaves: tuple[Any, ...]
    key: tuple[Any, ...]
    described: tuple[tuple[str, str], ...]

    @property
    def is_traced(self) -> bool:
        """True when JAX is tracing a function around this call."""
        jax = import_jax()
        return _is_tracing() or any(isinstance(leaf, jax.core.Tracer) for leaf in self.leaves)


def _is_tracing() -> bool:
    """Whether JAX is tracing at all: arrays may be captured instead of passed."""
    try:
        from jax._src.core import trace_state_clean
    except ImportError:
        return False
    return not trace_state_clean()


def take_apart(
    function: Function, statics: Statics, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Call:
    """The leaves, key and description of a call. Raises InputError for an argument that is neither
    an array nor static, and for statics that cannot be hashed."""
    jax = import_jax()
    fixed = tuple((i, value) for i, value in enumerate(arguments) if i in statics.positions)
    fixed_names = tuple((k, v) for k, v in sorted(keywords.items()) if k in statics.names)
    moving = tuple(value for i, value in enumerate(arguments) if i not in statics.positions)
    moving_names = {k: v for k, v in keywords.items() if k not in statics.names}
    _check_hashable((*fixed, *fixed_names))
    paths, tree = jax.tree_util.tree_flatten_with_path((moving, moving_names))
    names = _argument_names(function, len(arguments))
    moving_at = [name for i, name in names.items() if i not in statics.positions]
    described = tuple((_path_name(path, moving_at), _describe(leaf)) for path, leaf in paths)
    leaves = tuple(leaf for _path, leaf in paths)
    avals = tuple(map(_aval, (name for name, _ in described), leaves))
    said = tuple((names[i], repr(value)) for i, value in fixed)
    said += tuple((name, repr(value)) for name, value in fixed_names)
    types = tuple(type(value) for _place, value in (*fixed, *fixed_names))
    context = bool(jax.config.jax_enable_x64)
    key = (tree, avals, fixed, fixed_names, types, context)
    return Call(tuple(arguments), keywords, statics, leaves, key, described + said)


def _check_hashable(statics: Sequence[tuple[int | str, Any]]) -> None:
    for place, value in statics:
        try:
            hash(value)
        except TypeError:
            raise InputError(
                f"static argument {place} is a {type(value).__name__}, which cannot be hashed",
                where="static_argnums",
                hint="pass a tuple or another immutable value",
            ) from None


def _argument_names(function: Function, count: int) -> dict[int, str]:
    positional, _others, _open = _parameters(function)
    named = dict(enumerate(positional))
    return {i: named.get(i, f"argument {i}") for i in range(count)}


def _path_name(path: Sequence[Any], names: Sequence[str]) -> str:
    """`x`, `params['w']`: where a leaf stands in the call."""
    jax = import_jax()
    side, place, *rest = path
    first = names[place.idx] if side.idx == 0 else str(place.key)
    return first + str(jax.tree_util.keystr(tuple(rest)))


def _aval(name: str, leaf: Any) -> Any:
    jax = import_jax()
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return (tuple(leaf.shape), leaf.dtype, False)
    try:
        found = jax.typeof(leaf)
    except TypeError:
        raise InputError(
            f"{name} is a {type(leaf).__name__}, neither an array nor a number",
            hint="name it in static_argnums or static_argnames if the trace may depend on it",
        ) from None
    return (tuple(found.shape), found.dtype, bool(getattr(found, "weak_type", False)))


def _describe(leaf: Any) -> str:
    jax = import_jax()
    is_shape = isinstance(leaf, jax.ShapeDtypeStruct)
    try:
        found = leaf if is_shape else jax.typeof(leaf)
    except TypeError:
        return type(leaf).__name__
    return f"{found.dtype}[{','.join(map(str, found.shape))}]"


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A function traced for one call: the module, and JAX's own lowering beside it."""

    module: Module
    lowered: Any
    """`jax.stages.Lowered`: knows the trees and prints StableHLO."""

    def inputs(self, leaves: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """The leaves of a call as the arrays that the module's parameters take."""
        jax = import_jax()
        avals = jax.tree.leaves(self.lowered.in_avals)
        return tuple(map(_as_array, leaves, avals))

    def results(self, arrays: Sequence[np.ndarray]) -> Any:
        """The module's results as the tree that the function returns, of NumPy arrays (random keys
        stay keys, so that they can be passed on)."""
        jax = import_jax()
        infos, tree = jax.tree.flatten(self.lowered.out_info)
        return jax.tree.unflatten(tree, list(map(_as_result, arrays, infos)))


def _is_key(dtype: Any) -> bool:
    jax = import_jax()
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.extended))


def _as_array(leaf: Any, aval: Any) -> np.ndarray:
    jax = import_jax()
    if _is_key(aval.dtype):
        return np.asarray(jax.random.key_data(leaf))
    return np.asarray(leaf, dtype=aval.dtype)


def _as_result(array: np.ndarray, info: Any) -> Any:
    jax = import_jax()
    if not _is_key(info.dtype):
        return array
    implementation = str(info.dtype).removeprefix("key<").removesuffix(">")
    return jax.random.wrap_key_data(array, impl=_KEY_NAMES.get(implementation, implementation))


_KEY_NAMES = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
"""Key types by the short tag in their type's name."""


def trace(function: Function, call: Call, donated: Statics = Statics()) -> Traced:
    """Traces the function for one call; donated arguments may share memory with results. What the
    user's function raises passes through.

    Raises UnsupportedError when JAX makes arguments of its own (captured device state).
    """
    _stay_out_of_sight()
    lowered = traced_by_jax(function, call, donated).lower()
    text = hlo_text(lowered)
    parsed = parse_module(text, getattr(function, "__name__", "function"))
    module = verify(replace(parsed, source=None))
    parameters = len(module.entry_computation.parameters)
    if parameters != len(call.leaves):
        raise UnsupportedError(
            f"the trace takes {parameters} arrays where the call has {len(call.leaves)}",
            hint="pass what the function captures as arguments",
        )
    return Traced(module, lowered)


def traced_by_jax(function: Function, call: Call, donated: Statics = Statics()) -> Any:
    """JAX's own `jax.stages.Traced` of a call."""
    jitted = import_jax().jit(
        function,
        static_argnums=tuple(sorted(call.statics.positions)),
        static_argnames=tuple(sorted(call.statics.names)),
        donate_argnums=tuple(sorted(donated.positions)),
        donate_argnames=tuple(sorted(donated.names)),
        keep_unused=True,
    )
    return jitted.trace(*call.arguments, **call.keywords)


@functools.cache
def _stay_out_of_sight() -> None:
    """Keeps Hob's own frames out of the places that JAX records of the user's program."""
    try:
        from jax._src.source_info_util import register_exclusion
    except ImportError:
        return
    top = Path(__file__).resolve().parents[2]
    for room in ("compiler", "lab", "tui"):
        register_exclusion(str(top / room))


def hlo_text(lowered: Any) -> str:
    """The HLO of a `jax.stages.Lowered`, all digits of constants, with the user's lines where this
    jaxlib prints them."""
    computation = lowered.compiler_ir(dialect="hlo")
    try:
        from jaxlib._hlo import HloPrintOptions
    except ImportError:
        return str(computation.as_hlo_text(print_large_constants=True))
    options = HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = True
    options.print_percent = False
    return str(computation.get_hlo_module().to_string(options))


def check_count(function: Function, shapes: Sequence[Any], place: str) -> None:
    """Raises InputError when the function cannot be called with that many arguments."""
    try:
        inspect.signature(function).bind(*shapes)
    except TypeError as error:
        signature = inspect.signature(function)
        name = getattr(function, "__name__", "the function")
        raise InputError(
            f"{len(shapes)} shapes are given for {name}{signature}: {error}",
            where=place,
            hint="give one --args shape per argument, such as --args 'f32[8,128]' 's32[]'",
        ) from None
    except ValueError:
        return


def trace_shapes(function: Function, shapes: Sequence[Any]) -> Traced:
    """Traces the function for arguments of these `compiler.hlo.shape.ArrayShape`s, or trees of
    them. 64-bit types turn JAX's 64-bit mode on for this trace only."""
    jax = import_jax()
    is_wide = any(_is_wide(shape.element_type) for shape in jax.tree.leaves(shapes))
    with jax.enable_x64(is_wide or bool(jax.config.jax_enable_x64)):
        arguments = jax.tree.map(
            lambda s: jax.ShapeDtypeStruct(s.dimensions, s.element_type.dtype), list(shapes)
        )
        call = take_apart(function, Statics(), arguments, {})
        return trace(function, call)


def _is_wide(kind: ElementType) -> bool:
    return kind.bits > 64 if kind.is_complex else kind.bits > 32

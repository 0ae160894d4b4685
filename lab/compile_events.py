"""What is told when a JAX function is compiled: for which arguments, and what is new about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.frontend.jax import Call


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


def name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def changes(call: Call, others: Sequence[Call]) -> tuple[str, ...]:
    """What distinguishes a call from the most similar one that is compiled already."""
    found = [_differences(call, other) for other in others]
    return min(found, key=len, default=())


def _differences(call: Call, other: Call) -> tuple[str, ...]:
    new, old = dict(call.described), dict(other.described)
    changed = [f"{n} was {old[n]}, is {k}" for n, k in new.items() if n in old and old[n] != k]
    changed += [f"{name} is new" for name in new if name not in old]
    changed += [f"{name} is gone" for name in old if name not in new]
    return tuple(changed)

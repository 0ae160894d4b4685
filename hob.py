"""Hob's public face: load, evaluate, compile and run tensor programs on machines written in YAML.

>>> import hob
>>> module = hob.load("examples/softmax.hlo")
>>> result = hob.run(module, machine="x86/zen3", options=hob.Options(registers=(("vec", 6),)))
>>> result.cycles, result.matches                                               # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.road import (
        HobError,
        Options,
        Result,
        Tolerance,
        compile,
        evaluate,
        load,
        machines,
        report,
        run,
    )

__all__ = [
    "HobError",
    "Options",
    "Result",
    "Tolerance",
    "compile",
    "evaluate",
    "load",
    "machines",
    "report",
    "run",
]


def __getattr__(name: str) -> Any:
    """Everything comes from `lab.road`, imported when first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'hob' has no attribute '{name}'")
    from lab import road

    return getattr(road, name)


def __dir__() -> list[str]:
    return sorted(__all__)

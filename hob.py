"""Hob's public face: load, evaluate, compile and run tensor programs on machines written in YAML.

>>> import hob
>>> module = hob.load("examples/softmax.hlo")
>>> result = hob.run(module, machine="x86/zen3", options=hob.Options(registers=(("vec", 6),)))
>>> result.cycles, result.matches                                               # doctest: +SKIP

`hob.jit` compiles JAX functions, `torch.compile(model, backend="hob")` PyTorch models; where Hob is
not installed, `backend=hob.torch_backend`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.jit import jit
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
    from lab.torch_backend import TorchBackend, torch_backend

_HOMES = {
    "jit": "lab.jit",
    "TorchBackend": "lab.torch_backend",
    "torch_backend": "lab.torch_backend",
}
"""Where names live that are not in `lab.road`."""

__all__ = [
    "HobError",
    "Options",
    "Result",
    "Tolerance",
    "TorchBackend",
    "compile",
    "evaluate",
    "jit",
    "load",
    "machines",
    "report",
    "run",
    "torch_backend",
]


def __getattr__(name: str) -> Any:
    """Every name is imported from its home when first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'hob' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES.get(name, "lab.road")), name)


def __dir__() -> list[str]:
    return sorted(__all__)

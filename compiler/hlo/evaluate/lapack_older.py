"""The LAPACK calls of older JAX, ``lapack_spotrf`` without ``_ffi`` (jaxlib/lapack.py of 2023).

Sizes and options come as scalar operands before the arrays, and results may have workspaces beside
them, whose contents nobody reads. A transitional form has neither and its options in
``backend_config``, as today's calls do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from compiler.hlo.attributes import Verbatim
from compiler.hlo.evaluate import condense, schur
from compiler.hlo.evaluate.control import zeros
from compiler.hlo.evaluate.lapack import LAPACK, Target
from compiler.hlo.module import Instruction
from compiler.hlo.shape import TupleShape

_SUFFIX = "_ffi"
_SCALARS = {
    "potrf": ("lower", "", ""),
    "getrf": ("", "", ""),
    "geqrf": ("", "", "", ""),
    "orgqr": ("", "", "", "", ""),
    "ungqr": ("", "", "", "", ""),
    "syevd": ("lower", "", ""),
    "heevd": ("lower", "", ""),
    "gesdd": ("full", "", "", "", "", ""),
    "geev": ("", "", "", ""),
    "gees": ("", "", "", ""),
    "gehrd": ("", "", "", "", "", ""),
    "sytrd": ("", "lower", "", "", ""),
    "hetrd": ("", "lower", "", "", ""),
    "trsm": ("left", "lower", "transposed", "unit", "", "", "", "factor"),
}
"""What the scalar operands say, in order; sizes, which the arrays have too, are left empty."""
_LETTERS = {
    "lower": ("uplo", "UL"),
    "full": ("mode", "SA"),
    "left": ("side", "RL"),
    "transposed": ("trans_x", "NTC"),
    "unit": ("diag", "NU"),
}
"""A scalar's name to today's option and the letters for 0, 1 and 2."""


def _older(name: str, target: Target) -> Target:
    meanings = _SCALARS[name]

    def call(instruction: Instruction, operands: list[Any]) -> Any:
        has_scalars = len(operands) > len(meanings)
        scalars = operands[: len(meanings)] if has_scalars else []
        arrays = operands[len(scalars) :]
        given = dict(zip(meanings, scalars, strict=False))
        results = target(_configured(instruction, given) if given else instruction, arrays)
        if "factor" in given:
            results = np.asarray(results * given["factor"])
        if name == "gees" and has_scalars:
            return _with_vectors_behind(*results)
        return _placed(instruction, results, leads=name == "geev")

    return call


def _configured(instruction: Instruction, given: dict[str, Any]) -> Instruction:
    """The call with its options where today's calls have them."""
    codes = [
        f"{_LETTERS[key][0]} = {ord(_LETTERS[key][1][int(value)])} : ui8"
        for key, value in given.items()
        if key in _LETTERS
    ]
    entries = {**instruction.attributes, "backend_config": Verbatim(f"{{{', '.join(codes)}}}")}
    return replace(instruction, attributes=type(instruction.attributes)(entries))


def _placed(instruction: Instruction, results: Any, leads: bool) -> Any:
    """The results with zeros as workspaces: behind them, or before them where the call leads with
    its workspaces.
    """
    shape = instruction.shape
    if not isinstance(shape, TupleShape):
        return results
    known = results if isinstance(results, tuple) else (results,)
    missing = len(shape.elements) - len(known)
    if leads:
        return (*map(zeros, shape.elements[:missing]), *known)
    return (*known, *map(zeros, shape.elements[len(known) :]))


def _with_vectors_behind(form: np.ndarray, vectors: np.ndarray, *others: np.ndarray) -> Any:
    """Schur forms: a workspace behind complex ones, and the vectors after the eigenvalues."""
    *values, selected, status = others
    spare = [np.zeros(form.shape[-1], form.real.dtype)] if form.dtype.kind == "c" else []
    return (form, *spare, *values, vectors, selected, status)


def _targets() -> dict[str, Target]:
    found: dict[str, Target] = {}
    for name, target in {**LAPACK, **condense.TARGETS, **schur.TARGETS}.items():
        library, _, routine = name.removesuffix(_SUFFIX).partition("_")
        if routine[1:] in _SCALARS:
            found[f"{library}_{routine}"] = _older(routine[1:], target)
    return found


OLDER_LAPACK: dict[str, Target] = _targets()
"""Custom call targets and what they compute."""

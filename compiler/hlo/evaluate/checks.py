"""The checks that a program makes of its own results: custom calls named ``check.expect_...``.

Each run of one is recorded with what it found; a failed check stops nothing. The rules are those of
the StableHLO project's check dialect: equality, an absolute tolerance for all elements or one for
each, or a distance in units in the last place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.errors import HloEvaluationError, HloUnsupportedError
from compiler.hlo.evaluate.numbers import bits_of, exact, kind_of, widened
from compiler.hlo.module import Instruction
from compiler.hlo.quoting import unquoted
from compiler.hlo.shape import ArrayShape, ElementType

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray

PREFIX = "check."
BOUNDED = "expect_is_close"
"""The check of two values with a third of absolute bounds; a fourth, where the values come from,
says nothing."""
PROBE = "interpreter.probe"
"""The custom call that keeps a value under its probe_id."""
TOLERANCE = 1e-3
"""The absolute tolerance of expect_almost_eq when the call has no settings."""
MAX_ULP_DIFFERENCE = 3
"""The distance that expect_close allows when the call has no settings."""
_FARTHEST = 2**64 - 1
"""The distance between a number and one that is not finite, or from NaN."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How one check went. ``detail`` names the worst element of a failed one."""

    name: str
    passed: bool
    where: str
    detail: str = ""

    def __str__(self) -> str:
        tail = f": {self.detail}" if self.detail else ""
        return f"{self.where}: {self.name} {'passed' if self.passed else 'failed'}{tail}"


def run_check(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """Compares the operands, records the result; yields whether it passed."""
    name = instruction.attributes["custom_call_target"].removeprefix(PREFIX)
    settings = settings_of(instruction)
    detail = ""
    if name == "expect_serialized_eq":
        detail, operands = _probed(machine, settings, operands)
    if not detail:
        detail = _difference(name, operands, settings)
    place = machine.place(instruction).rpartition(": ")[0]
    machine.checks.append(CheckResult(name, not detail, place, detail))
    if isinstance(instruction.shape, ArrayShape):
        return np.full(instruction.shape.dimensions, not detail)
    return ()


def run_probe(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """The operand, which is kept under the call's probe_id."""
    name = str(settings_of(instruction).get("probe_id", ""))
    machine.probes.setdefault(name, []).append(operands[0])
    return operands[0]


def _probed(
    machine: Evaluator, settings: dict[str, Any], operands: list[Any]
) -> tuple[str, list[Any]]:
    """What is wrong, and the operand with the value that a probe kept when it ran for the
    ``iteration``-th time.
    """
    name, turn = str(settings.get("probe_id", "")), int(settings.get("iteration", 0))
    kept = machine.probes.get(name, [])
    if turn >= len(kept):
        return f"probe '{name}' ran {len(kept)} times, not {turn + 1}", operands
    return "", [*operands, kept[turn]]


def _difference(name: str, operands: list[Any], settings: dict[str, Any]) -> str:
    """How the values differ, empty when they agree. Tokens carry nothing that could."""
    if name == BOUNDED and len(operands) in (3, 4):
        actual, expected, bounds, *_ = map(np.asarray, operands)
        wrong = _beyond(actual, expected, bounds)
        return _detail(wrong, actual, expected) if wrong.any() else ""
    if len(operands) != 2:
        raise HloEvaluationError(f"a check compares two values, {len(operands)} are given")
    if operands[0] is None and operands[1] is None:
        return ""
    wrong = _wrong(name, np.asarray(operands[0]), np.asarray(operands[1]), settings)
    return _detail(wrong, *operands) if wrong.any() else ""


def settings_of(instruction: Instruction) -> dict[str, Any]:
    """The settings of a check or probe: the JSON in its ``backend_config``."""
    text = str(instruction.attributes.get("backend_config", ""))
    if not text:
        return {}
    try:
        found = json.loads(unquoted(text))
    except ValueError:
        raise HloEvaluationError(f"the settings {text[:40]} of the check are not JSON") from None
    return found if isinstance(found, dict) else {}


def asserted(message: str, numbers: Sequence[int | None]) -> str:
    """A message with numbers in the places of ``{0}``, ``{1}``, ...; unknown ones stay open."""
    for place, number in enumerate(numbers):
        if number is not None:
            message = message.replace(f"{{{place}}}", str(number))
    return message


def _wrong(name: str, actual: Array, expected: Array, settings: dict[str, Any]) -> Array:
    """Where the values do not agree."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise HloEvaluationError(f"a check compares {actual.dtype} with {expected.dtype}")
    if name in ("expect_eq", "eq", "expect_serialized_eq"):
        return ~_equal(actual, expected)
    if name in ("expect_almost_eq", "almost_eq"):
        return _apart(actual, expected, float(settings.get("tolerance", TOLERANCE)))
    if name in ("expect_close", "close"):
        distance = ulp_distance(actual, expected)
        most = int(settings.get("max_ulp_difference", MAX_ULP_DIFFERENCE))
        least = int(settings.get("min_ulp_difference", 0))
        return np.asarray((distance > np.uint64(most)) | (distance < np.uint64(least)))
    raise HloUnsupportedError(f"the evaluator does not know check '{name}'")


def _equal(one: Array, other: Array) -> Array:
    a, b = widened(one), widened(other)
    return np.asarray((a == b) | ((a != a) & (b != b)))


def _apart(one: Array, other: Array, tolerance: float) -> Array:
    kind = kind_of(one)
    if not kind.is_float and not kind.is_complex:
        return ~_equal(one, other)
    parts = [(exact(one), exact(other))]
    if kind.is_complex:
        parts = [(a.real, b.real) for a, b in parts] + [(a.imag, b.imag) for a, b in parts]
    wrong = np.zeros(one.shape, bool)
    for a, b in parts:
        near = np.abs(a - b) <= tolerance
        wrong = wrong | ~(near | (a == b) | ((a != a) & (b != b)))
    return np.asarray(wrong)


def _beyond(one: Array, other: Array, bounds: Array) -> Array:
    """Where values are farther apart than their bounds: within finite ones, infinities and NaN are
    the same.
    """
    distance = np.zeros(one.shape)
    is_complex = kind_of(one).is_complex
    pairs = [(one.real, other.real), (one.imag, other.imag)] if is_complex else [(one, other)]
    for a, b in pairs:
        apart = np.where(_equal(a, b), 0.0, np.abs(exact(a) - exact(b)))
        distance = np.hypot(distance, apart)
    return np.asarray(~(distance <= exact(bounds)))


def ulp_distance(one: Array, other: Array) -> Array:
    """How many representable numbers lie between two, as uint64; complex: the larger part's."""
    kind = kind_of(one)
    if kind.is_complex:
        real = ulp_distance(np.asarray(one.real), np.asarray(other.real))
        return np.maximum(real, ulp_distance(np.asarray(one.imag), np.asarray(other.imag)))
    if not kind.is_float:
        return np.where(_equal(one, other), np.uint64(0), np.uint64(_FARTHEST))
    a, b = exact(one), exact(other)
    places = _ordered(one, kind), _ordered(other, kind)
    low, high = np.minimum(*places), np.maximum(*places)
    distance = high.astype(np.uint64) - low.astype(np.uint64)
    far = ~np.isfinite(a) | ~np.isfinite(b)
    distance = np.where(far, np.uint64(_FARTHEST), distance)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(np.where(same, np.uint64(0), distance))


def _ordered(array: Array, kind: ElementType) -> Array:
    """Integers in the order of the floats, one step per representable number."""
    bits = bits_of(array).astype(np.int64)
    if kind.bits == 64:
        low = np.iinfo(np.int64).min
        return np.where(bits < 0, low - bits, bits)
    sign = 1 << (kind.bits - 1)
    return np.where(bits & sign, -(bits & (sign - 1)), bits)


def _detail(wrong: Array, actual: Array, expected: Array) -> str:
    places = np.argwhere(wrong)
    first = tuple(int(i) for i in places[0])
    found, wanted = np.asarray(actual)[first], np.asarray(expected)[first]
    count = f"{len(places)} of {wrong.size} elements differ, " if wrong.size > 1 else ""
    place = f" at {list(first)}" if first else ""
    return f"{count}{found} is not {wanted}{place}"

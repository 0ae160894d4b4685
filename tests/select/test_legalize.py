"""Single rules of legalisation against NumPy, and what is said when no rule helps."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.journal import Journal
from compiler.llvm.context import Context
from compiler.llvm.evaluate import evaluate
from compiler.llvm.parse import parse_function
from compiler.llvm.passes import legalize
from compiler.llvm.passes.legalize import OperationLegalized
from compiler.llvm.verify import verify_function
from compiler.options import Options
from compiler.select import target_of
from isas import load_machine
from isas.errors import UnsupportedError

MACHINES = ("x86/zen3", "arm/cortex-a53", "simt/volta")
TYPES = {"float": np.float32, "double": np.float64}


def context(name: str) -> Context:
    options = Options()
    return Context(target_of(load_machine(name), options), options, Journal())


def binary(name: str, type: str, operation: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The legalised operation on every pair of elements."""
    function = parse_function(
        f"""
define void @f(ptr %a, ptr %b, ptr %out) {{
entry:
  %x = load {type}, ptr %a
  %y = load {type}, ptr %b
  %z = {operation}
  store {type} %z, ptr %out
  ret void
}}"""
    )
    legalize.run(function, context(name))
    verify_function(function)
    results = []
    for x, y in zip(a, b):
        memory = np.zeros(192, np.uint8)
        memory[: x.nbytes] = np.frombuffer(x.tobytes(), np.uint8)
        memory[64 : 64 + y.nbytes] = np.frombuffer(y.tobytes(), np.uint8)
        evaluate(function, [0, 64, 128], memory)
        results.append(memory[128 : 128 + x.nbytes].view(TYPES[type])[0])
    return np.array(results, TYPES[type])


def pairs(type: str) -> tuple[np.ndarray, np.ndarray]:
    dtype = TYPES[type]
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    some = np.array(
        [0.0, -0.0, 1.0, -1.5, 3.25, 1e10, -7e5, 0.1, tiny, -5 * tiny, 1000 * tiny, huge, -huge,
         np.finfo(dtype).tiny, np.inf, -np.inf, np.nan],
        dtype,
    )  # fmt: skip
    a, b = np.meshgrid(some, some)
    return a.ravel(), b.ravel()


def same(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    is_nan = np.isnan(found) & np.isnan(expected)
    return is_nan | ((found == expected) & (np.signbit(found) == np.signbit(expected)))


@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize("name", MACHINES)
def test_remainders_are_exact(name: str, type: str) -> None:
    a, b = pairs(type)
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
        found = binary(name, type, f"frem {type} %x, %y", a, b)
    assert same(found, expected).all()


@pytest.mark.parametrize("which", ["minimum", "maximum"])
@pytest.mark.parametrize("name", MACHINES)
def test_minimum_and_maximum_know_zeros_and_nan(name: str, which: str) -> None:
    a, b = pairs("float")
    better = np.where((a < b) == (which == "minimum"), a, b)
    zeros = (a == 0) & (b == 0)
    is_negative = np.signbit(a) | np.signbit(b)
    if which == "maximum":
        is_negative = np.signbit(a) & np.signbit(b)
    better = np.where(zeros, np.where(is_negative, -0.0, 0.0), better)
    expected = np.where(np.isnan(a) | np.isnan(b), np.nan, better).astype(np.float32)
    call = f"call float @llvm.{which}.f32(float %x, float %y)"
    assert same(binary(name, "float", call, a, b), expected).all()


def test_every_rewriting_is_a_decision_that_names_its_rule_and_origin() -> None:
    function = parse_function(
        """
define void @f(ptr %a) {
entry:
  %x = load float, ptr %a
  %y = fneg float %x ; %negate.7
  store float %y, ptr %a
  ret void
}"""
    )
    here = context("x86/zen3")
    assert legalize.run(function, here)
    decisions = [e.decision for e in here.journal.entries]
    assert [type(d) for d in decisions] == [OperationLegalized]
    assert decisions[0].origins == ("negate.7",)
    assert decisions[0].chosen == "negation flips the sign bit"


def test_what_nothing_covers_is_named_with_machine_type_and_origin() -> None:
    function = parse_function(
        """
define void @f(ptr %a) {
entry:
  %x = load i128, ptr %a
  %y = mul i128 %x, %x ; %multiply.3
  store i128 %y, ptr %a
  ret void
}"""
    )
    with pytest.raises(UnsupportedError) as caught:
        legalize.run(function, context("x86/zen3"))
    message = str(caught.value)
    assert "x86/zen3" in message and "i128" in message

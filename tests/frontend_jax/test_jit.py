"""`hob.jit` behaves as `jax.jit`: same results, same trees, one compilation per kind of call."""

from __future__ import annotations

import dataclasses
import logging
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import hob

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")

Pair = namedtuple("Pair", ["left", "right"])
RANDOM = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def same(one: Any, other: Any, tolerance: float = 2e-6) -> None:
    """Equal trees, types and shapes, and close values."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other)):
        assert isinstance(a, np.ndarray)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(
            a.astype(np.float64), np.asarray(b, np.float64), tolerance, tolerance
        )


def test_the_element_wise_chain_of_the_tutorial_runs_and_prints_stablehlo() -> None:
    def chain(x: Any) -> Any:
        return jnp.sum(jnp.add(jnp.sin(jnp.multiply(x, 2.0)), 1.0))

    x = jnp.arange(8, dtype=jnp.float32)
    compiled = hob.jit(chain)
    same(compiled(x), jax.jit(chain)(x))
    assert compiled.last is not None and compiled.last.matches and compiled.last.cycles > 0
    assert "cycles" in str(compiled.report())
    lowered = compiled.lower(x)
    assert "stablehlo.sine" in str(lowered.compiler_ir(dialect="stablehlo"))
    assert "stablehlo.sine" in lowered.as_text()
    assert "sine(" in lowered.as_text("hlo")
    assert "fusion(" in lowered.compile().as_text()
    assert "vmulps" in lowered.compile().as_text("assembly")


def test_pytrees_go_in_and_come_out() -> None:
    @hob.jit
    def step(params: dict[str, Any], pair: Pair, *, scale: Any) -> Any:
        hidden = jnp.tanh(pair.left @ params["w"] + params["b"][0])
        return {"hidden": hidden, "rest": Pair(pair.right, (hidden.sum(0) * scale, None))}

    arguments = ({"w": floats(4, 8), "b": [floats(8)]}, Pair(floats(3, 4), floats(2)))
    same(step(*arguments, scale=2.0), jax.jit(step.function)(*arguments, scale=2.0))


@pytest.mark.parametrize("machine", ["arm/cortex-a53", "simt/volta"])
def test_other_machines_give_the_same_results(machine: str) -> None:
    def layer(x: Any, w: Any) -> Any:
        return jax.nn.softmax(x @ w)

    x, w = floats(4, 8), floats(8, 6)
    same(hob.jit(layer, machine=machine)(x, w), jax.jit(layer)(x, w))


def test_evaluate_mode_runs_what_has_no_code_generation() -> None:
    def spectrum(x: Any) -> Any:
        return jnp.abs(jnp.fft.rfft(jnp.sort(x))), jnp.argsort(x)

    x = floats(16)
    line = spectrum.__code__.co_firstlineno + 1
    told = rf'(?s)test_jit.py:{line}: .*does not cover.*mode="evaluate"'
    with pytest.raises(hob.HobError, match=told):
        hob.jit(spectrum)(x)
    found = hob.jit(spectrum, mode="evaluate")
    same(found(x), jax.jit(spectrum)(x), 1e-5)
    assert found.last is None
    assert "sort(" in found.lower(x).compile().as_text()


def test_gradients_and_random_keys_evaluate() -> None:
    def step(key: Any, w: Any) -> Any:
        key, inner = jax.random.split(key)
        noise = jax.random.normal(inner, w.shape)
        return key, jax.grad(lambda v: jnp.sum(jax.nn.gelu(v * noise) ** 2))(w)

    key, w = jax.random.key(7), floats(5)
    found = hob.jit(step, mode="evaluate")
    expected = jax.jit(step)(key, w)
    new_key, gradient = found(key, w)
    np.testing.assert_array_equal(jax.random.key_data(new_key), jax.random.key_data(expected[0]))
    np.testing.assert_allclose(gradient, expected[1], 1e-5, 1e-6)
    found(new_key, w)
    assert found.versions == 1


def test_one_compilation_per_kind_of_call_and_recompilations_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events: list[Any] = []
    double = hob.jit(lambda x: x * 2, mode="evaluate", on_compile=events.append)
    with caplog.at_level(logging.INFO, logger="hob.jit"):
        for array in (floats(3), floats(3), floats(4), floats(3), np.arange(4)):
            double(array)
    assert double.versions == 3
    assert [event.is_recompilation for event in events] == [False, True, True]
    assert events[1].changes == ("x was float32[3], is float32[4]",)
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.INFO, logging.WARNING, logging.WARNING]
    assert "x was float32[3], is float32[4]" in caplog.text
    double.clear_cache()
    assert double.versions == 0


def test_static_arguments_are_python_values_known_by_place_or_name() -> None:
    @hob.jit(static_argnums=(1,), mode="evaluate")
    def power(x: Any, n: int, bias: Any = 0.0) -> Any:
        for _ in range(n - 1):
            x = x * x
        return x + bias

    np.testing.assert_array_equal(power(np.float32([2, 3]), 2), np.float32([4, 9]))
    np.testing.assert_array_equal(power(np.float32([2, 3]), n=3), np.float32([16, 81]))
    np.testing.assert_array_equal(power(np.float32([2, 3]), 1, 5.0), np.float32([7, 8]))
    assert power.versions == 3
    with pytest.raises(hob.HobError, match="cannot be hashed"):
        power(np.float32([2]), [2])
    with pytest.raises(hob.HobError, match="no argument 7"):
        hob.jit(power.function, static_argnums=7)
    with pytest.raises(hob.HobError, match="no argument 'm'"):
        hob.jit(power.function, static_argnames="m")


def test_strings_are_refused_with_advice() -> None:
    with pytest.raises(hob.HobError, match=r"(?s)kind is a str.*static_argnums"):
        hob.jit(lambda x, kind: x, mode="evaluate")(floats(2), "sum")


def test_inside_a_traced_function_it_is_the_plain_function_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    square = hob.jit(lambda x: x * x)
    np.testing.assert_array_equal(jax.grad(lambda x: square(x).sum())(np.float32([3.0])), [6.0])
    np.testing.assert_array_equal(jax.vmap(square)(np.float32([3.0])), [9.0])
    assert square.versions == 0
    assert caplog.text.count("<lambda> is called while JAX traces another function") == 1

    def captures(x: Any) -> Any:
        return hob.jit(lambda y: y + x, mode="evaluate")(np.float32([1.0]))

    for transform in (jax.jit, lambda f: hob.jit(f, mode="evaluate")):
        np.testing.assert_array_equal(transform(captures)(np.float32([2.0])), [3.0])


def test_donated_arguments_share_memory_with_results_and_keep_their_values() -> None:
    def step(x: Any, n: int, y: Any) -> Any:
        return x + y, y * n

    x, y = floats(4), floats(4)
    found = hob.jit(step, static_argnums=1, donate_argnums=(0, 2))
    same(found(x, 3, y), jax.jit(step, static_argnums=1)(x, 3, y))
    assert str(found.lower(x, 3, y).module).count("may-alias") == 2
    named = hob.jit(lambda x, y: x * y, donate_argnames="y", mode="evaluate")
    same(named(x, y=y), x * y)
    for settings, words in (
        ({"donate_argnums": 7}, "donate_argnums: there is no argument 7"),
        ({"backend": "gpu"}, "no setting 'backend'.*machine="),
        ({"colour": 1}, "no setting 'colour'"),
    ):
        with pytest.raises(hob.HobError, match=f"(?s){words}"):
            hob.jit(step, **settings)
    hob.jit(step, device=None, inline=True, keep_unused=False)


def test_what_jax_users_ask_of_a_lowered_and_a_compiled_function_is_told() -> None:
    double = hob.jit(lambda x: {"y": x @ x})
    x = floats(4, 4)
    lowered = double.lower(x)
    compiled = lowered.compile()
    assert lowered.cost_analysis()["flops"] >= 2 * 4**3
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (64, 64)
    assert compiled.out_tree == jax.tree.structure({"y": 0})
    assert compiled.out_info["y"].shape == double.eval_shape(x)["y"].shape == (4, 4)
    assert "dot_general" in str(double.trace(x).jaxpr)
    assert "loc(" in lowered.as_text(debug_info=True)
    with pytest.raises(hob.HobError, match="no memory is assigned"):
        hob.jit(lambda x: x, mode="evaluate").lower(x).compile().memory_analysis()


def test_what_only_jax_can_run_is_refused_with_the_user_s_line() -> None:
    def loud(x: Any) -> Any:
        jax.debug.print("{}", x)
        return x

    line = loud.__code__.co_firstlineno + 1
    with pytest.raises(hob.HobError, match=rf"test_jit.py:{line}: calls back into Python"):
        hob.jit(loud, mode="evaluate")(floats(2))
    with pytest.raises(hob.HobError, match=r"(?s)test_jit.py:\d+: cholesky.*custom-call"):
        hob.jit(jnp.linalg.cholesky)(np.eye(2, dtype=np.float32))


@dataclasses.dataclass
class State:
    """A pytree with a part that is static."""

    weight: Any
    count: int = 3


jax.tree_util.register_dataclass(State, data_fields=["weight"], meta_fields=["count"])


@pytest.mark.parametrize("mode", ["evaluate", "simulate"])
def test_every_kind_of_tree_and_scalar_goes_in_and_comes_out(mode: str) -> None:
    x = floats(4)
    functions: list[tuple[Any, tuple[Any, ...]]] = [
        (lambda s: State(s.weight * s.count, s.count), (State(x, 2),)),
        (lambda a, n: (a, n, [], {}), (x, None)),
        (lambda a: (), (x,)),
        (lambda: jnp.arange(3) * 2, ()),
        (lambda a, b, c: (a * b, c, a, b + 1), (x, 2, True)),
        (lambda a: (1, 2.5, True, np.arange(3), a > 0), (x,)),
        (lambda *a: sum(a), (x, x, 1.5)),
        (lambda a: (a, a.reshape(2, 2), a + a), (jnp.asarray(x, jnp.bfloat16),)),
        (lambda a: (a * 2, a.sum(), a & 3), (np.arange(-3, 5, dtype=np.int8),)),
    ]
    for function, arguments in functions:
        same(hob.jit(function, mode=mode)(*arguments), jax.jit(function)(*arguments), 1e-2)


def test_a_compiled_function_takes_only_what_it_was_compiled_for() -> None:
    compiled = hob.jit(lambda x: x + 1, mode="evaluate").lower(floats(3)).compile()
    assert compiled(np.zeros(3, np.float32)).tolist() == [1, 1, 1]
    with pytest.raises(hob.HobError, match=r"compiled for .*float32\[3\].*float32\[4\]"):
        compiled(floats(4))


def test_shapes_alone_are_enough_to_lower() -> None:
    lowered = hob.jit(lambda x: x @ x).lower(jax.ShapeDtypeStruct((4, 4), jnp.float32))
    assert "dot(" in str(lowered.module)
    assert lowered.out_info.shape == (4, 4)


def test_large_captured_constants_keep_every_digit() -> None:
    table = floats(50, 20)
    found = hob.jit(lambda x: x + table, mode="evaluate")(np.zeros((50, 20), np.float32))
    np.testing.assert_array_equal(found, table)


def test_unused_arguments_stay_and_types_narrower_than_32_bits_work() -> None:
    def mixed(a: Any, unused: Any, b: Any) -> Any:
        return (a * b).astype(jnp.bfloat16), b.astype(jnp.int8), a > 0

    arguments = (floats(6), floats(2), np.arange(6, dtype=np.float16))
    same(hob.jit(mixed, mode="evaluate")(*arguments), jax.jit(mixed)(*arguments), 1e-2)


def test_unknown_modes_dialects_and_stages_are_refused() -> None:
    double = hob.jit(lambda x: x * 2)
    for attempt, words in (
        (lambda: hob.jit(lambda x: x, mode="guess"), "no mode 'guess'"),
        (lambda: double.lower(floats(2)).as_text("mhlo"), "no dialect 'mhlo'"),
        (lambda: double.lower(floats(2)).compile().as_text("nothing"), "no stage 'nothing'"),
        (lambda: double.report(), "no run yet"),
        (lambda: hob.jit(3), "takes a function"),
    ):
        with pytest.raises(hob.HobError, match=words):
            attempt()


def test_a_decorated_method_lowers_like_a_function() -> None:
    class Scale:
        @hob.jit(static_argnums=0)
        def __call__(self, x: jax.Array) -> jax.Array:
            return 2 * x

        run = hob.jit(lambda self, x: 3 * x, static_argnums=0)

    scale = Scale()
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(scale(x), 2 * x)
    assert "multiply" in scale.run.lower(scale, x).as_text()

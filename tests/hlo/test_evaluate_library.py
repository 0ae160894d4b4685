# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""Random bits, linear algebra, Fourier transforms, normalisation, control flow and single-replica collectives."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.errors import HloEvaluationError, HloUnsupportedError
from compiler.hlo.evaluate import evaluate
from compiler.hlo.evaluate.random import philox, threefry
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from tests.hlo.programs import ADD, one_op


def run_all(body: str, *arrays: np.ndarray, before: str = "") -> list[np.ndarray]:
    return evaluate(verify(parse_module(one_op(body, before=before))), *arrays)


def run(body: str, *arrays: np.ndarray, before: str = "") -> np.ndarray:
    return run_all(body, *arrays, before=before)[0]


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def words(*values: int) -> int:
    return sum(value << (32 * i) for i, value in enumerate(values))


# Known answers of the generators' authors: Random123, examples/kat_vectors (threefry2x32 20, philox4x32 10).
THREEFRY = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]
PHILOX = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), THREEFRY)
def test_threefry_gives_the_known_answers(counter, key, expected):
    low, high = threefry(np.array([words(*counter)], np.uint64), words(*key))
    assert (int(low[0]), int(high[0])) == expected


@pytest.mark.parametrize(("counter", "key", "expected"), PHILOX)
def test_philox_gives_the_known_answers(counter, key, expected):
    with np.errstate(over="ignore"):
        got = philox([np.array([word], np.uint32) for word in counter], words(*key))
    assert tuple(int(word[0]) for word in got) == expected


@pytest.mark.parametrize("algorithm", ["rng_three_fry", "rng_philox", "rng_default"])
@pytest.mark.parametrize("shape", ["u32[5,3]", "u32[4]", "u64[3]", "u8[7]", "u32[]", "f32[6]"])
def test_the_random_state_advances_and_streams_do_not_repeat(algorithm, shape):
    body = f"p = u64[2] parameter(0)\nr = (u64[2], {shape}) rng-bit-generator(p), algorithm={algorithm}"
    state = np.array([42, 7], np.uint64)
    after, bits = run_all(body, state)
    again, other = run_all(body, after)
    assert after[0] == 42 and after[1] > 7 and again[1] > after[1]
    assert bits.tobytes() != other.tobytes()
    assert run_all(body, state)[1].tobytes() == bits.tobytes()


def test_threefry_bits_of_an_even_dimension_interleave_both_words():
    body = "p = u64[2] parameter(0)\nr = (u64[2], u32[4]) rng-bit-generator(p), algorithm=rng_three_fry"
    after, bits = run_all(body, np.array([5, 0], np.uint64))
    first, second = threefry(np.arange(2, dtype=np.uint64), 5)
    assert bits.tolist() == [first[0], second[0], first[1], second[1]]
    assert after.tolist() == [5, 2]


def test_rng_is_reproducible_and_in_range():
    body = "a = f32[] constant(-1)\nb = f32[] constant(3)\nr = f32[1000] rng(a, b), distribution=rng_uniform"
    values = run(body)
    assert -1 <= values.min() < -0.9 and 2.9 < values.max() < 3
    assert values.tobytes() == run(body).tobytes()


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_factors_and_reads_one_triangle(lower):
    a = floats(2, 4, 4)
    matrix = a @ a.swapaxes(1, 2) + 4 * np.eye(4, dtype=np.float32)
    spoiled = np.where(np.tri(4, dtype=bool) if lower else np.tri(4, dtype=bool).T, matrix, 99)
    body = f"p = f32[2,4,4] parameter(0)\nr = f32[2,4,4] cholesky(p), lower={str(lower).lower()}"
    factor = run(body, spoiled.astype(np.float32))
    product = factor @ factor.swapaxes(1, 2) if lower else factor.swapaxes(1, 2) @ factor
    np.testing.assert_allclose(product, matrix, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
def test_triangular_solve_inverts_the_product(left, lower, transpose):
    a = floats(3, 3) + 3 * np.eye(3, dtype=np.float32)
    b = floats(3, 3, seed=1)
    body = (
        "p = f32[3,3] parameter(0)\nq = f32[3,3] parameter(1)\nr = f32[3,3] triangular-solve(p, q), "
        f"left_side={str(left).lower()}, lower={str(lower).lower()}, transpose_a={transpose}"
    )
    triangle = np.tril(a) if lower else np.triu(a)
    operator = triangle if transpose == "NO_TRANSPOSE" else triangle.T
    x = run(body, a, b)
    np.testing.assert_allclose(operator @ x if left else x @ operator, b, rtol=1e-4, atol=1e-5)


def test_fourier_transforms_equal_numpy():
    a = floats(3, 8)
    p = "p = f32[3,8] parameter(0)\n"
    got = run(p + "r = c64[3,5] fft(p), fft_type=RFFT, fft_length={8}", a)
    np.testing.assert_allclose(got, np.fft.rfft(a), rtol=1e-5, atol=1e-5)
    body = (
        p
        + "c = c64[3,5] fft(p), fft_type=RFFT, fft_length={8}\nr = f32[3,8] fft(c), fft_type=IRFFT, fft_length={8}"
    )
    np.testing.assert_allclose(run(body, a), a, rtol=1e-5, atol=1e-5)
    body = p + "c = c64[3,8] convert(p)\nr = c64[3,8] fft(c), fft_type=FFT, fft_length={3,8}"
    np.testing.assert_allclose(run(body, a), np.fft.fft2(a), rtol=1e-4, atol=1e-4)


def test_batch_norm_training_and_its_gradient():
    x, scale, offset = floats(4, 3), floats(3, seed=1), floats(3, seed=2)
    head = "p = f32[4,3] parameter(0)\ns = f32[3] parameter(1)\no = f32[3] parameter(2)\n"
    attributes = "epsilon=0.001, feature_index=1"
    body = head + f"r = (f32[4,3], f32[3], f32[3]) batch-norm-training(p, s, o), {attributes}"
    y, mean, variance = run_all(body, x, scale, offset)
    np.testing.assert_allclose(mean, x.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, x.var(0), rtol=1e-5)
    np.testing.assert_allclose(
        y, (x - mean) / np.sqrt(variance + 0.001) * scale + offset, rtol=1e-4, atol=1e-5
    )
    weight = floats(4, 3, seed=3).astype(np.float64)

    def loss(array: np.ndarray) -> float:
        centered = array - array.mean(0)
        normal = centered / np.sqrt(array.var(0) + 0.001)
        return float((weight * (normal * scale + offset)).sum())

    body = (
        "p = f32[4,3] parameter(0)\ns = f32[3] parameter(1)\nm = f32[3] parameter(2)\n"
        f"v = f32[3] parameter(3)\ng = f32[4,3] parameter(4)\n"
        f"r = (f32[4,3], f32[3], f32[3]) batch-norm-grad(p, s, m, v, g), {attributes}"
    )
    gradient, _, offset_gradient = run_all(
        body, x, scale, mean, variance, weight.astype(np.float32)
    )
    np.testing.assert_allclose(offset_gradient, weight.sum(0), rtol=1e-5)
    wide = x.astype(np.float64)
    for index in ((0, 0), (2, 1), (3, 2)):
        step = np.zeros_like(wide)
        step[index] = 1e-5
        slope = (loss(wide + step) - loss(wide - step)) / 2e-5
        assert abs(slope - gradient[index]) < 1e-3


def test_conditional_takes_the_last_branch_when_out_of_range():
    branches = "".join(
        f"b{i} {{ x = f32[] parameter(0)\n c = f32[] constant({i})\n ROOT r = f32[] add(x, c) }}\n"
        for i in range(3)
    )
    body = "i = s32[] parameter(0)\nx = f32[] constant(10)\nr = f32[] conditional(i, x, x, x), branch_computations={b0, b1, b2}"
    assert [float(run(body, np.int32(i), before=branches)) for i in (0, 1, 2, 3, -1)] == [
        10,
        11,
        12,
        12,
        12,
    ]
    body = "i = pred[] parameter(0)\nx = f32[] constant(10)\nr = f32[] conditional(i, x, x), true_computation=b1, false_computation=b0"
    assert [float(run(body, np.bool_(i), before=branches)) for i in (True, False)] == [11, 10]


@pytest.mark.parametrize(
    "line",
    [
        "r = f32[4] all-reduce(p), replica_groups={}, to_apply=add_f32",
        "r = f32[4] all-gather(p), dimensions={0}, replica_groups={}",
        "r = f32[4] reduce-scatter(p), dimensions={0}, to_apply=add_f32",
        "r = f32[4] all-to-all(p), dimensions={0}",
        "r = f32[4] collective-permute(p), source_target_pairs={{0,0}}",
        "r = f32[4] collective-broadcast(p), replica_groups={{0}}",
        "s = f32[4] all-reduce-start(p), to_apply=add_f32\nr = f32[4] all-reduce-done(s)",
        "s = (f32[4], f32[4]) all-gather-start(p), dimensions={0}\nr = f32[4] all-gather-done(s)",
        "s = (f32[4], f32[4], u32[]) copy-start(p)\nr = f32[4] copy-done(s)",
        "t = token[] after-all(p)\nr = f32[4] add-dependency(p, t)",
        "r = f32[4] opt-barrier(p)",
        'r = f32[4] custom-call(p), custom_call_target="Sharding"',
    ],
)
def test_a_single_replica_receives_what_it_sends(line):
    a = floats(4)
    np.testing.assert_array_equal(run("p = f32[4] parameter(0)\n" + line, a, before=ADD), a)


def test_asynchronous_computations_yield_their_results():
    body = (
        "p = f32[4] parameter(0)\n"
        "s = ((f32[4]), f32[4], s32[]) async-start(p), calls=work\n"
        "u = ((f32[4]), f32[4], s32[]) async-update(s)\nr = f32[4] async-done(u)"
    )
    work = "work { x = f32[4] parameter(0)\n ROOT n = f32[4] negate(x) }\n"
    a = floats(4)
    np.testing.assert_array_equal(run(body, a, before=work), -a)
    body = (
        "p = f32[4] parameter(0)\n"
        "s = ((f32[4]), f32[2], s32[]) slice-start(p), slice={[1:3]}\nr = f32[2] slice-done(s)"
    )
    np.testing.assert_array_equal(run(body, a), a[1:3])


@pytest.mark.parametrize("seed", range(3))
def test_lapack_calls_factor_their_matrices(seed):
    a = floats(4, 4, seed=seed)
    p = "p = f32[4,4] parameter(0)\n"
    packed, pivots, status = run_all(
        p + 'r = (f32[4,4], s32[4], s32[]) custom-call(p), custom_call_target="lapack_sgetrf_ffi"',
        a,
    )
    rows = np.arange(4)
    for k, pivot in enumerate(pivots):
        rows[[k, pivot - 1]] = rows[[pivot - 1, k]]
    np.testing.assert_allclose(
        (np.tril(packed, -1) + np.eye(4)) @ np.triu(packed), a[rows], atol=1e-5
    )
    assert int(status) == 0
    body = (
        p + 'q = (f32[4,4], f32[4]) custom-call(p), custom_call_target="lapack_sgeqrf_ffi"\n'
        "f = f32[4,4] get-tuple-element(q), index=0\nt = f32[4] get-tuple-element(q), index=1\n"
        'o = f32[4,4] custom-call(f, t), custom_call_target="lapack_sorgqr_ffi"\nr = (f32[4,4], f32[4,4]) tuple(o, f)'
    )
    q, r = run_all(body, a)
    np.testing.assert_allclose(q @ np.triu(r), a, atol=1e-5)
    np.testing.assert_allclose(q.T @ q, np.eye(4), atol=1e-5)


def test_elided_constants_refuse_to_evaluate():
    with pytest.raises(HloEvaluationError, match=r"digits were left out"):
        run("r = f32[1000] constant({...})")


def test_arguments_must_fit():
    body = "p = f32[2] parameter(0)\nr = f32[2] negate(p)"
    for arrays, message in (
        ((), "takes 1 arrays"),
        ((np.zeros(3, np.float32),), "dimensions"),
        ((np.zeros(2, np.float64),), "float64"),
        ((np.zeros((2, 1), np.float32),), "dimensions"),
    ):
        with pytest.raises(HloEvaluationError, match=message):
            run(body, *arrays)
    assert run(body, [1, 2]).tolist() == [-1, -2]


def test_bit_patterns_stand_for_types_numpy_lacks():
    body = "p = bf16[2] parameter(0)\nr = bf16[2] negate(p)"
    got = run(body, np.array([0x3F80, 0x4000], np.uint16))
    assert got.astype(np.float32).tolist() == [-1, -2]


def test_unknown_operations_are_named_with_their_line():
    with pytest.raises(HloUnsupportedError, match="custom call 'mystery'") as raised:
        run(
            'p = f32[2] parameter(0)\nr = f32[2] custom-call(p), custom_call_target="mystery"',
            floats(2),
        )
    assert "<text>:5: r (custom-call)" in str(raised.value)
    with pytest.raises(HloEvaluationError, match="not static"):
        run("p = f32[?] parameter(0)\nr = f32[?] negate(p)", np.zeros(2, np.float32))


def test_a_new_buffer_holds_zeros_until_it_is_written():
    for target in ("AllocateBuffer", "CreateBuffer"):
        module = parse_module(one_op(f'r = f32[3] custom-call(), custom_call_target="{target}"'))
        assert evaluate(verify(module))[0].tolist() == [0, 0, 0]


def test_integers_times_floats_are_floats():
    body = (
        "p = s8[2] parameter(0)\nq = f32[2] parameter(1)\n"
        "r = f32[] dot(p, q), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    )
    module = verify(parse_module(one_op(body)))
    arrays = np.array([2, -3], np.int8), np.array([0.5, 1.5], np.float32)
    assert evaluate(module, *arrays)[0] == -3.5

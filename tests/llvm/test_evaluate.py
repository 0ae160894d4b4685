"""The evaluator's arithmetic is exact, its memory is guarded, and a grid behaves like its
threads."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from compiler.llvm.evaluate import evaluate
from compiler.llvm.exact import fma, fma_scalar
from compiler.llvm.intrinsics import intrinsic_operation
from compiler.llvm.ir import Function
from compiler.llvm.numbers import round_float
from compiler.llvm.parse import parse_function
from compiler.llvm.semantics import dtype_of
from compiler.llvm.types import BF16, F16, F32, F64, I8, I32, Type
from isas.errors import InternalError
from lab.crosscheck.llvm import run_function

RNG = np.random.default_rng(5)


def rounded_fma(a: float, b: float, c: float, type: Type) -> float:
    """By exact rational arithmetic; the operands are finite and the result is not zero."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if type == F64:
        return exact.numerator / exact.denominator
    digits = {F16: 11, BF16: 8, F32: 24}[type]
    lowest = {F16: -24, BF16: -133, F32: -149}[type]
    exponent = max(_floor_log2(abs(exact)) - digits + 1, lowest)
    scaled = exact / Fraction(2) ** exponent
    return float(round(scaled) * Fraction(2) ** exponent)


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


@pytest.mark.parametrize("type", [F16, BF16, F32, F64])
def test_fma_rounds_once(type: Type) -> None:
    dtype = dtype_of(type)
    a, b = (RNG.normal(size=400).astype(dtype) for _ in range(2))
    near = -(a.astype(np.float64) * b.astype(np.float64)) * (1 + RNG.integers(-3, 4, 400) * 2.0**-9)
    c = np.where(RNG.random(400) < 0.5, near, RNG.normal(size=400)).astype(dtype)
    found = fma(a, b, c)
    for x, y, z, r in zip(a, b, c, found):
        if Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) != 0:
            expected = rounded_fma(float(x), float(y), float(z), type)
            assert float(r) == expected
            assert float(fma(x, y, z)) == expected


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        (1e308, 2.0, -1e308, 1e308),
        (1e308, 2.0, -math.inf, -math.inf),
        (0.0, -1.0, 0.0, 0.0),
        (0.0, -1.0, -0.0, -0.0),
        (1e-300, 1e-300, 0.0, 0.0),
        (-1e-300, 1e-300, 0.0, -0.0),
        (2.0, 3.0, -6.0, 0.0),
        (math.inf, 0.0, 1.0, math.nan),
    ],
)
def test_fma_special_values(a: float, b: float, c: float, expected: float) -> None:
    scalar = fma_scalar(a, b, c)
    with np.errstate(all="ignore"):
        vector = float(fma(np.array([a]), np.array([b]), np.array([c]))[0])
    for found in (scalar, vector):
        if expected == 0 and found != 0:
            assert abs(found) == 5e-324 or found == expected
        else:
            assert repr(found) == repr(expected)


def test_minimum_and_maximum_order_zeros_and_keep_nan() -> None:
    maximum = intrinsic_operation("llvm.maximum", F32)
    minimum = intrinsic_operation("llvm.minimum", F32)
    assert maximum is not None and minimum is not None
    zeros = np.array([0.0, -0.0, 0.0, -0.0], np.float32)
    others = np.array([-0.0, 0.0, 0.0, -0.0], np.float32)
    assert list(np.signbit(maximum(zeros, others))) == [False, False, False, True]
    assert list(np.signbit(minimum(zeros, others))) == [True, True, False, True]
    assert np.isnan(maximum(np.float32(math.nan), np.float32(1)))


@pytest.mark.parametrize("name", ["ctpop", "ctlz", "cttz", "bitreverse", "bswap", "abs"])
@np.errstate(all="ignore")
def test_bit_counting_agrees_with_python(name: str) -> None:
    operation = intrinsic_operation(f"llvm.{name}", I32)
    assert operation is not None
    for value in [0, 1, -1, 2**31 - 1, -(2**31), *map(int, RNG.integers(-(2**31), 2**31, 50))]:
        bits = value & 0xFFFFFFFF
        text = f"{bits:032b}"
        expected = {
            "ctpop": text.count("1"),
            "ctlz": len(text) - len(text.lstrip("0")),
            "cttz": len(text) - len(text.rstrip("0")),
            "bitreverse": int(text[::-1], 2),
            "bswap": int.from_bytes(bits.to_bytes(4, "little"), "big"),
            "abs": abs(value),
        }[name]
        assert int(operation(np.int32(value))) & 0xFFFFFFFF == expected & 0xFFFFFFFF


def test_saturating_conversions_clamp_and_send_nan_to_zero() -> None:
    to_int = intrinsic_operation("llvm.fptosi.sat", I32)
    to_byte = intrinsic_operation("llvm.fptoui.sat", I8)
    assert to_int is not None and to_byte is not None
    values = np.array([1e10, -1e10, math.nan, 2.9, -2.9], np.float32)
    assert list(to_int(values)) == [2**31 - 1, -(2**31), 0, 2, -2]
    assert list(to_byte(values).view(np.uint8)) == [255, 0, 0, 2, 0]


def test_narrowing_a_double_to_bfloat_rounds_once() -> None:
    function = parse_function(
        """define void @f(ptr %x) {
        e:
          %a = load double, ptr %x, align 8
          %b = fptrunc double %a to bfloat
          store bfloat %b, ptr %x, align 2
          ret void
        }"""
    )
    for value in (1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8 - 2.0**-40, 3.4e38, 1e-41):
        memory = np.array([value]).view(np.uint8).copy()
        evaluate(function, [0], memory)
        found = float(memory[:2].view(dtype_of(BF16))[0])
        assert found == round_float(value, BF16)


LANES = """define void @lanes(ptr %x) {
e:
  %v = load <4 x i32>, ptr %x, align 4
  %k = load i32, ptr %x, align 4
  %i = zext i32 %k to i64
  %one = extractelement <4 x i32> %v, i64 %i
  %w = insertelement <4 x i32> %v, i32 %one, i64 0
  %s = shufflevector <4 x i32> %w, <4 x i32> %v, <5 x i32> <i32 7, i32 0, i32 4, i32 3, i32 1>
  %h = shufflevector <5 x i32> %s, <5 x i32> poison, <4 x i32> <i32 3, i32 4, i32 0, i32 2>
  %c = icmp slt <4 x i32> %h, %v
  %m = bitcast <4 x i1> %c to i4
  %z = select <4 x i1> %c, <4 x i32> %h, <4 x i32> splat (i32 9)
  %b = bitcast <4 x i32> %z to <16 x i8>
  %p = getelementptr i8, ptr %x, i64 16
  store <16 x i8> %b, ptr %p, align 1
  ret void
}"""


def test_lanes_move_as_in_native_code() -> None:
    function = parse_function(LANES.replace("  %m = bitcast <4 x i1> %c to i4\n", ""))
    memory = np.zeros(64, np.uint8)
    memory[:16].view(np.int32)[:] = [2, -7, 30, 4]
    native = run_function(function, [0], memory)
    evaluate(function, [0], memory)
    assert np.array_equal(memory, native)


def test_an_access_outside_the_memory_is_an_error() -> None:
    for index in ("-1", "100", "62"):
        function = parse_function(
            f"""define void @f(ptr %x) {{
            e:
              %p = getelementptr i8, ptr %x, i64 {index}
              %a = load i32, ptr %p, align 1
              store i32 %a, ptr %x, align 4
              ret void
            }}"""
        )
        with pytest.raises(InternalError, match=f"outside the memory: byte {index} of 64"):
            evaluate(function, [0], np.zeros(64, np.uint8))


def test_a_loop_without_end_is_stopped() -> None:
    function = parse_function("define void @f() {\ne:\n  br label %l\nl:\n  br label %l\n}")
    with pytest.raises(InternalError, match="did not end"):
        evaluate(function, [], np.zeros(0, np.uint8), max_blocks=100)


GRID = """define void @grid(ptr addrspace(1) %x, ptr addrspace(1) %out, ptr addrspace(3) %s) {
entry:
  %slot = alloca float, align 4
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %before = mul i32 %block, %size
  %g = add i32 %before, %t
  %i = sext i32 %g to i64
  %px = getelementptr inbounds float, ptr addrspace(1) %x, i64 %i
  %v = load float, ptr addrspace(1) %px, align 4
  %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v, i32 1, i32 31)
  %down = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %v, i32 4, i32 31)
  %both = fadd float %other, %down
  store float %both, ptr %slot, align 4
  %odd = and i32 %t, 1
  %is.odd = icmp eq i32 %odd, 1
  br i1 %is.odd, label %loop, label %even

loop:
  %k = phi i32 [ 0, %entry ], [ %k.next, %loop ]
  %old = load float, ptr %slot, align 4
  %new = fadd float %old, 1.0
  store float %new, ptr %slot, align 4
  %k.next = add i32 %k, 1
  %more = icmp slt i32 %k.next, %lane
  br i1 %more, label %loop, label %join

even:
  %e = fneg float %both
  store float %e, ptr %slot, align 4
  br label %join

join:
  %trips = phi i32 [ %k.next, %loop ], [ -1, %even ]
  %mine = load float, ptr %slot, align 4
  %ps = getelementptr inbounds float, ptr addrspace(3) %s, i32 %t
  store float %mine, ptr addrspace(3) %ps, align 4
  call void @llvm.nvvm.barrier0()
  %last = sub i32 %size, 1
  %mirror = sub i32 %last, %t
  %pm = getelementptr inbounds float, ptr addrspace(3) %s, i32 %mirror
  %theirs = load float, ptr addrspace(3) %pm, align 4
  %tf = sitofp i32 %trips to float
  %sum = fadd float %theirs, %tf
  %po = getelementptr inbounds float, ptr addrspace(1) %out, i64 %i
  store float %sum, ptr addrspace(1) %po, align 4
  ret void
}"""


def expected_grid(x: np.ndarray, blocks: int, threads: int) -> np.ndarray:
    """The kernel above, thread by thread in Python."""
    mine = np.zeros((blocks, threads), np.float32)
    trips = np.zeros((blocks, threads), np.float32)
    for block in range(blocks):
        row = x[block * threads : (block + 1) * threads]
        for t in range(threads):
            lane = t % 32
            width = min(32, threads - (t - lane))
            other = row[t ^ 1] if (lane ^ 1) < width else row[t]
            down = row[t + 4] if lane + 4 < width else row[t]
            value = np.float32(other + down)
            if t % 2:
                steps = max(lane, 1)
                for _ in range(steps):
                    value = np.float32(value + np.float32(1))
                trips[block, t] = steps
            else:
                value, trips[block, t] = -value, -1
            mine[block, t] = value
    return (mine[:, ::-1] + trips).astype(np.float32).reshape(-1)


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (3, 64), (2, 40)])
def test_a_grid_with_divergence_shuffles_and_shared_memory(blocks: int, threads: int) -> None:
    function: Function = parse_function(GRID)
    total = blocks * threads
    memory = np.zeros(8 * total, np.uint8)
    x = RNG.normal(size=total).astype(np.float32)
    memory[: 4 * total].view(np.float32)[:] = x
    evaluate(function, [0, 4 * total, 0], memory, (blocks, threads))
    found = memory[4 * total :].view(np.float32)
    assert np.array_equal(found, expected_grid(x, blocks, threads))

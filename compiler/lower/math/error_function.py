"""erf.

Below 1, x + x*p(x^2). From 1 on, 1 - exp(-q(|x|)) where q approximates -log(erfc): what is left of
erf's distance from 1 shrinks so fast that q may be coarse where x is large, and the minimax weight
says so. From 4 (6 in f64) on the result is 1. Polynomials: tests/lower/minimax.py.
"""

from __future__ import annotations

from compiler.llvm.ir import Predicate, Value
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.math.exponential import clamp, exp_in_range

_SMALL_F32 = (
    7.896133320173249e-05, -0.0008023114642128348, 0.005189818330109119, -0.026854613795876503,
    0.11283604800701141, -0.3761262893676758, 0.12837916612625122,
)  # fmt: skip
_SMALL_F64 = (
    -7.547569901381298e-10, 1.3586453384530446e-08, -1.617749722660406e-07, 1.644337202895949e-06,
    -1.492440855635053e-05, 0.00012055277861071943, -0.000854832540897667, 0.005223977595422985,
    -0.02686617064183521, 0.11283791670936419, -0.3761263890318334, 0.12837916709551256,
)  # fmt: skip
_TAIL_F32 = (
    2.16975840885425e-05, -0.000441472337115556, 0.004205283243209124, -0.025210335850715637,
    0.10842209309339523, 0.633216381072998, 1.1295802593231201, -0.00018846763123292476,
)  # fmt: skip
_TAIL_F64 = (
    -2.236708683103891e-12, 2.1329302780218535e-11, 6.33643326925123e-10, -1.673033675718434e-08,
    1.893058436126713e-07, -1.3029664737270104e-06, 5.8202986327901895e-06, -1.532295686485947e-05,
    4.882515004131864e-06, 0.00015970627668935593, -0.0008014138700421185, 0.0019455331501227822,
    -0.00043212221456450126, -0.018978776499594167, 0.10269927368649119, 0.6366445644126346,
    1.1283739920844722, 5.027884978106462e-07,
)  # fmt: skip


def erf(a: Arithmetic, x: Value) -> Value:
    is_single = x.type.bits == 32
    size, one = a.fabs(x), a.number(x.type, 1.0)
    near = a.fma(x, a.horner(a.fmul(x, x), _SMALL_F32 if is_single else _SMALL_F64), x)
    cut = clamp(a, size, 1.0, 4.0 if is_single else 6.0)
    exponent = a.horner(cut, _TAIL_F32 if is_single else _TAIL_F64)
    far = a.fsub(one, exp_in_range(a, a.fneg(exponent)))
    far = a.flip_sign(far, a.sign_bit(x))
    return a.select(a.fcmp(Predicate.OLT, size, one), near, far)

"""Elementary functions as branch-free arithmetic that a vectoriser can widen: no tables in memory,
no branches, fused multiply-add spelled out. Each takes and returns f32 or f64 values.

Largest error found in f32, in units in the last place of the float64 result, on 200,000 points per
function that cover even spacing and all exponents down to subnormal numbers;
tests/lower/test_math.py measures it anew and asserts 4 (8 for sinh, cosh and the inverse
functions):

    exp 1.0   expm1 1.4   log 0.7   log1p 1.4   sin 1.5   cos 1.4   tan 3.0 (|x| <= 2^20)
    tanh 2.2   sinh 2.6   cosh 2.6   asinh 1.8   acosh 1.2   atanh 2.1   logistic 2.2
    atan 1.1   atan2 1.1   asin 2.2   acos 1.7   erf 1.2   pow 3.4
    sqrt 0.5   rsqrt 1.5   cbrt 1.0   remainder exact

In f64 all are within 3 units, erf within 1e-14 relative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from compiler.hlo.opcodes import Opcode
from compiler.llvm.ir import Value
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.math.arctangent import acos, asin, atan, atan2
from compiler.lower.math.error_function import erf
from compiler.lower.math.exponential import exp, expm1
from compiler.lower.math.hyperbolic import acosh, asinh, atanh, cosh, logistic, sinh, tanh
from compiler.lower.math.logarithm import log, log1p
from compiler.lower.math.power import power
from compiler.lower.math.remainder import remainder
from compiler.lower.math.roots import cbrt, rsqrt, sqrt
from compiler.lower.math.trigonometric import cos, sin, tan

UNARY: Mapping[Opcode, Callable[[Arithmetic, Value], Value]] = MappingProxyType(
    {
        Opcode.EXP: exp,
        Opcode.EXPM1: expm1,
        Opcode.LOG: log,
        Opcode.LOG1P: log1p,
        Opcode.SIN: sin,
        Opcode.COS: cos,
        Opcode.TAN: tan,
        Opcode.TANH: tanh,
        Opcode.SINH: sinh,
        Opcode.COSH: cosh,
        Opcode.ASINH: asinh,
        Opcode.ACOSH: acosh,
        Opcode.ATANH: atanh,
        Opcode.ATAN: atan,
        Opcode.ASIN: asin,
        Opcode.ACOS: acos,
        Opcode.LOGISTIC: logistic,
        Opcode.ERF: erf,
        Opcode.SQRT: sqrt,
        Opcode.RSQRT: rsqrt,
        Opcode.CBRT: cbrt,
    }
)
BINARY: Mapping[Opcode, Callable[[Arithmetic, Value, Value], Value]] = MappingProxyType(
    {Opcode.ATAN2: atan2, Opcode.POWER: power, Opcode.REMAINDER: remainder}
)

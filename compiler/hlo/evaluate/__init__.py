"""The NumPy evaluator: HLO's reference semantics, the witness of every other stage.

Numbers are as close to the exact result as the result type allows: f32 transcendentals, dot,
convolution and sums are computed in float64 and rounded once; f16, bf16 and f8 arithmetic in
float32 or wider; integers wrap. Layouts never change values, except in bitcast.
"""

from compiler.hlo.evaluate.checks import CheckResult
from compiler.hlo.evaluate.run import (
    Evaluation,
    Evaluator,
    Value,
    evaluate,
    evaluate_checked,
    evaluate_instruction,
)

__all__ = [
    "CheckResult",
    "Evaluation",
    "Evaluator",
    "Value",
    "evaluate",
    "evaluate_checked",
    "evaluate_instruction",
]

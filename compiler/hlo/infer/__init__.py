"""Shape inference: what an operation yields, given its operands' shapes and its attributes.

The rules are those of XLA's operation semantics (openxla.org/xla/operation_semantics). The parser
uses them where a result shape is not written, the verifier to check one that is.
"""

from compiler.hlo.infer.base import CannotInfer, InferenceError, Request
from compiler.hlo.infer.dispatch import can_infer, infer_shape

__all__ = ["CannotInfer", "InferenceError", "Request", "can_infer", "infer_shape"]

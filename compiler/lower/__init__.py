"""Lowering: from fused HLO and its buffers to kernels in LLVM IR."""

from compiler.lower.kernels import KernelLaunch, Lowered, lower

__all__ = ["KernelLaunch", "Lowered", "lower"]

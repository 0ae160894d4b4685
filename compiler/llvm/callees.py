"""The intrinsics that the IR calls, and how their names are put together."""

from __future__ import annotations

from functools import cache

from compiler.llvm.types import Type

# Intrinsics without side effects. Names are LLVM's, without type suffixes (LangRef, "Intrinsic
# Functions").
PURE_INTRINSICS = frozenset(
    {
        "llvm.fma", "llvm.fabs", "llvm.sqrt", "llvm.copysign", "llvm.floor", "llvm.ceil",
        "llvm.trunc", "llvm.roundeven", "llvm.round", "llvm.rint", "llvm.nearbyint",
        "llvm.minimum", "llvm.maximum", "llvm.minnum", "llvm.maxnum", "llvm.smin", "llvm.smax",
        "llvm.umin", "llvm.umax", "llvm.abs", "llvm.ctpop", "llvm.ctlz", "llvm.cttz",
        "llvm.bitreverse", "llvm.bswap", "llvm.fshl", "llvm.fshr",
        "llvm.fptosi.sat", "llvm.fptoui.sat",
        "llvm.vector.reduce.fadd", "llvm.vector.reduce.fmul", "llvm.vector.reduce.add",
        "llvm.vector.reduce.mul", "llvm.vector.reduce.and", "llvm.vector.reduce.or",
        "llvm.vector.reduce.xor", "llvm.vector.reduce.smin", "llvm.vector.reduce.smax",
        "llvm.vector.reduce.umin", "llvm.vector.reduce.umax", "llvm.vector.reduce.fminimum",
        "llvm.vector.reduce.fmaximum",
        "llvm.nvvm.read.ptx.sreg.tid.x", "llvm.nvvm.read.ptx.sreg.ctaid.x",
        "llvm.nvvm.read.ptx.sreg.ntid.x", "llvm.nvvm.read.ptx.sreg.nctaid.x",
        "llvm.nvvm.read.ptx.sreg.laneid",
    }
)  # fmt: skip

# Calls that only the simt lowering emits; they order memory or exchange values between lanes.
CONVERGENT_INTRINSICS = frozenset(
    {"llvm.nvvm.shfl.sync.bfly.i32", "llvm.nvvm.shfl.sync.bfly.f32", "llvm.nvvm.shfl.sync.down.i32",
     "llvm.nvvm.shfl.sync.down.f32", "llvm.nvvm.barrier0"}
)  # fmt: skip


@cache
def intrinsic_base(callee: str) -> str:
    """The intrinsic's name without type suffixes: `llvm.smax` of `llvm.smax.v4i32`. NVVM names are
    whole names and stay as they are."""
    if callee.startswith("llvm.nvvm."):
        return callee
    head, _, tail = callee.rpartition(".")
    is_type = tail[:1] in ("i", "f", "v", "p", "b") and any(c.isdigit() for c in tail)
    return intrinsic_base(head) if head and is_type else callee


def type_suffix(type: Type) -> str:
    """How intrinsic names spell a type: f32, bf16, v8f32, i1, v4i32, p0."""
    if type.is_pointer:
        return f"p{type.address_space}"
    letter = {"int": "i", "float": "f", "bfloat": "bf"}[type.kind.value]
    return (f"v{type.lanes}" if type.lanes else "") + f"{letter}{type.bits}"

"""LLVM's instructions and comparison predicates, by their printed names."""

from __future__ import annotations

from enum import Enum


class Opcode(Enum):
    """LLVM's instructions, by their printed names."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    SDIV = "sdiv"
    UDIV = "udiv"
    SREM = "srem"
    UREM = "urem"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    LSHR = "lshr"
    ASHR = "ashr"
    FADD = "fadd"
    FSUB = "fsub"
    FMUL = "fmul"
    FDIV = "fdiv"
    FREM = "frem"
    FNEG = "fneg"
    ICMP = "icmp"
    FCMP = "fcmp"
    SELECT = "select"
    ZEXT = "zext"
    SEXT = "sext"
    TRUNC = "trunc"
    BITCAST = "bitcast"
    FPEXT = "fpext"
    FPTRUNC = "fptrunc"
    SITOFP = "sitofp"
    UITOFP = "uitofp"
    FPTOSI = "fptosi"
    FPTOUI = "fptoui"
    PTRTOINT = "ptrtoint"
    INTTOPTR = "inttoptr"
    EXTRACTELEMENT = "extractelement"
    INSERTELEMENT = "insertelement"
    SHUFFLEVECTOR = "shufflevector"
    ALLOCA = "alloca"
    LOAD = "load"
    STORE = "store"
    GETELEMENTPTR = "getelementptr"
    PHI = "phi"
    CALL = "call"
    FREEZE = "freeze"
    BR = "br"  # operands: none or the condition; `blocks` holds the targets
    RET = "ret"
    UNREACHABLE = "unreachable"

    # Enum's own hash is Python code; opcodes are looked up all the time.
    __hash__ = object.__hash__

    @property
    def is_terminator(self) -> bool:
        return self in (Opcode.BR, Opcode.RET, Opcode.UNREACHABLE)

    @property
    def is_cast(self) -> bool:
        return self in _CASTS

    @property
    def is_binary(self) -> bool:
        return self in _BINARY


_CASTS = frozenset(
    {
        Opcode.ZEXT, Opcode.SEXT, Opcode.TRUNC, Opcode.BITCAST, Opcode.FPEXT, Opcode.FPTRUNC,
        Opcode.SITOFP, Opcode.UITOFP, Opcode.FPTOSI, Opcode.FPTOUI, Opcode.PTRTOINT,
        Opcode.INTTOPTR,
    }
)  # fmt: skip
_BINARY = frozenset(
    {
        Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.SDIV, Opcode.UDIV, Opcode.SREM, Opcode.UREM,
        Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.SHL, Opcode.LSHR, Opcode.ASHR,
        Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FREM,
    }
)  # fmt: skip


class Predicate(Enum):
    """Comparison predicates of icmp and fcmp, by their printed names."""

    EQ = "eq"
    NE = "ne"
    SLT = "slt"
    SLE = "sle"
    SGT = "sgt"
    SGE = "sge"
    ULT = "ult"  # also fcmp: unordered or less
    ULE = "ule"
    UGT = "ugt"
    UGE = "uge"
    OEQ = "oeq"
    ONE = "one"
    OLT = "olt"
    OLE = "ole"
    OGT = "ogt"
    OGE = "oge"
    ORD = "ord"
    UNO = "uno"
    UEQ = "ueq"
    UNE = "une"

    __hash__ = object.__hash__

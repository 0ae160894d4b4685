"""Condition flags: where each bit sits, what each condition reads, and which pair is a comparison.

x86 and arm set the carry of a subtraction the other way round (borrow, no borrow), so each has its
own producers. `meaning(producer, condition)` answers what the selector asks: which icmp or fcmp of
the producer's arguments equals this condition afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from isas.effects import Effect

CARRY, PARITY, ZERO, SIGN, OVERFLOW = 0, 1, 2, 3, 4
"""Bit numbers inside a flags value (arm's N is SIGN, V is OVERFLOW; arm has no parity)."""

E = Effect


@dataclass(frozen=True, slots=True)
class FlagMeaning:
    """The comparison that a flags producer and a condition make together.

    `predicate(a, b)` of the producer's arguments; with `of_result`, `predicate(op(a, b), 0)` where
    op is the producer's own operation (and, add, ...).
    """

    predicate: Effect
    of_result: bool = False


def _of_arguments(pairs: Mapping[Effect, Effect]) -> dict[Effect, FlagMeaning]:
    return {condition: FlagMeaning(predicate) for condition, predicate in pairs.items()}


_SIGNED = {
    E.EQUAL: E.ICMP_EQ, E.NOT_EQUAL: E.ICMP_NE, E.LESS: E.ICMP_SLT, E.LESS_EQUAL: E.ICMP_SLE,
    E.GREATER: E.ICMP_SGT, E.GREATER_EQUAL: E.ICMP_SGE,
}  # fmt: skip
_SUB = _SIGNED | {
    E.BELOW: E.ICMP_ULT, E.BELOW_EQUAL: E.ICMP_ULE, E.ABOVE: E.ICMP_UGT,
    E.ABOVE_EQUAL: E.ICMP_UGE,
}  # fmt: skip
_SUB_NZCV = _SIGNED | {
    E.CARRY_CLEAR: E.ICMP_ULT, E.LOWER_SAME: E.ICMP_ULE, E.HIGHER: E.ICMP_UGT,
    E.CARRY_SET: E.ICMP_UGE,
}  # fmt: skip
# Intel SDM volume 2, UCOMISS: unordered sets Z, P and C; less sets C; equal sets Z.
_FCMP = {
    E.ABOVE: E.FCMP_OGT, E.ABOVE_EQUAL: E.FCMP_OGE, E.BELOW: E.FCMP_ULT,
    E.BELOW_EQUAL: E.FCMP_ULE, E.EQUAL: E.FCMP_UEQ, E.NOT_EQUAL: E.FCMP_ONE,
    E.PARITY: E.FCMP_UNO, E.NOT_PARITY: E.FCMP_ORD,
}  # fmt: skip
# Arm ARM, FCMP: unordered sets C and V; less sets N; equal sets Z and C; greater sets C.
_FCMP_NZCV = {
    E.EQUAL: E.FCMP_OEQ, E.NOT_EQUAL: E.FCMP_UNE, E.NEGATIVE: E.FCMP_OLT,
    E.LOWER_SAME: E.FCMP_OLE, E.GREATER: E.FCMP_OGT, E.GREATER_EQUAL: E.FCMP_OGE,
    E.LESS: E.FCMP_ULT, E.LESS_EQUAL: E.FCMP_ULE, E.HIGHER: E.FCMP_UGT,
    E.NOT_NEGATIVE: E.FCMP_UGE, E.CARRY_SET: E.FCMP_UGE, E.CARRY_CLEAR: E.FCMP_OLT,
    E.OVERFLOW: E.FCMP_UNO, E.NOT_OVERFLOW: E.FCMP_ORD,
}  # fmt: skip
_ZERO_OR_SIGN = {
    E.EQUAL: E.ICMP_EQ, E.NOT_EQUAL: E.ICMP_NE, E.NEGATIVE: E.ICMP_SLT,
    E.NOT_NEGATIVE: E.ICMP_SGE,
}  # fmt: skip
_LOGIC = _ZERO_OR_SIGN | {
    E.LESS: E.ICMP_SLT, E.GREATER_EQUAL: E.ICMP_SGE, E.LESS_EQUAL: E.ICMP_SLE,
    E.GREATER: E.ICMP_SGT,
}  # fmt: skip


def _of_result(pairs: Mapping[Effect, Effect]) -> dict[Effect, FlagMeaning]:
    return {condition: FlagMeaning(predicate, True) for condition, predicate in pairs.items()}


FLAG_MEANINGS: Mapping[Effect, Mapping[Effect, FlagMeaning]] = MappingProxyType(
    {
        E.FLAGS_SUB: _of_result(_ZERO_OR_SIGN) | _of_arguments(_SUB),
        E.FLAGS_SUB_NZCV: _of_result(_ZERO_OR_SIGN) | _of_arguments(_SUB_NZCV),
        E.FLAGS_ADD: _of_result(_ZERO_OR_SIGN),
        E.FLAGS_AND: _of_result(_LOGIC),
        E.FLAGS_OR: _of_result(_LOGIC),
        E.FLAGS_XOR: _of_result(_LOGIC),
        E.FLAGS_FCMP: _of_arguments(_FCMP),
        E.FLAGS_FCMP_NZCV: _of_arguments(_FCMP_NZCV),
    }
)
"""producer → condition → the comparison the two make."""

PRODUCED_OPERATION: Mapping[Effect, Effect] = MappingProxyType(
    {
        E.FLAGS_SUB: E.SUB,
        E.FLAGS_SUB_NZCV: E.SUB,
        E.FLAGS_ADD: E.ADD,
        E.FLAGS_AND: E.AND,
        E.FLAGS_OR: E.OR,
        E.FLAGS_XOR: E.XOR,
    }
)
"""The operation whose result a producer's flags describe (`of_result` meanings)."""


def meaning(producer: Effect, condition: Effect) -> FlagMeaning | None:
    """The comparison that `condition` makes after `producer`, or None when it is not one."""
    return FLAG_MEANINGS.get(producer, {}).get(condition)


def condition_holds(condition: Effect, flags: int) -> bool:
    """Whether `condition` is true of a flags value (bits as numbered above)."""
    carry, parity, zero, sign, overflow = ((flags >> bit) & 1 for bit in range(5))
    return bool(
        {
            E.EQUAL: zero,
            E.NOT_EQUAL: not zero,
            E.LESS: sign != overflow,
            E.LESS_EQUAL: zero or sign != overflow,
            E.GREATER: not zero and sign == overflow,
            E.GREATER_EQUAL: sign == overflow,
            E.BELOW: carry,
            E.BELOW_EQUAL: carry or zero,
            E.ABOVE: not carry and not zero,
            E.ABOVE_EQUAL: not carry,
            E.CARRY_SET: carry,
            E.CARRY_CLEAR: not carry,
            E.HIGHER: carry and not zero,
            E.LOWER_SAME: not carry or zero,
            E.NEGATIVE: sign,
            E.NOT_NEGATIVE: not sign,
            E.OVERFLOW: overflow,
            E.NOT_OVERFLOW: not overflow,
            E.PARITY: parity,
            E.NOT_PARITY: not parity,
        }[condition]
    )

"""Which constants an immediate operand can hold, and how they are written into the instruction."""

from __future__ import annotations

from compiler.select.nodes import scalar_bits
from isas.immediates import LANE_ENCODINGS, byte_for, fits
from isas.model import ImmediateForm
from isas.values import ValueType


def immediate_for(form: ImmediateForm, value: int | float, type: ValueType) -> int | None:
    """The number an immediate of this form holds for a constant of `type`, or None when it cannot.

    Integers are tried as signed, then as unsigned; floats give their bit pattern."""
    if form.encoding in LANE_ENCODINGS:
        return None
    if type.is_float:
        return scalar_bits(value, type) if fits(form, float(value), type.bits) else None
    number = int(value)
    unsigned = number & ((1 << type.bits) - 1)
    return next((n for n in (number, unsigned) if fits(form, n, type.bits)), None)


def lanes_immediate(form: ImmediateForm, lanes: tuple[int, ...], source: ValueType) -> int | None:
    """The immediate that makes a shuffle of `source` choose `lanes`, or None."""
    if form.encoding not in LANE_ENCODINGS:
        return None
    return byte_for(form.encoding, lanes, source)

"""The table of rules, in the order in which they are tried. Each row's name is what decisions show;
a rule returns the replacement, or None where it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.llvm.ir import Instruction, Value
from compiler.llvm.legal import (
    bools,
    comparisons,
    conversions,
    floats,
    integers,
    lanes,
    reductions,
    shuffles,
    vectors,
)
from compiler.llvm.legal.work import Work


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewriting. `name` is the rule's own docstring."""

    name: str
    rewrite: Callable[[Instruction, Work], Value | None]


def _table(*functions: Callable[[Instruction, Work], Value | None]) -> tuple[Rule, ...]:
    return tuple(Rule(" ".join((f.__doc__ or "").split()), f) for f in functions)


RULES: tuple[Rule, ...] = _table(
    # What does not fit into a register at all.
    vectors.narrowed_in_steps,
    vectors.split,
    # Conditions.
    bools.frozen,
    bools.comparison_of_conditions,
    bools.logic,
    bools.condition_of_conditions,
    bools.phi,
    bools.load,
    bools.store,
    bools.truncation,
    bools.lanes_of_conditions,
    bools.conversion,
    bools.extension,
    comparisons.mask_of_comparison,
    bools.choice,
    bools.branch,
    comparisons.pointer_comparison,
    # Half precision, before the rules for floats and integers see it.
    conversions.half_comparison,
    conversions.half_to_integer,
    conversions.half_bits,
    bools.select_of_pointers,
    comparisons.select_by_opposite,
    bools.select_by_mask,
    comparisons.narrow_comparison,
    floats.negation,
    floats.absolute,
    floats.copied_sign,
    conversions.half_arithmetic,
    conversions.wider_float,
    conversions.narrower_float,
    conversions.half_as_word,
    # Floats.
    floats.extreme,
    floats.extreme_number,
    floats.rounded,
    floats.integral,
    floats.remainder,
    # Integers.
    integers.shift_count,
    integers.counted_in_words,
    integers.trailing_zeros,
    integers.leading_zeros,
    integers.reversed_byte,
    integers.reversed_bits,
    integers.widened,
    integers.widened_conversion,
    integers.extreme,
    integers.absolute,
    integers.population,
    integers.funnel,
    integers.unsigned_division,
    integers.remainder,
    integers.arithmetic_shift,
    integers.product,
    conversions.unsigned_to_float,
    conversions.float_to_unsigned,
    conversions.saturating,
    # Vectors.
    reductions.reduction,
    lanes.extraction,
    lanes.insertion,
    shuffles.shuffle,
    vectors.truncation,
    integers.extension_in_steps,
    bools.select_by_bits,
    vectors.memory_by_lanes,
    vectors.per_lane,
)

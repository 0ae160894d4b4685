"""What follows from a shape's typed effects: reads, writes, branches, moves, selection patterns.

A pattern is the effect itself. Where hardware defines more than LLVM does (a shift that masks its
amount, a conversion that saturates), a *named rule* keyed by effects gives a second, simpler
pattern that holds wherever the LLVM operation is defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from isas.effects import (
    Apply,
    Assignment,
    Constant,
    Effect,
    Expression,
    Implicit,
    Operand,
    walk,
)
from isas.operands import Role, ShapeOperand
from isas.values import FLAGS, I1, ValueType


@dataclass(frozen=True, slots=True)
class ShapeFacts:
    """What follows from a shape's effects; names refer to operands or implicit registers.

    `reads` are register operands whose value is read, `writes` those written; the registers inside
    addresses are those of the memory operands and are always read. `implicit_reads/writes` are
    fixed registers and flags. `tied` names the operands that are both read and written. `loads`
    and `stores` name memory operands whose contents are read and written; `addresses` those of
    which only the address is used (lea).
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    implicit_reads: tuple[str, ...]
    implicit_writes: tuple[str, ...]
    tied: tuple[str, ...]
    loads: tuple[str, ...]
    stores: tuple[str, ...]
    addresses: tuple[str, ...]
    target: str | None
    is_branch: bool
    is_conditional: bool
    is_return: bool
    is_barrier: bool
    is_move: bool
    is_load_only: bool
    is_store_only: bool
    is_constant_only: bool
    writes_flags: bool
    reads_flags: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a selector may replace by a shape: `result = expression`.

    `result` names the written operand (or implicit register); for a store it is the memory operand
    and `is_store` holds; for a branch it is `pc` and `condition` is an i1 expression or, for one
    that reads flags, a condition applied to `flags`. `clobbers` are implicit registers that the
    instruction changes besides. `is_refined` marks a pattern that holds wherever the simpler
    operation is defined (a masked shift is a shift), by the rule named in `rule`. `requires` lists
    what implicit registers must hold before (`edx = ashr(eax, 31)` before idiv).
    """

    result: str
    expression: Expression
    type: ValueType
    is_store: bool = False
    clobbers: tuple[str, ...] = ()
    rule: str = ""
    requires: tuple[Assignment, ...] = ()

    @property
    def is_refined(self) -> bool:
        """Whether a named rule made this pattern out of the effect."""
        return bool(self.rule)


_SHIFTS = (Effect.SHL, Effect.LSHR, Effect.ASHR)
_PLAIN_CONVERSION: Mapping[Effect, Effect] = {
    Effect.FPTOSI_SAT: Effect.FPTOSI,
    Effect.FPTOUI_SAT: Effect.FPTOUI,
    Effect.FPTOSI_INDEFINITE: Effect.FPTOSI,
}


def derive_facts(
    operands: Mapping[str, ShapeOperand], effects: tuple[Assignment, ...]
) -> ShapeFacts:
    """Everything that other stages ask about an instruction, from its effects alone."""
    nodes = [node for assignment in effects for node in walk(assignment.expression)]
    reads = _ordered(
        node.name
        for node in nodes
        if isinstance(node, Operand) and operands[node.name].kind.role is Role.REGISTER
    )
    writes = _ordered(
        a.target.name for a in effects if isinstance(a.target, Operand) and not a.is_store
    )
    implicit_reads = _ordered(
        node.name
        for node in nodes
        if isinstance(node, Implicit) and node.name not in ("pc", "next")
    )
    implicit_writes = _ordered(
        a.target.name for a in effects if isinstance(a.target, Implicit) and a.target.name != "pc"
    )
    loads = _ordered(name for a in effects for name in _loaded(a.expression))
    stores = _ordered(a.target.name for a in effects if a.target is not None and a.is_store)
    addresses = _ordered(
        name for name, operand in operands.items()
        if operand.kind.is_memory and name not in loads + stores
    )  # fmt: skip
    pc = next((a for a in effects if a.is_branch), None)
    labels = [o.name for o in operands.values() if o.kind.role is Role.LABEL]
    single = effects[0] if len(effects) == 1 else None
    return ShapeFacts(
        reads=reads,
        writes=writes,
        implicit_reads=implicit_reads,
        implicit_writes=implicit_writes,
        tied=tuple(name for name in writes if name in reads),
        loads=loads,
        stores=stores,
        addresses=addresses,
        target=labels[0] if pc is not None and labels else None,
        is_branch=pc is not None,
        is_conditional=pc is not None and _effect(pc.expression) is Effect.SELECT,
        is_return=pc is not None and _effect(pc.expression) is Effect.RET,
        is_barrier=any(_effect(a.expression) is Effect.BARRIER for a in effects),
        is_move=single is not None and _is_move(single, operands),
        is_load_only=single is not None and _is_load_only(single),
        is_store_only=single is not None and _is_store_only(single, operands),
        is_constant_only=single is not None and _is_constant(single, operands),
        writes_flags=any(
            isinstance(a.target, Implicit) and a.target.type == FLAGS for a in effects
        ),
        reads_flags=any(isinstance(node, Implicit) and node.type == FLAGS for node in nodes),
    )


def derive_patterns(effects: tuple[Assignment, ...]) -> tuple[Pattern, ...]:
    """The patterns that a selector may match: the effects, then what named rules make of them."""
    patterns: list[Pattern] = []
    for assignment in effects:
        if assignment.target is None:
            continue
        if _effect(assignment.expression) is Effect.FLAGS_UNDEFINED:
            continue
        clobbers = tuple(
            other.target.name
            for other in effects
            if other is not assignment and isinstance(other.target, Implicit)
        )
        exact = Pattern(
            assignment.target.name,
            assignment.expression,
            assignment.expression.type,
            assignment.is_store,
            clobbers,
        )
        patterns.append(exact)
        patterns.extend(_refined(exact))
    return tuple(patterns)


def _refined(exact: Pattern) -> Iterator[Pattern]:
    present = {node.effect for node in walk(exact.expression) if isinstance(node, Apply)}
    if present.isdisjoint(_REFINED_EFFECTS):
        return
    for refine in _REFINEMENTS:
        expression = _rewrite(exact.expression, refine)
        if expression != exact.expression:
            yield replace(exact, expression=expression, rule=refine.__doc__ or "")
    yield from _refined_division(exact)


def _refine_shift(node: Apply) -> Expression:
    """masked shift amount"""
    if node.effect not in _SHIFTS:
        return node
    amount = node.arguments[1]
    mask = node.type.bits - 1
    if (
        isinstance(amount, Apply)
        and amount.effect is Effect.AND
        and amount.arguments[1] == (Constant(mask, amount.type))
    ):
        return Apply(node.effect, (node.arguments[0], amount.arguments[0]), node.type)
    return node


def _refine_signed_shift(node: Apply) -> Expression:
    """shift amount within the width"""
    if node.effect is not Effect.SELECT:
        return node
    condition, _, shift = node.arguments
    is_sign = isinstance(condition, Apply) and condition.effect is Effect.ICMP_SLT
    if is_sign and isinstance(shift, Apply) and shift.effect is Effect.SHL:
        return shift
    return node


def _refine_zero_division(node: Apply) -> Expression:
    """division by something other than zero"""
    if node.effect is not Effect.SELECT:
        return node
    division = node.arguments[2]
    if isinstance(division, Apply) and division.effect in (Effect.SDIV, Effect.UDIV):
        zero = Constant(0, division.type)
        guard = Apply(Effect.ICMP_EQ, (division.arguments[1], zero), I1)
        return division if node.arguments[:2] == (guard, zero) else node
    return node


def _refine_lane_masks(node: Apply) -> Expression:
    """mask of whole lanes"""
    if node.effect is not Effect.OR:
        return node
    chosen, other = node.arguments
    if not (isinstance(chosen, Apply) and isinstance(other, Apply)):
        return node
    if chosen.effect is not Effect.AND or other.effect is not Effect.AND:
        return node
    mask, value = chosen.arguments
    inverted = Apply(Effect.XOR, (mask, Constant(-1, mask.type)), mask.type)
    if other.arguments[0] != inverted or isinstance(mask, Constant):
        return node
    sign = Apply(Effect.ICMP_SLT, (mask, Constant(0, mask.type)), I1.with_lanes(mask.type.lanes))
    return Apply(Effect.SELECT, (sign, value, other.arguments[1]), node.type)


def _refine_conversion(node: Apply) -> Expression:
    """conversion within range"""
    plain = _PLAIN_CONVERSION.get(node.effect)
    return node if plain is None else Apply(plain, node.arguments, node.type)


def _refined_division(exact: Pattern) -> Iterator[Pattern]:
    """Division of a register pair is plain division when the upper register extends the lower."""
    narrow = exact.expression
    if not (isinstance(narrow, Apply) and narrow.effect is Effect.TRUNC):
        return
    division = narrow.arguments[0]
    if not isinstance(division, Apply) or division.effect not in (
        Effect.SDIV, Effect.SREM, Effect.UDIV, Effect.UREM
    ):  # fmt: skip
        return
    pair, extended = division.arguments
    if not (isinstance(pair, Apply) and pair.effect is Effect.CONCAT):
        return
    low, high = pair.arguments
    if not (isinstance(extended, Apply) and isinstance(high, Implicit)):
        return
    is_signed = division.effect in (Effect.SDIV, Effect.SREM)
    top = Constant(low.type.bits - 1, low.type)
    extension = Apply(Effect.ASHR, (low, top), low.type) if is_signed else Constant(0, low.type)
    yield replace(
        exact,
        expression=Apply(division.effect, (low, extended.arguments[0]), low.type),
        rule="dividend extended into the upper register",
        requires=(Assignment(high, extension),),
    )


_REFINEMENTS = (
    _refine_shift,
    _refine_signed_shift,
    _refine_zero_division,
    _refine_lane_masks,
    _refine_conversion,
)


_REFINED_EFFECTS = frozenset({*_SHIFTS, Effect.SELECT, Effect.OR, Effect.TRUNC, *_PLAIN_CONVERSION})
"""Every refinement, and the division of a pair, starts from one of these."""


def _rewrite(node: Expression, refine: object) -> Expression:
    if not isinstance(node, Apply) or not callable(refine):
        return node
    arguments = tuple(_rewrite(argument, refine) for argument in node.arguments)
    rebuilt: Expression = refine(replace(node, arguments=arguments))
    return rebuilt


def _ordered(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _effect(node: Expression) -> Effect | None:
    return node.effect if isinstance(node, Apply) else None


def _loaded(expression: Expression) -> Iterator[str]:
    for node in walk(expression):
        if isinstance(node, Apply) and node.effect is Effect.LOAD:
            address = node.arguments[0]
            if isinstance(address, Operand):
                yield address.name


def _is_move(assignment: Assignment, operands: Mapping[str, ShapeOperand]) -> bool:
    target, source = assignment.target, assignment.expression
    if not (isinstance(target, Operand) and isinstance(source, Operand)) or assignment.is_store:
        return False
    kind, other = operands[target.name].kind, operands[source.name].kind
    return kind.is_register and other.is_register and kind.class_name == other.class_name


def _is_load_only(assignment: Assignment) -> bool:
    return (
        isinstance(assignment.target, Operand)
        and not assignment.is_store
        and _effect(assignment.expression) is Effect.LOAD
    )


def _is_store_only(assignment: Assignment, operands: Mapping[str, ShapeOperand]) -> bool:
    source = assignment.expression
    if not assignment.is_store or not isinstance(source, Operand):
        return False
    return operands[source.name].kind.is_register


def _is_constant(assignment: Assignment, operands: Mapping[str, ShapeOperand]) -> bool:
    source = assignment.expression
    if not isinstance(assignment.target, Operand) or assignment.is_store:
        return False
    if isinstance(source, Constant):
        return True
    return isinstance(source, Operand) and operands[source.name].kind.role is Role.IMMEDIATE

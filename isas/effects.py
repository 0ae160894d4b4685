"""What instructions can do: a closed table of effects named after LLVM's own operations.

A card's `does` text becomes a tuple of `Assignment`s whose right-hand sides are immutable, typed
expression trees over this table (`does.py` parses and types them). From those trees everything
else follows: reads and writes, tied operands, loads and stores, branches, what the simulator
executes, and the pattern that the instruction selector matches.

Conventions every reader of these trees relies on:

- All right-hand sides of one instruction see the old values.
- A memory operand used as a value is `Apply(LOAD, (Operand(name, i64),), type, (space,))`; the
  inner operand stands for its address. As a target it is a store (`Assignment.is_store`).
- Arithmetic has LLVM's meaning. Where LLVM says poison, the machine's choice is: shifts past the
  width give 0 (or the sign, for `ashr`). Plain fptosi and fptoui appear in patterns only; cards
  say what happens out of range (`fptosi_sat`, `fptosi_indefinite`).
- Lane lists, extracted indices and address spaces are `Apply.attributes`, not arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from isas.values import ValueType


class Rule(Enum):
    """How an effect's argument types give its result type."""

    INT = "integers of one type give that type"
    FLOAT = "floats of one type give that type"
    ICMP = "two integers of one type give i1 per lane"
    FCMP = "two floats of one type give i1 per lane"
    SELECT = "i1 (or i1 per lane) and two values of one type give that type"
    INT_WIDEN = "an integer gives a wider integer with as many lanes"
    INT_NARROW = "an integer gives a narrower integer with as many lanes"
    FLOAT_WIDEN = "a float gives a wider float with as many lanes"
    FLOAT_NARROW = "a float gives a narrower float with as many lanes"
    INT_TO_FLOAT = "an integer gives a float with as many lanes"
    FLOAT_TO_INT = "a float gives an integer with as many lanes"
    BITCAST = "a value gives another type of as many bits"
    SPLAT = "a scalar gives a vector of it"
    EXTRACT = "a vector and a lane number give that lane"
    INSERT = "a vector, a scalar and a lane number give the vector with that lane replaced"
    SHUFFLE = "two vectors of one type and a lane list (or an immediate that encodes one)"
    PERMUTE = "a vector and an integer vector of lane numbers"
    CONCAT = "values of one element type, lowest first, give all their lanes (or bits) in a row"
    HALF = "a vector (or integer) gives one half of its lanes (or bits)"
    REDUCE = "a vector gives one lane"
    ADDRESS = "a memory operand gives its address"
    LOAD = "an address gives the value stored there"
    FLAGS_INT = "one or two integers of one type give flags"
    FLAGS_FLOAT = "two floats of one type give flags"
    FLAGS_NONE = "gives flags"
    CONDITION = "flags give i1"
    RETURN = "gives the caller's place in the code"
    SPECIAL = "gives a 32-bit special register"
    LANE_EXCHANGE = "a 32-bit value and an i32 lane or mask give the other lane's value"
    VOTE = "i1 gives i1, the same in every lane of the warp"
    BALLOT = "i1 gives i32, a bit per lane of the warp"
    BARRIER = "waits for every thread of the block; gives nothing"


class Effect(Enum):
    """One operation: its written name, number of arguments (-1: one or more) and typing rule."""

    def __init__(self, spelling: str, arity: int, rule: Rule) -> None:
        self.spelling = spelling
        self.arity = arity
        self.rule = rule

    def __str__(self) -> str:
        return self.spelling

    ADD = ("add", 2, Rule.INT)
    SUB = ("sub", 2, Rule.INT)
    MUL = ("mul", 2, Rule.INT)
    MULHS = ("mulhs", 2, Rule.INT)
    MULHU = ("mulhu", 2, Rule.INT)
    SDIV = ("sdiv", 2, Rule.INT)
    UDIV = ("udiv", 2, Rule.INT)
    SREM = ("srem", 2, Rule.INT)
    UREM = ("urem", 2, Rule.INT)
    AND = ("and", 2, Rule.INT)
    OR = ("or", 2, Rule.INT)
    XOR = ("xor", 2, Rule.INT)
    SHL = ("shl", 2, Rule.INT)
    LSHR = ("lshr", 2, Rule.INT)
    ASHR = ("ashr", 2, Rule.INT)
    SMIN = ("smin", 2, Rule.INT)
    SMAX = ("smax", 2, Rule.INT)
    UMIN = ("umin", 2, Rule.INT)
    UMAX = ("umax", 2, Rule.INT)
    ABS = ("abs", 1, Rule.INT)
    CTPOP = ("ctpop", 1, Rule.INT)
    CTLZ = ("ctlz", 1, Rule.INT)
    CTTZ = ("cttz", 1, Rule.INT)
    BITREVERSE = ("bitreverse", 1, Rule.INT)

    FADD = ("fadd", 2, Rule.FLOAT)
    FSUB = ("fsub", 2, Rule.FLOAT)
    FMUL = ("fmul", 2, Rule.FLOAT)
    FDIV = ("fdiv", 2, Rule.FLOAT)
    FREM = ("frem", 2, Rule.FLOAT)
    FNEG = ("fneg", 1, Rule.FLOAT)
    FABS = ("fabs", 1, Rule.FLOAT)
    SQRT = ("sqrt", 1, Rule.FLOAT)
    FMA = ("fma", 3, Rule.FLOAT)  # fma(a, b, c) = a*b + c, rounded once
    COPYSIGN = ("copysign", 2, Rule.FLOAT)
    FLOOR = ("floor", 1, Rule.FLOAT)
    CEIL = ("ceil", 1, Rule.FLOAT)
    FTRUNC = ("ftrunc", 1, Rule.FLOAT)
    ROUNDEVEN = ("roundeven", 1, Rule.FLOAT)
    ROUND = ("round", 1, Rule.FLOAT)  # halves away from zero, as llvm.round
    MINIMUM = ("minimum", 2, Rule.FLOAT)  # NaN if either is; -0 < +0
    MAXIMUM = ("maximum", 2, Rule.FLOAT)
    MINNUM = ("minnum", 2, Rule.FLOAT)  # the other one if one is NaN
    MAXNUM = ("maxnum", 2, Rule.FLOAT)
    RCP_APPROX = ("rcp_approx", 1, Rule.FLOAT)
    RSQRT_APPROX = ("rsqrt_approx", 1, Rule.FLOAT)
    EXP2_APPROX = ("exp2_approx", 1, Rule.FLOAT)
    LOG2_APPROX = ("log2_approx", 1, Rule.FLOAT)

    ICMP_EQ = ("icmp.eq", 2, Rule.ICMP)
    ICMP_NE = ("icmp.ne", 2, Rule.ICMP)
    ICMP_SLT = ("icmp.slt", 2, Rule.ICMP)
    ICMP_SLE = ("icmp.sle", 2, Rule.ICMP)
    ICMP_SGT = ("icmp.sgt", 2, Rule.ICMP)
    ICMP_SGE = ("icmp.sge", 2, Rule.ICMP)
    ICMP_ULT = ("icmp.ult", 2, Rule.ICMP)
    ICMP_ULE = ("icmp.ule", 2, Rule.ICMP)
    ICMP_UGT = ("icmp.ugt", 2, Rule.ICMP)
    ICMP_UGE = ("icmp.uge", 2, Rule.ICMP)

    FCMP_OEQ = ("fcmp.oeq", 2, Rule.FCMP)
    FCMP_ONE = ("fcmp.one", 2, Rule.FCMP)
    FCMP_OLT = ("fcmp.olt", 2, Rule.FCMP)
    FCMP_OLE = ("fcmp.ole", 2, Rule.FCMP)
    FCMP_OGT = ("fcmp.ogt", 2, Rule.FCMP)
    FCMP_OGE = ("fcmp.oge", 2, Rule.FCMP)
    FCMP_ORD = ("fcmp.ord", 2, Rule.FCMP)
    FCMP_UEQ = ("fcmp.ueq", 2, Rule.FCMP)
    FCMP_UNE = ("fcmp.une", 2, Rule.FCMP)
    FCMP_ULT = ("fcmp.ult", 2, Rule.FCMP)
    FCMP_ULE = ("fcmp.ule", 2, Rule.FCMP)
    FCMP_UGT = ("fcmp.ugt", 2, Rule.FCMP)
    FCMP_UGE = ("fcmp.uge", 2, Rule.FCMP)
    FCMP_UNO = ("fcmp.uno", 2, Rule.FCMP)

    SELECT = ("select", 3, Rule.SELECT)

    ZEXT = ("zext", 1, Rule.INT_WIDEN)
    SEXT = ("sext", 1, Rule.INT_WIDEN)
    TRUNC = ("trunc", 1, Rule.INT_NARROW)
    TRUNC_SSAT = ("trunc_ssat", 1, Rule.INT_NARROW)  # signed in, saturated to signed
    TRUNC_USAT = ("trunc_usat", 1, Rule.INT_NARROW)  # signed in, saturated to unsigned
    BITCAST = ("bitcast", 1, Rule.BITCAST)
    FPEXT = ("fpext", 1, Rule.FLOAT_WIDEN)
    FPTRUNC = ("fptrunc", 1, Rule.FLOAT_NARROW)
    SITOFP = ("sitofp", 1, Rule.INT_TO_FLOAT)
    UITOFP = ("uitofp", 1, Rule.INT_TO_FLOAT)
    FPTOSI = ("fptosi", 1, Rule.FLOAT_TO_INT)
    FPTOUI = ("fptoui", 1, Rule.FLOAT_TO_INT)
    FPTOSI_SAT = ("fptosi_sat", 1, Rule.FLOAT_TO_INT)  # llvm.fptosi.sat: NaN gives 0
    FPTOUI_SAT = ("fptoui_sat", 1, Rule.FLOAT_TO_INT)
    FPTOSI_INDEFINITE = ("fptosi_indefinite", 1, Rule.FLOAT_TO_INT)  # x86: only the top bit set
    FPTOSI_EVEN = ("fptosi_even", 1, Rule.FLOAT_TO_INT)  # x86: nearest even, else indefinite

    SPLAT = ("splat", 1, Rule.SPLAT)
    EXTRACT = ("extract", 2, Rule.EXTRACT)  # attributes: (lane,) unless the lane is an operand
    INSERT = ("insert", 3, Rule.INSERT)  # attributes: (lane,) unless the lane is an operand
    SHUFFLE = ("shuffle", 3, Rule.SHUFFLE)  # attributes: lanes, as in shufflevector
    PERMUTE = ("permute", 2, Rule.PERMUTE)
    CONCAT = ("concat", -1, Rule.CONCAT)
    LOW = ("low", 1, Rule.HALF)
    HIGH = ("high", 1, Rule.HALF)
    REDUCE_ADD = ("reduce.add", 1, Rule.REDUCE)
    REDUCE_SMIN = ("reduce.smin", 1, Rule.REDUCE)
    REDUCE_SMAX = ("reduce.smax", 1, Rule.REDUCE)
    REDUCE_UMIN = ("reduce.umin", 1, Rule.REDUCE)
    REDUCE_UMAX = ("reduce.umax", 1, Rule.REDUCE)
    REDUCE_FMINIMUM = ("reduce.fminimum", 1, Rule.REDUCE)
    REDUCE_FMAXIMUM = ("reduce.fmaximum", 1, Rule.REDUCE)

    ADDRESS = ("address", 1, Rule.ADDRESS)
    LOAD = ("load", 1, Rule.LOAD)  # attributes: (space,)

    FLAGS_SUB = ("flags.sub", 2, Rule.FLAGS_INT)  # carry = borrow (x86)
    FLAGS_ADD = ("flags.add", 2, Rule.FLAGS_INT)
    FLAGS_AND = ("flags.and", 2, Rule.FLAGS_INT)  # carry = overflow = 0
    FLAGS_OR = ("flags.or", 2, Rule.FLAGS_INT)
    FLAGS_XOR = ("flags.xor", 2, Rule.FLAGS_INT)
    FLAGS_FCMP = ("flags.fcmp", 2, Rule.FLAGS_FLOAT)  # zero, parity, carry as ucomiss sets them
    FLAGS_SUB_NZCV = ("flags.sub_nzcv", 2, Rule.FLAGS_INT)  # carry = no borrow (arm)
    FLAGS_FCMP_NZCV = ("flags.fcmp_nzcv", 2, Rule.FLAGS_FLOAT)
    FLAGS_UNDEFINED = ("flags.undefined", 0, Rule.FLAGS_NONE)  # no one may read them

    EQUAL = ("equal", 1, Rule.CONDITION)  # Z
    NOT_EQUAL = ("not_equal", 1, Rule.CONDITION)
    LESS = ("less", 1, Rule.CONDITION)  # S != O
    LESS_EQUAL = ("less_equal", 1, Rule.CONDITION)
    GREATER = ("greater", 1, Rule.CONDITION)
    GREATER_EQUAL = ("greater_equal", 1, Rule.CONDITION)
    BELOW = ("below", 1, Rule.CONDITION)  # C, a borrow
    BELOW_EQUAL = ("below_equal", 1, Rule.CONDITION)  # C or Z
    ABOVE = ("above", 1, Rule.CONDITION)
    ABOVE_EQUAL = ("above_equal", 1, Rule.CONDITION)
    CARRY_SET = ("carry_set", 1, Rule.CONDITION)  # C, no borrow
    CARRY_CLEAR = ("carry_clear", 1, Rule.CONDITION)
    HIGHER = ("higher", 1, Rule.CONDITION)  # C and not Z
    LOWER_SAME = ("lower_same", 1, Rule.CONDITION)
    NEGATIVE = ("negative", 1, Rule.CONDITION)  # S
    NOT_NEGATIVE = ("not_negative", 1, Rule.CONDITION)
    OVERFLOW = ("overflow", 1, Rule.CONDITION)  # O
    NOT_OVERFLOW = ("not_overflow", 1, Rule.CONDITION)
    PARITY = ("parity", 1, Rule.CONDITION)  # P
    NOT_PARITY = ("not_parity", 1, Rule.CONDITION)

    RET = ("ret", 0, Rule.RETURN)

    THREAD_ID_X = ("thread_id.x", 0, Rule.SPECIAL)
    THREAD_ID_Y = ("thread_id.y", 0, Rule.SPECIAL)
    THREAD_ID_Z = ("thread_id.z", 0, Rule.SPECIAL)
    BLOCK_ID_X = ("block_id.x", 0, Rule.SPECIAL)
    BLOCK_ID_Y = ("block_id.y", 0, Rule.SPECIAL)
    BLOCK_ID_Z = ("block_id.z", 0, Rule.SPECIAL)
    BLOCK_DIM_X = ("block_dim.x", 0, Rule.SPECIAL)
    BLOCK_DIM_Y = ("block_dim.y", 0, Rule.SPECIAL)
    BLOCK_DIM_Z = ("block_dim.z", 0, Rule.SPECIAL)
    GRID_DIM_X = ("grid_dim.x", 0, Rule.SPECIAL)
    GRID_DIM_Y = ("grid_dim.y", 0, Rule.SPECIAL)
    GRID_DIM_Z = ("grid_dim.z", 0, Rule.SPECIAL)
    LANE_ID = ("lane_id", 0, Rule.SPECIAL)
    WARP_ID = ("warp_id", 0, Rule.SPECIAL)

    EXCHANGE_XOR = ("exchange.xor", 2, Rule.LANE_EXCHANGE)  # shfl bfly
    EXCHANGE_DOWN = ("exchange.down", 2, Rule.LANE_EXCHANGE)
    EXCHANGE_UP = ("exchange.up", 2, Rule.LANE_EXCHANGE)
    EXCHANGE_INDEX = ("exchange.index", 2, Rule.LANE_EXCHANGE)
    VOTE_ALL = ("vote.all", 1, Rule.VOTE)
    VOTE_ANY = ("vote.any", 1, Rule.VOTE)
    BALLOT = ("ballot", 1, Rule.BALLOT)
    BARRIER = ("barrier", 0, Rule.BARRIER)


EFFECTS: Mapping[str, Effect] = MappingProxyType({effect.spelling: effect for effect in Effect})
"""Every effect by the name it has in a card's `does`."""

COMMUTATIVE = frozenset(
    {
        Effect.ADD, Effect.MUL, Effect.MULHS, Effect.MULHU, Effect.AND, Effect.OR, Effect.XOR,
        Effect.SMIN, Effect.SMAX, Effect.UMIN, Effect.UMAX, Effect.FADD, Effect.FMUL,
        Effect.MINIMUM, Effect.MAXIMUM, Effect.MINNUM, Effect.MAXNUM, Effect.ICMP_EQ,
        Effect.ICMP_NE, Effect.FCMP_OEQ, Effect.FCMP_ONE, Effect.FCMP_ORD, Effect.FCMP_UEQ,
        Effect.FCMP_UNE, Effect.FCMP_UNO,
    }
)  # fmt: skip
"""Effects whose first two arguments may be swapped (fma is too, in its first two)."""

BITWISE = frozenset({Effect.AND, Effect.OR, Effect.XOR, Effect.BITCAST, Effect.LOAD})
"""Effects whose result bits do not depend on how the bits are divided into lanes."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A named operand of the shape. A memory operand stands for its address (i64)."""

    name: str
    type: ValueType

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Implicit:
    """A place the text of the instruction does not choose: flags, pc, next, eax."""

    name: str
    type: ValueType

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A number; with a vector type, that number in every lane."""

    value: int | float
    type: ValueType

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Apply:
    """An effect applied to arguments; `attributes` hold lane lists, lane numbers, spaces."""

    effect: Effect
    arguments: tuple[Expression, ...]
    type: ValueType
    attributes: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        parts = [str(argument) for argument in self.arguments]
        if self.attributes and self.effect is not Effect.LOAD:
            parts.append("[" + ", ".join(str(item) for item in self.attributes) + "]")
        return f"{self.effect}({', '.join(parts)})"


Expression = Operand | Implicit | Constant | Apply


@dataclass(frozen=True, slots=True)
class Assignment:
    """`target = expression`. A store writes `expression` at the address of a memory operand.

    A statement with no target (a barrier) has `target` None.
    """

    target: Operand | Implicit | None
    expression: Expression
    is_store: bool = False
    space: str = ""

    @property
    def is_branch(self) -> bool:
        """Whether it writes the program counter."""
        return isinstance(self.target, Implicit) and self.target.name == "pc"

    def __str__(self) -> str:
        return str(self.expression) if self.target is None else f"{self.target} = {self.expression}"


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it, outermost first, arguments left to right."""
    yield expression
    if isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from walk(argument)

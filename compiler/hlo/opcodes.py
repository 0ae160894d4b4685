"""Every HLO opcode with its textual name and the facts about it that several rooms need.

One row per opcode: operand count, accepted element types, and traits. The names and operand counts
are those of openxla/xla, xla/hlo/ir/hlo_opcode.h; accepted types follow
xla/service/shape_inference.cc.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from compiler.hlo.shape import ElementType, Family


class Accepts(enum.Flag):
    """Which families of element types an elementwise operation takes."""

    PREDICATE = enum.auto()
    SIGNED = enum.auto()
    UNSIGNED = enum.auto()
    FLOAT = enum.auto()
    COMPLEX = enum.auto()
    INTEGER = SIGNED | UNSIGNED
    BITS = PREDICATE | INTEGER
    INEXACT = FLOAT | COMPLEX
    ORDERED = PREDICATE | INTEGER | FLOAT
    NUMERIC = INTEGER | FLOAT | COMPLEX
    ANY = PREDICATE | INTEGER | FLOAT | COMPLEX

    def takes(self, kind: ElementType) -> bool:
        return kind.family is not Family.NONE and Accepts[kind.family.name] in self


class Trait(enum.Flag):
    """What else is true of an operation."""

    NONE = 0
    ELEMENTWISE = enum.auto()
    """Result element i depends on element i of every operand (or on a scalar operand) only."""
    COMMUTATIVE = enum.auto()
    TRANSCENDENTAL = enum.auto()
    SIDE_EFFECT = enum.auto()
    """Must be neither removed, duplicated nor reordered with its like."""
    COLLECTIVE = enum.auto()
    """Speaks with other replicas or partitions."""
    CONTROL = enum.auto()
    """Runs whole computations: call, while, conditional, asynchronous wrappers."""
    VIEW = enum.auto()
    """Computes nothing: parameter, constant, tuple and its elements, bitcast and the like."""


_E = Trait.ELEMENTWISE
_EC = Trait.ELEMENTWISE | Trait.COMMUTATIVE
_ET = Trait.ELEMENTWISE | Trait.TRANSCENDENTAL
_SIDE = Trait.SIDE_EFFECT
_GROUP = Trait.COLLECTIVE | Trait.SIDE_EFFECT
_CONTROL = Trait.CONTROL
_VIEW = Trait.VIEW
_NONE = Trait.NONE


class Opcode(enum.Enum):
    """An operation; the value is (name, operand count or None when it varies, accepts, traits)."""

    ABS = ("abs", 1, Accepts.NUMERIC, _E)
    ACOS = ("acos", 1, Accepts.INEXACT, _ET)
    ACOSH = ("acosh", 1, Accepts.INEXACT, _ET)
    ADD = ("add", 2, Accepts.ANY, _EC)
    ADD_DEPENDENCY = ("add-dependency", 2, Accepts.ANY, _VIEW)
    AFTER_ALL = ("after-all", None, Accepts.ANY, _VIEW)
    ALL_GATHER = ("all-gather", None, Accepts.ANY, _GROUP)
    ALL_GATHER_DONE = ("all-gather-done", 1, Accepts.ANY, _GROUP)
    ALL_GATHER_START = ("all-gather-start", None, Accepts.ANY, _GROUP)
    ALL_REDUCE = ("all-reduce", None, Accepts.ANY, _GROUP)
    ALL_REDUCE_DONE = ("all-reduce-done", 1, Accepts.ANY, _GROUP)
    ALL_REDUCE_START = ("all-reduce-start", None, Accepts.ANY, _GROUP)
    ALL_TO_ALL = ("all-to-all", None, Accepts.ANY, _GROUP)
    AND = ("and", 2, Accepts.BITS, _EC)
    ASIN = ("asin", 1, Accepts.INEXACT, _ET)
    ASINH = ("asinh", 1, Accepts.INEXACT, _ET)
    ASYNC_DONE = ("async-done", 1, Accepts.ANY, _CONTROL)
    ASYNC_START = ("async-start", None, Accepts.ANY, _CONTROL)
    ASYNC_UPDATE = ("async-update", None, Accepts.ANY, _CONTROL)
    ATAN = ("atan", 1, Accepts.INEXACT, _ET)
    ATAN2 = ("atan2", 2, Accepts.INEXACT, _ET)
    ATANH = ("atanh", 1, Accepts.INEXACT, _ET)
    BATCH_NORM_GRAD = ("batch-norm-grad", 5, Accepts.FLOAT, _NONE)
    BATCH_NORM_INFERENCE = ("batch-norm-inference", 5, Accepts.FLOAT, _NONE)
    BATCH_NORM_TRAINING = ("batch-norm-training", 3, Accepts.FLOAT, _NONE)
    BITCAST = ("bitcast", 1, Accepts.ANY, _VIEW)
    BITCAST_CONVERT = ("bitcast-convert", 1, Accepts.ANY, _NONE)
    BROADCAST = ("broadcast", 1, Accepts.ANY, _NONE)
    CALL = ("call", None, Accepts.ANY, _CONTROL)
    CBRT = ("cbrt", 1, Accepts.INEXACT, _ET)
    CEIL = ("ceil", 1, Accepts.FLOAT, _E)
    CHOLESKY = ("cholesky", 1, Accepts.INEXACT, _NONE)
    CLAMP = ("clamp", 3, Accepts.ORDERED, _E)
    COLLECTIVE_BROADCAST = ("collective-broadcast", None, Accepts.ANY, _GROUP)
    COLLECTIVE_PERMUTE = ("collective-permute", None, Accepts.ANY, _GROUP)
    COLLECTIVE_PERMUTE_DONE = ("collective-permute-done", 1, Accepts.ANY, _GROUP)
    COLLECTIVE_PERMUTE_START = ("collective-permute-start", None, Accepts.ANY, _GROUP)
    COLLECTIVE_REDUCE = ("collective-reduce", None, Accepts.ANY, _GROUP)
    COMPARE = ("compare", 2, Accepts.ANY, _E)
    COMPLEX = ("complex", 2, Accepts.FLOAT, _E)
    CONCATENATE = ("concatenate", None, Accepts.ANY, _NONE)
    CONDITIONAL = ("conditional", None, Accepts.ANY, _CONTROL)
    CONSTANT = ("constant", 0, Accepts.ANY, _VIEW)
    CONVERT = ("convert", 1, Accepts.ANY, _E)
    CONVOLUTION = ("convolution", None, Accepts.ANY, _NONE)
    COPY = ("copy", 1, Accepts.ANY, _E)
    COPY_DONE = ("copy-done", 1, Accepts.ANY, _NONE)
    COPY_START = ("copy-start", 1, Accepts.ANY, _NONE)
    COS = ("cosine", 1, Accepts.INEXACT, _ET)
    COSH = ("cosh", 1, Accepts.INEXACT, _ET)
    COUNT_LEADING_ZEROS = ("count-leading-zeros", 1, Accepts.BITS, _E)
    CUSTOM_CALL = ("custom-call", None, Accepts.ANY, _NONE)
    DIVIDE = ("divide", 2, Accepts.NUMERIC, _E)
    DOMAIN = ("domain", 1, Accepts.ANY, _VIEW)
    DOT = ("dot", 2, Accepts.ANY, _NONE)
    DYNAMIC_RESHAPE = ("dynamic-reshape", None, Accepts.ANY, _NONE)
    DYNAMIC_SLICE = ("dynamic-slice", None, Accepts.ANY, _NONE)
    DYNAMIC_UPDATE_SLICE = ("dynamic-update-slice", None, Accepts.ANY, _NONE)
    ERF = ("erf", 1, Accepts.FLOAT, _ET)
    EXP = ("exponential", 1, Accepts.INEXACT, _ET)
    EXPM1 = ("exponential-minus-one", 1, Accepts.INEXACT, _ET)
    FFT = ("fft", 1, Accepts.INEXACT, _NONE)
    FLOOR = ("floor", 1, Accepts.FLOAT, _E)
    FUSION = ("fusion", None, Accepts.ANY, _NONE)
    GATHER = ("gather", 2, Accepts.ANY, _NONE)
    GET_DIMENSION_SIZE = ("get-dimension-size", 1, Accepts.ANY, _NONE)
    GET_TUPLE_ELEMENT = ("get-tuple-element", 1, Accepts.ANY, _VIEW)
    IMAG = ("imag", 1, Accepts.INEXACT, _E)
    INFEED = ("infeed", 1, Accepts.ANY, _SIDE)
    IOTA = ("iota", 0, Accepts.NUMERIC, _NONE)
    IS_FINITE = ("is-finite", 1, Accepts.FLOAT, _E)
    LOG = ("log", 1, Accepts.INEXACT, _ET)
    LOG1P = ("log-plus-one", 1, Accepts.INEXACT, _ET)
    LOGISTIC = ("logistic", 1, Accepts.INEXACT, _ET)
    MAP = ("map", None, Accepts.ANY, _E)
    MAXIMUM = ("maximum", 2, Accepts.ORDERED, _EC)
    MINIMUM = ("minimum", 2, Accepts.ORDERED, _EC)
    MULHI = ("mulhi", 2, Accepts.INTEGER, _EC)
    MULTIPLY = ("multiply", 2, Accepts.ANY, _EC)
    NEGATE = ("negate", 1, Accepts.NUMERIC, _E)
    NOT = ("not", 1, Accepts.BITS, _E)
    OPT_BARRIER = ("opt-barrier", 1, Accepts.ANY, _VIEW)
    OR = ("or", 2, Accepts.BITS, _EC)
    OUTFEED = ("outfeed", 2, Accepts.ANY, _SIDE)
    PAD = ("pad", 2, Accepts.ANY, _NONE)
    PARAMETER = ("parameter", 0, Accepts.ANY, _VIEW)
    PARTITION_ID = ("partition-id", 0, Accepts.ANY, _NONE)
    POPCNT = ("popcnt", 1, Accepts.BITS, _E)
    POWER = ("power", 2, Accepts.NUMERIC, _ET)
    RAGGED_ALL_TO_ALL = ("ragged-all-to-all", 6, Accepts.ANY, _GROUP)
    RAGGED_DOT = ("ragged-dot", 3, Accepts.ANY, _NONE)
    REAL = ("real", 1, Accepts.INEXACT, _E)
    RECV = ("recv", 1, Accepts.ANY, _SIDE)
    RECV_DONE = ("recv-done", 1, Accepts.ANY, _SIDE)
    REDUCE = ("reduce", None, Accepts.ANY, _NONE)
    REDUCE_PRECISION = ("reduce-precision", 1, Accepts.FLOAT, _E)
    REDUCE_SCATTER = ("reduce-scatter", None, Accepts.ANY, _GROUP)
    REDUCE_WINDOW = ("reduce-window", None, Accepts.ANY, _NONE)
    REMAINDER = ("remainder", 2, Accepts.INTEGER | Accepts.FLOAT, _E)
    REPLICA_ID = ("replica-id", 0, Accepts.ANY, _NONE)
    RESHAPE = ("reshape", 1, Accepts.ANY, _NONE)
    REVERSE = ("reverse", 1, Accepts.ANY, _NONE)
    RNG = ("rng", None, Accepts.ANY, _SIDE)
    RNG_BIT_GENERATOR = ("rng-bit-generator", 1, Accepts.ANY, _NONE)
    RNG_GET_AND_UPDATE_STATE = ("rng-get-and-update-state", 0, Accepts.ANY, _SIDE)
    ROUND_NEAREST_AFZ = ("round-nearest-afz", 1, Accepts.FLOAT, _E)
    ROUND_NEAREST_EVEN = ("round-nearest-even", 1, Accepts.FLOAT, _E)
    RSQRT = ("rsqrt", 1, Accepts.INEXACT, _ET)
    SCALED_DOT = ("scaled-dot", 4, Accepts.ANY, _NONE)
    SCAN = ("scan", None, Accepts.ANY, _NONE)
    SCATTER = ("scatter", None, Accepts.ANY, _NONE)
    SELECT = ("select", 3, Accepts.ANY, _E)
    SELECT_AND_SCATTER = ("select-and-scatter", 3, Accepts.ANY, _NONE)
    SEND = ("send", 2, Accepts.ANY, _SIDE)
    SEND_DONE = ("send-done", 1, Accepts.ANY, _SIDE)
    SET_DIMENSION_SIZE = ("set-dimension-size", 2, Accepts.ANY, _NONE)
    SHIFT_LEFT = ("shift-left", 2, Accepts.INTEGER, _E)
    SHIFT_RIGHT_ARITHMETIC = ("shift-right-arithmetic", 2, Accepts.INTEGER, _E)
    SHIFT_RIGHT_LOGICAL = ("shift-right-logical", 2, Accepts.INTEGER, _E)
    SHUFFLE = ("shuffle", 1, Accepts.ANY, _NONE)
    SIGN = ("sign", 1, Accepts.NUMERIC, _E)
    SIN = ("sine", 1, Accepts.INEXACT, _ET)
    SINH = ("sinh", 1, Accepts.INEXACT, _ET)
    SLICE = ("slice", 1, Accepts.ANY, _NONE)
    SORT = ("sort", None, Accepts.ANY, _NONE)
    SQRT = ("sqrt", 1, Accepts.INEXACT, _ET)
    STOCHASTIC_CONVERT = ("stochastic-convert", 2, Accepts.FLOAT, _E)
    SUBTRACT = ("subtract", 2, Accepts.NUMERIC, _E)
    TAN = ("tan", 1, Accepts.INEXACT, _ET)
    TANH = ("tanh", 1, Accepts.INEXACT, _ET)
    TOPK = ("topk", 1, Accepts.ANY, _NONE)
    TRANSPOSE = ("transpose", 1, Accepts.ANY, _NONE)
    TRIANGULAR_SOLVE = ("triangular-solve", 2, Accepts.INEXACT, _NONE)
    TUPLE = ("tuple", None, Accepts.ANY, _VIEW)
    WHILE = ("while", 1, Accepts.ANY, _CONTROL)
    XOR = ("xor", 2, Accepts.BITS, _EC)

    def __init__(self, text: str, arity: int | None, accepts: Accepts, traits: Trait) -> None:
        self.text = text
        self.arity = arity
        self.accepts = accepts
        self.traits = traits
        self.is_elementwise = Trait.ELEMENTWISE in traits
        self.is_commutative = Trait.COMMUTATIVE in traits
        self.is_transcendental = Trait.TRANSCENDENTAL in traits
        self.has_side_effect = Trait.SIDE_EFFECT in traits
        self.is_collective = Trait.COLLECTIVE in traits
        self.is_control = Trait.CONTROL in traits
        self.is_view = Trait.VIEW in traits

    __hash__ = object.__hash__  # members are unique; the default hashes their names, in Python

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Opcode.{self.name}"


OPCODES: dict[str, Opcode] = {opcode.text: opcode for opcode in Opcode}
"""Opcodes by HLO name."""


class Phase(enum.Enum):
    """The three instructions that an asynchronous operation is split into."""

    START = "start"
    UPDATE = "update"
    DONE = "done"


_ASYNC = {
    Phase.START: Opcode.ASYNC_START,
    Phase.UPDATE: Opcode.ASYNC_UPDATE,
    Phase.DONE: Opcode.ASYNC_DONE,
}


@dataclass(frozen=True, slots=True)
class SpelledOpcode:
    """An opcode as text: ``custom-call-start`` is async-start that wraps custom-call."""

    opcode: Opcode
    wrapped: Opcode | None = None


def spelled_opcode(text: str) -> SpelledOpcode | None:
    """The opcode of a textual name, the asynchronous short forms included, or None."""
    if text in OPCODES:
        return SpelledOpcode(OPCODES[text])
    base, _, suffix = text.rpartition("-")
    for phase, opcode in _ASYNC.items():
        if suffix == phase.value and base in OPCODES:
            return SpelledOpcode(opcode, OPCODES[base])
    return None

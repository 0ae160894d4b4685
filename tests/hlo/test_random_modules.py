# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""Random modules: they verify, print and parse back equal, and evaluate like a plain NumPy transcription."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.hlo.attributes import Attributes, PadDimension, SliceLimits
from compiler.hlo.evaluate import evaluate
from compiler.hlo.literal import literal_of
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rewriter import Rewriter
from compiler.hlo.shape import ArrayShape, ElementType, Layout
from compiler.hlo.text import parse_module, print_module
from compiler.hlo.verify import verify

Draw = Callable[..., object]
UNARY = {
    Opcode.NEGATE: np.negative,
    Opcode.ABS: np.abs,
    Opcode.FLOOR: np.floor,
    Opcode.CEIL: np.ceil,
}
BINARY = {
    Opcode.ADD: np.add,
    Opcode.SUBTRACT: np.subtract,
    Opcode.MULTIPLY: np.multiply,
    Opcode.MAXIMUM: np.maximum,
}
FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)


def shape_of(array: np.ndarray, draw: Draw) -> ArrayShape:
    order = draw(st.permutations(range(array.ndim)))
    return ArrayShape(ElementType.F32, array.shape, Layout(tuple(order)))


@st.composite
def programs(draw: Draw) -> tuple[Module, list[np.ndarray], np.ndarray]:
    """A module, its inputs, and what its root must be."""
    values: list[np.ndarray] = []
    instructions: list[Instruction] = []

    def put(
        opcode: Opcode, value: np.ndarray, operands: tuple[int, ...] = (), **rest: object
    ) -> None:
        names = tuple(instructions[i].name for i in operands)
        name = f"{opcode.text}.{len(values)}"
        values.append(value)
        instructions.append(Instruction(name, opcode, shape_of(value, draw), names, **rest))

    inputs: list[np.ndarray] = []
    for number in range(draw(st.integers(1, 3))):
        dims = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
        array = np.array(
            draw(st.lists(FLOATS, min_size=int(np.prod(dims)), max_size=int(np.prod(dims)))),
            np.float32,
        )
        inputs.append(array.reshape(dims))
        put(Opcode.PARAMETER, inputs[-1], attributes=Attributes(parameter_number=number))
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(values) - 1))
        grow(draw, put, values, at)
    root = instructions[-1].name
    return (
        Module("random", (Computation("main", tuple(instructions), root),), "main"),
        inputs,
        values[-1],
    )


def grow(draw: Draw, put: Callable[..., None], values: list[np.ndarray], at: int) -> None:
    value = values[at]
    choice = draw(
        st.sampled_from(
            [
                "unary",
                "binary",
                "transpose",
                "reshape",
                "broadcast",
                "slice",
                "pad",
                "constant",
                "reverse",
                "concatenate",
            ]
        )
    )
    with np.errstate(all="ignore"):
        if choice == "unary":
            opcode = draw(st.sampled_from(list(UNARY)))
            put(opcode, UNARY[opcode](value), (at,))
        elif choice == "binary":
            equal = [i for i, other in enumerate(values) if other.shape == value.shape]
            opcode, other = draw(st.sampled_from(list(BINARY))), draw(st.sampled_from(equal))
            put(opcode, BINARY[opcode](value, values[other]), (at, other))
        elif choice == "transpose":
            order = tuple(draw(st.permutations(range(value.ndim))))
            put(
                Opcode.TRANSPOSE,
                value.transpose(order),
                (at,),
                attributes=Attributes(dimensions=order),
            )
        elif choice == "reshape":
            put(Opcode.RESHAPE, value.reshape(-1), (at,))
        elif choice == "broadcast":
            extra = draw(st.integers(0, 3))
            result = np.broadcast_to(value, (extra, *value.shape))
            dims = tuple(range(1, value.ndim + 1))
            put(Opcode.BROADCAST, result, (at,), attributes=Attributes(dimensions=dims))
        elif choice == "slice":
            limits = tuple(SliceLimits(n // 3, n, 1 + n % 2) for n in value.shape)
            key = tuple(slice(s.start, s.limit, s.stride) for s in limits)
            put(Opcode.SLICE, value[key], (at,), attributes=Attributes(slice=limits))
        elif choice == "pad":
            put(Opcode.CONSTANT, np.float32(1.5).reshape(()), literal=literal_of(np.float32(1.5)))
            padding = tuple(PadDimension(1, 2) for _ in value.shape)
            padded = (
                np.pad(value, [(1, 2)] * value.ndim, constant_values=np.float32(1.5))
                if value.ndim
                else value
            )
            put(Opcode.PAD, padded, (at, len(values) - 1), attributes=Attributes(padding=padding))
        elif choice == "constant":
            dims = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
            count = int(np.prod(dims))
            bits = draw(st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count))
            array = np.array(bits, np.uint32).view(np.float32).reshape(dims)
            put(Opcode.CONSTANT, array, literal=literal_of(array))
        elif value.ndim and choice == "reverse":
            put(Opcode.REVERSE, np.flip(value, 0), (at,), attributes=Attributes(dimensions=(0,)))
        elif value.ndim:
            put(
                Opcode.CONCATENATE,
                np.concatenate([value, value]),
                (at, at),
                attributes=Attributes(dimensions=(0,)),
            )
        else:
            put(Opcode.COPY, value, (at,))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(programs())
def test_random_modules_round_trip_and_evaluate(program):
    module, inputs, expected = program
    verify(module)
    assert parse_module(print_module(module)) == module
    (result,) = evaluate(module, *inputs)
    np.testing.assert_array_equal(result, expected)


KINDS = [
    k for k in ElementType if k.is_integer or k.is_float or k.is_complex or k is ElementType.PRED
]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.sampled_from(KINDS),
    st.lists(st.integers(0, 3), max_size=3),
    st.randoms(use_true_random=False),
)
def test_literals_of_every_type_keep_their_bits(kind, dims, draw):
    count = int(np.prod(dims))
    raw = bytes(draw.randrange(256) for _ in range(count * kind.dtype.itemsize))
    if kind is ElementType.PRED:
        raw = bytes(b & 1 for b in raw)
    elif kind.bits < 8:
        mask = (1 << kind.bits) - 1
        raw = (
            np.frombuffer(raw, np.uint8).__and__(mask).astype(np.int8).astype(kind.dtype).tobytes()
        )
    array = np.frombuffer(raw, kind.dtype).reshape(dims)
    shape = ArrayShape(kind, tuple(dims))
    constant = Instruction("c", Opcode.CONSTANT, shape, literal=literal_of(array))
    module = Module("m", (Computation("e", (constant,), "c"),), "e")
    (again,) = parse_module(print_module(module)).entry_computation.instructions
    assert again.literal == constant.literal


@settings(max_examples=60, deadline=None, derandomize=True)
@given(programs(), st.integers(0, 100))
def test_replacing_a_value_by_its_copy_preserves_evaluation_and_records_origins(program, choice):
    module, inputs, expected = program
    rewriter = Rewriter(module)
    editor = rewriter.edit("main")
    old = module.entry_computation.instructions[choice % len(module.entry_computation)]
    if old.opcode is Opcode.PARAMETER:
        copy = editor.add(Opcode.COPY, old.shape, (old.name,), sources=[old])
        for user in module.entry_computation.users(old.name):
            instruction = editor.instruction(user)
            names = tuple(copy if name == old.name else name for name in instruction.operands)
            editor.rewrite(instruction.with_operands(names))
        if old.name == module.entry_computation.root:
            editor.set_root(copy)
    else:
        copy = editor.add(
            old.opcode, old.shape, old.operands, old.attributes, sources=[old], literal=old.literal
        )
        editor.replace(old.name, copy)
    changed = verify(rewriter.build())
    assert changed.entry_computation.instruction(copy).origins == (old.name,)
    np.testing.assert_array_equal(evaluate(changed, *inputs)[0], expected)

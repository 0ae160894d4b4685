"""Linear algebra, Fourier transforms, normalisation and random bits."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Fault, flag, integer, ints, number, word
from compiler.frontend.stablehlo.operations import Operation
from compiler.hlo.attributes import FftType, RandomAlgorithm, TransposeKind
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import TupleShape

Choice = TypeVar("Choice", bound=Enum)


def _member(choices: type[Choice], name: str) -> Choice:
    if name not in choices.__members__:
        raise Fault(f"'{name}' is none of {', '.join(choices.__members__)}")
    return choices[name]


def fft(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    kind = _member(FftType, word(operation, "fft_type"))
    lengths = ints(operation, "fft_length")
    return [frame.emit(Opcode.FFT, operands, fft_type=kind, fft_length=lengths)]


def cholesky(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [frame.emit(Opcode.CHOLESKY, operands, lower=flag(operation, "lower") or None)]


def triangular_solve(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    transpose = _member(TransposeKind, word(operation, "transpose_a", "NO_TRANSPOSE"))
    return [
        frame.emit(
            Opcode.TRIANGULAR_SOLVE,
            operands,
            left_side=flag(operation, "left_side") or None,
            lower=flag(operation, "lower") or None,
            unit_diagonal=flag(operation, "unit_diagonal") or None,
            transpose_a=transpose,
        )
    ]


def _batch_norm(opcode: Opcode) -> Handler:
    def handle(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
        made = frame.emit(
            opcode,
            operands,
            epsilon=number(operation, "epsilon"),
            feature_index=integer(operation, "feature_index"),
        )
        return frame.split(made, len(operation.result_types))

    return handle


_ALGORITHMS = {
    "DEFAULT": RandomAlgorithm.DEFAULT,
    "THREE_FRY": RandomAlgorithm.THREE_FRY,
    "PHILOX": RandomAlgorithm.PHILOX,
}


def rng_bit_generator(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    name = word(operation, "rng_algorithm")
    if name not in _ALGORITHMS:
        raise Fault(f"'{name}' is none of {', '.join(_ALGORITHMS)}")
    shape = TupleShape((frame.declared_shape(0), frame.declared_shape(1)))
    algorithm = _ALGORITHMS[name]
    made = frame.emit(Opcode.RNG_BIT_GENERATOR, operands, shape, algorithm=algorithm)
    return frame.split(made, 2)


HANDLERS: dict[str, Handler] = {
    "stablehlo.fft": fft,
    "stablehlo.cholesky": cholesky,
    "stablehlo.triangular_solve": triangular_solve,
    "stablehlo.batch_norm_training": _batch_norm(Opcode.BATCH_NORM_TRAINING),
    "stablehlo.batch_norm_inference": _batch_norm(Opcode.BATCH_NORM_INFERENCE),
    "stablehlo.batch_norm_grad": _batch_norm(Opcode.BATCH_NORM_GRAD),
    "stablehlo.rng_bit_generator": rng_bit_generator,
}

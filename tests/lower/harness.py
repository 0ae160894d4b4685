"""Compiles modules with a naive buffer assignment (no reuse) and stub targets, and runs them
natively."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from compiler.hlo.module import Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, leaves
from compiler.hlo.text import parse_module
from compiler.journal import Journal
from compiler.llvm.text import text
from compiler.llvm.types import Type
from compiler.lower import lower
from compiler.lower.kernels import Lowered
from compiler.options import Options
from compiler.target import Target
from tests.lower.native import Job, run_native

CASES = Path(__file__).resolve().parents[1] / "cases" / "jax"


def _legal_x86(effect: str, type: Type) -> bool:
    return effect in {"fadd", "fmul", "fma", "mul", "smax", "smin"} and type.is_vector


def _legal_arm(effect: str, type: Type) -> bool:
    return effect in {
        "fabs", "maximum", "minimum", "uitofp", "round", "smax", "smin", "umax", "umin",
        "fmul", "mul",
    }  # fmt: skip


X86 = Target(
    "x86/test",
    False,
    256,
    "x86_64-unknown-linux-gnu",
    "",
    (("vec", 16), ("gpr", 15)),
    legal=_legal_x86,
)
ARM = Target(
    "arm/test",
    False,
    128,
    "aarch64-unknown-linux-gnu",
    "",
    (("vec", 32), ("gpr", 30)),
    legal=_legal_arm,
)
SCALAR = Target("scalar/test", False, 0, "", "", (("vec", 8), ("gpr", 8)))
SIMT = Target(
    "simt/test", True, 0, "nvptx64-nvidia-cuda",
    "", (("reg", 255), ("pred", 7)), warp_size=32, legal=_legal_arm,
)  # fmt: skip


@dataclass(frozen=True)
class Slice:
    offset: int
    size_bytes: int


@dataclass
class Assignment:
    """Every array its own slice; bitcasts and tuple elements share their operand's."""

    launches: tuple[str, ...] = ()
    slices: dict[tuple[str, tuple[int, ...]], Slice] = field(default_factory=dict)
    arena_bytes: int = 0


FREE = {Opcode.PARAMETER, Opcode.CONSTANT, Opcode.BITCAST, Opcode.TUPLE, Opcode.GET_TUPLE_ELEMENT}


def assign(module: Module) -> Assignment:
    found = Assignment()
    launches: list[str] = []
    for instruction in module.entry_computation:
        _place(found, instruction)
        if instruction.opcode not in FREE:
            launches.append(instruction.name)
    found.launches = tuple(launches)
    return found


def _place(found: Assignment, instruction: Instruction) -> None:
    slices = found.slices
    if instruction.opcode is Opcode.BITCAST:
        slices[instruction.name, ()] = slices[instruction.operands[0], ()]
    elif instruction.opcode is Opcode.GET_TUPLE_ELEMENT:
        slices[instruction.name, ()] = slices[instruction.operands[0], (instruction.tuple_index,)]
    elif instruction.opcode is Opcode.TUPLE:
        for position, name in enumerate(instruction.operands):
            slices[instruction.name, (position,)] = slices[name, ()]
    else:
        shapes = leaves(instruction.shape)
        for position, shape in enumerate(shapes):
            path = () if shape is instruction.shape else (position,)
            slices[instruction.name, path] = Slice(found.arena_bytes, shape.size_bytes)
            found.arena_bytes += -(-max(shape.size_bytes, 1) // 64) * 64


def lowered(
    source: str | Module, target: Target = X86, options: Options | None = None
) -> tuple[Module, Assignment, Lowered, Journal]:
    module = parse_module(source) if isinstance(source, str) else source
    assignment, journal = assign(module), Journal()
    result = lower(module, assignment, target, options or Options(), journal)  # type: ignore[arg-type]
    return module, assignment, result, journal


def physical(array: np.ndarray, shape: ArrayShape) -> bytes:
    """An array's bytes as its layout places them."""
    order = shape.minor_to_major[::-1]
    cast = np.asarray(array).astype(shape.element_type.dtype, copy=False)
    return np.ascontiguousarray(cast.reshape(shape.dimensions).transpose(order)).tobytes()


def logical(raw: bytes, shape: ArrayShape) -> np.ndarray:
    """The array that lies in memory in a layout."""
    order = shape.minor_to_major[::-1]
    flat = np.frombuffer(raw, shape.element_type.dtype, shape.element_count)
    return flat.reshape([shape.dimensions[d] for d in order]).transpose(np.argsort(order))


def arena_of(module: Module, assignment: Assignment, arrays: Sequence[np.ndarray]) -> bytearray:
    arena = bytearray(b"\xa5" * assignment.arena_bytes)
    for instruction in module.entry_computation:
        if instruction.opcode is Opcode.PARAMETER:
            data = physical(arrays[instruction.parameter_number], instruction.array)
        elif instruction.opcode is Opcode.CONSTANT and instruction.literal is not None:
            data = physical(instruction.literal.array, instruction.array)  # type: ignore[arg-type]
        else:
            continue
        offset = assignment.slices[instruction.name, ()].offset
        arena[offset : offset + len(data)] = data
    return arena


def results_of(module: Module, assignment: Assignment, arena: bytes) -> list[np.ndarray]:
    root = module.entry_computation.root_instruction
    shapes = leaves(root.shape)
    found = []
    for position, shape in enumerate(shapes):
        piece = assignment.slices[root.name, () if shape is root.shape else (position,)]
        assert isinstance(shape, ArrayShape)
        found.append(logical(arena[piece.offset : piece.offset + piece.size_bytes], shape))
    return found


@dataclass
class Prepared:
    """A compiled program with its arguments, ready to run."""

    module: Module
    assignment: Assignment
    job: Job


def prepare(
    source: str | Module,
    arrays: Sequence[np.ndarray],
    target: Target = X86,
    options: Options | None = None,
) -> Prepared:
    module, assignment, result, _ = lowered(source, target, options)
    calls = [(k.function, [s.offset for s in k.arguments]) for k in result.kernels]
    arena = bytes(arena_of(module, assignment, arrays))
    return Prepared(module, assignment, Job(text(result.llvm_module), calls, arena))


def run_all(prepared: Sequence[Prepared]) -> list[list[np.ndarray]]:
    arenas = run_native([p.job for p in prepared])
    return [results_of(p.module, p.assignment, a) for p, a in zip(prepared, arenas, strict=True)]


def run(
    source: str | Module, *arrays: np.ndarray, target: Target = X86, options: Options | None = None
) -> list[np.ndarray]:
    return run_all([prepare(source, arrays, target, options)])[0]


Named = Mapping[str, np.ndarray]

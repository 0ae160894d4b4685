"""Random numbers: Threefry-2x32 and Philox-4x32 bit for bit, and reproducible distributions.

Both generators are from Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011); how
counters, keys and results are arranged follows openxla/xla, xla/hlo/builder/lib/prng.cc.
``rng_default`` is Philox, as on XLA's CPU.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.attributes import RandomAlgorithm, RandomDistribution
from compiler.hlo.errors import HloUnsupportedError
from compiler.hlo.evaluate.numbers import converted
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, TupleShape

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray
_U32, _U64 = np.uint32, np.uint64
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_STATE_DELTA = 1


def _halves(word: Array) -> tuple[Array, Array]:
    """Low and high 32 bits of 64-bit words."""
    return word.astype(_U32), (word >> _U64(32)).astype(_U32)


def _joined(low: Array, high: Array) -> Array:
    return low.astype(_U64) | (high.astype(_U64) << _U64(32))


def threefry(counter: Array, key: int) -> tuple[Array, Array]:
    """Twenty rounds of Threefry-2x32 on 64-bit counters; the two result words."""
    keys = [_U32(key & 0xFFFFFFFF), _U32(key >> 32)]
    keys.append(_U32(_PARITY) ^ keys[0] ^ keys[1])
    x, y = _halves(counter)
    x, y = x + keys[0], y + keys[1]
    for block in range(5):
        for distance in _ROTATIONS[block % 2]:
            x = x + y
            y = (y << _U32(distance)) | (y >> _U32(32 - distance))
            y = x ^ y
        x = x + keys[(block + 1) % 3]
        y = y + keys[(block + 2) % 3] + _U32(block + 1)
    return x, y


def _threefry_bits(state: Array, dimensions: tuple[int, ...], width: int) -> tuple[Array, Array]:
    key, counter = int(state[0]), _U64(state[1])
    if width == 64:
        count = math.prod(dimensions)
        counters = counter + np.arange(count, dtype=_U64)
        bits = _joined(*threefry(counters, key)).reshape(dimensions)
        return bits, np.array([key, int(counter) + count & (2**64 - 1)], _U64)
    axis = _split_axis(dimensions)
    halved = list(dimensions) or [1]
    halved[axis] = -(-halved[axis] // 2)
    count = math.prod(halved)
    counters = (counter + np.arange(count, dtype=_U64)).reshape(halved)
    both = np.stack(threefry(counters, key), axis=axis + 1)
    halved[axis] *= 2
    whole = both.reshape(halved)
    cut = tuple(slice(0, extent) for extent in dimensions)
    bits = whole[cut] if dimensions else whole.reshape(-1)[0:1].reshape(())
    return bits, np.array([key, int(counter) + count & (2**64 - 1)], _U64)


def _split_axis(dimensions: tuple[int, ...]) -> int:
    """The first even dimension, else the first of the longest."""
    if not dimensions:
        return 0
    even = [i for i, extent in enumerate(dimensions) if extent % 2 == 0]
    return even[0] if even else dimensions.index(max(dimensions))


def philox(words: list[Array], key: int) -> list[Array]:
    """Ten rounds of Philox-4x32."""
    low, high = _U32(key & 0xFFFFFFFF), _U32(key >> 32)
    for _ in range(10):
        first = words[0].astype(_U64) * _U64(0xD2511F53)
        second = words[2].astype(_U64) * _U64(0xCD9E8D57)
        first_low, first_high = _halves(first)
        second_low, second_high = _halves(second)
        words = [second_high ^ words[1] ^ low, second_low, first_high ^ words[3] ^ high, first_low]
        low, high = low + _U32(0x9E3779B9), high + _U32(0xBB67AE85)
    return words


def _philox_bits(state: Array, dimensions: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """The state is (key, counter) or (key, low counter, high counter)."""
    key = int(state[0])
    low, high = (int(state[1]), int(state[2])) if state.size >= 3 else (int(state[1]), key)
    count = math.prod(dimensions)
    blocks = -(-count * (2 if width == 64 else 1) // 4)
    steps = np.arange(blocks, dtype=_U64)
    lows = _U64(low) + steps
    highs = np.where(lows < _U64(low), _U64(high) + _U64(1), _U64(high))
    words = philox([*_halves(lows), *_halves(highs)], key)
    if width == 64:
        pairs = [_joined(words[0], words[1]), _joined(words[2], words[3])]
        bits = np.stack(pairs, axis=1).reshape(-1)[:count].reshape(dimensions)
    else:
        bits = np.stack(words, axis=1).reshape(-1)[:count].reshape(dimensions)
    counter = (low + blocks) % 2**64
    carry = (high + (counter < low)) % 2**64
    after = [key, counter, carry] if state.size >= 3 else [key, counter]
    return bits, np.array(after, _U64)


def rng_bit_generator(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    state = np.ascontiguousarray(operands[0])
    words = state.view(_U64) if state.dtype.itemsize != 8 else state.astype(_U64)
    declared = instruction.shape
    shape = declared.elements[1] if isinstance(declared, TupleShape) else declared
    if not isinstance(shape, ArrayShape) or words.size < 2:
        raise HloUnsupportedError(f"rng-bit-generator with state {operands[0].shape}")
    algorithm = instruction.attributes["algorithm"]
    width = shape.element_type.bits
    if algorithm is RandomAlgorithm.THREE_FRY:
        bits, after = _threefry_bits(words, shape.dimensions, width)
    elif algorithm in (RandomAlgorithm.PHILOX, RandomAlgorithm.DEFAULT):
        bits, after = _philox_bits(words, shape.dimensions, width)
    else:
        raise HloUnsupportedError(f"random algorithm {algorithm}")
    result = _as_bits(bits, shape)
    if not isinstance(declared, TupleShape):
        return result
    return after.view(state.dtype).reshape(state.shape), result


def _as_bits(bits: Array, shape: ArrayShape) -> Array:
    kind = shape.element_type
    if kind.bits < 8 or kind.is_integer:
        unsigned = bits.astype(_U64)
        return converted(unsigned, kind)
    carrier = np.dtype(f"u{kind.size_bytes}")
    return np.ascontiguousarray(bits.astype(carrier)).view(kind.dtype).reshape(shape.dimensions)


def rng(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    """Reproducible: every run and every rng of it draws from its own fixed seed."""
    machine.random_state += 1
    generator = np.random.Generator(np.random.PCG64(machine.random_state))
    shape = instruction.array
    first, second = (operand.astype(np.float64)[()] for operand in operands)
    if instruction.attributes["distribution"] is RandomDistribution.NORMAL:
        draws = generator.normal(first, second, shape.dimensions)
    else:
        draws = first + generator.random(shape.dimensions) * (second - first)
    if shape.element_type.is_integer:
        draws = np.floor(draws)
    elif shape.element_type.bits == 1:
        draws = np.asarray(generator.random(shape.dimensions) < 0.5, np.float64)
    return converted(np.asarray(draws, np.float64), shape.element_type)


def rng_get_and_update_state(
    machine: Evaluator, instruction: Instruction, operands: list[Any]
) -> Array:
    state = machine.random_state
    machine.random_state += int(instruction.attributes.get("delta", _STATE_DELTA))
    return np.array([state % 2**64, 0], _U64).reshape(instruction.array.dimensions)


HANDLERS: dict[Opcode, Any] = {
    Opcode.RNG: rng,
    Opcode.RNG_BIT_GENERATOR: rng_bit_generator,
    Opcode.RNG_GET_AND_UPDATE_STATE: rng_get_and_update_state,
}

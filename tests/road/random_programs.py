"""Random HLO programs of the kind that code generation promises to cover, with inputs for them.

f32, s32 and pred; elementwise operations, moves, reductions with any reducer, dots with any
dimension numbers, calls, tuples; any layout; empty, odd and single extents; special numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from tests.road import steps
from tests.road.builder import Array, Builder, Module, Style
from tests.road.patterns import NETWORKS, REDUCTIONS

FLOAT_SPECIALS = np.array(
    [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-45, 3.4e38, -3.4e38, 1.5, 2.5, -0.5, 1.0],
    np.float32,
)
INTEGER_SPECIALS = np.array(
    [-(2**31), 2**31 - 1, 0, -1, 1, 31, 32, 33, -32, 2**24 + 1, -(2**31) + 1, 255], np.int32
)


@dataclass(frozen=True)
class RandomProgram:
    """HLO text and one array per parameter."""

    seed: int
    text: str
    inputs: tuple[np.ndarray, ...]


def random_program(seed: int, size: int = 12) -> RandomProgram:
    """The program of this seed, of about `size` instructions and groups."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    style = Style(
        sigil=rng.choice(("", "%")),
        shuffle=rng.choice((0.0, 0.25, 0.8)),
        special=rng.choice((0.0, 0.05, 0.3)),
        zero=rng.choice((0.0, 0.0, 0.0, 0.1)),
        most=rng.choice((200, 1500, 3000)),
        typed_operands=rng.random() < 0.3,
    )
    module = Module(rng, style)
    b = Builder(module)
    wild = rng.random() < 0.25
    for number in range(rng.randrange(1, 5)):
        kind = rng.choice(("f32", "f32", "f32", "s32", "pred"))
        b.add(kind, b.extents(), f"parameter({number})")
    parameters = list(b.arrays)
    inputs = tuple(_input(numbers, a, wild) for a in parameters)
    _grow(b, rng.randrange(2, size + 1))
    return RandomProgram(seed, _text(b, parameters), inputs)


def _grow(b: Builder, count: int) -> None:
    mood = b.rng.choice(("elementwise", "moves", "reductions", "networks", "dots", "mixed"))
    groups = {
        "elementwise": steps.ELEMENTWISE, "moves": steps.MOVES, "reductions": REDUCTIONS,
        "networks": NETWORKS, "dots": (steps.dot,), "mixed": (call,),
    }  # fmt: skip
    before = len(b.lines)
    for _ in range(4 * count):
        if len(b.lines) - before >= count:
            break
        group = groups[b.rng.choice((*groups, mood, mood, "elementwise", "elementwise"))]
        step = b.rng.choice(group)
        step(b)


def call(b: Builder) -> None:
    """A call of a new computation with one result or several."""
    if b.depth == 2:
        return
    inner = Builder(b.module, depth=b.depth + 1)
    arguments = [b.pick() for _ in range(b.rng.randrange(1, 4))]
    for number, a in enumerate(arguments):
        inner.add(a.kind, a.extents, f"parameter({number})")
    _grow(inner, b.rng.randrange(1, 5))
    count = b.rng.choice((1, 1, 2))
    roots = [b.rng.choice(inner.arrays[-3:]) for _ in range(count)]
    is_single = count == 1 and b.rng.random() < 0.8
    shape = _finish(inner, roots, is_single)
    name = b.module.fresh("called")
    b.module.computations[name] = inner.computation(name)
    operands = ", ".join(b.operand(a) for a in arguments)
    if is_single:
        b.add(roots[0].kind, roots[0].extents, f"call({operands}), to_apply={name}")
        return
    result = b.module.fresh("results")
    b.lines.append(f"  {result} = {shape} call({operands}), to_apply={name}")
    for number, root in enumerate(roots):
        whole = f"{shape} {result}" if b.style.typed_operands else result
        b.add(root.kind, root.extents, f"get-tuple-element({whole}), index={number}")


def _finish(b: Builder, roots: list[Array], is_single: bool) -> str:
    """Makes the root and returns its shape."""
    if is_single:
        for position, line in enumerate(b.lines):
            if line.startswith(f"  {roots[0].name} ="):
                b.lines[position] = f"  ROOT {line.strip()}"
        return b.shapes[roots[0].name]
    shape = f"({', '.join(b.shapes[r.name] for r in roots)})"
    names = ", ".join(b.operand(r) for r in roots)
    b.lines.append(f"  ROOT {b.style.sigil}root = {shape} tuple({names})")
    return shape


def _text(b: Builder, parameters: list[Array]) -> str:
    rng = b.rng
    count = rng.choice((1, 1, 2, 3, 4))
    roots = [rng.choice(b.arrays[-6:] if rng.random() < 0.9 else b.arrays) for _ in range(count)]
    if rng.random() < 0.9:
        roots[0] = b.arrays[-1]
    if rng.random() < 0.1:
        roots.append(b.literal(rng.choice(("f32", "s32", "pred")), b.extents(1, 8)))
    is_single = len(roots) == 1 and rng.random() < 0.6
    _finish(b, roots, is_single)
    header = "HloModule random"
    if rng.random() < 0.3:
        given = ", ".join(b.shape(a.kind, a.extents) for a in parameters)
        results = ", ".join(b.shape(a.kind, a.extents) for a in roots)
        result = results if is_single else f"({results})"
        header += f", entry_computation_layout={{({given})->{result}}}"
    parts = [header, *b.module.computations.values()]
    return "\n\n".join((*parts, b.computation(f"ENTRY {b.style.sigil}main")))


def _input(numbers: np.random.Generator, array: Array, wild: bool) -> np.ndarray:
    extents = array.extents
    if array.kind == "pred":
        return numbers.integers(0, 2, extents).astype(np.bool_)
    if array.kind == "s32":
        if not wild:
            return numbers.integers(-20, 20, extents).astype(np.int32)
        whole = numbers.integers(-(2**31), 2**31, extents).astype(np.int32)
        return _mixed(numbers, whole, INTEGER_SPECIALS)
    if not wild:
        scale = numbers.choice((0.5, 1.0, 3.0))
        return (scale * numbers.standard_normal(extents)).astype(np.float32)
    powers = numbers.uniform(-30, 30, extents) if numbers.random() < 0.5 else 2.0
    wide = numbers.standard_normal(extents) * 10.0**powers
    return _mixed(numbers, np.asarray(wide).astype(np.float32), FLOAT_SPECIALS)


def _mixed(numbers: np.random.Generator, array: np.ndarray, specials: np.ndarray) -> np.ndarray:
    chosen = numbers.choice(specials, array.shape)
    return np.asarray(np.where(numbers.random(array.shape) < 0.3, chosen, array), array.dtype)

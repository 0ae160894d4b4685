"""Random programs for passes and buffers: rows and columns reduced, broadcast, moved about,
multiplied.

Programs are written as HLO text, in random layouts, so that a failing one can be read and kept.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from compiler.hlo.module import Module
from compiler.hlo.text import parse_module

Dims = tuple[int, ...]

REDUCERS = """
sum_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
sum_s32 { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
max_s32 { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] maximum(a, b) }
argmax {
  a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GE
  v = f32[] select(more, a, b)
  k = s32[] select(more, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
twice { p = f32[6] parameter(0) ROOT r = f32[6] add(p, p) }
"""

UNARY = ("negate", "abs", "exponential", "tanh", "sqrt", "floor")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
WHOLE = ("add", "subtract", "multiply", "maximum", "minimum", "and", "xor")


@dataclass
class Builder:
    """Lines of an entry computation, and the arrays made so far as (name, type, dimensions)."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, str, Dims]] = field(default_factory=list)

    def shape(self, kind: str, dims: Dims) -> str:
        order = list(range(len(dims)))[::-1]
        if self.rng.random() < 0.3:
            self.rng.shuffle(order)
        layout = f"{{{','.join(map(str, order))}}}" if dims else ""
        return f"{kind}[{','.join(map(str, dims))}]{layout}"

    def put(self, kind: str, dims: Dims, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {self.shape(kind, dims)} {text}")
        self.values.append((name, kind, dims))
        return name

    def pick(self, test: Callable[[tuple[str, str, Dims]], bool]) -> tuple[str, str, Dims] | None:
        found = [v for v in self.values if test(v)]
        recent = found[-6:] if self.rng.random() < 0.7 else found
        return self.rng.choice(recent) if recent else None

    def scalar(self, kind: str) -> str:
        if kind == "pred":
            return self.put(kind, (), f"constant({self.rng.choice(['true', 'false'])})")
        value = (
            self.rng.choice([0, 1, -1, 2, 3])
            if kind == "s32"
            else self.rng.choice(["0", "1", "-0", "2", "0.5", "-1", "-inf"])
        )
        return self.put(kind, (), f"constant({value})")

    def filled(self, kind: str, dims: Dims) -> str:
        scalar = self.scalar(kind)
        return self.put(kind, dims, f"broadcast({scalar}), dimensions={{}}") if dims else scalar


def _unary(b: Builder) -> None:
    found = b.pick(lambda v: v[1] == "f32")
    if found:
        b.put("f32", found[2], f"{b.rng.choice(UNARY)}({found[0]})")


def _binary(b: Builder) -> None:
    one = b.pick(lambda v: v[1] in ("f32", "s32"))
    if not one:
        return
    other = b.pick(lambda v: v[1:] == one[1:])
    right = other[0] if other and b.rng.random() < 0.7 else b.filled(one[1], one[2])
    pair = [one[0], right]
    b.rng.shuffle(pair)
    names = BINARY if one[1] == "f32" else WHOLE
    b.put(one[1], one[2], f"{b.rng.choice(names)}({', '.join(pair)})")


def _select(b: Builder) -> None:
    one = b.pick(lambda v: v[1] in ("f32", "s32"))
    if not one:
        return
    other = b.pick(lambda v: v[1:] == one[1:])
    right = other[0] if other else b.filled(one[1], one[2])
    direction = b.rng.choice(["LT", "GE", "EQ", "NE"])
    truth = b.put("pred", one[2], f"compare({one[0]}, {right}), direction={direction}")
    b.put(one[1], one[2], f"select({truth}, {one[0]}, {right})")


def _convert(b: Builder) -> None:
    one = b.pick(lambda v: v[1] in ("s32", "pred"))
    if one:
        b.put("f32", one[2], f"convert({one[0]})")


def _reduce(b: Builder) -> None:
    one = b.pick(lambda v: v[1] in ("f32", "s32") and len(v[2]) > 0)
    if not one:
        return
    name, kind, dims = one
    axes = sorted(b.rng.sample(range(len(dims)), b.rng.randint(1, len(dims))))
    kept = tuple(e for d, e in enumerate(dims) if d not in axes)
    which = b.rng.choice(["sum", "max"])
    start = {("sum", "f32"): "0", ("max", "f32"): "-inf"}.get((which, kind), "0")
    first = b.put(kind, (), f"constant({start})")
    along = ",".join(map(str, axes))
    b.put(kind, kept, f"reduce({name}, {first}), dimensions={{{along}}}, to_apply={which}_{kind}")


def _argmax(b: Builder) -> None:
    one = b.pick(lambda v: v[1] == "f32" and len(v[2]) > 0)
    if not one:
        return
    name, _, dims = one
    axis = b.rng.randrange(len(dims))
    kept = tuple(e for d, e in enumerate(dims) if d != axis)
    places = b.put("s32", dims, f"iota(), iota_dimension={axis}")
    low = b.put("f32", (), "constant(-inf)")
    zero = b.put("s32", (), "constant(0)")
    shapes = f"({b.shape('f32', kept)}, {b.shape('s32', kept)})"
    pair = f"v{len(b.lines)}"
    b.lines.append(
        f"{pair} = {shapes} reduce({name}, {places}, {low}, {zero}), "
        f"dimensions={{{axis}}}, to_apply=argmax"
    )
    b.put("s32", kept, f"get-tuple-element({pair}), index=1")


def _broadcast(b: Builder) -> None:
    one = b.pick(lambda v: len(v[2]) < 3)
    if not one:
        return
    extents = list(one[2])
    places = list(range(len(extents)))
    at = b.rng.randint(0, len(extents))
    like = b.pick(lambda v: len(v[2]) > 0)
    extents.insert(at, b.rng.choice(like[2]) if like else 3)
    places = [d for d in range(len(extents)) if d != at]
    text = f"broadcast({one[0]}), dimensions={{{','.join(map(str, places))}}}"
    b.put(one[1], tuple(extents), text)


def _back(b: Builder) -> None:
    """A reduced array is spread over the array it came from and meets it again."""
    small = b.pick(lambda v: v[1] == "f32" and len(v[2]) in (0, 1))
    if not small:
        return
    large = b.pick(lambda v: v[1] == "f32" and len(v[2]) == len(small[2]) + 1)
    if not large:
        return
    fits = [
        d
        for d in range(len(large[2]))
        if tuple(e for i, e in enumerate(large[2]) if i != d) == small[2]
    ]
    if not fits:
        return
    kept = [d for d in range(len(large[2])) if d != fits[0]]
    text = f"broadcast({small[0]}), dimensions={{{','.join(map(str, kept))}}}"
    spread = b.put("f32", large[2], text)
    b.put("f32", large[2], f"{b.rng.choice(BINARY)}({large[0]}, {spread})")


def _softmax(b: Builder) -> None:
    """Exponentials of the distance from the row's maximum, over their sum."""
    one = b.pick(lambda v: v[1] == "f32" and len(v[2]) > 0)
    if not one:
        return
    name, _, dims = one
    axis = b.rng.randrange(len(dims))
    kept = tuple(e for d, e in enumerate(dims) if d != axis)
    places = ",".join(str(d) for d in range(len(dims)) if d != axis)
    low = b.put("f32", (), "constant(-inf)")
    top = b.put("f32", kept, f"reduce({name}, {low}), dimensions={{{axis}}}, to_apply=max_f32")
    tops = b.put("f32", dims, f"broadcast({top}), dimensions={{{places}}}")
    away = b.put("f32", dims, f"subtract({name}, {tops})")
    power = b.put("f32", dims, f"exponential({away})")
    zero = b.put("f32", (), "constant(0)")
    total = b.put("f32", kept, f"reduce({power}, {zero}), dimensions={{{axis}}}, to_apply=sum_f32")
    totals = b.put("f32", dims, f"broadcast({total}), dimensions={{{places}}}")
    b.put("f32", dims, f"divide({power}, {totals})")


def _move(b: Builder) -> None:
    one = b.pick(lambda v: len(v[2]) > 0)
    if not one:
        return
    name, kind, dims = one
    choice = b.rng.randrange(6)
    if choice == 0:
        order = list(range(len(dims)))
        b.rng.shuffle(order)
        turned = tuple(dims[d] for d in order)
        b.put(kind, turned, f"transpose({name}), dimensions={{{','.join(map(str, order))}}}")
    elif choice == 1:
        at = b.rng.randint(0, len(dims))
        b.put(kind, (*dims[:at], 1, *dims[at:]), f"reshape({name})")
    elif choice == 2:
        b.put(kind, _refactored(b.rng, dims), f"reshape({name})")
    elif choice == 3:
        cuts = [(b.rng.randint(0, e // 2), e) for e in dims]
        inner = tuple(high - low for low, high in cuts)
        text = ", ".join(f"[{low}:{high}]" for low, high in cuts)
        b.put(kind, inner, f"slice({name}), slice={{{text}}}")
    elif choice == 4:
        other = b.pick(lambda v: v[1] == kind and v[2][1:] == dims[1:] and len(v[2]) == len(dims))
        if other and sum((dims[0], other[2][0])) < 20:
            total = (dims[0] + other[2][0], *dims[1:])
            b.put(kind, total, f"concatenate({name}, {other[0]}), dimensions={{0}}")
    else:
        b.put(kind, dims, f"reverse({name}), dimensions={{{b.rng.randrange(len(dims))}}}")


def _refactored(rng: random.Random, dims: Dims) -> Dims:
    total = int(np.prod(dims))
    factors = [f for f in range(1, total + 1) if total % f == 0]
    first = rng.choice(factors)
    return (first, total // first) if rng.random() < 0.7 else (total,)


def _dot(b: Builder) -> None:
    one = b.pick(lambda v: v[1] == "f32" and len(v[2]) == 2)
    if not one:
        return
    other = b.pick(lambda v: v[1] == "f32" and len(v[2]) == 2 and set(v[2]) & set(one[2]))
    if not other:
        return
    pairs = [(i, j) for i in (0, 1) for j in (0, 1) if one[2][i] == other[2][j]]
    i, j = b.rng.choice(pairs)
    dims = (one[2][1 - i], other[2][1 - j])
    text = f"dot({one[0]}, {other[0]}), lhs_contracting_dims={{{i}}}, rhs_contracting_dims={{{j}}}"
    b.put("f32", dims, text)


def _iota(b: Builder) -> None:
    one = b.pick(lambda v: len(v[2]) > 0)
    if one:
        b.put("s32", one[2], f"iota(), iota_dimension={b.rng.randrange(len(one[2]))}")


def _pad(b: Builder) -> None:
    one = b.pick(lambda v: v[1] == "f32" and len(v[2]) > 0 and max(v[2]) < 10)
    if one:
        fill = b.scalar("f32")
        dims = tuple(e + 2 for e in one[2])
        edges = "x".join("1_1" for _ in dims)
        b.put("f32", dims, f"pad({one[0]}, {fill}), padding={edges}")


def _call(b: Builder) -> None:
    one = b.pick(lambda v: v[1] == "f32" and v[2] == (6,))
    if one:
        b.put("f32", (6,), f"call({one[0]}), to_apply=twice")


GROWTH = (
    *(_unary, _unary, _binary, _binary, _binary, _select, _convert, _reduce, _reduce, _argmax),
    *(_softmax, _broadcast, _back, _back, _back, _move, _move, _dot, _iota, _pad, _call),
)


def random_program(seed: int, steps: int = 14) -> tuple[Module, list[np.ndarray]]:
    """A module and inputs for it; the same seed gives the same program."""
    rng = random.Random(seed)
    b = Builder(rng)
    inputs = []
    numbers = np.random.default_rng(seed)
    extents = [rng.choice([1, 2, 3, 5, 6, 8]) for _ in range(2)]
    for number in range(rng.randint(1, 3)):
        dims = tuple(rng.choice(extents) for _ in range(rng.randint(1, 3)))
        b.put("f32", dims, f"parameter({number})")
        inputs.append(numbers.standard_normal(dims).astype(np.float32))
    if rng.random() < 0.3:
        b.put("s32", (6,), f"parameter({len(inputs)})")
        inputs.append(numbers.integers(-5, 5, 6).astype(np.int32))
    while len(b.lines) < steps + len(inputs):
        rng.choice(GROWTH)(b)
    count = rng.randint(1, min(3, len(b.values)))
    results = [b.values[-1], *rng.sample(b.values, count - 1)]
    shapes = {line.split(" = ")[0]: line.split(" = ")[1].split(" ")[0] for line in b.lines}
    names = ", ".join(v[0] for v in results)
    b.lines.append(f"ROOT out = ({', '.join(shapes[v[0]] for v in results)}) tuple({names})")
    body = "\n  ".join(b.lines)
    text = f"HloModule random_{seed}\n{REDUCERS}\nENTRY main {{\n  {body}\n}}\n"
    return parse_module(text), inputs

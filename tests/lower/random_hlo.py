"""Random HLO programs of the kind code generation covers, with random layouts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

FLOAT_UNARY = ("abs", "negate", "sine", "tanh", "floor", "logistic", "exponential-minus-one")
FLOAT_BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
INTEGER_BINARY = (*FLOAT_BINARY, "divide", "remainder", "and", "or", "xor", "shift-left")
REDUCERS = {
    "f32": ("add", "maximum", "minimum"),
    "s32": ("add", "maximum", "xor"),
    "pred": ("and", "or"),
}
ZEROS = {
    ("f32", "add"): "0", ("f32", "maximum"): "-inf", ("f32", "minimum"): "inf", ("s32", "add"): "3",
    ("s32", "maximum"): "-2147483648", ("s32", "xor"): "0",
    ("pred", "and"): "true", ("pred", "or"): "false",
}  # fmt: skip


@dataclass(frozen=True)
class Array:
    name: str
    kind: str
    extents: tuple[int, ...]


@dataclass
class Program:
    """A program under construction; `text` is its HLO."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    parameters: list[Array] = field(default_factory=list)

    def shape(self, kind: str, extents: tuple[int, ...]) -> str:
        order = list(range(len(extents) - 1, -1, -1))
        if self.rng.random() < 0.25:
            self.rng.shuffle(order)
        return f"{kind}[{','.join(map(str, extents))}]{{{','.join(map(str, order))}}}"

    def add(self, kind: str, extents: tuple[int, ...], body: str) -> Array:
        found = Array(f"v{len(self.lines)}", kind, extents)
        self.lines.append(f"  {found.name} = {self.shape(kind, extents)} {body}")
        self.arrays.append(found)
        return found

    def scalar(self, kind: str, text: str) -> Array:
        found = Array(f"v{len(self.lines)}", kind, ())
        self.lines.append(f"  {found.name} = {kind}[] constant({text})")
        return found

    def pick(self, kind: str | None = None) -> Array:
        fitting = [a for a in self.arrays if kind in (None, a.kind)]
        return self.rng.choice(fitting[-8:])

    def like(self, extents: tuple[int, ...], kind: str) -> Array:
        """Some array of this shape, made when there is none."""
        fitting = [a for a in self.arrays if (a.kind, a.extents) == (kind, extents)]
        if fitting and self.rng.random() < 0.9:
            return self.rng.choice(fitting)
        if extents and self.rng.random() < 0.5:
            row = self.like(extents[-1:], kind) if len(extents) > 1 else None
            if row is not None:
                return self.add(
                    kind, extents, f"broadcast({row.name}), dimensions={{{len(extents) - 1}}}"
                )
        value = {"f32": "0.75", "s32": "5", "pred": "true"}[kind]
        constant = self.scalar(kind, value)
        return self.add(kind, extents, f"broadcast({constant.name}), dimensions={{}}")

    @property
    def text(self) -> str:
        roots = self.arrays[-3:]
        shapes = ", ".join(self.shape(a.kind, a.extents) for a in roots)
        names = ", ".join(a.name for a in roots)
        reducers = "".join(_reducer(kind, op) for kind, ops in REDUCERS.items() for op in ops)
        body = "\n".join(self.lines)
        root = f"  ROOT out = ({shapes}) tuple({names})"
        fixed = [a.name for a in roots]
        for line in self.lines:
            name, _, rest = line.strip().partition(" = ")
            if name in fixed:
                shapes_of = rest.split(" ", 1)[0]
                fixed[fixed.index(name)] = shapes_of
        root = f"  ROOT out = ({', '.join(fixed)}) tuple({names})"
        return f"HloModule random\n{reducers}\nENTRY main {{\n{body}\n{root}\n}}"


def _reducer(kind: str, op: str) -> str:
    return (
        f"{op}_{kind} {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n"
        f"  ROOT c = {kind}[] {op}(a, b)\n}}\n"
    )


def _elementwise(p: Program) -> None:
    a = p.pick()
    b = p.like(a.extents, a.kind)
    choice = p.rng.random()
    if choice < 0.2:
        direction = p.rng.choice(("LT", "GE", "EQ", "NE"))
        p.add("pred", a.extents, f"compare({a.name}, {b.name}), direction={direction}")
    elif choice < 0.35:
        mask = p.like(a.extents, "pred")
        p.add(a.kind, a.extents, f"select({mask.name}, {a.name}, {b.name})")
    elif a.kind == "pred":
        if choice < 0.6:
            to = p.rng.choice(("f32", "s32"))
            p.add(to, a.extents, f"convert({a.name})")
        else:
            p.add("pred", a.extents, f"{p.rng.choice(('and', 'or', 'xor'))}({a.name}, {b.name})")
    elif a.kind == "f32" and choice < 0.6:
        p.add("f32", a.extents, f"{p.rng.choice(FLOAT_UNARY)}({a.name})")
    elif a.kind == "s32" and choice < 0.5:
        p.add("f32", a.extents, f"convert({a.name})")
    else:
        ops = FLOAT_BINARY if a.kind == "f32" else INTEGER_BINARY
        p.add(a.kind, a.extents, f"{p.rng.choice(ops)}({a.name}, {b.name})")


def _moved(p: Program) -> None:
    a = p.pick()
    rank = len(a.extents)
    choice = p.rng.randrange(7)
    if rank == 0:
        return
    if choice == 0:
        order = p.rng.sample(range(rank), rank)
        extents = tuple(a.extents[d] for d in order)
        p.add(a.kind, extents, f"transpose({a.name}), dimensions={{{','.join(map(str, order))}}}")
    elif choice == 1:
        p.add(a.kind, _refactored(p.rng, a.extents), f"reshape({a.name})")
    elif choice == 2:
        _slice(p, a)
    elif choice == 3:
        along = p.rng.randrange(rank)
        b = p.like(a.extents, a.kind)
        extents = tuple(2 * e if d == along else e for d, e in enumerate(a.extents))
        p.add(a.kind, extents, f"concatenate({a.name}, {b.name}), dimensions={{{along}}}")
    elif choice == 4:
        p.add(a.kind, a.extents, f"reverse({a.name}), dimensions={{{p.rng.randrange(rank)}}}")
    elif choice == 5:
        _pad(p, a)
    else:
        extents = (p.rng.randrange(1, 5), *a.extents)
        dims = ",".join(str(d + 1) for d in range(rank))
        p.add(a.kind, extents, f"broadcast({a.name}), dimensions={{{dims}}}")


def _refactored(rng: random.Random, extents: tuple[int, ...]) -> tuple[int, ...]:
    count = int(np.prod(extents))
    found: list[int] = []
    while count > 1 and len(found) < 2:
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        found.append(rng.choice(divisors))
        count //= found[-1]
    return (*found, count) if rng.random() < 0.5 else (count, *found)


def _slice(p: Program, a: Array) -> None:
    parts, extents = [], []
    for e in a.extents:
        start = p.rng.randrange(e)
        limit = p.rng.randrange(start + 1, e + 1)
        step = p.rng.choice((1, 1, 2))
        parts.append(f"[{start}:{limit}:{step}]")
        extents.append(-(-(limit - start) // step))
    p.add(a.kind, tuple(extents), f"slice({a.name}), slice={{{', '.join(parts)}}}")


def _pad(p: Program, a: Array) -> None:
    parts, extents = [], []
    for e in a.extents:
        low, high, interior = (
            p.rng.randrange(-1, 3),
            p.rng.randrange(-1, 3),
            p.rng.choice((0, 0, 1)),
        )
        size = e + low + high + (e - 1) * interior
        if size < 1:
            low = high = 0
            size = e + (e - 1) * interior
        parts.append(f"{low}_{high}_{interior}")
        extents.append(size)
    value = p.scalar(a.kind, {"f32": "1.5", "s32": "9", "pred": "true"}[a.kind])
    p.add(a.kind, tuple(extents), f"pad({a.name}, {value.name}), padding={'x'.join(parts)}")


def _reduced(p: Program) -> None:
    a = p.pick()
    if not a.extents:
        return
    dims = sorted(p.rng.sample(range(len(a.extents)), p.rng.randrange(1, len(a.extents) + 1)))
    op = p.rng.choice(REDUCERS[a.kind])
    zero = p.scalar(a.kind, ZEROS[a.kind, op])
    extents = tuple(e for d, e in enumerate(a.extents) if d not in dims)
    names = ",".join(map(str, dims))
    found = p.add(
        a.kind, extents,
        f"reduce({a.name}, {zero.name}), dimensions={{{names}}}, to_apply={op}_{a.kind}",
    )  # fmt: skip
    if p.rng.random() < 0.6:
        kept = ",".join(str(d) for d in range(len(a.extents)) if d not in dims)
        wide = p.add(a.kind, a.extents, f"broadcast({found.name}), dimensions={{{kept}}}")
        if a.kind != "pred":
            p.add(a.kind, a.extents, f"subtract({a.name}, {wide.name})")


def _iota(p: Program) -> None:
    a = p.pick()
    if a.extents and a.kind != "pred":
        along = p.rng.randrange(len(a.extents))
        p.add(a.kind, a.extents, f"iota(), iota_dimension={along}")


def _dot(p: Program) -> None:
    a = p.pick()
    if a.kind == "pred" or not a.extents or len(a.extents) > 2:
        return
    columns = p.rng.choice((1, 3, 8, 11))
    b = p.like((a.extents[-1], columns), a.kind)
    line = (
        f"dot({a.name}, {b.name}), lhs_contracting_dims={{{len(a.extents) - 1}}}, "
        "rhs_contracting_dims={0}"
    )
    p.add(a.kind, (*a.extents[:-1], columns), line)


def random_program(seed: int, size: int = 14) -> tuple[str, list[np.ndarray]]:
    """A program and arguments for it."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    p = Program(rng)
    arguments: list[np.ndarray] = []
    for _ in range(rng.randrange(1, 4)):
        kind = rng.choice(("f32", "f32", "s32"))
        extents = tuple(rng.choice((1, 2, 3, 4, 5, 8, 13, 33)) for _ in range(rng.randrange(1, 4)))
        p.add(kind, extents, f"parameter({len(arguments)})")
        data = numbers.normal(size=extents) if kind == "f32" else numbers.integers(-9, 9, extents)
        arguments.append(data.astype(np.float32 if kind == "f32" else np.int32))
    steps = (_elementwise, _elementwise, _elementwise, _moved, _moved, _reduced, _iota, _dot)
    while len(p.lines) < size:
        if max(int(np.prod(a.extents)) for a in p.arrays) > 20000:
            break
        rng.choice(steps)(p)
    return p.text, arguments

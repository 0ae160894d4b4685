"""The steps of random programs: each adds one operation (or a small group) to a computation."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tests.road.builder import Builder, listed

Step = Callable[[Builder], None]

EXACT_UNARY = ("abs", "negate", "sign", "floor", "ceil", "round-nearest-even", "round-nearest-afz")
TRANSCENDENTAL = (
    "sine", "cosine", "tan", "tanh", "exponential", "exponential-minus-one", "log",
    "log-plus-one", "logistic", "sqrt", "rsqrt", "cbrt", "erf", "atan2", "power",
)  # fmt: skip
ARCS = ("acos", "acosh", "asin", "asinh", "atanh", "sinh", "cosh")
FLOAT_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder")
INTEGER_UNARY = ("abs", "negate", "sign", "not", "popcnt", "count-leading-zeros")
INTEGER_BINARY = (
    "add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or",
    "xor", "shift-left", "shift-right-arithmetic", "shift-right-logical", "power",
)  # fmt: skip
TRUTH_BINARY = ("and", "or", "xor", "maximum", "minimum")
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def float_operation(b: Builder) -> None:
    x = b.pick("f32")
    choice = b.rng.random()
    if choice < 0.25:
        b.apply("f32", x.extents, b.rng.choice(EXACT_UNARY), x)
    elif choice < 0.5:
        opcode = b.rng.choice(TRANSCENDENTAL if b.rng.random() < 0.85 else ARCS)
        operands = (x, b.like("f32", x.extents)) if opcode in ("atan2", "power") else (x,)
        b.apply("f32", x.extents, opcode, *operands)
    elif choice < 0.53:
        bits = b.rng.choice(((5, 10), (8, 7), (4, 3), (8, 23), (11, 52)))
        more = f"exponent_bits={bits[0]}, mantissa_bits={bits[1]}"
        b.apply("f32", x.extents, "reduce-precision", x, more=more)
    else:
        operands = [x, b.like("f32", x.extents)]
        b.rng.shuffle(operands)
        b.apply("f32", x.extents, b.rng.choice(FLOAT_BINARY), *operands)


def integer_operation(b: Builder) -> None:
    x = b.pick("s32")
    if b.rng.random() < 0.3:
        b.apply("s32", x.extents, b.rng.choice(INTEGER_UNARY), x)
        return
    operands = [x, b.like("s32", x.extents)]
    b.rng.shuffle(operands)
    b.apply("s32", x.extents, b.rng.choice(INTEGER_BINARY), *operands)


def truth_operation(b: Builder) -> None:
    x = b.pick("pred")
    if b.rng.random() < 0.3:
        b.apply("pred", x.extents, "not", x)
    else:
        b.apply("pred", x.extents, b.rng.choice(TRUTH_BINARY), x, b.like("pred", x.extents))


def compare(b: Builder) -> None:
    x = b.pick()
    if x.kind == "f32" and b.rng.random() < 0.2:
        b.apply("pred", x.extents, "is-finite", x)
        return
    more = f"direction={b.rng.choice(DIRECTIONS)}"
    if x.kind == "f32" and b.rng.random() < 0.15:
        more += ", type=TOTALORDER"
    b.apply("pred", x.extents, "compare", x, b.like(x.kind, x.extents), more=more)


def select(b: Builder) -> None:
    x = b.pick()
    mask = b.like("pred", () if b.rng.random() < 0.1 else x.extents)
    b.apply(x.kind, x.extents, "select", mask, x, b.like(x.kind, x.extents))


def clamp(b: Builder) -> None:
    x = b.pick("f32", "s32")
    extents = () if b.rng.random() < 0.6 else x.extents
    bounds = [b.like(x.kind, extents), b.like(x.kind, extents)]
    b.apply(x.kind, x.extents, "clamp", bounds[0], x, bounds[1])


def convert(b: Builder) -> None:
    x = b.pick()
    b.apply(b.rng.choice(("f32", "s32", "pred", "f32")), x.extents, "convert", x)


def bits(b: Builder) -> None:
    x = b.pick("s32")
    b.apply("f32", x.extents, "bitcast-convert", x)


def iota(b: Builder) -> None:
    x = b.pick()
    if x.rank:
        kind = b.rng.choice(("f32", "s32"))
        b.add(kind, x.extents, f"iota(), iota_dimension={b.rng.randrange(x.rank)}")


def broadcast(b: Builder) -> None:
    x = b.pick()
    rank = b.rng.randrange(x.rank, max(5, x.rank + 1))
    kept = sorted(b.rng.sample(range(rank), x.rank))
    extents = [b.extent() for _ in range(rank)]
    for dimension, extent in zip(kept, x.extents):
        extents[dimension] = extent
    if prod(extents) <= b.style.most:
        b.apply(x.kind, extents, "broadcast", x, more=f"dimensions={{{listed(kept)}}}")


def reshape(b: Builder) -> None:
    x = b.pick()
    count, found = x.count, []
    if count == 0:
        found = b.rng.sample(x.extents, x.rank)
        count = 1
    while count > 1 and len(found) < 3:
        found.append(b.rng.choice([d for d in range(1, count + 1) if count % d == 0]))
        count //= found[-1]
    found.insert(b.rng.randrange(len(found) + 1), count)
    if b.rng.random() < 0.3 and len(found) < 4:
        found.insert(b.rng.randrange(len(found) + 1), 1)
    if x.count == 1 and b.rng.random() < 0.5:
        found = []
    b.apply(x.kind, found, "reshape", x)


def transpose(b: Builder) -> None:
    x = b.pick()
    order = b.rng.sample(range(x.rank), x.rank)
    extents = [x.extents[d] for d in order]
    b.apply(x.kind, extents, "transpose", x, more=f"dimensions={{{listed(order)}}}")


def slice_(b: Builder) -> None:
    x = b.pick()
    parts, extents = [], []
    for extent in x.extents:
        if b.rng.random() < 0.3 or extent == 0:
            parts.append(f"[0:{extent}]")
            extents.append(extent)
            continue
        start = b.rng.randrange(extent)
        limit = b.rng.randrange(start if b.style.zero else start + 1, extent + 1)
        step = b.rng.choice((1, 1, 1, 2, 3))
        parts.append(f"[{start}:{limit}]" if step == 1 else f"[{start}:{limit}:{step}]")
        extents.append(-(-(limit - start) // step))
    if x.rank:
        b.apply(x.kind, extents, "slice", x, more=f"slice={{{', '.join(parts)}}}")


def concatenate(b: Builder) -> None:
    x = b.pick()
    if not x.rank:
        return
    along = b.rng.randrange(x.rank)
    pieces = [x]
    for _ in range(b.rng.choice((0, 1, 1, 2, 3))):
        extents = list(x.extents)
        if b.rng.random() < 0.4:
            extents[along] = b.extent()
        pieces.append(b.like(x.kind, extents))
    b.rng.shuffle(pieces)
    extents = list(x.extents)
    extents[along] = sum(p.extents[along] for p in pieces)
    if prod(extents) <= 2 * b.style.most:
        b.apply(x.kind, extents, "concatenate", *pieces, more=f"dimensions={{{along}}}")


def reverse(b: Builder) -> None:
    x = b.pick()
    along = sorted(b.rng.sample(range(x.rank), b.rng.randrange(x.rank + 1)))
    b.apply(x.kind, x.extents, "reverse", x, more=f"dimensions={{{listed(along)}}}")


def copy(b: Builder) -> None:
    x = b.pick()
    b.apply(x.kind, x.extents, "copy", x)


def dot(b: Builder) -> None:
    """Batch, contracting and free dimensions at random places."""
    kind = b.rng.choice(("f32", "f32", "f32", "s32"))
    lhs = b.pick(kind)
    if lhs.rank == 0 or lhs.count > b.style.most:
        return
    places = b.rng.sample(range(lhs.rank), lhs.rank)
    batch = places[: b.rng.choice((0, 0, 0, 1, 2))]
    contracting = places[len(batch) :][: b.rng.choice((0, 1, 1, 1, 2))]
    free = [d for d in range(lhs.rank) if d not in batch + contracting]
    roles: list[tuple[str, int]] = [("batch", i) for i in range(len(batch))]
    roles += [("contracting", i) for i in range(len(contracting))]
    extra = [b.extent() for _ in range(b.rng.choice((0, 1, 1, 1, 2)))][: 4 - len(roles)]
    roles += [("free", i) for i in range(len(extra))]
    b.rng.shuffle(roles)
    sizes = {"batch": [lhs.extents[d] for d in batch]}
    sizes |= {"contracting": [lhs.extents[d] for d in contracting], "free": extra}
    rhs_extents = [sizes[role][i] for role, i in roles]
    result = sizes["batch"] + [lhs.extents[d] for d in free]
    result += [extra[i] for role, i in roles if role == "free"]
    work = prod(result) * prod(sizes["contracting"])
    if len(result) > 5 or work > 8 * b.style.most or prod(rhs_extents) > b.style.most:
        return
    rhs = b.like(kind, rhs_extents)
    where = {role: [0] * len(sizes[role]) for role in sizes}
    for place, (role, i) in enumerate(roles):
        where[role][i] = place
    parts = []
    for name, left, right in (
        ("batch", batch, where["batch"]), ("contracting", contracting, where["contracting"])
    ):  # fmt: skip
        if left:
            parts += [f"lhs_{name}_dims={{{listed(left)}}}", f"rhs_{name}_dims={{{listed(right)}}}"]
    b.apply(kind, result, "dot", lhs, rhs, more=", ".join(parts))


def diamond(b: Builder) -> None:
    """One value used along two ways that meet again."""
    x = b.pick("f32")
    left, right = x, x
    for _ in range(b.rng.randrange(1, 4)):
        left = b.apply("f32", x.extents, b.rng.choice(("tanh", "abs", "negate", "sine")), left)
        right = b.apply("f32", x.extents, b.rng.choice(FLOAT_BINARY), right, x)
    b.apply("f32", x.extents, b.rng.choice(("add", "multiply", "subtract")), left, right)


ELEMENTWISE: tuple[Step, ...] = (
    float_operation, float_operation, float_operation, integer_operation, integer_operation,
    truth_operation, compare, select, clamp, convert, bits, diamond,
)  # fmt: skip
MOVES: tuple[Step, ...] = (
    iota, broadcast, reshape, reshape, transpose, transpose, slice_, slice_, concatenate, reverse,
    copy,
)  # fmt: skip

"""Reductions with any reducer, and groups of operations as networks have them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.road.builder import Array, Builder, Module, listed
from tests.road.steps import Step

IDENTITY = {
    ("f32", "add"): "0", ("f32", "multiply"): "1", ("f32", "maximum"): "-inf",
    ("f32", "minimum"): "inf", ("s32", "add"): "0", ("s32", "multiply"): "1",
    ("s32", "maximum"): "-2147483648", ("s32", "minimum"): "2147483647", ("s32", "and"): "-1",
    ("s32", "or"): "0", ("s32", "xor"): "0", ("pred", "and"): "true", ("pred", "or"): "false",
    ("pred", "xor"): "false", ("pred", "maximum"): "false",
}  # fmt: skip
OTHER = {
    "largest_size": ("f32", "0", "abs(a)|abs(b)|maximum(u0, u1)"),
    "called": ("f32", "0", "call(b, a), to_apply=SIGILadd_f32"),
    "floor_of_maximum": ("f32", "-3", "maximum(a, b)|constant(-3)|maximum(u0, u1)"),
    "last": ("f32", "0", "copy(b)"),
    "gated": ("s32", "0", "or(a, b)|constant(1023)|and(u0, u1)"),
    "chosen": ("s32", "7", "PREDcompare(a, b), direction=GE|select(u0, a, b)"),
}


def simple_reducer(module: Module, kind: str, opcode: str) -> str:
    """A computation of two scalars, operands in either order."""
    s = module.style.sigil
    name = f"{s}{opcode}_{kind}"
    operands = f"{s}a, {s}b" if len(name) % 2 else f"{s}b, {s}a"
    module.computations.setdefault(
        name,
        f"{name} {{\n  {s}a = {kind}[] parameter(0)\n  {s}b = {kind}[] parameter(1)\n"
        f"  ROOT {s}r = {kind}[] {opcode}({operands})\n}}\n",
    )
    return name


def _other_reducer(module: Module, label: str) -> str:
    """A computation of several instructions that is associative nevertheless."""
    kind, _, body = OTHER[label]
    if label == "called":
        simple_reducer(module, "f32", "add")
    s = module.style.sigil
    name = f"{s}{label}"
    lines = [f"  {s}a = {kind}[] parameter(0)", f"  {s}b = {kind}[] parameter(1)"]
    parts = body.split("|")
    for number, part in enumerate(parts):
        root = "ROOT " if number == len(parts) - 1 else ""
        its = "pred" if part.startswith("PRED") else kind
        lines.append(f"  {root}{s}u{number} = {its}[] {_named(part.removeprefix('PRED'), s)}")
    module.computations.setdefault(name, f"{name} {{\n" + "\n".join(lines) + "\n}\n")
    return name


def _named(text: str, sigil: str) -> str:
    if text.startswith("constant"):
        return text
    opcode, _, rest = text.partition("(")
    inside, _, after = rest.partition(")")
    names = ", ".join(sigil + name.strip() for name in inside.split(","))
    return f"{opcode}({names}){after.replace('SIGIL', sigil)}"


def _dimensions(b: Builder, array: Array) -> list[int]:
    count = b.rng.randrange(0 if b.rng.random() < 0.05 else min(1, array.rank), array.rank + 1)
    found = b.rng.sample(range(array.rank), count)
    return found if b.rng.random() < 0.2 else sorted(found)


def without(extents: Sequence[int], dimensions: Sequence[int]) -> tuple[int, ...]:
    return tuple(e for d, e in enumerate(extents) if d not in dimensions)


def reduced(
    b: Builder, x: Array, opcode: str, dimensions: Sequence[int], start: Array | None = None
) -> Array:
    name = simple_reducer(b.module, x.kind, opcode)
    first = start or b.scalar(x.kind, IDENTITY[x.kind, opcode])
    more = f"dimensions={{{listed(dimensions)}}}, to_apply={name}"
    return b.apply(x.kind, without(x.extents, dimensions), "reduce", x, first, more=more)


def spread(b: Builder, x: Array, extents: Sequence[int], dimensions: Sequence[int]) -> Array:
    """`x`, reduced over `dimensions`, as wide as before."""
    kept = [d for d in range(len(extents)) if d not in dimensions]
    more = f"dimensions={{{listed(kept)}}}"
    return b.apply(x.kind, extents, "broadcast", x, more=more)


def reduce(b: Builder) -> None:
    x = b.pick()
    if not x.rank:
        return
    dimensions = _dimensions(b, x)
    labels = [label for label, (kind, _, _) in OTHER.items() if kind == x.kind]
    if labels and b.rng.random() < 0.25:
        label = b.rng.choice(labels)
        name = _other_reducer(b.module, label)
        first = b.scalar(x.kind, OTHER[label][1])
        more = f"dimensions={{{listed(dimensions)}}}, to_apply={name}"
        found = b.apply(x.kind, without(x.extents, dimensions), "reduce", x, first, more=more)
    else:
        opcodes = [o for kind, o in IDENTITY if kind == x.kind]
        start = b.like(x.kind, ()) if b.rng.random() < 0.1 else None
        found = reduced(b, x, b.rng.choice(opcodes), dimensions, start)
    if b.rng.random() < 0.5:
        wide = spread(b, found, x.extents, dimensions)
        if x.kind != "pred":
            b.apply(x.kind, x.extents, b.rng.choice(("subtract", "add", "maximum")), x, wide)


def several_reduces(b: Builder) -> None:
    """The same array reduced over different dimensions."""
    x = b.pick("f32", "s32")
    if x.rank < 2:
        return
    opcodes = [o for kind, o in IDENTITY if kind == x.kind]
    for _ in range(b.rng.randrange(2, 4)):
        reduced(b, x, b.rng.choice(opcodes), _dimensions(b, x))


def softmax(b: Builder) -> None:
    x = b.pick("f32")
    if not x.rank:
        return
    over = sorted(b.rng.sample(range(x.rank), b.rng.choice((1, 1, min(2, x.rank)))))
    top = spread(b, reduced(b, x, "maximum", over), x.extents, over)
    if b.rng.random() < 0.3:
        limit = b.scalar("f32", "-inf")
        wide = b.apply("f32", x.extents, "broadcast", limit, more="dimensions={}")
        top = b.apply("f32", x.extents, "maximum", wide, top)
    lower = b.apply("f32", x.extents, "subtract", x, top)
    power = b.apply("f32", x.extents, "exponential", lower)
    total = reduced(b, power, "add", over)
    if b.rng.random() < 0.4:
        logs = b.apply("f32", total.extents, "log", total)
        b.apply("f32", x.extents, "subtract", lower, spread(b, logs, x.extents, over))
    else:
        b.apply("f32", x.extents, "divide", power, spread(b, total, x.extents, over))


def normalise(b: Builder) -> None:
    """Layer or batch normalisation, depending on the dimensions."""
    x = b.pick("f32")
    if not x.rank:
        return
    over = sorted(b.rng.sample(range(x.rank), b.rng.randrange(1, x.rank + 1)))
    count = 1
    for d in over:
        count *= x.extents[d]
    size = b.scalar("f32", str(max(1, count)))

    def mean(of: Array) -> Array:
        total = reduced(b, of, "add", over)
        wide = size
        if total.rank:
            wide = b.apply("f32", total.extents, "broadcast", size, more="dimensions={}")
        return b.apply("f32", total.extents, "divide", total, wide)

    centre = b.apply("f32", x.extents, "subtract", x, spread(b, mean(x), x.extents, over))
    square = b.apply("f32", x.extents, "multiply", centre, centre)
    variance = mean(square)
    small = b.scalar("f32", "1e-05")
    if variance.rank:
        small = b.apply("f32", variance.extents, "broadcast", small, more="dimensions={}")
    raised = b.apply("f32", variance.extents, "add", variance, small)
    scale = b.apply("f32", raised.extents, "rsqrt", raised)
    b.apply("f32", x.extents, "multiply", centre, spread(b, scale, x.extents, over))


def _pair_reducer(b: Builder, kind: str, direction: str, variant: int) -> str:
    """Keeps the larger (smaller) value and its index; `variant` says how ties and NaN go."""
    s, module = b.style.sigil, b.module
    name = f"{s}pair_{kind}_{direction}_{variant}"
    lines = [
        f"{s}a = {kind}[] parameter(0)", f"{s}i = s32[] parameter(1)",
        f"{s}b = {kind}[] parameter(2)", f"{s}j = s32[] parameter(3)",
        f"{s}over = pred[] compare({s}a, {s}b), direction={direction}",
    ]  # fmt: skip
    if variant:
        lines += [
            f"{s}nan = pred[] compare({s}a, {s}a), direction=NE",
            f"{s}won = pred[] or({s}over, {s}nan)",
            f"{s}same = pred[] compare({s}a, {s}b), direction=EQ",
            f"{s}first = pred[] compare({s}i, {s}j), direction=LT",
            f"{s}tie = pred[] and({s}same, {s}first)",
            f"{s}index = pred[] or({s}won, {s}tie)",
            f"{s}value = {kind}[] select({s}won, {s}a, {s}b)",
            f"{s}place = s32[] select({s}index, {s}i, {s}j)",
        ]
    else:
        lines += [
            f"{s}value = {kind}[] select({s}over, {s}a, {s}b)",
            f"{s}place = s32[] select({s}over, {s}i, {s}j)",
        ]
    lines.append(f"ROOT {s}out = ({kind}[], s32[]) tuple({s}value, {s}place)")
    module.computations.setdefault(name, f"{name} {{\n  " + "\n  ".join(lines) + "\n}\n")
    return name


def index_of_largest(b: Builder) -> None:
    """argmax or argmin along some dimensions, as a reduce of two arrays."""
    x = b.pick("f32", "s32")
    if not x.rank:
        return
    over = _dimensions(b, x)
    along = over[0] if over else 0
    places = b.add("s32", x.extents, f"iota(), iota_dimension={along}")
    direction = b.rng.choice(("GE", "LE", "GT", "LT"))
    is_largest = direction[0] == "G"
    start = IDENTITY[x.kind, "maximum" if is_largest else "minimum"]
    first, zero = b.scalar(x.kind, start), b.scalar("s32", "0")
    name = _pair_reducer(b, x.kind, direction, 1 if x.kind == "f32" else b.rng.randrange(2))
    _variadic(b, [x, places], [first, zero], over, name)


def _variadic(
    b: Builder, arrays: list[Array], starts: list[Array], over: Sequence[int], name: str
) -> None:
    extents = without(arrays[0].extents, over)
    pieces = [b.shape(a.kind, extents) for a in arrays]
    operands = ", ".join(b.operand(a) for a in (*arrays, *starts))
    pair = b.module.fresh("pair")
    shape = f"({', '.join(pieces)})"
    b.lines.append(
        f"  {pair} = {shape} reduce({operands}), dimensions={{{listed(over)}}}, to_apply={name}"
    )
    for number, array in enumerate(arrays):
        whole = f"{shape} {pair}" if b.style.typed_operands else pair
        b.add(array.kind, extents, f"get-tuple-element({whole}), index={number}")


def sums_together(b: Builder) -> None:
    """Sum, maximum and a truth in one reduce."""
    x = b.pick("f32")
    if not x.rank:
        return
    s = b.style.sigil
    kinds = ("f32", "s32", "pred")[: b.rng.randrange(2, 4)]
    opcodes = {"f32": "add", "s32": b.rng.choice(("maximum", "add")), "pred": "and"}
    name = f"{s}together_{len(kinds)}_{opcodes['s32']}"
    n = len(kinds)
    lines = [f"{s}p{i} = {kinds[i % n]}[] parameter({i})" for i in range(2 * n)]
    lines += [f"{s}q{i} = {k}[] {opcodes[k]}({s}p{i}, {s}p{i + n})" for i, k in enumerate(kinds)]
    shape = ", ".join(f"{k}[]" for k in kinds)
    lines.append(f"ROOT {s}out = ({shape}) tuple({', '.join(f'{s}q{i}' for i in range(n))})")
    b.module.computations.setdefault(name, f"{name} {{\n  " + "\n  ".join(lines) + "\n}\n")
    arrays = [x] + [b.like(k, x.extents) for k in kinds[1:]]
    starts = [b.scalar(k, IDENTITY[k, opcodes[k]]) for k in kinds]
    _variadic(b, arrays, starts, _dimensions(b, x), name)


def linear(b: Builder) -> None:
    """Product with a matrix, bias, activation."""
    x = b.pick("f32")
    if not x.rank or not x.count:
        return
    inner, outer = x.extents[-1], max(1, b.extent())
    if x.count * outer > 8 * b.style.most:
        return
    weights = b.like("f32", (inner, outer))
    more = f"lhs_contracting_dims={{{x.rank - 1}}}, rhs_contracting_dims={{0}}"
    extents = (*x.extents[:-1], outer)
    product = b.apply("f32", extents, "dot", x, weights, more=more)
    bias = b.like("f32", (outer,))
    wide = bias
    if len(extents) > 1:
        more = f"dimensions={{{len(extents) - 1}}}"
        wide = b.apply("f32", extents, "broadcast", bias, more=more)
    total = b.apply("f32", extents, "add", product, wide)
    zero = b.apply("f32", extents, "broadcast", b.scalar("f32", "0"), more="dimensions={}")
    b.apply("f32", extents, "maximum", total, zero)


def recurrent(b: Builder) -> None:
    """Steps of a recurrent network: each product and what is made of it are read again later."""
    rows, units = (min(12, max(1, b.extent())) for _ in range(2))
    shape = (rows, units)
    weights, alive = b.like("f32", (units, units)), [b.like("f32", shape)]
    for _ in range(b.rng.randrange(2, 5)):
        more = f"lhs_contracting_dims={{1}}, rhs_contracting_dims={{{b.rng.randrange(2)}}}"
        product = b.apply("f32", shape, "dot", alive[-1], weights, more=more)
        made = product
        for _ in range(b.rng.randrange(1, 4)):
            pair = [made, b.rng.choice([product, *alive])]
            b.rng.shuffle(pair)
            made = b.apply("f32", shape, b.rng.choice(("add", "subtract", "multiply")), *pair)
        if b.rng.random() < 0.5:
            made = b.apply("f32", shape, "tanh", made)
        alive += b.rng.sample([product, made], 2)
    more = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    b.apply("f32", (units, units), "dot", *b.rng.sample(alive, 2), more=more)


REDUCTIONS: tuple[Step, ...] = (
    reduce, reduce, reduce, several_reduces, index_of_largest, sums_together,
)  # fmt: skip
NETWORKS: tuple[Step, ...] = (softmax, normalise, linear, recurrent)

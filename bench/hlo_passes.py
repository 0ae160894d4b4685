"""Measures the tensor-level passes on a large module: python bench/hlo_passes.py [INSTRUCTIONS].

The module is a transformer encoder unrolled layer by layer (attention, layer norm, a two-layer
network with gelu), as a tracer writes it. Printed are the seconds of each pass, rounds added up,
of buffer assignment, and the rate of parsing its text; then the same passes on a chain of twice as
many elementwise operations, which become the longest kernels there are.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from compiler.buffers.assign import assign  # noqa: E402
from compiler.hlo.kernels import count  # noqa: E402
from compiler.hlo.text import parse_module  # noqa: E402
from compiler.hlo.verify import verify  # noqa: E402
from compiler.journal import Journal  # noqa: E402
from compiler.options import Options  # noqa: E402
from compiler.pipeline import seconds_by_pass, trace_hlo_passes  # noqa: E402

TOKENS, WIDTH, HEADS = 16, 32, 4
REDUCERS = """
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
"""


@dataclass(slots=True)
class Writer:
    """Lines of an entry computation, with numbered names."""

    lines: list[str] = field(default_factory=list)
    parameters: int = 0

    def put(self, dims: tuple[int, ...], text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"%{name} = f32[{','.join(map(str, dims))}] {text}")
        return f"%{name}"

    def parameter(self, *dims: int) -> str:
        self.parameters += 1
        return self.put(dims, f"parameter({self.parameters - 1})")

    def filled(self, dims: tuple[int, ...], value: float) -> str:
        scalar = self.put((), f"constant({value})")
        return self.put(dims, f"broadcast({scalar}), dimensions={{}}")

    def op(self, dims: tuple[int, ...], name: str, *operands: str) -> str:
        return self.put(dims, f"{name}({', '.join(operands)})")

    def spread(self, dims: tuple[int, ...], value: str, *kept: int) -> str:
        return self.put(dims, f"broadcast({value}), dimensions={{{','.join(map(str, kept))}}}")

    def reduce(self, dims: tuple[int, ...], value: str, along: int, by: str) -> str:
        start = self.put((), f"constant({'-inf' if by == 'max' else '0'})")
        text = f"reduce({value}, {start}), dimensions={{{along}}}, to_apply=%{by}"
        return self.put(dims, text)

    def dot(self, dims: tuple[int, ...], one: str, other: str, numbers: str) -> str:
        return self.put(dims, f"dot({one}, {other}), {numbers}")


def _norm(w: Writer, x: str) -> str:
    dims, rows = (TOKENS, WIDTH), (TOKENS,)
    mean = w.op(rows, "divide", w.reduce(rows, x, 1, "sum"), w.filled(rows, WIDTH))
    away = w.op(dims, "subtract", x, w.spread(dims, mean, 0))
    square = w.op(dims, "multiply", away, away)
    spread = w.op(rows, "divide", w.reduce(rows, square, 1, "sum"), w.filled(rows, WIDTH))
    scale = w.op(rows, "rsqrt", w.op(rows, "add", spread, w.filled(rows, 1e-5)))
    normal = w.op(dims, "multiply", away, w.spread(dims, scale, 0))
    gain, bias = w.parameter(WIDTH), w.parameter(WIDTH)
    scaled = w.op(dims, "multiply", normal, w.spread(dims, gain, 1))
    return w.op(dims, "add", scaled, w.spread(dims, bias, 1))


def _linear(w: Writer, x: str, rows: int, width: int, out: int) -> str:
    numbers = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    product = w.dot((rows, out), x, w.parameter(width, out), numbers)
    return w.op((rows, out), "add", product, w.spread((rows, out), w.parameter(out), 1))


def _heads(w: Writer, x: str) -> str:
    each = WIDTH // HEADS
    split = w.op((TOKENS, HEADS, each), "reshape", _linear(w, x, TOKENS, WIDTH, WIDTH))
    return w.put((HEADS, TOKENS, each), f"transpose({split}), dimensions={{1,0,2}}")


def _attention(w: Writer, x: str) -> str:
    each, dims, rows = WIDTH // HEADS, (HEADS, TOKENS, TOKENS), (HEADS, TOKENS)
    q, k, v = _heads(w, x), _heads(w, x), _heads(w, x)
    batch = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}"
    scores = w.dot(dims, q, k, f"{batch}, rhs_contracting_dims={{2}}")
    scores = w.op(dims, "multiply", scores, w.filled(dims, each**-0.5))
    top = w.spread(dims, w.reduce(rows, scores, 2, "max"), 0, 1)
    power = w.op(dims, "exponential", w.op(dims, "subtract", scores, top))
    total = w.spread(dims, w.reduce(rows, power, 2, "sum"), 0, 1)
    weights = w.op(dims, "divide", power, total)
    mixed = w.dot((HEADS, TOKENS, each), weights, v, f"{batch}, rhs_contracting_dims={{1}}")
    joined = w.put((TOKENS, HEADS, each), f"transpose({mixed}), dimensions={{1,0,2}}")
    return _linear(w, w.op((TOKENS, WIDTH), "reshape", joined), TOKENS, WIDTH, WIDTH)


def _gelu(w: Writer, x: str, dims: tuple[int, int]) -> str:
    cube = w.op(dims, "multiply", w.op(dims, "multiply", x, x), x)
    inner = w.op(dims, "add", x, w.op(dims, "multiply", cube, w.filled(dims, 0.044715)))
    curve = w.op(dims, "tanh", w.op(dims, "multiply", inner, w.filled(dims, 0.7978846)))
    half = w.op(dims, "multiply", x, w.filled(dims, 0.5))
    return w.op(dims, "multiply", half, w.op(dims, "add", curve, w.filled(dims, 1.0)))


def _layer(w: Writer, x: str) -> str:
    dims = (TOKENS, WIDTH)
    x = w.op(dims, "add", x, _attention(w, _norm(w, x)))
    wide = (TOKENS, 4 * WIDTH)
    hidden = _gelu(w, _linear(w, _norm(w, x), TOKENS, WIDTH, 4 * WIDTH), wide)
    return w.op(dims, "add", x, _linear(w, hidden, TOKENS, 4 * WIDTH, WIDTH))


def transformer(instructions: int) -> str:
    """HLO text of a transformer encoder with at least so many instructions."""
    w = Writer()
    x = w.parameter(TOKENS, WIDTH)
    while len(w.lines) < instructions:
        x = _layer(w, x)
    w.lines.append(f"ROOT %out = f32[{TOKENS},{WIDTH}] negate({x})")
    body = "\n  ".join(w.lines)
    return f"HloModule transformer\n{REDUCERS}\nENTRY %main {{\n  {body}\n}}\n"


def chain(instructions: int) -> str:
    """HLO text of elementwise operations, each on the one before."""
    w = Writer()
    x, other = w.parameter(TOKENS, WIDTH), w.parameter(TOKENS, WIDTH)
    while len(w.lines) < instructions - 1:
        x = w.op((TOKENS, WIDTH), "tanh", w.op((TOKENS, WIDTH), "add", x, other))
    w.lines.append(f"ROOT %out = f32[{TOKENS},{WIDTH}] negate({x})")
    body = "\n  ".join(w.lines)
    return f"HloModule chain\n\nENTRY %main {{\n  {body}\n}}\n"


def timed(action: Callable[[], object]) -> float:
    """The least of three runs, in seconds."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def report(text: str) -> None:
    """Prints the figures of one module."""
    module = verify(parse_module(text))
    print(
        f"{module.name}: {module.instruction_count} instructions, {count(module).launches} launches"
    )
    print(f"  parsing      {len(text) / 1e6 / timed(lambda: parse_module(text)):8.2f} MB/s")
    runs = trace_hlo_passes(module, Options(), Journal())
    seconds = seconds_by_pass(runs)
    for name, spent in seconds.items():
        print(f"  {name:<12} {spent:8.3f} s")
    print(
        f"  all passes   {sum(seconds.values()):8.3f} s, "
        f"to {count(runs[-1].after).launches} launches"
    )
    start = time.perf_counter()
    assign(runs[-1].after, Options(), Journal())
    print(f"  buffers      {time.perf_counter() - start:8.3f} s")


def main() -> None:
    instructions = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    report(transformer(instructions))
    report(chain(2 * instructions))


if __name__ == "__main__":
    main()

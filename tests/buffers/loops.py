"""Random programs made of loops and branches, nested, whose state trades places, repeats, stays.

All arrays are f32[4]; what matters is who hands what to whom.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from compiler.hlo.module import Module
from compiler.hlo.text import parse_module

UNARY = ("negate", "abs", "sine", "tanh")
BINARY = ("add", "subtract", "multiply", "maximum")
A = "f32[4]"


@dataclass
class Programmer:
    """Writes computations; ``done`` are finished ones, callees first."""

    rng: random.Random
    done: list[str] = field(default_factory=list)
    count: int = 0

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def put(self, lines: list[str], shape: str, text: str, hint: str = "v") -> str:
        name = self.fresh(hint)
        lines.append(f"{name} = {shape} {text}")
        return name

    def grow(self, lines: list[str], values: list[str], index: str, depth: int) -> None:
        """Adds a few values, made of those that are there."""
        for _ in range(self.rng.randint(2, 5)):
            choice = self.rng.random()
            if depth and choice < 0.2:
                values += self.loop(lines, values, depth - 1)
            elif depth and choice < 0.4:
                values += self.branch(lines, values, index, depth - 1)
            elif choice < 0.5:
                numbers = ",".join(str(self.rng.randint(-2, 2)) for _ in range(4))
                values.append(self.put(lines, A, f"constant({{{numbers}}})"))
            elif choice < 0.6:
                one, other = self.rng.choice(values), self.rng.choice(values)
                part = self.put(lines, "f32[2]", f"slice({other}), slice={{[1:3]}}")
                text = f"dynamic-update-slice({one}, {part}, {index})"
                values.append(self.put(lines, A, text))
            elif choice < 0.75:
                text = f"{self.rng.choice(UNARY)}({self.rng.choice(values)})"
                values.append(self.put(lines, A, text))
            else:
                pair = f"{self.rng.choice(values)}, {self.rng.choice(values)}"
                values.append(self.put(lines, A, f"{self.rng.choice(BINARY)}({pair})"))

    def loop(self, lines: list[str], values: list[str], depth: int) -> list[str]:
        """A loop over some values; its results."""
        width = self.rng.randint(1, 4)
        shape = f"(s32[], {', '.join([A] * width)})"
        zero = self.put(lines, "s32[]", "constant(0)")
        first = [self.rng.choice(values) for _ in range(width)]
        start = self.put(lines, shape, f"tuple({zero}, {', '.join(first)})")
        body, condition = self.body(shape, width, depth), self.condition(shape)
        text = f"while({start}), condition={condition}, body={body}"
        result = self.put(lines, shape, text, "loop")
        return self.elements(lines, result, width, 1)

    def elements(self, lines: list[str], name: str, width: int, first: int) -> list[str]:
        return [
            self.put(lines, A, f"get-tuple-element({name}), index={n + first}")
            for n in range(width)
        ]

    def condition(self, shape: str) -> str:
        name, last = self.fresh("cond"), self.rng.randint(0, 3)
        s, n, k, r = (self.fresh("c") for _ in range(4))
        self.done.append(
            f"{name} {{\n{s} = {shape} parameter(0)\n{n} = s32[] get-tuple-element({s}), index=0\n"
            f"{k} = s32[] constant({last})\nROOT {r} = pred[] compare({n}, {k}), direction=LT\n}}"
        )
        return name

    def body(self, shape: str, width: int, depth: int) -> str:
        name = self.fresh("body")
        lines: list[str] = []
        state = self.put(lines, shape, "parameter(0)")
        counter = self.put(lines, "s32[]", f"get-tuple-element({state}), index=0")
        one = self.put(lines, "s32[]", "constant(1)")
        following = self.put(lines, "s32[]", f"add({counter}, {one})")
        values = self.elements(lines, state, width, 1)
        given = list(values)
        self.grow(lines, values, counter, depth)
        handed = [
            given[n] if self.rng.random() < 0.25 else self.rng.choice(values) for n in range(width)
        ]
        lines.append(f"ROOT {self.fresh('r')} = {shape} tuple({following}, {', '.join(handed)})")
        self.finish(name, lines)
        return name

    def finish(self, name: str, lines: list[str]) -> None:
        self.done.append(f"{name} {{\n" + "\n".join(lines) + "\n}")

    def branch(self, lines: list[str], values: list[str], index: str, depth: int) -> list[str]:
        """A conditional with two or three branches; its results."""
        width = self.rng.randint(1, 2)
        shape = f"({', '.join([A] * width)})"
        names, operands = [], []
        for _ in range(self.rng.randint(2, 3)):
            if self.rng.random() < 0.5:
                operands.append(self.rng.choice(values))
                names.append(self.taken(A, 0, shape, width, depth))
            else:
                pair = f"({A}, {A})"
                given = f"{self.rng.choice(values)}, {self.rng.choice(values)}"
                operands.append(self.put(lines, pair, f"tuple({given})"))
                names.append(self.taken(pair, 2, shape, width, depth))
        chosen = f"{index}, {', '.join(operands)}"
        text = f"conditional({chosen}), branch_computations={{{', '.join(names)}}}"
        return self.elements(lines, self.put(lines, shape, text, "branch"), width, 0)

    def taken(self, given: str, parts: int, shape: str, width: int, depth: int) -> str:
        name = self.fresh("case")
        lines: list[str] = []
        value = self.put(lines, given, "parameter(0)")
        values = self.elements(lines, value, parts, 0) if parts else [value]
        index = self.put(lines, "s32[]", "constant(1)")
        self.grow(lines, values, index, depth)
        results = ", ".join(self.rng.choice(values) for _ in range(width))
        lines.append(f"ROOT {self.fresh('r')} = {shape} tuple({results})")
        self.finish(name, lines)
        return name


def random_loops(seed: int) -> tuple[Module, list[np.ndarray]]:
    """A module with loops and branches, and inputs for it."""
    rng = random.Random(seed)
    programmer = Programmer(rng)
    lines: list[str] = []
    values = [programmer.put(lines, A, f"parameter({n})") for n in range(2)]
    index = programmer.put(lines, "s32[]", "parameter(2)")
    programmer.grow(lines, values, index, 1)
    values += programmer.loop(lines, values, 2)
    programmer.grow(lines, values, index, 2)
    results = [values[-1], *(rng.choice(values) for _ in range(2))]
    lines.append(f"ROOT out = ({A}, {A}, {A}) tuple({', '.join(results)})")
    donated = f", input_output_alias={{ {{{rng.randrange(3)}}}: ({rng.randrange(2)}, {{}}) }}"
    header = f"HloModule loops_{seed}" + (donated if rng.random() < 0.4 else "")
    entry = "ENTRY main {\n" + "\n".join(lines) + "\n}"
    numbers = np.random.default_rng(seed)
    arrays = [numbers.standard_normal(4).astype(np.float32) for _ in range(2)]
    arrays.append(np.asarray(rng.randint(-1, 3), np.int32))
    return parse_module("\n".join([header, *programmer.done, entry]) + "\n"), arrays

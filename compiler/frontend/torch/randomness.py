"""Random numbers: drawn by PyTorch's own generator on every call, and handed in as parameters.

So a seeded compiled model gives the numbers of a seeded eager one, dropout included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.build import array_shape as shape_of
from compiler.frontend.torch.dtypes import Number, torch_name
from compiler.frontend.torch.pointwise import LT, Rule
from compiler.hlo.shape import ArrayShape, ElementType


@dataclass(frozen=True, slots=True)
class Draw:
    """An array drawn before each run: an in-place method of `torch.Tensor` and its arguments.

    Numbers are drawn in the order of memory, so the strides count.
    """

    shape: ArrayShape
    method: str
    arguments: tuple[Any, ...] = ()
    strides: tuple[int, ...] | None = None

    def __call__(self, torch: Any) -> Any:
        """The tensor, from PyTorch's default generator."""
        dtype = getattr(torch, torch_name(self.shape.element_type))
        if self.method == "randperm":
            return torch.randperm(*self.shape.dimensions, dtype=dtype)
        if self.strides is None:
            empty = torch.empty(self.shape.dimensions, dtype=dtype)
        else:
            empty = torch.empty_strided(self.shape.dimensions, self.strides, dtype=dtype)
        return getattr(empty, self.method)(*self.arguments)


Drawer = Callable[[Draw], Value]
"""Adds a draw to the module's parameters."""


def table(drawer: Drawer) -> dict[str, Rule]:
    """Rules by operator."""

    def draw(b: Builder, size: Sequence[int], method: str, *arguments: Any) -> Value:
        shape = shape_of(b.result_kind, size)
        return drawer(Draw(shape, method, arguments, b.result_strides[0]))

    def native_dropout(
        b: Builder, x: Value, p: float, train: bool | None = True
    ) -> tuple[Value, Value]:
        if train is False:
            return x, b.full(True, ElementType.PRED, x.dimensions)
        if p >= 1:
            return b.full_like(0, x), b.full(False, ElementType.PRED, x.dimensions)
        shape = shape_of(ElementType.PRED, x.dimensions)
        mask = drawer(Draw(shape, "bernoulli_", (1 - p,), b.result_strides[1]))
        return b.multiply(b.multiply(x, b.convert(mask, x.kind)), 1 / (1 - p)), mask

    def bernoulli(b: Builder, x: Value, p: float | None = None) -> Value:
        if isinstance(p, int | float):
            return draw(b, x.dimensions, "bernoulli_", p)
        shape = shape_of(ElementType.F32, x.dimensions)
        uniform = drawer(Draw(shape, "uniform_", (), b.result_strides[0]))
        return b.convert(b.compare(LT, uniform, x), x.kind)

    def randint(b: Builder, *bounds: Any, **_keywords: Any) -> Value:
        *limits, size = bounds
        low, high = limits if len(limits) == 2 else (0, limits[0])
        return draw(b, size, "random_", low, high)

    def randint_like(b: Builder, x: Value, *limits: int, **_keywords: Any) -> Value:
        low, high = limits if len(limits) == 2 else (0, limits[0])
        return draw(b, x.dimensions, "random_", low, high)

    def of_size(method: str) -> Rule:
        return lambda b, size, **_keywords: draw(b, size, method)

    def like(method: str) -> Rule:
        return lambda b, x, *arguments, **_keywords: draw(b, x.dimensions, method, *arguments)

    def randperm(b: Builder, count: int, **_keywords: Number) -> Value:
        return draw(b, (count,), "randperm")

    return {
        "aten.native_dropout": native_dropout, "aten.bernoulli": bernoulli,
        "aten.rand": of_size("uniform_"), "aten.randn": of_size("normal_"),
        "aten.rand_like": like("uniform_"), "aten.randn_like": like("normal_"),
        "aten.uniform": like("uniform_"), "aten.normal_functional": like("normal_"),
        "aten.exponential": like("exponential_"), "aten.geometric": like("geometric_"),
        "aten.randint": randint, "aten.randint_like": randint_like, "aten.randperm": randperm,
    }  # fmt: skip

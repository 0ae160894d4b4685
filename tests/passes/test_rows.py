"""Row structures and the index algebra they rest on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.hlo import indices as ix
from compiler.hlo.kernels import keeps_order
from compiler.hlo.layouts import of_reshape, of_transpose
from compiler.hlo.module import Computation
from compiler.hlo.rows import Kind, Reason, RowStructure, WhyNot, row_structure
from compiler.hlo.shape import ArrayShape, ElementType, Layout
from compiler.hlo.text import parse_module
from tests.hlo.programs import ADD, MAX
from tests.passes.helpers import case


def structure(body: str, before: str = ADD + MAX) -> RowStructure | WhyNot:
    module = parse_module(f"HloModule m\n{before}\nENTRY e {{\n{body}\n}}")
    return row_structure(module, module.entry_computation)


def text(found: RowStructure | WhyNot) -> list[str]:
    assert isinstance(found, RowStructure), str(found)
    return [str(stage) for stage in found.stages]


def test_softmax_is_one_row_with_a_kept_exponential() -> None:
    module = case("softmax")
    found = row_structure(module, module.entry_computation)
    assert text(found) == [
        "reduce over [48]: reduce_max.7",
        "row: max.1",
        "reduce over [48]: reduce_sum.7",
        "write over [48]: div.7",
    ]
    assert isinstance(found, RowStructure)
    assert (found.rows, found.kept) == ((16,), ("exp.1",))


def test_a_column_reduce_has_its_rows_along_the_kept_dimension() -> None:
    found = structure(
        "x = f32[6,8] parameter(0)\nz = f32[] constant(0)\n"
        "ROOT r = f32[8] reduce(x, z), dimensions={0}, to_apply=add_f32"
    )
    assert isinstance(found, RowStructure)
    assert (found.rows, found.columns) == ((8,), (6,))
    assert [str(a) for a in found.axes["r"]] == ["c0", "r0"]


def test_reduces_of_one_level_share_a_loop_and_of_two_do_not() -> None:
    found = structure(
        "x = f32[6,8] parameter(0)\nz = f32[] constant(0)\n"
        "a = f32[6] reduce(x, z), dimensions={1}, to_apply=add_f32\n"
        "b = f32[6] reduce(x, z), dimensions={1}, to_apply=max_f32\n"
        "s = f32[6,8] broadcast(a), dimensions={0}\nd = f32[6,8] subtract(x, s)\n"
        "c = f32[6] reduce(d, z), dimensions={1}, to_apply=max_f32\n"
        "ROOT t = (f32[6], f32[6]) tuple(b, c)"
    )
    assert text(found) == ["reduce over [8]: a b", "reduce over [8]: c"]


def test_a_global_reduce_has_one_row_and_may_write_everything() -> None:
    found = structure(
        "x = f32[6,8] parameter(0)\nz = f32[] constant(0)\n"
        "a = f32[] reduce(x, z), dimensions={0,1}, to_apply=add_f32\n"
        "s = f32[6,8] broadcast(a), dimensions={}\nROOT d = f32[6,8] divide(x, s)"
    )
    assert isinstance(found, RowStructure)
    assert found.rows == ()
    assert text(found) == ["reduce over [6,8]: a", "write over [6,8]: d"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "a = f32[6] reduce(x, z), dimensions={1}, to_apply=add_f32\n"
            "b = f32[] reduce(a, z), dimensions={0}, to_apply=add_f32\nROOT r = f32[] negate(b)",
            Reason.REDUCTION_BOUNDARY,
        ),
        (
            "a = f32[6] reduce(x, z), dimensions={1}, to_apply=add_f32\n"
            "v = f32[6] reverse(a), dimensions={0}\nROOT r = f32[6] add(a, v)",
            Reason.INDEX,
        ),
        (
            "s = f32[6,8] sort(x), dimensions={0}, to_apply=less\nROOT r = f32[6,8] negate(s)",
            Reason.NOT_ELEMENTAL,
        ),
        (
            "n = f32[6,8] negate(x)\nm = f32[48] reshape(x)\n"
            "ROOT r = (f32[6,8], f32[48]) tuple(n, m)",
            Reason.SHAPES,
        ),
    ],
)
def test_what_is_no_row_is_refused_with_the_reason(body: str, reason: Reason) -> None:
    less = "less { a = f32[] parameter(0) b = f32[] parameter(1) "
    less += "ROOT r = pred[] compare(a, b), direction=LT\n}\n"
    head = "x = f32[6,8] parameter(0)\nz = f32[] constant(0)\n"
    found = structure(head + body, ADD + less)
    assert isinstance(found, WhyNot)
    assert found.reason is reason


def test_a_dot_with_an_epilogue_and_nothing_before_it() -> None:
    head = "x = f32[6,8] parameter(0)\ny = f32[8,5] parameter(1)\n"
    dot = "d = f32[6,5] dot({}, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
    found = structure(head + dot.format("x") + "ROOT r = f32[6,5] tanh(d)")
    assert isinstance(found, RowStructure)
    assert (found.kind, found.dot) == (Kind.DOT, "d")
    found = structure(
        head + "n = f32[6,8] negate(x)\n" + dot.format("n") + "ROOT r = f32[6,5] tanh(d)"
    )
    assert isinstance(found, WhyNot) and found.reason is Reason.DOT


dimension_lists = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def evaluated(index: ix.Index, values: dict[str, int]) -> int:
    total = index.constant
    for atom, factor in index.terms:
        if isinstance(atom, ix.Variable):
            total += factor * values[atom.name]
        elif isinstance(atom, ix.Quotient):
            total += factor * (evaluated(atom.of, values) // atom.divisor)
        elif isinstance(atom, ix.Remainder):
            total += factor * (evaluated(atom.of, values) % atom.divisor)
    return total


@st.composite
def reshapes(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """A chain of shapes with the same number of elements."""
    total = draw(st.sampled_from([12, 24, 36, 16]))
    chain = []
    for _ in range(draw(st.integers(2, 4))):
        rest, dims = total, []
        for _ in range(draw(st.integers(0, 3))):
            factor = draw(st.sampled_from([f for f in range(1, rest + 1) if rest % f == 0]))
            dims.append(factor)
            rest //= factor
        chain.append((*dims, rest))
    return chain


@settings(max_examples=120, deadline=None, derandomize=True)
@given(reshapes())
def test_reshaped_indices_are_those_that_numpy_finds(chain: list[tuple[int, ...]]) -> None:
    shapes = [ArrayShape(ElementType.F32, dims) for dims in chain]
    last = shapes[-1]
    variables = [ix.Variable(f"d{d}", e) for d, e in enumerate(last.dimensions)]
    at = tuple(map(ix.of_variable, variables))
    for result, operand in zip(reversed(shapes[1:]), reversed(shapes[:-1])):
        at = ix.reshaped(at, result, operand)
    for place in itertools.product(*map(range, last.dimensions)):
        values = {v.name: p for v, p in zip(variables, place, strict=True)}
        found = tuple(evaluated(i, values) for i in at)
        wanted = np.unravel_index(np.ravel_multi_index(place, last.dimensions), chain[0])
        assert found == tuple(map(int, wanted))
        assert all(i.low <= f <= i.high for i, f in zip(at, found, strict=True))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(reshapes())
def test_reshaping_back_is_seen_to_be_nothing(chain: list[tuple[int, ...]]) -> None:
    first, second = (ArrayShape(ElementType.F32, dims) for dims in chain[:2])
    at = tuple(ix.of_variable(ix.Variable(f"d{d}", e)) for d, e in enumerate(first.dimensions))
    assert ix.reshaped(ix.reshaped(at, first, second), second, first) == at


@settings(max_examples=120, deadline=None, derandomize=True)
@given(reshapes(), st.data())
def test_a_reshape_layout_that_is_found_keeps_every_element_in_place(chain, data) -> None:
    dims, new = chain[0], chain[1]
    order = tuple(data.draw(st.permutations(range(len(dims)))))
    operand = ArrayShape(ElementType.F32, dims, Layout(order))
    layout = of_reshape(operand, new)
    result = ArrayShape(ElementType.F32, new, layout)
    if layout is None:
        assert order != tuple(range(len(dims) - 1, -1, -1))
        return
    module = parse_module(
        f"HloModule m\nENTRY e {{\np = {operand} parameter(0)\nROOT r = {result} reshape(p)\n}}"
    )
    entry: Computation = module.entry_computation
    assert keeps_order(entry, entry.root_instruction)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.permutations(range(3)), st.permutations(range(3)))
def test_a_transpose_layout_keeps_every_element_in_place(order, permutation) -> None:
    operand = ArrayShape(ElementType.F32, (2, 3, 4), Layout(tuple(order)))
    layout = of_transpose(operand, permutation)
    dims = tuple(operand.dimensions[d] for d in permutation)
    result = ArrayShape(ElementType.F32, dims, layout)
    array = np.arange(24).reshape(2, 3, 4)
    memory = array.transpose(tuple(reversed(order))).reshape(-1)
    moved = array.transpose(permutation)
    assert (moved.transpose(tuple(reversed(result.minor_to_major))).reshape(-1) == memory).all()

"""Shuffle: elements that change places by rotation, by a table of places, by a table of shifts."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.errors import HloVerifyError
from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module, print_module
from compiler.hlo.verify import verify
from isas.errors import HobError
from tests.hlo.programs import one_op

X = np.arange(6, dtype=np.float32).reshape(2, 3)

MOVED = {
    "dimensions={1}, mode=rotate, shifts={1}": X[:, [1, 2, 0]],
    "dimensions={1}, mode=rotate, shifts={-4}": X[:, [2, 0, 1]],
    "dimensions={0,1}, mode=rotate, shifts={1,2}": X[[1, 0]][:, [2, 0, 1]],
    "dimensions={}, mode=rotate, shifts={}": X,
    "dimensions={1}, mode=permute, indices=s32[1,3]{1,0} { {2,0,1} }": X[:, [2, 0, 1]],
    "dimensions={1}, mode=permute, indices=u8[2,3] {{2,0,1},{1,1,0}}": [[2, 0, 1], [4, 4, 3]],
    "dimensions={1,0}, mode=permute, indices=s8[2,1,2] {{{2,1}},{{0,0}}}": [[5] * 3, [0] * 3],
    "dimensions={1}, mode=multi_rotate, multi_shifts=s32[2,1] {{1},{-1}}": [[1, 2, 0], [5, 3, 4]],
    "dimensions={0}, mode=multi_rotate, multi_shifts=s32[1,3] {{1,0,3}}": [[3, 1, 5], [0, 4, 2]],
}


@pytest.mark.parametrize("how", MOVED)
def test_elements_come_from_their_places(how):
    module = verify(
        parse_module(one_op(f"p = f32[2,3] parameter(0)\nr = f32[2,3] shuffle(p), {how}"))
    )
    assert parse_module(print_module(module)) == module
    (moved,) = evaluate(module, X)
    np.testing.assert_array_equal(moved, MOVED[how])


WRONG = {
    "dimensions={1}, mode=stir": "no shuffle has the mode stir",
    "dimensions={2}, mode=rotate, shifts={1}": "dimension 2 is out of range",
    "dimensions={1,1}, mode=rotate, shifts={1,1}": "has repetitions",
    "dimensions={0,1}, mode=rotate, shifts={1}": "1 shifts for 2 dimensions",
    "dimensions={1}, mode=rotate": "attribute shifts is missing",
    "dimensions={1}, shifts={1}": "attribute mode is missing",
    "dimensions={1}, mode=permute": "attribute indices is missing",
    "dimensions={1}, mode=permute, indices=f32[2,3] {...}": "indices must be integers",
    "dimensions={1}, mode=permute, indices=s32[3] {...}": "indices must be s32[2,3]",
    "dimensions={0,1}, mode=permute, indices=s32[2,3,1] {...}": "indices must be s32[2,3,2]",
    "dimensions={0}, mode=multi_rotate, multi_shifts=s32[2,3] {...}": "must be s32[1,3]",
    "dimensions={0,1}, mode=multi_rotate, multi_shifts=s32[1,3] {...}": "takes one dimension",
}


@pytest.mark.parametrize("how", WRONG)
def test_a_shuffle_that_cannot_be_is_refused(how):
    text = one_op(f"p = f32[2,3] parameter(0)\nr = f32[2,3] shuffle(p), {how}")
    with pytest.raises(HloVerifyError) as raised:
        verify(parse_module(text))
    assert WRONG[how] in str(raised.value)


def test_values_that_were_left_out_cannot_be_followed():
    how = "dimensions={1}, mode=permute, indices=s32[2,3] {...}"
    module = verify(
        parse_module(one_op(f"p = f32[2,3] parameter(0)\nr = f32[2,3] shuffle(p), {how}"))
    )
    with pytest.raises(HobError, match="indices whose values were left out"):
        evaluate(module, X)


@pytest.mark.parametrize("table", ["{ {1}, {2} }", "s32[2]", "token[] {}", "s32[2] {1,2,3}"])
def test_a_table_without_shape_or_values_is_refused(table):
    text = one_op(f"p = f32[2] parameter(0)\nr = f32[2] shuffle(p), mode=permute, indices={table}")
    with pytest.raises(HobError, match="indices: "):
        parse_module(text)

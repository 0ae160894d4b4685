"""Arrays at the border: files, types that NumPy lacks, and the bytes of any layout."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from compiler.hlo.shape import ArrayShape, ElementType, Layout
from compiler.hlo.text import parse_module
from isas.errors import InputError
from lab import arrays

TEXT = """HloModule m
ENTRY e {
  p0 = f32[2,3] parameter(0)
  p1 = bf16[4] parameter(1)
  ROOT r = f32[2,3] negate(p0)
}
"""


def test_layout_decides_the_order_of_bytes() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    column_major = ArrayShape(ElementType.S32, (2, 3), Layout((0, 1)))
    content = arrays.to_memory(array, column_major)
    assert np.frombuffer(content, np.int32).tolist() == [0, 3, 1, 4, 2, 5]
    assert (arrays.from_memory(content, column_major) == array).all()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_memory_round_trip_in_any_layout(order: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    shape = ArrayShape(ElementType.F32, (2, 3, 4), Layout(order))
    content = arrays.to_memory(array, shape)
    assert (arrays.from_memory(content, shape) == array).all()
    assert np.frombuffer(content, np.float32)[1] == np.moveaxis(array, order[0], 0)[1].flat[0]


def test_a_scalar_keeps_its_rank() -> None:
    scalar = ArrayShape(ElementType.F32, ())
    content = arrays.to_memory(np.float32(2.5).reshape(()), scalar)
    assert arrays.from_memory(content, scalar).shape == ()


def test_seeded_inputs_are_the_same_every_time() -> None:
    module = parse_module(TEXT, "m.hlo")
    first, second = arrays.seeded_inputs(module, 7), arrays.seeded_inputs(module, 7)
    other = arrays.seeded_inputs(module, 8)
    assert all((a == b).all() for a, b in zip(first, second))
    assert (first[0] != other[0]).any()
    assert [a.dtype for a in first] == [np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)]


def test_bit_patterns_stand_for_types_numpy_lacks(tmp_path: Path) -> None:
    values = np.array([1.5, -2.0, 3.0, 0.25], ml_dtypes.bfloat16)
    arrays.write_npz(tmp_path / "o.npz", [values])
    found = arrays.numbered(arrays.read_npz(tmp_path / "o.npz"), "out")
    assert found[0].dtype == np.uint16
    shape = ArrayShape(ElementType.BF16, (4,))
    assert (arrays.checked(found, [shape], "out", "o.npz")[0] == values).all()


@pytest.mark.parametrize(
    ("arrays_given", "message"),
    [
        ([], "0 in arrays where the program has 1"),
        ([np.zeros((3, 2), np.float32)], "in0 has shape [3, 2], the program needs f32[2,3]"),
        ([np.zeros((2, 3), np.float64)], "in0 has type float64, the program needs f32[2,3]"),
    ],
)
def test_wrong_arrays_are_named(arrays_given: list[np.ndarray], message: str) -> None:
    shape = ArrayShape(ElementType.F32, (2, 3))
    with pytest.raises(InputError) as caught:
        arrays.checked(arrays_given, [shape], "in", "x.npz")
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04broken", b"\x93NUMPY\x01\x00"])
def test_what_is_no_npz_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.npz"):
        arrays.read_npz(path)


def test_a_plain_npy_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.npz"
    with open(path, "wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match="not an npz archive"):
        arrays.read_npz(path)


def test_text_in_place_of_an_archive_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "text.npz"
    path.write_text("HloModule m\n")
    with pytest.raises(InputError, match="not an npz archive"):
        arrays.read_npz(path)
    with pytest.raises(InputError, match="is a directory"):
        arrays.read_npz(tmp_path)


def test_a_number_left_out_is_named() -> None:
    given = {"in0": np.zeros(1), "in2": np.zeros(1), "out1": np.zeros(1)}
    with pytest.raises(InputError, match="has in2 but no in1"):
        arrays.numbered(given, "in", "x.npz")
    with pytest.raises(InputError, match="has out1 but no out0"):
        arrays.numbered(given, "out", "x.npz")


def test_programs_too_large_to_simulate_are_refused() -> None:
    module = parse_module(TEXT, "m.hlo")
    arrays.check_size(module, 1 << 20)
    with pytest.raises(InputError, match=r"take 8\.0 GiB"):
        arrays.check_size(module, 1 << 33)

"""Fourier transforms whose descriptor is a FlatBuffer, as older JAX calls them."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from isas.errors import HobError

X = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)


def descriptor(kind: int, axes: list[int], is_forward: bool, scale: float) -> np.ndarray:
    """A table with its directory before it and its vectors behind it, fields in reverse."""
    places = {1: 4, 2: 8, 5: 12, 6: 5, 7: 16}
    directory = struct.pack("<HH", 20, 24)
    directory += b"".join(struct.pack("<H", places.get(field, 0)) for field in range(8))
    start = 4 + len(directory)
    extents = struct.pack("<IQQ", 2, 3, 4)
    table = struct.pack("<ibbxx", start - 4, kind, is_forward)
    table += struct.pack("<IId", 24 - 8, 24 + len(extents) - 12, scale)
    vector = struct.pack(f"<I{len(axes)}I", len(axes), *axes)
    data = struct.pack("<I", start) + directory + table + extents + vector
    return np.frombuffer(data, np.uint8)


def transformed(data: np.ndarray, array: np.ndarray, result: str) -> np.ndarray:
    kind = {"float32": "f32", "complex64": "c64"}[array.dtype.name]
    shape = ",".join(map(str, array.shape))
    text = f"""HloModule m

    ENTRY e {{
      d = u8[{len(data)}] parameter(0)
      x = {kind}[{shape}] parameter(1)
      ROOT r = {result} custom-call(d, x), custom_call_target="ducc_fft"
    }}
    """
    return evaluate(verify(parse_module(text)), data, array)[0]


def test_each_kind_in_each_direction() -> None:
    z = (X + 1j * X[::-1]).astype(np.complex64)
    half = np.fft.rfft2(X).astype(np.complex64)
    for data, array, result, expected in [
        (descriptor(0, [0, 1], True, 1.0), z, "c64[3,4]", np.fft.fft2(z)),
        (descriptor(0, [1], False, 0.25), z, "c64[3,4]", np.fft.ifft(z)),
        (descriptor(2, [0, 1], True, 1.0), X, "c64[3,3]", half),
        (descriptor(1, [0, 1], False, 1 / 12), half, "f32[3,4]", X),
    ]:
        assert np.allclose(transformed(data, array, result), expected, atol=1e-5)


@pytest.mark.parametrize("length", [0, 3, 20])
def test_a_descriptor_cut_short_is_refused(length: int) -> None:
    data = descriptor(0, [0], True, 1.0)[:length]
    with pytest.raises(HobError, match="the descriptor of ducc_fft cannot be read"):
        transformed(data, X.astype(np.complex64), "c64[3,4]")

"""Arrays at the border: npz files in and out, seeded inputs, and the bytes that lie in the arena.

NumPy has no bfloat16 or 8-bit floats; npz files hold such arrays as unsigned integers of the same
width, and everything here converts both ways.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.hlo.module import Module, flat_parameters
from compiler.hlo.shape import ArrayShape, Family, Shape, leaves
from isas.errors import InputError

Array = NDArray[Any]
SPREAD = 0.25
"""Small, as weights and activations are: sums of hundreds of products then cancel to within the
default absolute tolerance, whatever their order."""
_PLAIN_KINDS = frozenset("biufc")
LARGEST_BYTES = 1 << 31
"""The most memory that a simulated program may take."""


def parameter_shapes(module: Module) -> tuple[ArrayShape, ...]:
    """The arrays the entry takes: parameters in number order, tuples flattened."""
    found: list[Shape] = [leaf for shape in flat_parameters(module) for leaf in leaves(shape)]
    return tuple(shape for shape in found if isinstance(shape, ArrayShape))


def seeded_inputs(module: Module, seed: int = 0) -> tuple[Array, ...]:
    """One random array per parameter: normal floats of standard deviation `SPREAD`, integers from
    -10 to 10 (unsigned: 0 to 20), fair booleans. The same seed gives the same arrays everywhere."""
    generator = np.random.default_rng(seed)
    for number, shape in enumerate(parameter_shapes(module)):
        if not shape.is_static:
            message = f"parameter {number} is {shape}, whose dimensions are not static"
            hint = "hob evaluate --inputs FILE.npz takes the extents of StableHLO from its arrays"
            raise InputError(message, module.source or module.name, hint)
    check_size(module, sum(shape.size_bytes for shape in parameter_shapes(module)))
    return tuple(_draw(generator, shape) for shape in parameter_shapes(module))


def check_size(module: Module, size_bytes: int) -> None:
    """Raises InputError when a program's arrays take more memory than is simulated."""
    if size_bytes > LARGEST_BYTES:
        raise InputError(
            f"the program's arrays take {size_bytes / 2**30:.1f} GiB, "
            f"simulated memory has {LARGEST_BYTES >> 30} GiB",
            where=module.source or module.name,
        )


def _draw(generator: np.random.Generator, shape: ArrayShape) -> Array:
    kind = shape.element_type
    if kind.family is Family.PREDICATE:
        return generator.integers(0, 2, shape.dimensions).astype(np.bool_)
    if kind.is_integer:
        low, high = (-10, 11) if kind.is_signed else (0, 21)
        if kind.bits < 8:
            low, high = (-(1 << kind.bits - 1) if kind.is_signed else 0), 1 << kind.bits - 1
        return generator.integers(low, high, shape.dimensions).astype(kind.dtype)
    numbers = SPREAD * generator.standard_normal(shape.dimensions)
    if kind.is_complex:
        numbers = numbers + 1j * SPREAD * generator.standard_normal(shape.dimensions)
    return np.asarray(numbers).astype(kind.dtype)


def read_npz(path: str | Path) -> dict[str, Array]:
    """All arrays of an npz file. Raises InputError when it is not one."""
    place, hint = str(path), "write it with numpy.savez(path, in0=..., in1=...)"
    if not Path(path).is_file():
        what = "is a directory" if Path(path).is_dir() else "no such file"
        raise InputError(what, where=place, hint="give an .npz file with in0, in1, ...")
    try:
        if _is_plain_array(path):
            raise InputError("holds one plain array, not an npz archive", where=place, hint=hint)
        if not zipfile.is_zipfile(path):
            raise InputError("not an npz archive", where=place, hint=hint)
        archive = np.load(path, allow_pickle=False)
        with archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"not a readable npz file ({reason})", where=place, hint=hint) from None


def _is_plain_array(path: str | Path) -> bool:
    with open(path, "rb") as file:
        return file.read(6) == b"\x93NUMPY"


def numbered(arrays: dict[str, Array], stem: str, place: str = "") -> tuple[Array, ...]:
    """`in0, in1, ...` (or `out0, ...`) in order. Raises InputError when a number is missing in
    between."""
    found: list[Array] = []
    while f"{stem}{len(found)}" in arrays:
        found.append(arrays[f"{stem}{len(found)}"])
    beyond = sorted(name for name in arrays if re.fullmatch(rf"{stem}\d+", name))
    if len(beyond) > len(found):
        last = max(beyond, key=lambda name: int(name.removeprefix(stem)))
        raise InputError(f"has {last} but no {stem}{len(found)}", where=place)
    return tuple(found)


def checked(
    arrays: Sequence[Array], shapes: Sequence[ArrayShape], what: str, place: str
) -> tuple[Array, ...]:
    """The arrays as the types of `shapes`. Raises InputError when number, dimensions or types
    differ."""
    if len(arrays) != len(shapes):
        names = ", ".join(f"{what}{number}" for number in range(min(len(shapes), 3)))
        more = ", ..." if len(shapes) > 3 else ""
        raise InputError(
            f"{len(arrays)} {what} arrays where the program has {len(shapes)}",
            where=place,
            hint=f"give {names}{more} in order" if shapes else None,
        )
    return tuple(
        _checked(array, shape, f"{what}{number}", place)
        for number, (array, shape) in enumerate(zip(arrays, shapes))
    )


def _checked(array: Array, shape: ArrayShape, name: str, place: str) -> Array:
    wanted = shape.element_type.dtype
    found = np.asarray(array)
    if found.shape != shape.dimensions:
        raise InputError(
            f"{name} has shape {list(found.shape)}, the program needs {shape}", where=place
        )
    if found.dtype == wanted:
        return found
    is_pattern = wanted.kind not in _PLAIN_KINDS and found.dtype.kind == "u"
    if is_pattern and found.dtype.itemsize == wanted.itemsize:
        return found.view(wanted)
    raise InputError(f"{name} has type {found.dtype}, the program needs {shape}", where=place)


def write_npz(path: str | Path, arrays: Sequence[Array]) -> None:
    """Writes `out0, out1, ...`; types NumPy lacks as unsigned bit patterns."""
    named = {f"out{number}": _plain(array) for number, array in enumerate(arrays)}
    try:
        with open(path, "wb") as file:
            np.savez(file, **named)  # type: ignore[arg-type]
    except OSError as error:
        raise InputError(f"cannot write ({error.strerror})", where=str(path)) from None


def _plain(array: Array) -> Array:
    if array.dtype.kind in _PLAIN_KINDS:
        return array
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def to_memory(array: Array, shape: ArrayShape) -> bytes:
    """The array's bytes as the shape's layout lays them out (pred: one byte, 0 or 1)."""
    order = tuple(reversed(shape.minor_to_major))
    return np.transpose(array, order).tobytes()


def from_memory(content: bytes, shape: ArrayShape) -> Array:
    """The array whose bytes lie in memory in the shape's layout."""
    order = tuple(reversed(shape.minor_to_major))
    physical = tuple(shape.dimensions[dimension] for dimension in order)
    flat = np.frombuffer(content, shape.element_type.dtype).reshape(physical)
    return np.array(np.transpose(flat, np.argsort(order)), order="C")

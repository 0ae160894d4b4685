"""What a value of HLO is: element types, dense array shapes with their layouts, tuples and tokens.

Shapes print exactly as XLA prints them, and two shapes are equal when their printed texts are.
Layouts say how an array lies in memory; they never change which numbers it holds.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import ml_dtypes
import numpy as np

UNBOUNDED = -1
"""The extent of a dimension printed as ``?``: dynamic and without a bound."""


class Family(enum.Enum):
    """The arithmetic that an element type obeys."""

    PREDICATE = "predicate"
    SIGNED = "signed integer"
    UNSIGNED = "unsigned integer"
    FLOAT = "float"
    COMPLEX = "complex"
    NONE = "no arithmetic"


class ElementType(enum.Enum):
    """An element type by its HLO name; the value is (name, family, bits, NumPy type)."""

    PRED = ("pred", Family.PREDICATE, 1, np.bool_)
    S1 = ("s1", Family.SIGNED, 1, ml_dtypes.int1)
    S2 = ("s2", Family.SIGNED, 2, ml_dtypes.int2)
    S4 = ("s4", Family.SIGNED, 4, ml_dtypes.int4)
    S8 = ("s8", Family.SIGNED, 8, np.int8)
    S16 = ("s16", Family.SIGNED, 16, np.int16)
    S32 = ("s32", Family.SIGNED, 32, np.int32)
    S64 = ("s64", Family.SIGNED, 64, np.int64)
    U1 = ("u1", Family.UNSIGNED, 1, ml_dtypes.uint1)
    U2 = ("u2", Family.UNSIGNED, 2, ml_dtypes.uint2)
    U4 = ("u4", Family.UNSIGNED, 4, ml_dtypes.uint4)
    U8 = ("u8", Family.UNSIGNED, 8, np.uint8)
    U16 = ("u16", Family.UNSIGNED, 16, np.uint16)
    U32 = ("u32", Family.UNSIGNED, 32, np.uint32)
    U64 = ("u64", Family.UNSIGNED, 64, np.uint64)
    F4E2M1FN = ("f4e2m1fn", Family.FLOAT, 4, ml_dtypes.float4_e2m1fn)
    F8E3M4 = ("f8e3m4", Family.FLOAT, 8, ml_dtypes.float8_e3m4)
    F8E4M3 = ("f8e4m3", Family.FLOAT, 8, ml_dtypes.float8_e4m3)
    F8E4M3FN = ("f8e4m3fn", Family.FLOAT, 8, ml_dtypes.float8_e4m3fn)
    F8E4M3B11FNUZ = ("f8e4m3b11fnuz", Family.FLOAT, 8, ml_dtypes.float8_e4m3b11fnuz)
    F8E4M3FNUZ = ("f8e4m3fnuz", Family.FLOAT, 8, ml_dtypes.float8_e4m3fnuz)
    F8E5M2 = ("f8e5m2", Family.FLOAT, 8, ml_dtypes.float8_e5m2)
    F8E5M2FNUZ = ("f8e5m2fnuz", Family.FLOAT, 8, ml_dtypes.float8_e5m2fnuz)
    F8E8M0FNU = ("f8e8m0fnu", Family.FLOAT, 8, ml_dtypes.float8_e8m0fnu)
    F16 = ("f16", Family.FLOAT, 16, np.float16)
    BF16 = ("bf16", Family.FLOAT, 16, ml_dtypes.bfloat16)
    F32 = ("f32", Family.FLOAT, 32, np.float32)
    F64 = ("f64", Family.FLOAT, 64, np.float64)
    C64 = ("c64", Family.COMPLEX, 64, np.complex64)
    C128 = ("c128", Family.COMPLEX, 128, np.complex128)
    TOKEN = ("token", Family.NONE, 0, None)
    OPAQUE = ("opaque", Family.NONE, 0, None)

    family: Family
    bits: int
    dtype: np.dtype
    """The NumPy type of an array of these elements (``object`` for token and opaque)."""

    def __init__(self, text: str, family: Family, bits: int, scalar: type | None) -> None:
        self.text = text
        self.family = family
        self.bits = bits
        self.dtype = np.dtype(object if scalar is None else scalar)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    @property
    def size_bytes(self) -> int:
        """Bytes of one element in memory; types under a byte, and pred, take a whole one."""
        return (self.bits + 7) // 8

    @property
    def is_float(self) -> bool:
        return self.family is Family.FLOAT

    @property
    def is_complex(self) -> bool:
        return self.family is Family.COMPLEX

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned; pred is not an integer."""
        return self.family in (Family.SIGNED, Family.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        """True of signed integers only."""
        return self.family is Family.SIGNED

    @property
    def is_unsigned(self) -> bool:
        """True of unsigned integers only."""
        return self.family is Family.UNSIGNED

    @property
    def real(self) -> ElementType:
        """The type of a component of a complex number; any other type itself."""
        return {ElementType.C64: ElementType.F32, ElementType.C128: ElementType.F64}.get(self, self)

    @property
    def complex(self) -> ElementType:
        """The complex type whose components are of this float type (c64 but for f64)."""
        return ElementType.C128 if self.bits >= 64 and self.is_float else ElementType.C64


ELEMENT_TYPES: dict[str, ElementType] = {kind.text: kind for kind in ElementType}
"""Element types by HLO name."""

_BY_DTYPE = {kind.dtype: kind for kind in ElementType if kind.dtype != np.dtype(object)}


def element_type_of(dtype: np.dtype) -> ElementType | None:
    """The element type whose arrays have this NumPy type, or None."""
    return _BY_DTYPE.get(np.dtype(dtype))


@dataclass(frozen=True, slots=True, repr=False)
class Layout:
    """How an array lies in memory: dimensions from fastest to slowest varying, and the rest.

    Tiles are tuples of extents, ``None`` standing for ``*`` (combine with the next dimension).
    ``splits``, ``physical_shape``, ``index_type`` and ``pointer_type`` hold XLA's own spelling.
    """

    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[int | None, ...], ...] = ()
    dimension_types: str = ""
    tail_padding_elements: int = 1
    index_type: str = ""
    pointer_type: str = ""
    element_size_bits: int = 0
    memory_space: int = 0
    splits: str = ""
    physical_shape: str = ""
    metadata_prefix_bytes: int = 0

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        order = ",".join(map(str, self.minor_to_major))
        extras = "".join(self._extras())
        return f"{{{order}:{extras}}}" if extras else f"{{{order}}}"

    def _extras(self) -> Iterator[str]:
        if self.dimension_types:
            yield f"D({self.dimension_types})"
        for position, tile in enumerate(self.tiles):
            extents = ",".join("*" if extent is None else str(extent) for extent in tile)
            yield f"{'' if position else 'T'}({extents})"
        if self.tail_padding_elements != 1:
            yield f"L({self.tail_padding_elements})"
        if self.index_type:
            yield f"#({self.index_type})"
        if self.pointer_type:
            yield f"*({self.pointer_type})"
        if self.element_size_bits:
            yield f"E({self.element_size_bits})"
        if self.memory_space:
            yield f"S({self.memory_space})"
        if self.splits:
            yield f"SC{self.splits}"
        if self.physical_shape:
            yield f"P({self.physical_shape})"
        if self.metadata_prefix_bytes:
            yield f"M({self.metadata_prefix_bytes})"

    @property
    def is_row_major(self) -> bool:
        return self.minor_to_major == tuple(range(len(self.minor_to_major) - 1, -1, -1))


def row_major(rank: int) -> Layout:
    """The default layout: the last dimension varies fastest."""
    return Layout(tuple(range(rank - 1, -1, -1)))


@dataclass(frozen=True, slots=True, repr=False)
class ArrayShape:
    """A dense array. ``layout=None`` means: none was written, so row major.

    ``dynamic`` is empty (all static) or has one bool per dimension; the extent of a dynamic
    dimension is its bound, or ``UNBOUNDED``.
    """

    element_type: ElementType
    dimensions: tuple[int, ...] = ()
    layout: Layout | None = None
    dynamic: tuple[bool, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.dimensions)

    @property
    def is_scalar(self) -> bool:
        return not self.dimensions

    @property
    def is_static(self) -> bool:
        return True not in self.dynamic

    @property
    def element_count(self) -> int:
        return math.prod(self.dimensions)

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole array, untiled; packed when the layout gives an element size."""
        if self.layout is not None and self.layout.element_size_bits:
            return (self.element_count * self.layout.element_size_bits + 7) // 8
        return self.element_count * self.element_type.size_bytes

    @property
    def minor_to_major(self) -> tuple[int, ...]:
        """Dimensions from fastest to slowest varying."""
        if self.layout is not None:
            return self.layout.minor_to_major
        return tuple(range(self.rank - 1, -1, -1))

    @property
    def strides(self) -> tuple[int, ...]:
        """For every dimension, the distance in elements between neighbours in memory."""
        strides = [0] * self.rank
        step = 1
        for dimension in self.minor_to_major:
            strides[dimension] = step
            step *= self.dimensions[dimension]
        return tuple(strides)

    def is_dynamic_dimension(self, dimension: int) -> bool:
        return bool(self.dynamic) and self.dynamic[dimension]

    def with_layout(self, layout: Layout | None) -> ArrayShape:
        return replace(self, layout=layout)

    def with_element_type(self, element_type: ElementType) -> ArrayShape:
        return replace(self, element_type=element_type)

    def with_dimensions(self, dimensions: tuple[int, ...]) -> ArrayShape:
        """The same element type with other extents, static and in the default layout."""
        return ArrayShape(self.element_type, dimensions, row_major(len(dimensions)))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        extents = ",".join(self._extent(i) for i in range(self.rank))
        return f"{self.element_type.text}[{extents}]{'' if self.layout is None else self.layout}"

    def _extent(self, dimension: int) -> str:
        extent = self.dimensions[dimension]
        if extent == UNBOUNDED:
            return "?"
        return f"<={extent}" if self.is_dynamic_dimension(dimension) else str(extent)


@dataclass(frozen=True, slots=True, repr=False)
class TupleShape:
    """A tuple of shapes, possibly empty, possibly nested."""

    elements: tuple[Shape, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes of all leaves together; the table of pointers is not counted."""
        return sum(element.size_bytes for element in self.elements)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parts = [
            f"/*index={i}*/{element}" if i and i % 5 == 0 else str(element)
            for i, element in enumerate(self.elements)
        ]
        return f"({', '.join(parts)})"


@dataclass(frozen=True, slots=True, repr=False)
class TokenShape:
    """A token: no data, only an order among side effects."""

    @property
    def size_bytes(self) -> int:
        return 0

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "token[]"


@dataclass(frozen=True, slots=True, repr=False)
class OpaqueShape:
    """A value that only custom calls understand."""

    @property
    def size_bytes(self) -> int:
        return 0

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "opaque[]"


@dataclass(frozen=True, slots=True, repr=False)
class BufferShape:
    """``b(f32[8])``: a mutable buffer that holds an array."""

    contents: ArrayShape

    @property
    def size_bytes(self) -> int:
        return self.contents.size_bytes

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"b({self.contents})"


Shape: TypeAlias = ArrayShape | TupleShape | TokenShape | OpaqueShape | BufferShape


def leaves(shape: Shape) -> tuple[Shape, ...]:
    """The shapes that are not tuples, in order from left to right, at any depth."""
    if not isinstance(shape, TupleShape):
        return (shape,)
    return tuple(leaf for element in shape.elements for leaf in leaves(element))


def subshape(shape: Shape, index: tuple[int, ...]) -> Shape:
    """The shape at a path of tuple positions. Raises IndexError where there is none."""
    for position in index:
        if not isinstance(shape, TupleShape):
            raise IndexError(f"{shape} has no element {position}")
        shape = shape.elements[position]
    return shape


def compatible(one: Shape, other: Shape) -> bool:
    """Equal but for layouts (and for how a static extent and its bound are written)."""
    if isinstance(one, ArrayShape) and isinstance(other, ArrayShape):
        same_type = one.element_type is other.element_type
        return same_type and _same_extents(one.dimensions, other.dimensions)
    if isinstance(one, TupleShape) and isinstance(other, TupleShape):
        return len(one.elements) == len(other.elements) and all(
            map(compatible, one.elements, other.elements)
        )
    return one == other


def _same_extents(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    if len(one) != len(other):
        return False
    return all(a == b or UNBOUNDED in (a, b) for a, b in zip(one, other, strict=True))

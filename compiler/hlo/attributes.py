"""The values that instruction attributes take, and the immutable mapping that holds them.

Keys are spelled as in HLO text (``lhs_contracting_dims``, ``to_apply``). Understood attributes
have typed values, listed in `compiler.hlo.text.codecs`; every other one is kept as `Verbatim`
text.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from compiler.hlo.literal import Literal
from compiler.hlo.shape import ArrayShape


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Attribute text that is kept, printed and compared, but not understood."""

    text: str

    def __str__(self) -> str:
        return self.text


class ComparisonDirection(enum.Enum):
    """``direction=`` of compare."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


class ComparisonType(enum.Enum):
    """``type=`` of compare; left out, it follows from the element type."""

    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


class FusionKind(enum.Enum):
    """``kind=`` of fusion: how XLA would generate its code."""

    LOOP = "kLoop"
    INPUT = "kInput"
    OUTPUT = "kOutput"
    CUSTOM = "kCustom"


class FftType(enum.Enum):
    """``fft_type=``: complex forward and inverse, real to complex and back."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


class RandomAlgorithm(enum.Enum):
    """``algorithm=`` of rng-bit-generator."""

    DEFAULT = "rng_default"
    THREE_FRY = "rng_three_fry"
    PHILOX = "rng_philox"


class RandomDistribution(enum.Enum):
    """``distribution=`` of rng."""

    UNIFORM = "rng_uniform"
    NORMAL = "rng_normal"


class TransposeKind(enum.Enum):
    """``transpose_a=`` of triangular-solve."""

    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


@dataclass(frozen=True, slots=True)
class SliceLimits:
    """One dimension of a slice: from start up to, not including, limit."""

    start: int
    limit: int
    stride: int = 1

    @property
    def extent(self) -> int:
        return max(0, -(-(self.limit - self.start) // self.stride))


@dataclass(frozen=True, slots=True)
class PadDimension:
    """Elements added before, after and between the elements of one dimension (edges may be
    negative).
    """

    low: int
    high: int
    interior: int = 0

    def padded(self, extent: int) -> int:
        return extent + self.low + self.high + max(extent - 1, 0) * self.interior


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """One dimension of a sliding window, as reduce-window and convolution use it."""

    size: int
    stride: int = 1
    pad_low: int = 0
    pad_high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1
    is_reversed: bool = False

    def extent(self, base: int) -> int:
        """How many positions the window takes along a base of this extent."""
        dilated = (base - 1) * self.base_dilation + 1 if base else 0
        padded = dilated + self.pad_low + self.pad_high
        reach = (self.size - 1) * self.window_dilation + 1
        return 0 if padded < reach or self.size == 0 else (padded - reach) // self.stride + 1


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window over all dimensions of its base (for convolution: the spatial ones)."""

    dimensions: tuple[WindowDimension, ...] = ()


@dataclass(frozen=True, slots=True)
class ConvolutionSide:
    """Where one array of a convolution keeps its two special and its spatial dimensions.

    ``first`` is batch (input, output) or output feature (kernel); ``second`` is feature (input,
    output) or input feature (kernel); ``spatial`` is in window order.
    """

    first: int
    second: int
    spatial: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConvolutionLabels:
    """``dim_labels=b01f_01io->b01f``."""

    input: ConvolutionSide
    kernel: ConvolutionSide
    output: ConvolutionSide


@dataclass(frozen=True, slots=True)
class DotDimensions:
    """Which dimensions a dot sums over and which it pairs."""

    lhs_contracting: tuple[int, ...] = ()
    rhs_contracting: tuple[int, ...] = ()
    lhs_batch: tuple[int, ...] = ()
    rhs_batch: tuple[int, ...] = ()

    def lhs_free(self, rank: int) -> tuple[int, ...]:
        taken = self.lhs_contracting + self.lhs_batch
        return tuple(i for i in range(rank) if i not in taken)

    def rhs_free(self, rank: int) -> tuple[int, ...]:
        taken = self.rhs_contracting + self.rhs_batch
        return tuple(i for i in range(rank) if i not in taken)


@dataclass(frozen=True, slots=True)
class Metadata:
    """``metadata={...}``: where the instruction comes from in the user's program, in XLA's
    spelling.
    """

    text: str

    def field(self, key: str) -> str | None:
        """The value of one entry without its quotes, or None."""
        from compiler.hlo.text.codecs import metadata_field

        return metadata_field(self.text, key)

    @property
    def op_name(self) -> str | None:
        return self.field("op_name")

    @property
    def op_type(self) -> str | None:
        return self.field("op_type")

    @property
    def source_file(self) -> str | None:
        return self.field("source_file")

    @property
    def source_line(self) -> int | None:
        return _integer(self.field("source_line"))

    @property
    def stack_frame_id(self) -> int | None:
        return _integer(self.field("stack_frame_id"))


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


@dataclass(frozen=True, slots=True)
class TypedLiteral:
    """``indices=`` and ``multi_shifts=`` of shuffle: a literal with its shape before it."""

    shape: ArrayShape
    literal: Literal


class Attributes(Mapping[str, Any]):
    """An immutable, hashable mapping from attribute name to value; printing follows its order."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        self._entries: dict[str, Any] = {**(entries or {}), **more}

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: str, default: Any = None) -> Any:
        return self._entries.get(key, default)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attributes) and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return f"Attributes({self._entries!r})"

    def updated(self, entries: Mapping[str, Any] | None = None, /, **more: Any) -> Attributes:
        """These entries with some added or replaced."""
        return Attributes({**self._entries, **(entries or {}), **more})

    def without(self, *keys: str) -> Attributes:
        """These entries with some left out."""
        return Attributes({k: v for k, v in self._entries.items() if k not in keys})


NO_ATTRIBUTES = Attributes()

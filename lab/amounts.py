"""Amounts as people read them."""

from __future__ import annotations


def size_text(size_bytes: int) -> str:
    """Bytes in words: 512 B, 27.6 KB, 3.2 MB (powers of 1024)."""
    value = float(size_bytes)
    for unit in ("B", "KB", "MB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GB"


def time_text(seconds: float) -> str:
    """Seconds in words: 12.3 us, 4.56 ms, 1.2 s."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if abs(seconds) * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns" if seconds else "–"


def count_text(number: int) -> str:
    """A number with its thousands apart: 12 345."""
    return f"{number:,}".replace(",", " ")

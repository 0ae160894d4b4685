"""SVG to PNG through librsvg's `rsvg-convert`, or CairoSVG where that is installed."""

from __future__ import annotations

import shutil
import subprocess

from isas.errors import InputError

SCALE = 2
"""Pixels per SVG unit, so that text stays sharp on dense displays."""


def png_of(svg: str) -> bytes:
    """The picture as PNG. Raises InputError when no converter is installed, or it fails."""
    tool = shutil.which("rsvg-convert")
    if tool is not None:
        return _by_tool(tool, svg)
    try:
        import cairosvg
    except (ImportError, OSError):
        raise InputError(
            "there is nothing here that turns SVG into PNG",
            where="--png",
            hint="install librsvg (Debian: librsvg2-bin) or the Python package cairosvg, "
            "or use --svg",
        ) from None
    return bytes(cairosvg.svg2png(bytestring=svg.encode(), scale=SCALE))


def _by_tool(tool: str, svg: str) -> bytes:
    found = subprocess.run(
        [tool, "--zoom", str(SCALE), "--format", "png"],
        input=svg.encode(),
        capture_output=True,
        check=False,
    )
    if found.returncode != 0:
        reason = found.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(f"rsvg-convert failed: {' '.join(reason[:1])}", where="--png")
    return found.stdout

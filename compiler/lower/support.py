"""What code generation covers: opcodes and element types, and the check that names what it does not."""

from __future__ import annotations

from compiler.hlo.module import Module


def check(module: Module) -> None:
    """Raises UnsupportedError for the first instruction that has no lowering."""

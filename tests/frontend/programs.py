"""The checked StableHLO programs, and the stored cases, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

from compiler.frontend.stablehlo import parse_programs
from compiler.hlo.module import Module

OPERATIONS = Path(__file__).parent / "operations"


def operation_files() -> list[Path]:
    return sorted(OPERATIONS.glob("*.mlir"))


def operation_programs() -> list[Module]:
    return [m for file in operation_files() for m in parse_programs(file.read_text(), file.name)]


def function(body: str, result: str = "", arguments: str = "") -> str:
    """A text of one function with these lines; ``result`` is what it returns."""
    arrow = f" -> {result.partition(':')[2]}" if result else ""
    back = f"return {result}" if result else "return"
    return f"func.func @main({arguments}){arrow} {{\n{body}\n  {back}\n}}\n"

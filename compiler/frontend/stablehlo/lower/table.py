"""The table from operation name to its lowering."""

from __future__ import annotations

from compiler.frontend.stablehlo.lower import (
    calls,
    checks,
    chlo,
    collectives,
    control,
    dynamic,
    elementwise,
    library,
    movement,
    quantized,
    reductions,
    structured,
)
from compiler.frontend.stablehlo.lower.elementwise import Handler

HANDLERS: dict[str, Handler] = {
    **elementwise.HANDLERS,
    **movement.HANDLERS,
    **structured.HANDLERS,
    **reductions.HANDLERS,
    **library.HANDLERS,
    **control.HANDLERS,
    **collectives.HANDLERS,
    **dynamic.HANDLERS,
    **chlo.HANDLERS,
    **calls.HANDLERS,
    **checks.HANDLERS,
    "stablehlo.uniform_quantize": quantized.uniform_quantize,
    "stablehlo.uniform_dequantize": quantized.uniform_dequantize,
}


def handler_of(name: str) -> Handler | None:
    """How an operation is lowered, None when it is not. MHLO's operations are StableHLO's."""
    found = HANDLERS.get(name)
    if found is None and name.startswith("mhlo."):
        return HANDLERS.get(f"stablehlo.{name.removeprefix('mhlo.')}") or HANDLERS.get(
            f"chlo.{name.removeprefix('mhlo.')}"
        )
    return found

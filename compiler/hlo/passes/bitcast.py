"""Says of every move that moves nothing what it is: a bitcast.

After layouts are known and kernels formed, a reshape, transpose or copy between kernels whose
elements stay where they are is free; as a bitcast it needs neither launch nor memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.hlo.attributes import NO_ATTRIBUTES
from compiler.hlo.kernels import keeps_order, launching_computations
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import Rewriter
from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed(Decision):
    """A move that turned out to move nothing."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    @property
    def template(self) -> str:
        return "{subject} ({chosen}) is free: every element stays at its place"


def run(module: Module, context: PassContext) -> Module:
    """Turns order-keeping moves of launching computations into bitcasts."""
    rewriter = Rewriter(module)
    for name in dict.fromkeys(c.name for c in launching_computations(module)):
        computation = module.computation(name)
        for instruction in computation:
            if not keeps_order(computation, instruction):
                continue
            rewriter.edit(name).rewrite(
                replace(
                    instruction,
                    opcode=Opcode.BITCAST,
                    attributes=NO_ATTRIBUTES,
                    origin=instruction.origins,
                )
            )
            context.record(
                Freed(
                    subject=instruction.name,
                    origins=instruction.origins,
                    chosen=instruction.opcode.text,
                )
            )
    return rewriter.build()

"""What the passes above selection know of a machine, derived from its cards and core."""

from __future__ import annotations

from compiler.options import Options
from compiler.select.coverage import coverage_of
from compiler.target import Target
from isas.cores import Order
from isas.model import Machine


def target_of(machine: Machine, options: Options) -> Target:
    """The target that `machine` is under `options`."""
    isa, core = machine.isa, machine.core
    is_simt = core.order is Order.SIMT
    coverage = coverage_of(machine)
    counts = tuple(
        (name, len(found.indices(options.register_limit(name))))
        for name, found in isa.registers.classes.items()
    )
    return Target(
        name=machine.name,
        is_simt=is_simt,
        vector_bits=0 if is_simt else core.vector_bits,
        triple=isa.triple,
        data_layout=isa.data_layout,
        registers=counts,
        warp_size=core.simt.warp_size if core.simt is not None else 1,
        l1_bytes=core.l1.size_bytes,
        legal=coverage.legal,
        covers=coverage.covers,
        is_left_to_users=coverage.is_left_to_users,
    )

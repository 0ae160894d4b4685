"""Occupancy: how many blocks of a kernel one SM holds at a time, and what sets the limit.

Registers are handed out per warp in fixed units, shared memory per block; besides, an SM holds only
so many warps and blocks. (CUDA C++ programming guide, "Hardware multithreading".)
"""

from __future__ import annotations

from isas.cores import Simt
from isas.errors import UnsupportedError
from isas.program import Program
from vm.stream import Launch
from vm.timeline import Occupancy

_REGISTER_BITS = 32


def registers_per_thread(program: Program) -> int:
    """32-bit registers a thread needs: as many as it touches, since they could be renumbered."""
    touched = sum(
        len(indices)
        for name, indices in program.registers_used.items()
        if program.isa.registers.classes[name].storage_bits == _REGISTER_BITS
    )
    return max(touched, 1)


def occupancy_of(program: Program, launch: Launch, simt: Simt) -> Occupancy:
    """The occupancy of a launch. Raises UnsupportedError when not even one block fits."""
    unit = simt.register_allocation_unit
    per_warp = -(-registers_per_thread(program) * simt.warp_size // unit) * unit
    shared = program.shared_size_bytes + launch.shared_bytes
    warps = launch.warps_per_block
    limits = {
        "blocks": simt.blocks_per_sm,
        "warps": simt.warps_per_sm // warps,
        "registers": simt.registers_per_sm // (per_warp * warps),
        "shared memory": simt.shared_bytes_per_sm // shared if shared else simt.blocks_per_sm,
    }
    limit = min(limits, key=lambda name: limits[name])
    if limits[limit] == 0:
        raise UnsupportedError(
            f"a block of {warps} warps does not fit on an SM: not enough {limit}",
            where=program.name,
            hint="use smaller blocks",
        )
    return Occupancy(limits[limit], limits[limit] * warps, simt.warps_per_sm, limit)

"""`lower`: every launch of a module becomes one function of LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.hlo.module import Module
from compiler.hlo.rows import row_structure
from compiler.hlo.stages import Kind, RowStructure, WhyNot
from compiler.journal import Journal
from compiler.llvm.ir import Module as LlvmModule
from compiler.lower.dot import emit_dot_kernel
from compiler.lower.grid import emit_grid_kernel
from compiler.lower.loops import emit_loop_kernel
from compiler.lower.rows import emit_row_kernel, is_written_out
from compiler.lower.source import KernelSource, kernel_source
from compiler.lower.strips import contiguous_row, emit_strip_kernel
from compiler.lower.support import check
from compiler.lower.workshop import Workshop, function_names
from compiler.options import Options
from compiler.target import Target
from isas.errors import UnsupportedError

if TYPE_CHECKING:
    from compiler.buffers.assign import Assignment, Slice


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One launch: the function's name, the HLO instruction it computes, the slice behind each of
    its pointers, and (simt) how many threads run it in blocks of what size; 0 threads on a CPU."""

    function: str
    instruction: str
    arguments: tuple[Slice, ...]
    threads: int = 0
    block_size: int = 0


@dataclass(frozen=True, slots=True)
class Lowered:
    """The kernels of a program in launch order, and the module that holds their functions."""

    llvm_module: LlvmModule
    kernels: tuple[KernelLaunch, ...]


def lower(
    module: Module, assignment: Assignment, target: Target, options: Options, journal: Journal
) -> Lowered:
    """Lowers every launch of a fused module. Raises UnsupportedError for what code generation does
    not cover."""
    check(module)
    result = LlvmModule(module.name, target.triple, target.data_layout)
    names = function_names(assignment.launches)
    kernels: list[KernelLaunch] = []
    for launch in assignment.launches:
        source = kernel_source(module, assignment, launch)
        shop = Workshop(module, source, target, options, names[launch])
        threads = _emit(shop, _structure(module, source), journal)
        shop.emitter.finish()
        result.functions.append(shop.function)
        block = options.block_size if target.is_simt else 0
        kernels.append(KernelLaunch(names[launch], launch, source.slices, threads, block))
    return Lowered(result, tuple(kernels))


def _structure(module: Module, source: KernelSource) -> RowStructure:
    found = row_structure(module, source.computation)
    if isinstance(found, WhyNot):
        raise UnsupportedError(
            f"code generation cannot compute {source.instruction.name} in one kernel: {found}"
        )
    return found


def _emit(shop: Workshop, structure: RowStructure, journal: Journal) -> int:
    """Fills the kernel; returns the number of threads on a simt machine, else 0."""
    if shop.target.is_simt:
        return emit_grid_kernel(shop, structure, journal)
    if structure.kind is Kind.ROWS:
        inner = contiguous_row(shop, structure)
        if inner is None or is_written_out(shop, structure):
            emit_row_kernel(shop, structure, journal)
        else:
            emit_strip_kernel(shop, structure, inner, journal)
    elif structure.kind is Kind.DOT:
        emit_dot_kernel(shop, structure, journal)
    else:
        emit_loop_kernel(shop, structure, journal)
    return 0

"""What one compilation leaves behind: the program, every stage as a document, and the decisions.

Screens, commands and exams read these facts; nothing here is recomputed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from compiler.allocate.result import AllocationResult
from compiler.buffers.assign import Assignment
from compiler.hlo.kernels import Count
from compiler.hlo.module import Module
from compiler.journal import Journal
from compiler.machine.code import MachineFunction
from compiler.options import Options
from isas.document import Document
from isas.model import Machine
from isas.program import Executable


class Stage(Enum):
    """The stages of the road. Their names never change: commands, screens and exams use them."""

    HLO = "hlo"
    HLO_FUSED = "hlo-fused"
    BUFFERS = "buffers"
    LLVM = "llvm"
    LLVM_OPTIMIZED = "llvm-optimized"
    SELECTED = "selected"
    SCHEDULED = "scheduled"
    ALLOCATED = "allocated"
    RESCHEDULED = "rescheduled"
    ASSEMBLY = "assembly"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class RegisterUse:
    """Registers of one class in one kernel: how many it uses and may use, the largest number alive
    at once, and the smallest number with which nothing would spill."""

    used: int
    allowed: int
    pressure: int
    spill_free: int


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One kernel in numbers. `size_bytes` is None while its code cannot be encoded; `spills` and
    `reloads` count instructions in the code, `spilled` names the virtual registers."""

    name: str
    instruction: str
    instructions: int
    size_bytes: int | None
    lanes: int
    unroll: int
    spilled: tuple[str, ...]
    spills: int
    reloads: int
    registers: Mapping[str, RegisterUse]


@dataclass(frozen=True, slots=True, eq=False)
class Compilation:
    """Everything from `source` to `executable`. `seconds` has one entry per stage, in order;
    `llvm_text` the IR of the two LLVM stages as real LLVM reads it. `selected` has each kernel's
    code over virtual registers, before scheduling, and `allocations` how its registers were given
    out; both by the kernel's name. `pass_seconds` are those of the tensor-level passes, rounds
    added up."""

    source: Module
    fused: Module
    machine: Machine
    options: Options
    assignment: Assignment
    executable: Executable
    kernels: tuple[KernelFacts, ...]
    unfused: Count
    fused_count: Count
    documents: Mapping[Stage, Document]
    journal: Journal
    seconds: Mapping[Stage, float]
    llvm_text: Mapping[Stage, str] = field(default_factory=dict)
    selected: Mapping[str, MachineFunction] = field(default_factory=dict)
    allocations: Mapping[str, AllocationResult] = field(default_factory=dict)
    pass_seconds: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Compilation {self.source.name} for {self.machine.name}: "
            f"{len(self.kernels)} kernels, "
            f"{sum(k.instructions for k in self.kernels)} instructions>"
        )

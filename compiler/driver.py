"""The whole way from a tensor module to an executable, stage by stage, keeping every stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from compiler.allocate.allocate import allocate
from compiler.allocate.checker import check_allocation
from compiler.allocate.result import AllocationResult
from compiler.buffers.assign import Assignment, assign
from compiler.buffers.text import document as buffers_document
from compiler.compilation import Compilation, KernelFacts, RegisterUse, Stage
from compiler.emit.assembly import assembly
from compiler.emit.emit import emit
from compiler.hlo.kernels import count
from compiler.hlo.module import Module
from compiler.hlo.text import module_document
from compiler.journal import Journal
from compiler.llvm import ir
from compiler.llvm import text as llvm_text
from compiler.llvm.context import Context
from compiler.llvm.pipeline import optimize
from compiler.llvm.verify import verify_function
from compiler.lower import KernelLaunch, Lowered, lower
from compiler.machine.code import MachineFunction
from compiler.machine.origins import complete_origins
from compiler.machine.text import document as machine_document
from compiler.machine.verify import verify_machine_function
from compiler.options import Options
from compiler.pipeline import seconds_by_pass, trace_hlo_passes
from compiler.schedule.schedule import schedule
from compiler.select.select import select
from compiler.select.target import target_of
from isas.document import Document, Line
from isas.layout import program_size_bytes
from isas.model import Machine
from isas.program import Executable, Grid, Launch, Placement, Program

Result = TypeVar("Result")


@dataclass(slots=True)
class _Record:
    """Documents and seconds as the stages go by."""

    journal: Journal = field(default_factory=Journal)
    documents: dict[Stage, Document] = field(default_factory=dict)
    seconds: dict[Stage, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, stage: Stage, pass_name: str) -> Iterator[None]:
        self.journal.enter(stage.value, pass_name)
        started = time.perf_counter()
        yield
        spent = time.perf_counter() - started
        self.seconds[stage] = self.seconds.get(stage, 0.0) + spent


def compile_module(
    module: Module,
    machine: Machine,
    options: Options,
    watch: Callable[[Stage], None] | None = None,
) -> Compilation:
    """Compiles a verified module. Raises UnsupportedError for an operation without code generation
    (named with its line) and InputError for register limits that cannot work. `watch` hears the
    stage before it begins, at every pass and every decision; what it raises ends the compilation.
    """
    record = _Record()
    if watch is not None:
        record.journal.watch = lambda stage: watch(Stage(stage))
    with record.stage(Stage.HLO, "read"):
        record.documents[Stage.HLO] = module_document(module)
        unfused = count(module)
    with record.stage(Stage.HLO_FUSED, "passes"):
        runs = trace_hlo_passes(module, options, record.journal)
    fused = runs[-1].after if runs else module
    record.documents[Stage.HLO_FUSED] = module_document(fused)
    with record.stage(Stage.BUFFERS, "assign"):
        assignment = assign(fused, options, record.journal)
    record.documents[Stage.BUFFERS] = buffers_document(assignment)
    target = target_of(machine, options)
    with record.stage(Stage.LLVM, "lower"):
        lowered = lower(fused, assignment, target, options, record.journal)
        for function in lowered.llvm_module.functions:
            verify_function(function)
    texts = {Stage.LLVM: _print_llvm(record, Stage.LLVM, lowered.llvm_module)}
    with record.stage(Stage.LLVM_OPTIMIZED, "passes"):
        for function in lowered.llvm_module.functions:
            optimize(function, Context(target, options, record.journal))
    texts[Stage.LLVM_OPTIMIZED] = _print_llvm(record, Stage.LLVM_OPTIMIZED, lowered.llvm_module)
    back = _BackEnd(machine, options, record)
    programs, kernels = back.run(lowered)
    record.journal.watch = None
    return Compilation(
        module, fused, machine, options, assignment,
        _executable(assignment, lowered, programs), kernels, unfused, count(fused),
        record.documents, record.journal, record.seconds, texts, back.selected, back.allocations,
        seconds_by_pass(runs),
    )  # fmt: skip


def _print_llvm(record: _Record, stage: Stage, module: ir.Module) -> str:
    record.documents[stage] = llvm_text.document(module)
    return str(record.documents[stage])


@dataclass(slots=True)
class _BackEnd:
    """Selection to assembly, kernel by kernel."""

    machine: Machine
    options: Options
    record: _Record
    parts: dict[Stage, list[Document]] = field(default_factory=dict)
    selected: dict[str, MachineFunction] = field(default_factory=dict)
    allocations: dict[str, AllocationResult] = field(default_factory=dict)

    def run(self, lowered: Lowered) -> tuple[dict[str, Program], tuple[KernelFacts, ...]]:
        programs: dict[str, Program] = {}
        facts = []
        for kernel in lowered.kernels:
            function = lowered.llvm_module.function(kernel.function)
            programs[kernel.function], found = self._kernel(function, kernel)
            facts.append(found)
        for stage, documents in self.parts.items():
            self.record.documents[stage] = joined(stage.value, documents)
        for stage in list(Stage)[5:]:
            self.record.documents.setdefault(stage, Document(stage.value, ()))
        return programs, tuple(facts)

    def _kernel(self, function: ir.Function, kernel: KernelLaunch) -> tuple[Program, KernelFacts]:
        journal = self.record.journal
        machine, options = self.machine, self.options
        selected = self._step(Stage.SELECTED, lambda: select(function, machine, options, journal))
        scheduled = self._step(Stage.SCHEDULED, lambda: self._schedule(selected, Stage.SCHEDULED))
        with self.record.stage(Stage.ALLOCATED, function.name):
            result = allocate(scheduled, machine, options, journal)
            complete_origins(result.function, machine.isa.registers)
            check_allocation(scheduled, result.function, result.source, machine, options)
        self.selected[function.name], self.allocations[function.name] = selected, result
        self._keep(Stage.ALLOCATED, machine_document(result.function, machine.isa))
        last = self._step(
            Stage.RESCHEDULED, lambda: self._schedule(result.function, Stage.RESCHEDULED)
        )
        with self.record.stage(Stage.ASSEMBLY, function.name):
            program = emit(last, machine, _grid(kernel))
        self._keep(Stage.ASSEMBLY, assembly(program))
        return program, _facts(function, kernel, program, result)

    def _schedule(self, function: MachineFunction, stage: Stage) -> MachineFunction:
        if not self.options.schedule:
            return function
        return schedule(function, self.machine, self.options, self.record.journal, stage.value)

    def _step(self, stage: Stage, run: Callable[[], MachineFunction]) -> MachineFunction:
        with self.record.stage(stage, stage.value):
            function = run()
            complete_origins(function, self.machine.isa.registers)
            verify_machine_function(function, self.machine)
        self._keep(stage, machine_document(function, self.machine.isa))
        return function

    def _keep(self, stage: Stage, document: Document) -> None:
        self.parts.setdefault(stage, []).append(document)


def joined(title: str, documents: list[Document]) -> Document:
    """Documents one after the other, a blank line between."""
    lines: list[Line] = []
    for document in documents:
        lines += [Line("")] if lines else []
        lines += document.lines
    return Document(title, tuple(lines))


def _grid(kernel: KernelLaunch) -> Grid | None:
    if not kernel.threads:
        return None
    blocks = -(-kernel.threads // kernel.block_size)
    return Grid((blocks, 1, 1), (kernel.block_size, 1, 1))


def _executable(
    assignment: Assignment, lowered: Lowered, programs: dict[str, Program]
) -> Executable:
    launches = tuple(
        Launch(k.function, tuple(s.offset for s in k.arguments), _grid(k), k.instruction)
        for k in lowered.kernels
    )
    parameters = tuple(
        Placement(f"parameter {b.number}", b.slice.offset, b.slice.size_bytes)
        for b in assignment.parameters
    )
    outputs = tuple(
        Placement(f"output {b.number}", b.slice.offset, b.slice.size_bytes)
        for b in assignment.outputs
    )
    constants = tuple(
        (Placement(c.name, c.slice.offset, c.slice.size_bytes), c.data)
        for c in assignment.constants
    )
    return Executable(programs, launches, assignment.arena_bytes, parameters, outputs, constants)


def _facts(
    function: ir.Function, kernel: KernelLaunch, program: Program, result: AllocationResult
) -> KernelFacts:
    lanes = max((i.type.lanes for i in function.instructions()), default=0)
    uses = {
        name: RegisterUse(
            # Arguments may arrive outside the allowed set; they are read there once, at entry.
            min(len(use.used), use.limit),
            use.limit,
            use.max_pressure,
            use.limit if use.enough is None else use.enough,
        )
        for name, use in result.classes.items()
        if use.max_pressure
    }
    spilled = tuple(sorted((str(r) for r in result.spilled), key=lambda name: int(name[1:])))
    return KernelFacts(
        kernel.function, kernel.instruction, len(program.instructions),
        program_size_bytes(program), max(1, lanes), 1,
        spilled, result.spills, result.reloads, uses,
    )  # fmt: skip

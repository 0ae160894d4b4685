"""The stages of a jitted function: traced (`Lowered`) and compiled (`Compiled`), as JAX's are."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.frontend import jax as frontend
from compiler.hlo.module import Module
from compiler.options import Options
from isas.errors import HobError, InputError, UnsupportedError
from isas.model import Machine
from lab import arrays, road
from lab.modes import Mode
from lab.places import place_of, user_place

if TYPE_CHECKING:
    from compiler.compilation import Compilation
    from lab.report import Report

LOGGER = logging.getLogger("hob.jit")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a jitted function runs."""

    mode: Mode = Mode.SIMULATE
    machine: Machine | str = road.DEFAULT_MACHINE
    options: Options = field(default_factory=Options)


class Lowered:
    """A function traced for arguments of certain shapes; nothing is compiled yet."""

    def __init__(self, traced: frontend.Traced, call: frontend.Call, settings: Settings) -> None:
        self.traced = traced
        self.call = call
        self.settings = settings

    @property
    def module(self) -> Module:
        """Hob's HLO module."""
        return self.traced.module

    @property
    def in_tree(self) -> Any:
        return self.traced.lowered.in_tree

    @property
    def out_tree(self) -> Any:
        return self.traced.lowered.out_tree

    @property
    def out_info(self) -> Any:
        """The result tree, of shapes and types."""
        return self.traced.lowered.out_info

    @property
    def args_info(self) -> Any:
        """The argument tree, of shapes and types and whether they are donated."""
        return self.traced.lowered.args_info

    def cost_analysis(self) -> Any:
        """XLA's count of floating-point operations and bytes, by name, as JAX tells it."""
        return self.traced.lowered.cost_analysis()

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """JAX's own object: an MLIR module for "stablehlo" (the default), an XlaComputation for
        "hlo"; both print."""
        _check_dialect(dialect)
        return self.traced.lowered.compiler_ir(dialect=dialect)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text: "stablehlo" (the default; with its places if asked) or "hlo"."""
        _check_dialect(dialect)
        if dialect == "hlo":
            return frontend.hlo_text(self.traced.lowered)
        return str(self.traced.lowered.as_text(dialect=dialect, debug_info=debug_info))

    def compile(self) -> Compiled:
        """Compiles for the machine. Raises UnsupportedError naming what has no code generation."""
        if self.settings.mode is Mode.EVALUATE:
            return Compiled(self, None)
        return Compiled(self, compile_for(self.module, self.settings))

    def __repr__(self) -> str:
        return f"<Lowered {self.module.name}: {self.module.instruction_count} instructions>"


def _check_dialect(dialect: str | None) -> None:
    if dialect not in (None, "stablehlo", "hlo"):
        raise InputError(
            f"there is no dialect '{dialect}'", where="dialect", hint="choose 'stablehlo' or 'hlo'"
        )


def compile_for(module: Module, settings: Settings) -> Compilation:
    """`road.compile`, with the advice to evaluate where code generation ends."""
    try:
        return road.compile(module, settings.machine, settings.options)
    except UnsupportedError as error:
        advice = 'mode="evaluate" runs it in the evaluator'
        raise UnsupportedError(error.message, error.where, advice) from None


def evaluate_for(module: Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """`road.evaluate`, telling errors with the user's line."""
    try:
        return road.evaluate(module, *inputs)
    except HobError as error:
        place = place_of(module, error)
        if place is None:
            raise
        raise type(error)(error.message, place, error.hint) from None


def refuse_callbacks(module: Module) -> Module:
    """The module, unless it calls back into Python: UnsupportedError with the user's line."""
    for computation in module.computations:
        for instruction in computation:
            target = str(instruction.attributes.get("custom_call_target", ""))
            if "callback" in target:
                raise UnsupportedError(
                    "calls back into Python, which only JAX can run",
                    where=user_place(module, instruction) or instruction.name,
                    hint="leave jax.debug.print, pure_callback and io_callback out of the function",
                )
    return module


@dataclass(frozen=True, slots=True)
class Memory:
    """What a compiled program takes, under JAX's names; the peak is Hob's arena."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    peak_memory_in_bytes: int


def memory_of(module: Module, compilation: Compilation) -> Memory:
    """Temporary is what the arena has beside arguments and results."""
    arguments = sum(shape.size_bytes for shape in arrays.parameter_shapes(module))
    results = sum(shape.size_bytes for shape in road.flat_results(module))
    peak = compilation.assignment.peak_bytes
    return Memory(arguments, results, max(0, peak - arguments - results), peak)


class Compiled:
    """A function compiled for arguments of certain shapes: call it, read its stages, see how it
    went."""

    def __init__(self, lowered: Lowered, compilation: Compilation | None) -> None:
        self.lowered = lowered
        self.compilation = compilation
        self.last: road.Result | None = None
        """The last simulated run; None before, and in evaluate mode."""

    @property
    def module(self) -> Module:
        return self.lowered.module

    @property
    def in_tree(self) -> Any:
        return self.lowered.in_tree

    @property
    def out_tree(self) -> Any:
        return self.lowered.out_tree

    @property
    def out_info(self) -> Any:
        """The result tree, of shapes and types."""
        return self.lowered.out_info

    def cost_analysis(self) -> Any:
        """XLA's count of floating-point operations and bytes, of the program as traced."""
        return self.lowered.cost_analysis()

    def memory_analysis(self) -> Memory:
        """The bytes of arguments, results and everything else. Raises InputError in evaluate
        mode, where no memory is assigned."""
        if self.compilation is None:
            raise InputError("no memory is assigned", hint='compile with mode="simulate"')
        return memory_of(self.module, self.compilation)

    def as_text(self, stage: str | None = None) -> str:
        """The program at a stage (the names of `hob stages`), the optimised HLO by default; the HLO
        as traced in evaluate mode."""
        if self.compilation is None:
            return str(self.module)
        from compiler.compilation import Stage

        for known, document in self.compilation.documents.items():
            if known.value == (stage or Stage.HLO_FUSED.value):
                return str(document)
        known_stages = ", ".join(stage.value for stage in self.compilation.documents)
        raise InputError(f"there is no stage '{stage}', there are: {known_stages}", where="as_text")

    def report(self) -> Report:
        """The report of the last run. Raises InputError when there was none."""
        if self.last is None:
            raise InputError("no simulated run yet", hint='call the function in mode="simulate"')
        return road.report(self.last)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Runs for arguments of exactly the traced shapes and types (static ones left out, as in
        JAX)."""
        statics = frontend.Statics()
        call = frontend.take_apart(self._inner, statics, arguments, keywords)
        if call.key[:2] != self.lowered.call.key[:2]:
            told = [
                ", ".join(f"{name}: {kind}" for name, kind in c.described)
                for c in (call, self.lowered.call)
            ]
            raise InputError(f"compiled for ({told[1]}), called with ({told[0]})")
        return self.run(call)

    @staticmethod
    def _inner(*_arguments: Any, **_keywords: Any) -> None:
        """Stands for the function where only the arguments matter."""

    def run(self, call: frontend.Call) -> Any:
        """Runs for a call that is known to fit."""
        traced = self.lowered.traced
        inputs = traced.inputs(call.leaves)
        if self.compilation is None:
            return traced.results(evaluate_for(self.module, inputs))
        result = road.run(self.compilation, inputs=inputs)
        self.last = result
        if not result.matches:
            LOGGER.warning("%s: the machine differs from the evaluator: %s",
                           self.module.name, result.evaluator)  # fmt: skip
        return traced.results(result.outputs)

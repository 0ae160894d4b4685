"""The HLO program: modules of computations of instructions, all immutable.

Instructions refer to one another, and to computations, by name, so a pass shares every part it does
not change. `compiler.hlo.rewriter` builds a changed module from an old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from compiler.hlo.attributes import (
    NO_ATTRIBUTES,
    Attributes,
    DotDimensions,
    Metadata,
)
from compiler.hlo.literal import Literal
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, Shape, TupleShape
from isas.errors import InputError

Found = TypeVar("Found")

CALLEE_KEYS = (
    "to_apply",
    "calls",
    "condition",
    "body",
    "select",
    "scatter",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
)
"""The attributes whose values name computations (one name, or a tuple of names)."""

_CALLEES = frozenset(CALLEE_KEYS)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One operation and the value it yields.

    ``operands`` name instructions of the same computation. ``literal`` is set for constants only.
    ``origin`` names the instructions of the input program that this one stems from, its own name
    when empty. ``line`` is its place in the source text (0: none) and takes no part in comparison.
    """

    name: str
    opcode: Opcode
    shape: Shape
    operands: tuple[str, ...] = ()
    attributes: Attributes = NO_ATTRIBUTES
    literal: Literal | None = None
    metadata: Metadata | None = None
    origin: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def origins(self) -> tuple[str, ...]:
        """The instructions of the input program this one stems from; never empty."""
        return self.origin or (self.name,)

    @property
    def array(self) -> ArrayShape:
        """The result shape of an instruction that yields one array. Raises InputError otherwise."""
        if not isinstance(self.shape, ArrayShape):
            raise InputError(f"{self.name} yields {self.shape}, an array was expected")
        return self.shape

    @property
    def is_array(self) -> bool:
        return isinstance(self.shape, ArrayShape)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """``dimensions={...}``, empty when absent."""
        found: tuple[int, ...] = self.attributes.get("dimensions", ())
        return found

    @property
    def parameter_number(self) -> int:
        """The number of a parameter, -1 for anything else."""
        number: int = self.attributes.get("parameter_number", -1)
        return number

    @property
    def tuple_index(self) -> int:
        """``index=`` of get-tuple-element, -1 for anything else."""
        index: int = self.attributes.get("index", -1)
        return index

    @property
    def dot(self) -> DotDimensions:
        """The dimension numbers of a dot."""
        get = self.attributes.get
        return DotDimensions(
            get("lhs_contracting_dims", ()),
            get("rhs_contracting_dims", ()),
            get("lhs_batch_dims", ()),
            get("rhs_batch_dims", ()),
        )

    @property
    def callees(self) -> tuple[str, ...]:
        """The computations this instruction names, in the order of `CALLEE_KEYS`."""
        if not self.attributes or _CALLEES.isdisjoint(self.attributes):
            return ()
        found: list[str] = []
        for key in CALLEE_KEYS:
            value = self.attributes.get(key)
            if value is not None:
                found.extend((value,) if isinstance(value, str) else value)
        return tuple(found)

    @property
    def control_predecessors(self) -> tuple[str, ...]:
        """Instructions that must run first although their values are not used here."""
        found: tuple[str, ...] = self.attributes.get("control-predecessors", ())
        return found

    @property
    def has_side_effect(self) -> bool:
        """True when removing or duplicating it could be observed (callees are not looked into)."""
        return self.opcode.has_side_effect or bool(
            self.attributes.get("custom_call_has_side_effect", False)
        )

    def with_operands(self, operands: tuple[str, ...]) -> Instruction:
        return self if operands == self.operands else replace(self, operands=operands)


@dataclass(frozen=True, slots=True, repr=False)
class Computation:
    """A function: instructions in an order where operands come before their users, and the root.

    ``attributes`` are those written after the closing brace (``execution_thread``).
    """

    name: str
    instructions: tuple[Instruction, ...]
    root: str
    attributes: Attributes = NO_ATTRIBUTES
    line: int = field(default=0, compare=False)
    _index: dict[str, Instruction] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _users: dict[str, tuple[str, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _found: dict[str, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def remembered(self, name: str, find: Callable[[Computation], Found]) -> Found:
        """The result of an analysis that depends on this computation alone, made once."""
        if name not in self._found:
            self._found[name] = find(self)
        found: Found = self._found[name]
        return found

    def __repr__(self) -> str:
        return f"Computation({self.name}: {len(self.instructions)} instructions)"

    def _by_name(self) -> dict[str, Instruction]:
        if len(self._index) != len(self.instructions):
            self._index.update((i.name, i) for i in self.instructions)
        return self._index

    def instruction(self, name: str) -> Instruction:
        """The instruction of this name. Raises InputError when there is none."""
        found = self._index.get(name) or self._by_name().get(name)
        if found is None:
            raise InputError(f"computation {self.name} has no instruction {name}")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._by_name()

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)

    @property
    def root_instruction(self) -> Instruction:
        return self.instruction(self.root)

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return self.root_instruction.shape

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters in number order."""
        found = [i for i in self.instructions if i.opcode is Opcode.PARAMETER]
        return tuple(sorted(found, key=lambda i: i.parameter_number))

    def operands(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """The instructions whose values this one takes."""
        return tuple(map(self.instruction, instruction.operands))

    @property
    def users_map(self) -> dict[str, tuple[str, ...]]:
        """For every instruction, who takes its value (each user once, in order). Do not modify."""
        if len(self._users) != len(self.instructions):
            users: dict[str, dict[str, None]] = {i.name: {} for i in self.instructions}
            for instruction in self.instructions:
                for operand in instruction.operands:
                    users.setdefault(operand, {})[instruction.name] = None
            self._users.update((name, tuple(found)) for name, found in users.items())
        return self._users

    def users(self, name: str) -> tuple[str, ...]:
        """The names of the instructions that take this one's value, each once, in order."""
        return self.users_map.get(name, ())


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """``entry_computation_layout={(...)->...}``: how the caller lays out arguments and results."""

    parameters: tuple[Shape, ...]
    result: Shape

    def __str__(self) -> str:
        return f"{{({', '.join(map(str, self.parameters))})->{self.result}}}"


@dataclass(frozen=True, slots=True)
class Alias:
    """One entry of ``input_output_alias``: an output that may live in a parameter's memory."""

    output_index: tuple[int, ...]
    parameter: int
    parameter_index: tuple[int, ...] = ()
    kind: str = ""

    @property
    def must(self) -> bool:
        return self.kind == "must-alias"


@dataclass(frozen=True, slots=True)
class Donor:
    """One entry of ``buffer_donor``: a part of a parameter whose memory may be overwritten."""

    parameter: int
    parameter_index: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One of the tables after the header (FileNames, StackFrames, ...): its lines as they stand."""

    name: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Module:
    """A whole program. ``attributes`` are the header's other entries, in XLA's spelling.

    ``aliases`` are read from ``input_output_alias``. ``source`` names the file it was read from.
    """

    name: str
    computations: tuple[Computation, ...]
    entry: str
    entry_layout: EntryLayout | None = None
    attributes: Attributes = NO_ATTRIBUTES
    tables: tuple[Table, ...] = ()
    source: str | None = field(default=None, compare=False)
    _index: dict[str, Computation] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __repr__(self) -> str:
        parts = f"{self.instruction_count} instructions in {len(self.computations)} computations"
        return f"Module({self.name}: {parts})"

    def computation(self, name: str) -> Computation:
        """The computation of this name. Raises InputError when there is none."""
        if len(self._index) != len(self.computations):
            self._index.update((c.name, c) for c in self.computations)
        found = self._index.get(name)
        if found is None:
            raise InputError(f"module {self.name} has no computation {name}")
        return found

    def __contains__(self, name: object) -> bool:
        return any(c.name == name for c in self.computations)

    @property
    def entry_computation(self) -> Computation:
        return self.computation(self.entry)

    @property
    def aliases(self) -> tuple[Alias, ...]:
        """``input_output_alias``, empty when absent."""
        found: Any = self.attributes.get("input_output_alias", ())
        return found if isinstance(found, tuple) else ()

    @property
    def donors(self) -> tuple[Donor, ...]:
        """``buffer_donor``, empty when absent."""
        found: Any = self.attributes.get("buffer_donor", ())
        return found if isinstance(found, tuple) else ()

    @property
    def instruction_count(self) -> int:
        return sum(len(c) for c in self.computations)

    def callees(self, instruction: Instruction) -> tuple[Computation, ...]:
        """The computations an instruction names."""
        return tuple(map(self.computation, instruction.callees))

    def computations_post_order(self) -> tuple[Computation, ...]:
        """Callees before callers, the entry last; computations nobody calls are left out."""
        done: dict[str, Computation] = {}
        stack: list[tuple[str, bool]] = [(self.entry, False)]
        while stack:
            name, expanded = stack.pop()
            if name in done:
                continue
            computation = self.computation(name)
            if expanded:
                done[name] = computation
                continue
            stack.append((name, True))
            called = [c for i in computation for c in i.callees if c not in done]
            stack.extend((c, False) for c in reversed(called))
        return tuple(done.values())

    def with_computations(self, computations: tuple[Computation, ...]) -> Module:
        return replace(self, computations=computations)

    def __str__(self) -> str:
        from compiler.hlo.text import print_module

        return print_module(self)


def flat_parameters(module: Module) -> tuple[Shape, ...]:
    """The shapes of the entry's parameters, in number order."""
    return tuple(p.shape for p in module.entry_computation.parameters)


def flat_results(module: Module) -> tuple[ArrayShape, ...]:
    """The arrays that the entry yields, in tuple order."""
    from compiler.hlo.shape import leaves

    found = leaves(module.entry_computation.shape)
    return tuple(shape for shape in found if isinstance(shape, ArrayShape))


def tuple_elements(shape: Shape) -> tuple[Shape, ...]:
    """The elements of a tuple shape; any other shape is its own single element."""
    return shape.elements if isinstance(shape, TupleShape) else (shape,)

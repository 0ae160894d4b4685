"""The value of an HLO instruction at an index: the heart of lowering.

`Elemental.element` emits what one element of an instruction is made of, walking from it to
parameters and constants with symbolic indices. An element that was asked for before, at the same
index, is not emitted again. Each opcode's rule is a generator that yields the elements it needs and
is sent their values, so chains of thousands of operations need no Python stack. Anything that has
an element by element form can be lowered by this alone, reduces and dots as loops in place; kernels
that arrange loops better bind the values they have already computed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode as Hlo
from compiler.hlo.shape import ArrayShape, leaves
from compiler.llvm.ir import Value
from compiler.lower.affine import Index
from compiler.lower.arithmetic import Arithmetic
from isas.errors import UnsupportedError

Indices = tuple[Index, ...]
Element = Value | tuple[Value, ...]


@dataclass(slots=True, eq=False)
class Frame:
    """A computation with what its parameters (and whatever else a kernel has at hand) are bound to.

    A binding is asked with an index and answers a value, or the element of another frame to take.
    `depth` is the outermost level at which the bindings' values exist.
    """

    computation: Computation
    bindings: dict[str, Binding] = field(default_factory=dict)
    depth: int = 0

    def instruction(self, name: str) -> Instruction:
        return self.computation.instruction(name)


@dataclass(frozen=True, slots=True)
class Demand:
    """One element of one instruction."""

    frame: Frame
    name: str
    at: Indices

    @property
    def instruction(self) -> Instruction:
        return self.frame.instruction(self.name)

    def operand(self, number: int, at: Indices) -> Demand:
        """An element of an operand."""
        return Demand(self.frame, self.instruction.operands[number], at)

    def operand_shape(self, number: int) -> ArrayShape:
        return self.frame.instruction(self.instruction.operands[number]).array


Binding = Callable[[Indices], Element | Demand]
Step = Generator[Demand, Element, Element]
Rule = Callable[["Elemental", Demand], Step]


class Elemental:
    """Emits elements with an `Arithmetic`. `rules` maps opcodes to their generators."""

    def __init__(
        self,
        module: Module,
        arithmetic: Arithmetic,
        rules: Mapping[Hlo, Rule],
        is_strict: bool = False,
    ) -> None:
        self.module = module
        self.arithmetic = arithmetic
        self.emitter = arithmetic.emitter
        self.rules = rules
        self.is_strict = is_strict

    def value(self, frame: Frame, name: str, at: Indices) -> Value:
        """The one value of an array's element."""
        found = self.element(frame, name, at)
        return found if isinstance(found, Value) else found[0]

    def values(self, frame: Frame, name: str, at: Indices) -> tuple[Value, ...]:
        """The values of one element of each array that an instruction yields."""
        found = self.element(frame, name, at)
        return (found,) if isinstance(found, Value) else found

    def element(self, frame: Frame, name: str, at: Indices) -> Element:
        """The value (of a tuple-shaped instruction: the values) at an index. Raises
        UnsupportedError."""
        outer = self.emitter.origins
        stack: list[tuple[Demand, Step]] = []
        result: Element | None = self._begin(Demand(frame, name, at), stack)
        while stack:
            demand, step = stack[-1]
            self.emitter.origins = demand.instruction.origins
            try:
                wanted = next(step) if result is None else step.send(result)
            except StopIteration as stop:
                stack.pop()
                result = stop.value
                self._remember(demand, result)
            else:
                result = self._begin(wanted, stack)
        self.emitter.origins = outer
        return result  # type: ignore[return-value]

    def _begin(self, demand: Demand, stack: list[tuple[Demand, Step]]) -> Element | None:
        for level in reversed(self.emitter.levels):
            found = level.elements.get((demand.frame, demand.name, demand.at))
            if found is not None:
                return found  # type: ignore[return-value]
        stack.append((demand, self._rule(demand)))
        return None

    def _remember(self, demand: Demand, result: Element) -> None:
        values = (result,) if isinstance(result, Value) else result
        depth = max((self.emitter.depth_of(value) for value in values), default=0)
        self.emitter.levels[depth].elements[(demand.frame, demand.name, demand.at)] = result

    def _rule(self, demand: Demand) -> Step:
        binding = demand.frame.bindings.get(demand.name)
        if binding is not None:
            return _bound(binding, demand.at)
        rule = self.rules.get(demand.instruction.opcode)
        if rule is None:
            raise unsupported(demand.instruction)
        return rule(self, demand)

    def loop_depth(self, demand: Demand) -> int:
        """The outermost level at which a loop for this element can stand."""
        depths = [self.emitter.index_depth(index) for index in demand.at]
        return max([demand.frame.depth, *depths])


def _bound(binding: Binding, at: Indices) -> Step:
    found = binding(at)
    if isinstance(found, Demand):
        return (yield found)
    return found


def one(element: Element) -> Value:
    """The value of an element of an array."""
    return element if isinstance(element, Value) else element[0]


def bind_values(e: Elemental, frame: Frame, values: Sequence[Value]) -> None:
    """Binds a computation's scalar parameters to values."""
    for parameter, value in zip(frame.computation.parameters, values, strict=True):
        frame.bindings[parameter.name] = fixed(value)
        frame.depth = max(frame.depth, e.emitter.depth_of(value))


def fixed(element: Element) -> Binding:
    """A binding that answers the same at every index."""
    return lambda _at: element


def unsupported(instruction: Instruction, why: str = "") -> UnsupportedError:
    """The error that names an instruction which code generation does not cover."""
    where = f"line {instruction.line}" if instruction.line else None
    kinds = ", ".join(str(leaf) for leaf in leaves(instruction.shape))
    detail = f": {why}" if why else f" of {kinds}"
    return UnsupportedError(
        f"code generation does not cover {instruction.opcode}{detail} ({instruction.name})",
        where,
        "`hob evaluate` runs the whole of HLO",
    )

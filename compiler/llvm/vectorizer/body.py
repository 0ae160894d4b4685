"""Writes the body of a vector loop: each copy of the scalar body in turn, every value with its
lanes."""

from __future__ import annotations

from compiler.llvm.analysis.affine import Access
from compiler.llvm.builder import Builder
from compiler.llvm.clone import copy_instruction
from compiler.llvm.ir import BasicBlock, Constant, Function, Instruction, Opcode, Predicate, Value
from compiler.llvm.rules.match import int_constant
from compiler.llvm.types import I1, I8, I64, Type
from compiler.llvm.vectorizer.cost import (
    is_byte_test,
    is_immediate,
    makes_byte,
    mask_type,
    vector_callee,
)
from compiler.llvm.vectorizer.demand import Demand
from compiler.llvm.vectorizer.plan import Plan
from compiler.llvm.vectorizer.reduction import first_accumulator
from compiler.llvm.vectorizer.shape import Reduction, Shape

_SIGNED = frozenset({Predicate.SLT, Predicate.SLE, Predicate.SGT, Predicate.SGE})


class BodyWriter:
    """Fills `body`; what does not change goes to the end of `entry`.

    `vector(value, part)` is a value of the scalar body in the lanes of copy number `part`;
    `scalar(value, offset)` is its scalar form `offset` iterations after the vector's first one."""

    def __init__(
        self,
        function: Function,
        shape: Shape,
        demand: Demand,
        plan: Plan,
        entry: BasicBlock,
        body: BasicBlock,
    ) -> None:
        self.function, self.shape, self.demand, self.plan = function, shape, demand, plan
        self.entry, self.body = entry, body
        self.mask = mask_type(demand, plan.lanes)
        self.outside = Builder(function, entry)
        self.inside = Builder(function, body)
        self.counters: dict[Instruction, Instruction] = {}
        self.scalars: dict[tuple[Value, int], Value] = {}
        self.starts: dict[Value, Value] = {}
        self.repeated: dict[Value, Value] = {}
        self.vectors: dict[tuple[Value, int], Value] = {}
        self.steady: dict[Instruction, Instruction] = {}

    def write(self) -> None:
        """Emits all copies, accumulators and counters; the caller closes the body."""
        self.outside.at(self.entry, self.entry.terminator)
        accumulators = [
            (reduction, part, self._accumulator(reduction, part))
            for reduction in self.shape.reductions
            for part in range(self.plan.parts)
        ]
        self.counter(self.shape.trips.induction.phi)
        wanted = {*self.demand.widened, *(a.instruction for a in self.demand.stores)}
        for part in range(self.plan.parts):
            for instruction in self.shape.loop.instructions():
                if instruction in wanted:
                    self._emit(instruction, part)
        for reduction, part, phi in accumulators:
            phi.add_incoming(self.vector(reduction.last, part), self.body)
        self._count_on()

    # -- phis of the vector loop --------------------------------------------------------------

    def _phi(self, type: Type, stem: str, start: Value, origins: tuple[str, ...]) -> Instruction:
        phi = Instruction(Opcode.PHI, type, name=self.function.fresh_name(stem), origins=origins)
        self.body.insert(len(self.body.phis), phi)
        phi.add_incoming(start, self.entry)
        return phi

    def _accumulator(self, reduction: Reduction, part: int) -> Instruction:
        self.outside.origins = reduction.last.origins
        if reduction.phi not in self.repeated:
            self.repeated[reduction.phi] = first_accumulator(
                self.outside, reduction, self.plan.lanes
            )
        phi = self._phi(
            reduction.phi.type.with_lanes(self.plan.lanes),
            reduction.phi.name,
            self.repeated[reduction.phi],
            reduction.last.origins,
        )
        self.vectors[reduction.phi, part] = phi
        return phi

    def counter(self, phi: Instruction) -> Instruction:
        """The vector loop's own copy of an induction variable."""
        if phi not in self.counters:
            induction = self.shape.inductions[phi]
            self.counters[phi] = self._phi(phi.type, phi.name, induction.start, phi.origins)
        return self.counters[phi]

    def _count_on(self) -> None:
        """All counters and step vectors grow by one iteration of the vector loop."""
        width = self.plan.width
        for phi, counter in self.counters.items():
            induction = self.shape.inductions[phi]
            grown = self._plus(counter, width * induction.step, induction.next.name)
            grown.flags = induction.next.flags & {"nuw", "nsw"}
            counter.add_incoming(grown, self.body)
        for value, vector in self.steady.items():
            step = width * self.demand.steady[value]
            vector.add_incoming(self._plus(vector, step, f"{vector.name}.next"), self.body)

    def _plus(self, value: Value, amount: int, stem: str) -> Instruction:
        return self.inside.binary(Opcode.ADD, value, int_constant(value.type, amount), stem)

    # -- scalars ------------------------------------------------------------------------------

    def scalar(self, value: Value, offset: int) -> Value:
        """The scalar value in iteration `offset` of this vector iteration."""
        if not isinstance(value, Instruction) or self.shape.loop.is_invariant(value):
            return value
        key = (value, offset)
        if key not in self.scalars:
            self.scalars[key] = self._scalar(value, offset)
        return self.scalars[key]

    def _scalar(self, value: Instruction, offset: int) -> Value:
        if value in self.shape.inductions:
            counter = self.counter(value)
            amount = offset * self.shape.inductions[value].step
            return counter if amount == 0 else self._plus(counter, amount, value.name)
        operands = [self.scalar(operand, offset) for operand in value.operands]
        return self.inside.add(_copy(value, operands), value.name)

    def _at_start(self, value: Value) -> Value:
        """The scalar value in the first iteration of all, computed in front of the loop."""
        if not isinstance(value, Instruction) or self.shape.loop.is_invariant(value):
            return value
        if value in self.shape.inductions:
            return self.shape.inductions[value].start
        if value not in self.starts:
            operands = [self._at_start(operand) for operand in value.operands]
            self.outside.origins = value.origins
            self.starts[value] = self.outside.add(_copy(value, operands), value.name)
        return self.starts[value]

    # -- vectors ------------------------------------------------------------------------------

    def vector(self, value: Value, part: int) -> Value:
        """The value in all lanes of one copy."""
        if not isinstance(value, Instruction) or self.shape.loop.is_invariant(value):
            return self._repeat(value)
        if value in self.demand.steady:
            return self._steady(value, part)
        return self.vectors[value, part]

    def _repeat(self, value: Value) -> Value:
        """An invariant value in every lane, made in front of the loop."""
        lanes = self.plan.lanes
        if isinstance(value, Constant):
            scalar = value.value
            filled = None if scalar is None or isinstance(scalar, tuple) else (scalar,) * lanes
            return Constant(value.type.with_lanes(lanes), filled)
        if value not in self.repeated:
            self.outside.origins = value.origins if isinstance(value, Instruction) else ()
            self.repeated[value] = self._splat(value)
        return self.repeated[value]

    def _splat(self, value: Value) -> Value:
        if value.type != I1:
            return self.outside.splat(value, self.plan.lanes)
        wide = self.outside.cast(Opcode.SEXT, value, self.mask.scalar)
        lanes = self.outside.splat(wide, self.plan.lanes)
        return self.outside.icmp(Predicate.NE, lanes, int_constant(self.mask, 0))

    def _steady(self, value: Instruction, part: int) -> Value:
        """A start and a constant step from lane to lane, carried along in a vector."""
        key = (value, part)
        if key in self.vectors:
            return self.vectors[key]
        step = self.demand.steady[value]
        type = value.type.with_lanes(self.plan.lanes)
        if value not in self.steady:
            lanes = tuple(step * lane for lane in range(self.plan.lanes))
            first = self._repeat(self._at_start(value))
            self.outside.origins = value.origins
            start = self.outside.binary(Opcode.ADD, first, Constant(type, lanes), "lanes")
            self.steady[value] = self._phi(type, value.name, start, value.origins)
        vector: Value = self.steady[value]
        if part:
            self.inside.origins = value.origins
            vector = self._plus(vector, part * self.plan.lanes * step, value.name)
        self.vectors[key] = vector
        return vector

    # -- instructions -------------------------------------------------------------------------

    def _emit(self, instruction: Instruction, part: int) -> None:
        self.inside.origins = instruction.origins
        if instruction.opcode is Opcode.STORE:
            self._store(self.shape.accesses[instruction], part)
        elif instruction.opcode is Opcode.LOAD:
            access = self.shape.accesses[instruction]
            self.vectors[instruction, part] = self._load(access, part)
        else:
            self.vectors[instruction, part] = self._widened(instruction, part)

    def _widened(self, i: Instruction, part: int) -> Value:
        if self.mask.bits > 8 and is_byte_test(i):
            return self._byte_test(i, part)
        if self.mask.bits > 8 and makes_byte(i):
            truth = self.vector(i.operands[0], part)
            wide = self.inside.cast(Opcode.ZEXT, truth, self.mask, i.name)
            return self.inside.cast(Opcode.TRUNC, wide, I8.with_lanes(self.plan.lanes), i.name)
        operands = [
            operand if is_immediate(i, number) else self.vector(operand, part)
            for number, operand in enumerate(i.operands)
        ]
        made = _copy(i, operands)
        made.type = i.type.with_lanes(self.plan.lanes)
        if i.opcode is Opcode.CALL:
            made.callee = vector_callee(i, self.plan.lanes)
        return self.inside.add(made, i.name)

    def _byte_test(self, i: Instruction, part: int) -> Value:
        """Bytes are compared in lanes as wide as the others."""
        opcode = Opcode.SEXT if i.predicate in _SIGNED else Opcode.ZEXT
        operands: list[Value] = []
        for operand in i.operands:
            if isinstance(operand, Constant) and isinstance(operand.value, int):
                number = operand.value & 255 if opcode is Opcode.ZEXT else operand.value
                operands.append(int_constant(self.mask, number))
            else:
                vector = self.vector(operand, part)
                operands.append(self.inside.cast(opcode, vector, self.mask, operand.name))
        return self.inside.icmp(i.predicate or Predicate.NE, operands[0], operands[1], i.name)

    def _address(self, access: Access, pointer: Value, offset: int) -> Value:
        """The place of iteration `offset`: a constant distance from the first one's where that is
        known."""
        if offset == 0 or access.stride_bytes is None:
            return self.scalar(pointer, offset)
        first = self.scalar(pointer, 0)
        distance, size = offset * access.stride_bytes, access.type.size_bytes
        element = access.type if distance % size == 0 else I8
        index = Constant(I64, distance // element.size_bytes)
        return self.inside.gep(element, first, index, pointer.name)

    def _load(self, access: Access, part: int) -> Value:
        load, lanes = access.instruction, self.plan.lanes
        first, pointer = part * lanes, load.operands[0]
        type = load.type.with_lanes(lanes)
        if access.is_unit:
            address = self._address(access, pointer, first)
            return self.inside.load(type, address, load.align, load.name)
        if access.stride_bytes == 0:
            one = self.inside.load(load.type, self.scalar(pointer, 0), load.align, load.name)
            return self.inside.splat(one, lanes, load.name)
        vector: Value = Constant(type, None)
        for lane in range(lanes):
            address = self._address(access, pointer, first + lane)
            one = self.inside.load(load.type, address, load.align, load.name)
            vector = self.inside.insert(vector, one, Constant(I64, lane), load.name)
        return vector

    def _store(self, access: Access, part: int) -> None:
        store, lanes = access.instruction, self.plan.lanes
        value, pointer = store.operands
        vector, first = self.vector(value, part), part * lanes
        if access.is_unit:
            self.inside.store(vector, self._address(access, pointer, first), store.align)
            return
        for lane in range(lanes):
            one = self.inside.extract(vector, Constant(I64, lane), value.name)
            self.inside.store(one, self._address(access, pointer, first + lane), store.align)


def _copy(i: Instruction, operands: list[Value]) -> Instruction:
    """The same instruction on other operands, not yet placed or named."""
    return copy_instruction(i, dict(zip(i.operands, operands)), {})

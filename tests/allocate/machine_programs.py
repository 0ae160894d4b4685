"""Random machine functions over a machine's own cards: straight code, diamonds, loops, copies,
ties.

The programs are meaningless but well formed: every register is written before it is read, flags and
fixed registers are set up right before their readers. They end by storing values of every kind.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    Label,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    Operand,
    ParallelCopy,
    Slot,
    Symbol,
    VirtualRegister,
)
from isas.model import Machine, OperandKind, Role, Shape
from isas.registers import Register, WriteRule

Kind = tuple[str, int]
"""(register class, bits) of a value."""


@dataclass(frozen=True)
class Palette:
    """The shapes of a machine sorted by what a generator can do with them."""

    compute: tuple[Shape, ...]
    producers: tuple[Shape, ...]
    branches: tuple[Shape, ...]
    jump: Shape
    loads: dict[Kind, tuple[Shape, ...]]
    stores: dict[Kind, tuple[Shape, ...]]
    predicates: tuple[Shape, ...]
    recipes: dict[Kind, Shape]


def operand_bits(shape: Shape, name: str) -> int:
    """The bits of the value in a register operand."""
    return shape.by_name[name].type.total_bits


def _is_handled(shape: Shape, machine: Machine) -> bool:
    for operand in shape.operands:
        kind = operand.kind
        if kind.is_register:
            if not machine.isa.registers.classes[kind.class_name].allocatable:
                return False
            if machine.isa.registers.classes[kind.class_name].views[kind.view].low_bit:
                return False
        if kind.is_memory and kind.address is None:
            return False
    registers = machine.isa.registers
    names = (*shape.facts.implicit_reads, *shape.facts.implicit_writes)
    fixed = [registers.by_name(name) for name in names]
    return all(register is not None for register in fixed)


def _fixed(names: tuple[str, ...], machine: Machine) -> list[Register]:
    found = (machine.isa.registers.by_name(name) for name in names)
    return [register for register in found if register is not None and register.class_name]


@cache
def palette(machine: Machine) -> Palette:
    """Sorts the shapes of `machine`."""
    handled = [s for s in machine.shapes if _is_handled(s, machine)]
    plain = [s for s in handled if not s.facts.is_branch and not s.facts.is_barrier]
    recipes = _recipes(plain, machine)
    plain = [s for s in plain if _needs(s, machine) <= recipes.keys()]
    compute = tuple(s for s in plain if not s.facts.reads_flags)
    readers = [s for s in plain if s.facts.reads_flags and not s.facts.writes_flags]
    branches = [s for s in handled if s.facts.is_conditional and s.facts.target]
    jumps = [
        s for s in handled
        if s.facts.is_branch and s.facts.target and not s.facts.is_conditional
        and len(s.operands) == 1
    ]  # fmt: skip
    loads: dict[Kind, list[Shape]] = {}
    stores: dict[Kind, list[Shape]] = {}
    for shape in plain:
        if shape.facts.is_load_only and len(shape.operands) == 2:
            name = shape.facts.writes[0]
            kind = shape.by_name[name].kind
            if kind.is_register and not _merges(kind, machine):
                loads.setdefault((kind.class_name, operand_bits(shape, name)), []).append(shape)
        if shape.facts.is_store_only and len(shape.operands) == 2:
            name = shape.facts.reads[0]
            kind = shape.by_name[name].kind
            stores.setdefault((kind.class_name, operand_bits(shape, name)), []).append(shape)
    return Palette(
        compute,
        tuple(s for s in compute if s.facts.writes_flags and not s.facts.stores),
        (*branches, *readers),
        jumps[0],
        {kind: tuple(shapes) for kind, shapes in loads.items()},
        {kind: tuple(shapes) for kind, shapes in stores.items()},
        tuple(s for s in compute if _makes_predicate(s, machine)),
        recipes,
    )


def _needs(shape: Shape, machine: Machine) -> frozenset[Kind]:
    """The kinds of value that an instruction of the shape needs first."""
    facts = shape.facts
    found = {
        (shape.by_name[name].kind.class_name, operand_bits(shape, name)) for name in facts.reads
    }
    if shape.rest is not None:
        rest = shape.by_name[shape.rest]
        found.add((rest.kind.class_name, operand_bits(shape, shape.rest)))
    for register in _fixed(facts.implicit_reads, machine):
        found.add((register.class_name, register.bits))
    forms = [o.kind.address for o in shape.operands if o.kind.is_memory]
    is_stored = bool(facts.stores)
    if any(f is not None and f.has_base and (is_stored or not f.has_symbol) for f in forms):
        found.add(pointer_kind(machine))
    return frozenset(found)


def pointer_kind(machine: Machine) -> Kind:
    """The kind of value that addresses are made of."""
    classes = machine.isa.registers.classes
    return ("gpr" if "gpr" in classes else "reg", machine.isa.pointer_bits)


def _recipes(shapes: list[Shape], machine: Machine) -> dict[Kind, Shape]:
    """For every kind of value a shape that makes one out of kinds that have a recipe before it."""
    recipes: dict[Kind, Shape] = {}
    is_growing = True
    while is_growing:
        is_growing = False
        for shape in shapes:
            facts = shape.facts
            if len(facts.writes) != 1 or facts.reads_flags or facts.writes_flags:
                continue
            name = facts.writes[0]
            kind = (shape.by_name[name].kind.class_name, operand_bits(shape, name))
            if kind not in recipes and _needs(shape, machine) <= recipes.keys():
                recipes[kind] = shape
                is_growing = True
    return recipes


def _merges(kind: OperandKind, machine: Machine) -> bool:
    view = machine.isa.registers.classes[kind.class_name].views[kind.view]
    return view.write_rule is WriteRule.MERGE


def _makes_predicate(shape: Shape, machine: Machine) -> bool:
    guards = machine.isa.guards
    writes = shape.facts.writes
    return (
        guards is not None
        and len(writes) == 1
        and shape.by_name[writes[0]].kind.class_name == guards.class_name
    )


@dataclass
class Generator:
    """Makes one function. `size` is roughly the number of instructions."""

    machine: Machine
    random: random.Random
    size: int = 30
    max_depth: int = 2
    function: MachineFunction = field(init=False)
    block: MachineBlock = field(init=False)
    depth: int = 0

    def __post_init__(self) -> None:
        self.palette = palette(self.machine)
        self.function = MachineFunction("random", [])
        self.block = self._new_block()

    def make(self) -> MachineFunction:
        """A random function."""
        pool: dict[Kind, list[VirtualRegister]] = {}
        for register in self.machine.isa.calling.arguments[: self.random.randint(0, 5)]:
            virtual = self.function.new_virtual(register.class_name, register.bits)
            self.function.incoming.append((virtual, register))
            pool.setdefault((register.class_name, register.bits), []).append(virtual)
        for _ in range(self.random.randint(0, 2)):
            self.function.new_slot(16, 16)
        self._sequence(pool, self.size)
        self._finish(pool)
        return self.function

    # -- structure ----------------------------------------------------------------------------

    def _new_block(self) -> MachineBlock:
        block = MachineBlock(f"b{len(self.function.blocks)}", loop_depth=self.depth)
        self.function.blocks.append(block)
        return block

    def _sequence(self, pool: dict[Kind, list[VirtualRegister]], size: int) -> None:
        while size > 0:
            choice = self.random.random()
            if choice < 0.1 and size > 6 and self.depth < self.max_depth:
                inner = self.random.randint(2, size // 2)
                self._loop(pool, inner)
                size -= inner
            elif choice < 0.2 and size > 6:
                inner = self.random.randint(2, size // 2)
                self._diamond(pool, inner)
                size -= inner
            elif choice < 0.25:
                self._parallel_copy(pool)
                size -= 1
            else:
                self._compute(pool)
                size -= 1

    def _parallel_copy(self, pool: dict[Kind, list[VirtualRegister]]) -> None:
        moves: list[tuple[AnyRegister, AnyRegister]] = []
        for kind, values in sorted(pool.items()):
            chosen = self.random.sample(values, min(len(values), self.random.randint(0, 4)))
            if self.random.random() < 0.5:
                sources = chosen[1:] + chosen[:1]
                moves += zip(chosen, sources)
            else:
                fresh = [self.function.new_virtual(*kind) for _ in chosen]
                moves += zip(fresh, chosen)
                values += fresh
        if moves:
            self.block.instructions.append(ParallelCopy(tuple(moves)))

    def _phis(self, pool: dict[Kind, list[VirtualRegister]]) -> list[tuple[Kind, VirtualRegister]]:
        made: list[tuple[Kind, VirtualRegister]] = []
        for kind, values in sorted(pool.items()):
            for _ in range(self.random.randint(0, min(3, len(values)))):
                made.append((kind, self.function.new_virtual(*kind)))
        return made

    def _copy_into(
        self,
        phis: list[tuple[Kind, VirtualRegister]],
        pool: dict[Kind, list[VirtualRegister]],
    ) -> None:
        moves = [(phi, self.random.choice(pool[kind])) for kind, phi in phis]
        if moves:
            self.block.instructions.append(ParallelCopy(tuple(moves)))

    def _diamond(self, pool: dict[Kind, list[VirtualRegister]], size: int) -> None:
        head = self.block
        phis = self._phis(pool)
        branch = self._condition(pool)
        then = self.block = self._new_block()
        inner = {kind: list(values) for kind, values in pool.items()}
        self._sequence(inner, size // 2)
        self._copy_into(phis, inner)
        then_end = self.block
        other = self.block = self._new_block()
        inner = {kind: list(values) for kind, values in pool.items()}
        self._sequence(inner, size // 2)
        self._copy_into(phis, inner)
        other_end = self.block
        join = self.block = self._new_block()
        branch(head, other, then)
        self._jump(then_end, join)
        other_end.successors = (join.name,)
        for kind, phi in phis:
            pool[kind].append(phi)

    def _loop(self, pool: dict[Kind, list[VirtualRegister]], size: int) -> None:
        phis = self._phis(pool)
        self._copy_into(phis, pool)
        before = self.block
        self.depth += 1
        header = self.block = self._new_block()
        before.successors = (header.name,)
        for kind, phi in phis:
            pool[kind].append(phi)
        self._sequence(pool, size)
        branch = self._condition(pool, lambda: self._copy_into(phis, pool))
        latch = self.block
        self.depth -= 1
        after = self.block = self._new_block()
        branch(latch, header, after)

    def _jump(self, block: MachineBlock, target: MachineBlock) -> None:
        shape = self.palette.jump
        name = shape.facts.target
        assert name is not None
        block.instructions.append(MachineInstruction(shape, {name: Label(target.name)}))
        block.successors = (target.name,)

    def _condition(self, pool, before_branch=lambda: None):  # type: ignore[no-untyped-def]
        """Computes a condition now; the result makes the branch once both targets are known."""
        guards = self.machine.isa.guards
        branches = [s for s in self.palette.branches if s.facts.is_branch]
        if guards is not None:
            kind = (guards.class_name, 1)
            if kind not in pool:
                self._compute(pool, self.random.choice(self.palette.predicates))
            guard = (self.random.choice(pool[kind]), self.random.random() < 0.5)
            before_branch()
            if any(target == guard[0] for target in self._last_targets()):
                guard = (pool[kind][0], guard[1])
            shape, operands = self.palette.jump, {}
        else:
            guard = None
            shape = self.random.choice(branches)
            if shape.facts.reads_flags:
                self._flags_for(pool, shape)
            operands = {name: self._register(pool, shape, name) for name in shape.facts.reads}
            before_branch()

        def finish(block: MachineBlock, taken: MachineBlock, fallen: MachineBlock) -> None:
            target = shape.facts.target
            assert target is not None
            full = {
                o.name: Label(taken.name) if o.name == target
                else operands.get(o.name, Immediate(0))
                for o in shape.operands
            }  # fmt: skip
            block.instructions.append(MachineInstruction(shape, full, guard=guard))
            block.successors = (taken.name, fallen.name)

        return finish

    def _last_targets(self) -> list[AnyRegister]:
        last = self.block.instructions[-1] if self.block.instructions else None
        return [t for t, _ in last.moves] if isinstance(last, ParallelCopy) else []

    def _finish(self, pool: dict[Kind, list[VirtualRegister]]) -> None:
        for kind, shapes in sorted(self.palette.stores.items(), key=lambda row: row[0]):
            for value in self.random.sample(pool.get(kind, []), min(3, len(pool.get(kind, [])))):
                self._instruction(pool, self.random.choice(shapes), {0: value})
        ends = [s for s in self.machine.shapes if s.facts.is_return and not s.operands]
        self.block.instructions.append(MachineInstruction(ends[0], {}))

    # -- instructions -------------------------------------------------------------------------

    def _compute(self, pool: dict[Kind, list[VirtualRegister]], shape: Shape | None = None) -> None:
        if shape is None:
            shape = self.random.choice(self.palette.compute)
            readers = [s for s in self.palette.branches if not s.facts.is_branch]
            if readers and self.random.random() < 0.1:
                shape = self.random.choice(readers)
                self._flags_for(pool, shape)
        self._instruction(pool, shape, {})

    def _instruction(
        self,
        pool: dict[Kind, list[VirtualRegister]],
        shape: Shape,
        given: dict[int, VirtualRegister],
    ) -> None:
        operands: dict[str, Operand] = {}
        tied: dict[str, AnyRegister] = {}
        results: list[tuple[Kind, VirtualRegister]] = []
        for operand in shape.operands:
            name, kind = operand.name, operand.kind
            if kind.is_register:
                if name in shape.facts.reads or name == shape.rest:
                    index = len([n for n in operands if n in shape.facts.reads])
                    value = given.get(index) or self._register(pool, shape, name)
                if name in shape.facts.writes:
                    key = (kind.class_name, operand_bits(shape, name))
                    if name in shape.facts.reads:
                        tied[name] = value
                    operands[name] = result = self.function.new_virtual(*key)
                    results.append((key, result))
                else:
                    operands[name] = value
            elif kind.is_memory:
                is_stored = name in shape.facts.stores
                operands[name] = self._address(pool, kind, is_stored)
            elif kind.role is Role.IMMEDIATE:
                operands[name] = self._immediate(kind)
        if tied and self.random.random() < 0.2:
            operands, tied, results = self._updated(operands, tied, results)
        guard = self._guard(pool, operands, results, tied)
        self._set_up_fixed(pool, shape)
        self.block.instructions.append(MachineInstruction(shape, operands, tied=tied, guard=guard))
        self._take_fixed(pool, shape)
        for key, result in results:
            if result not in pool.setdefault(key, []):
                pool[key].append(result)

    def _updated(self, operands, tied, results):  # type: ignore[no-untyped-def]
        """The tied operand updated in place: not single assignment."""
        gone = {operands[name] for name in tied}
        results = [(k, r) for k, r in results if r not in gone]
        return {**operands, **tied}, {}, results

    def _guard(self, pool, operands, results, tied):  # type: ignore[no-untyped-def]
        guards = self.machine.isa.guards
        if guards is None or self.random.random() < 0.7 or (guards.class_name, 1) not in pool:
            return None
        if tied or any(key not in pool for key, _ in results):
            return None
        for key, result in results:
            name = next(n for n, o in operands.items() if o == result)
            operands[name] = self.random.choice(pool[key])
        written = [operands[n] for n in operands]
        if len(set(map(str, written))) < len(written):
            pass
        results.clear()
        return self.random.choice(pool[(guards.class_name, 1)]), self.random.random() < 0.5

    def _set_up_fixed(self, pool: dict[Kind, list[VirtualRegister]], shape: Shape) -> None:
        moves: list[tuple[AnyRegister, AnyRegister]] = []
        for register in _fixed(shape.facts.implicit_reads, self.machine):
            kind = (register.class_name, register.bits)
            moves.append((register, self._value(pool, kind)))
        if moves:
            self.block.instructions.append(ParallelCopy(tuple(moves)))

    def _take_fixed(self, pool: dict[Kind, list[VirtualRegister]], shape: Shape) -> None:
        moves: list[tuple[AnyRegister, AnyRegister]] = []
        for register in _fixed(shape.facts.implicit_writes, self.machine):
            kind = (register.class_name, register.bits)
            virtual = self.function.new_virtual(*kind)
            moves.append((virtual, register))
            pool.setdefault(kind, []).append(virtual)
        if moves:
            self.block.instructions.append(ParallelCopy(tuple(moves)))

    def _register(
        self,
        pool: dict[Kind, list[VirtualRegister]],
        shape: Shape,
        name: str,
    ) -> VirtualRegister:
        kind = shape.by_name[name].kind
        return self._value(pool, (kind.class_name, operand_bits(shape, name)))

    def _value(self, pool: dict[Kind, list[VirtualRegister]], kind: Kind) -> VirtualRegister:
        if kind not in pool:
            self._materialize(pool, kind)
        values = pool[kind]
        if self.random.random() < 0.5:
            return values[-1 - self.random.randrange(min(4, len(values)))]
        return self.random.choice(values)

    def _flags_for(self, pool: dict[Kind, list[VirtualRegister]], reader: Shape) -> None:
        """Sets the flags for `reader`, everything else it needs being there before."""
        for kind in sorted(_needs(reader, self.machine) | {pointer_kind(self.machine)}):
            self._value(pool, kind)
        self._compute(pool, self.random.choice(self.palette.producers))

    def _materialize(self, pool: dict[Kind, list[VirtualRegister]], kind: Kind) -> None:
        """Makes a first value of a kind by the palette's recipe for it."""
        self._instruction(pool, self.palette.recipes[kind], {})

    def _address(
        self,
        pool: dict[Kind, list[VirtualRegister]],
        kind: OperandKind,
        is_stored: bool,
    ) -> Address:
        form = kind.address
        assert form is not None
        if not form.has_base:
            return Address(Symbol(f"p{self.random.randrange(4)}"))
        displacement = form.multiple * self.random.randrange(0, 5)
        if not form.allows_displacement(displacement):
            displacement = 0
        own = [s for s in self.function.slots if not form.space]
        if own and self.random.random() < 0.1 and not form.requires_index:
            return Address(Slot(*_fields(self.random.choice(own))))
        pointer = pointer_kind(self.machine)
        if (
            form.has_symbol
            and not is_stored
            and (pointer not in pool or self.random.random() < 0.1)
        ):
            return Address(Symbol("pool"), displacement=displacement)
        base = self._value(pool, pointer)
        if form.scales and (form.requires_index or self.random.random() < 0.3):
            index = self._value(pool, pointer)
            scale = self.random.choice(form.scales)
            if form.index_excludes_displacement:
                displacement = 0
            return Address(base, index, scale, displacement)
        return Address(base, displacement=displacement)

    def _immediate(self, kind: OperandKind) -> Immediate:
        form = kind.immediate
        assert form is not None
        low, high = max(form.minimum, -100), min(form.maximum, 100)
        value = self.random.randint(low, high)
        return Immediate(value - value % form.multiple)


def _fields(slot: Slot) -> Iterator[int]:
    return iter((slot.number, slot.size_bytes, slot.align_bytes))


def random_function(machine: Machine, seed: int, size: int = 30) -> MachineFunction:
    """The random function number `seed` of a machine."""
    return Generator(machine, random.Random(seed), size).make()

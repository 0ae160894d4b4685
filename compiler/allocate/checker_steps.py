"""What single instructions do to the facts of the allocation checker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.allocate.checker_shapes import (
    Violation,
    check_fixed,
    check_view,
    is_constant,
    is_exchange,
    is_same_shape,
    is_slot,
    makes_same,
    moved_bits,
    physical_in,
    register_in,
    value_name,
)
from compiler.allocate.checker_state import (
    MOST_PARTS,
    PARKED,
    Place,
    State,
    Value,
    slot_places,
    storage_places,
)
from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    MachineFunction,
    MachineInstruction,
    Operand,
    Slot,
    VirtualRegister,
)
from isas.effects import Apply, Effect
from isas.effects import Operand as EffectOperand
from isas.model import Machine, Shape
from isas.registers import Register, WriteRule

WHOLE = 1 << 16
"""More bits than any register has."""


@dataclass(slots=True)
class Steps:
    """Applies instructions to `state`; with `is_checking`, operands that do not hold the right
    value raise Violation. `names` are the virtual registers of the original by number, `parts` how
    many storages they take as far as known.
    """

    original: MachineFunction
    machine: Machine
    state: State
    is_checking: bool
    names: Mapping[int, VirtualRegister]
    parts: dict[int, int]

    # -- what the original says -------------------------------------------------------------

    def rename(self, moves: Sequence[tuple[AnyRegister, AnyRegister]]) -> None:
        """A parallel copy: each destination is from now on another name for its source's value."""
        meant = [(target, dict(self._parts_in(source))) for target, source in moves]
        makers = [(target, self._maker(source)) for target, source in moves]
        for target, _ in moves:
            for number, parts in self._numbers(target):
                self.state.redefine(number, parts)
        for target, places in meant:
            if not places:
                for number, _ in self._numbers(target):
                    self.state.forget(number)
            self._name(target, places)
        for target, maker in makers:
            if maker is not None and isinstance(target, VirtualRegister):
                self.state.made[target.number] = maker

    def _maker(self, register: AnyRegister) -> MachineInstruction | None:
        if isinstance(register, VirtualRegister):
            return self.state.made.get(register.number)
        return None

    def vanish(self, node: MachineInstruction) -> None:
        """An instruction of the original that has no counterpart: a register move only renames, a
        constant is defined and lies nowhere.
        """
        facts = node.shape.facts
        plain = not node.guard and not node.tied and len(node.shape.operands) == 2
        if facts.is_move and plain:
            target = register_in(node.operands[facts.writes[0]])
            source = register_in(node.operands[facts.reads[0]])
            moved = min(operand.kind.bits for operand in node.shape.operands)
            if target.bits != source.bits or moved < target.bits:
                raise Violation(f"{node.shape} changes its value and has been dropped")
            self.rename([(target, source)])
        elif is_constant(node) and not node.guard:
            target = register_in(node.operands[facts.writes[0]])
            for number, parts in self._numbers(target):
                self.state.redefine(number, parts)
            self._note_constant(node)
        else:
            raise Violation(f"{node.shape} has been dropped")

    def _note_constant(self, node: MachineInstruction) -> None:
        if is_constant(node) and not node.guard:
            target = node.operands[node.shape.facts.writes[0]]
            if isinstance(target, VirtualRegister):
                self.state.made[target.number] = node

    def execute(self, before: MachineInstruction, after: MachineInstruction) -> None:
        """An instruction of the original with its allocated counterpart."""
        if not is_same_shape(before, after):
            raise Violation(f"{before.shape} has become {after.shape}")
        if after.tied:
            raise Violation(f"{after.shape} still has a tied operand")
        written: dict[Place, Value] = {}
        for name, meant in before.operands.items():
            self._check_operand(before, after, name, meant)
            if name in before.shape.facts.writes:
                self._collect(written, register_in(meant), physical_in(after.operands[name]), after)
        self._check_guard(before, after)
        registers = self.machine.isa.registers
        for name in before.shape.facts.implicit_reads:
            register = registers.by_name(name)
            if register is not None:
                self._check_read(register, register, after)
        for name in before.shape.facts.implicit_writes:
            register = registers.by_name(name)
            if register is not None:
                self._collect(written, register, register, after)
        self._define(written)
        self._note_constant(before)

    # -- what the allocator inserted ----------------------------------------------------------

    def carry(self, node: MachineInstruction) -> None:
        """An inserted instruction: it may carry values between places and do nothing else."""
        facts, shape = node.shape.facts, node.shape
        if node.guard is not None or facts.implicit_writes or facts.is_branch:
            raise Violation(f"{shape} may not be inserted")
        slots = [o.base for o in node.operands.values() if isinstance(o, Address) and is_slot(o)]
        if facts.is_move and len(shape.operands) == 2:
            target = physical_in(node.operands[facts.writes[0]])
            origin = physical_in(node.operands[facts.reads[0]])
            self._transfer(storage_places(target), storage_places(origin), moved_bits(shape))
        elif facts.is_load_only and slots and isinstance(slots[0], Slot):
            target = physical_in(node.operands[facts.writes[0]])
            places = storage_places(target)
            self._check_fits(shape, slots[0])
            self._transfer(places, slot_places(slots[0], len(places)), moved_bits(shape))
        elif facts.is_store_only and slots and isinstance(slots[0], Slot):
            places = storage_places(physical_in(node.operands[facts.reads[0]]))
            if slots[0] in self.original.slots:
                raise Violation(f"{shape} writes {slots[0]}, which is the program's own")
            self._check_fits(shape, slots[0])
            for part in range(MOST_PARTS):
                self.state.destroy(("slot", slots[0].number, part))
            self._transfer(slot_places(slots[0], len(places)), places, moved_bits(shape))
        elif is_exchange(shape):
            self._exchange(node)
        elif is_constant(node):
            self._rematerialize(node)
        else:
            self._convert(node)

    def _exchange(self, node: MachineInstruction) -> None:
        one, other = (physical_in(operand) for operand in node.operands.values())
        bits = moved_bits(node.shape)
        for first, second in zip(storage_places(one), storage_places(other)):
            left, right = self._carried(first, bits), self._carried(second, bits)
            self.state.put(first, right)
            self.state.put(second, left)

    def _rematerialize(self, node: MachineInstruction) -> None:
        """A constant made again: the place holds every value that the same instruction has made."""
        target = physical_in(node.operands[node.shape.facts.writes[0]])
        equal = sorted(n for n, maker in self.state.made.items() if makes_same(maker, node))
        for part, place in enumerate(storage_places(target)):
            values = [(number, part) for number in equal]
            self.state.put(place, {value: self._part_bits(value) for value in values})

    def _convert(self, node: MachineInstruction) -> None:
        """A predicate kept as 0 or 1 in another class, or brought back."""
        expression = node.shape.effects[0].expression
        if len(node.shape.effects) != 1 or not isinstance(expression, Apply):
            raise Violation(f"{node.shape} may not be inserted")
        arguments = [
            node.operands[a.name] for a in expression.arguments if isinstance(a, EffectOperand)
        ]
        target = physical_in(node.operands[node.shape.facts.writes[0]])
        numbers = [o.value for o in arguments if isinstance(o, Immediate)]
        (place,), origin = storage_places(target), storage_places(physical_in(arguments[0]))[0]
        found = self.state.values_in(origin)
        bits = {(n, PARKED): 1 for n, part in found if self._is_one_bit(n, part)}
        effect = expression.effect
        if (effect is Effect.SELECT and numbers == [1, 0]) or (
            effect is Effect.ZEXT and not numbers
        ):
            self.state.put(place, bits)
        elif effect is Effect.ICMP_NE and numbers == [0]:
            self.state.put(place, {(n, 0): 1 for n, part in found if part == PARKED})
        else:
            raise Violation(f"{node.shape} may not be inserted")

    def _is_one_bit(self, number: int, part: int) -> bool:
        return number >= 0 and part == 0 and self.names[number].bits == 1

    def _transfer(self, to: Sequence[Place], origin: Sequence[Place], bits: int) -> None:
        if len(to) != len(origin):
            raise Violation("a move between registers of different size")
        carried = [self._carried(place, bits) for place in origin]
        for place, values in zip(to, carried):
            self.state.put(place, values)

    def _carried(self, place: Place, bits: int) -> dict[Value, int]:
        """What `bits` bits read from `place` hold of its values."""
        return {value: min(held, bits) for value, held in self.state.values_in(place).items()}

    def _check_fits(self, shape: Shape, slot: Slot) -> None:
        memory = next(o.kind.bits for o in shape.operands if o.kind.is_memory)
        if memory > slot.size_bytes * 8:
            raise Violation(f"{shape} reaches beyond {slot}")

    # -- helpers --------------------------------------------------------------------------------

    def _check_operand(
        self, before: MachineInstruction, after: MachineInstruction, name: str, meant: Operand
    ) -> None:
        found = after.operands[name]
        facts = before.shape.facts
        if isinstance(meant, VirtualRegister | Register):
            if name in facts.reads:
                bits = before.shape.by_name[name].kind.bits
                self._check_read(before.tied.get(name, meant), found, after, bits)
            elif name in facts.writes and self._keeps_old(before, name, meant):
                self._check_read(meant, found, after)
            if isinstance(found, Register):
                check_fixed(meant, found, after)
                check_view(found, name, after)
        elif isinstance(meant, Address) and isinstance(found, Address):
            self._check_address(meant, found, after)
        elif meant != found:
            raise Violation(f"{after.shape}: {meant} has become {found}")

    def _check_address(self, meant: Address, found: Address, node: MachineInstruction) -> None:
        if (meant.scale, meant.displacement) != (found.scale, found.displacement):
            raise Violation(f"{node.shape} has another address")
        for one, other in ((meant.base, found.base), (meant.index, found.index)):
            if isinstance(one, VirtualRegister | Register):
                self._check_read(one, other, node)
                if isinstance(other, Register):
                    check_fixed(one, other, node)
            elif one != other:
                raise Violation(f"{node.shape}: address of {one} has become {other}")

    def _check_guard(self, before: MachineInstruction, after: MachineInstruction) -> None:
        if before.guard is None and after.guard is None:
            return
        if before.guard is None or after.guard is None or before.guard[1] != after.guard[1]:
            raise Violation(f"{after.shape} has another guard")
        self._check_read(before.guard[0], after.guard[0], after)

    def _keeps_old(self, node: MachineInstruction, name: str, meant: AnyRegister) -> bool:
        """Whether the instruction leaves part of an earlier value of `meant` in place."""
        if node.guard is not None:
            return True
        kind = node.shape.by_name[name].kind
        view = self.machine.isa.registers.classes[kind.class_name].views[kind.view]
        return view.write_rule is WriteRule.MERGE and view.bits < meant.bits

    def _check_read(
        self, meant: AnyRegister, found: object, node: MachineInstruction, bits: int = WHOLE
    ) -> None:
        """`found` (a register, or a slot in place of one) must hold `bits` bits of `meant`."""
        if isinstance(found, Address) and isinstance(found.base, Slot) and is_slot(found):
            self._check_fits(node.shape, found.base)
            places = slot_places(found.base, 1)
        elif isinstance(found, Address) and self._is_loaded(meant, found, node):
            return
        elif isinstance(found, Register):
            places = storage_places(found)
        else:
            raise Violation(f"{node.shape}: {meant} has become {found}")
        values = list(self._values(meant))
        if not self.is_checking:
            return
        for value, place in zip(values, places):
            needed = min(bits, self._part_bits(value), meant.bits)
            if not self.state.holds(place, value, needed):
                raise Violation(
                    f"{node.shape} reads {meant} from {found}, which {self._says(place)}"
                )

    def _is_loaded(self, meant: AnyRegister, found: Address, node: MachineInstruction) -> bool:
        """Whether `meant` is a constant that the original loads from just that address."""
        maker = self._maker(meant)
        if maker is None or not maker.shape.facts.is_load_only:
            return not self.is_checking
        name = maker.shape.facts.loads[0]
        bits = max(o.kind.bits for o in node.shape.operands if o.kind.is_memory)
        return maker.operands[name] == found and bits <= maker.shape.by_name[name].kind.bits

    def _says(self, place: Place) -> str:
        names = sorted(value_name(value) for value in self.state.values_in(place))
        return f"holds {' '.join(names)}" if names else "holds nothing known"

    def _collect(
        self,
        written: dict[Place, Value],
        meant: AnyRegister,
        found: Register,
        node: MachineInstruction,
    ) -> None:
        places = storage_places(found)
        values = list(self._values(meant))
        if len(places) != len(values):
            raise Violation(f"{node.shape} writes {meant} to {found}, which has another size")
        for place, value in zip(places, values):
            if place in written and written[place] != value:
                raise Violation(f"{node.shape} writes two values to {found}")
            written[place] = value

    def _define(self, written: Mapping[Place, Value]) -> None:
        for number in {value[0] for value in written.values()}:
            self.state.redefine(number, [v[1] for v in written.values() if v[0] == number])
        for place, value in written.items():
            self.state.put(place, {value: self._part_bits(value)})

    def _values(self, register: AnyRegister) -> Iterator[Value]:
        """The values that a register of the original means, by part."""
        for number, parts in self._numbers(register):
            for part in parts:
                yield number, part

    def _numbers(self, register: AnyRegister) -> Iterator[tuple[int, range]]:
        if isinstance(register, Register):
            for storage in register.storages:
                yield -1 - storage, range(1)
            return
        yield register.number, range(self._part_count(register))

    def _part_count(self, register: VirtualRegister) -> int:
        known = self.parts.get(register.number)
        if known is None:
            views = self.machine.isa.registers.classes[register.register_class].views.values()
            known = min(v.storages_per_register for v in views if v.bits >= register.bits)
            self.parts[register.number] = known
        return known

    def _part_bits(self, value: Value) -> int:
        """How many bits of a place the whole value takes (a fixed register: all there are)."""
        number, part = value
        if part == PARKED:
            return 1
        if number < 0:
            return WHOLE
        register = self.names[number]
        if self._part_count(register) == 1:
            return register.bits
        return self.machine.isa.registers.classes[register.register_class].storage_bits

    def _parts_in(self, register: AnyRegister) -> Iterator[tuple[int, dict[Place, int]]]:
        """The parts of a source with the places that hold them; parts not defined are left out."""
        if isinstance(register, VirtualRegister):
            yield from self.state.parts_of(register.number)
            return
        for part, storage in enumerate(register.storages):
            places = self.state.where.get((-1 - storage, 0))
            if places is not None:
                yield part, dict(places)

    def _name(self, target: AnyRegister, places: Mapping[int, Mapping[Place, int]]) -> None:
        for part, held in places.items():
            value: Value
            if isinstance(target, VirtualRegister):
                value = (target.number, part)
            else:
                value = (-1 - target.storages[part], 0)
            for place, bits in sorted(held.items()):
                self.state.put(place, {**self.state.values_in(place), value: bits})

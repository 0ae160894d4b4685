"""The cards that move, store and reload a value of a register class, found by their effect.

Nothing here knows a mnemonic: a move is a card whose only effect is `d = a` between two registers
of the class, a reload one whose only effect is `d = load(m)`, and so on. Among several the cheapest
on the core is taken, then the one that moves the fewest bits, then the first in the ISA.

A class without loads and stores of its own (simt's predicates) is kept in another class: `park` is
a select of two constants by the predicate, `unpark` a comparison that gives the predicate back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    MachineInstruction,
    Operand,
    Role,
    Slot,
    VirtualRegister,
)
from compiler.machine.timing import timing
from isas.cores import Core
from isas.effects import Apply, Effect
from isas.effects import Operand as EffectOperand
from isas.errors import InternalError, UnsupportedError
from isas.model import Machine, Shape
from isas.registers import Register, View, WriteRule


def latency_cycles(shape: Shape, core: Core) -> int:
    """Cycles from issue to result."""
    return timing(shape, core).latency


def view_for(machine: Machine, class_name: str, bits: int) -> View:
    """The narrowest view of a class that holds `bits`, one that defines the whole register before
    one that merges. Raises UnsupportedError when no view is that wide.
    """
    views = machine.isa.registers.classes[class_name].views.values()
    wide = [view for view in views if view.bits >= bits and view.low_bit == 0]
    if not wide:
        raise UnsupportedError(f"no {class_name} register of {machine.isa.name} holds {bits} bits")
    return min(wide, key=lambda view: (view.write_rule is WriteRule.MERGE, view.bits, view.name))


FRAME_SPACE = "local"
"""The address space of the frame, where an ISA has spaces; slots need no base register there."""


@dataclass(slots=True)
class MoveCards:
    """Finds and remembers the cards of one machine."""

    machine: Machine
    _found: dict[tuple[str, str, int], Shape | None] = field(default_factory=dict)
    _pairs: dict[tuple[str, int], tuple[Shape, Shape] | None] = field(default_factory=dict)

    def move(self, class_name: str, bits: int) -> Shape | None:
        """A card that copies at least `bits` bits from one register of the class to another."""

        def fits(shape: Shape) -> int | None:
            if not shape.facts.is_move or len(shape.operands) != 2:
                return None
            return self._register_bits(shape, class_name, bits)

        return self._best(("move", class_name, bits), fits)

    def store(self, class_name: str, bits: int) -> Shape | None:
        """A card that stores at least `bits` bits of a register to the frame, for `load` to
        read.
        """
        pair = self._pair(class_name, bits)
        return pair[0] if pair else None

    def load(self, class_name: str, bits: int) -> Shape | None:
        """The card that reloads what `store` has stored."""
        pair = self._pair(class_name, bits)
        return pair[1] if pair else None

    def _pair(self, class_name: str, bits: int) -> tuple[Shape, Shape] | None:
        key = (class_name, bits)
        if key not in self._pairs:
            self._pairs[key] = self._narrowest_pair(class_name, bits)
        return self._pairs[key]

    def _narrowest_pair(self, class_name: str, bits: int) -> tuple[Shape, Shape] | None:
        """A store and a load of one width: the narrowest that holds the value and has both."""
        widths = sorted(
            {v.bits for v in self.machine.isa.registers.classes[class_name].views.values()}
            | {kind.bits for kind in self.machine.isa.kinds.values() if kind.is_register}
        )
        for width in widths:
            if width >= bits:
                store = self._memory_card("store", class_name, width)
                load = self._memory_card("load", class_name, width)
                if store is not None and load is not None:
                    return store, load
        return None

    def _memory_card(self, direction: str, class_name: str, width: int) -> Shape | None:
        def fits(shape: Shape) -> int | None:
            facts = shape.facts
            is_right = facts.is_store_only if direction == "store" else facts.is_load_only
            if not is_right or not self._reaches_frame(shape):
                return None
            found = self._register_bits(shape, class_name, width)
            return found if found == width else None

        return self._best((direction, class_name, width), fits)

    def exchange(self, class_name: str, bits: int) -> Shape | None:
        """A card that swaps two registers of the class, if the ISA has one."""

        def fits(shape: Shape) -> int | None:
            return self._register_bits(shape, class_name, bits) if _is_exchange(shape) else None

        return self._best(("exchange", class_name, bits), fits)

    def park(self, class_name: str) -> Shape | None:
        """`d = zext(p)` or `d = select(p, 1, 0)` with p in the class and d in one that can be
        stored.
        """

        def fits(shape: Shape) -> int | None:
            return self._parked_bits(shape, class_name) if _is_park(shape, class_name) else None

        return self._best(("park", class_name, 1), fits)

    def unpark(self, class_name: str) -> Shape | None:
        """`p = icmp.ne(a, 0)` with p in the class and a in the class that `park` writes."""
        park = self.park(class_name)
        if park is None:
            return None
        home = park.by_name[park.facts.writes[0]].kind

        def fits(shape: Shape) -> int | None:
            return home.bits if _is_unpark(shape, class_name, home.class_name, home.bits) else None

        return self._best(("unpark", class_name, 1), fits)

    def slot_bytes(self, class_name: str, bits: int) -> int:
        """The bytes that `store` writes and `load` reads. Raises UnsupportedError without them."""
        store = self.store(class_name, bits)
        if store is None or self.load(class_name, bits) is None:
            raise UnsupportedError(
                f"{self.machine.isa.name} has no cards to store and reload a {bits}-bit "
                f"{class_name} register, so none can be spilled"
            )
        return _memory_bits(store) // 8

    def reload_cycles(self, class_name: str, bits: int) -> int:
        """The latency of a reload (1 where the class has none)."""
        load = self.load(class_name, bits)
        return latency_cycles(load, self.machine.core) if load else 1

    def _best(self, key: tuple[str, str, int], fits: Callable[[Shape], int | None]) -> Shape | None:
        if key not in self._found:
            self._found[key] = self._search(fits)
        return self._found[key]

    def _search(self, fits: Callable[[Shape], int | None]) -> Shape | None:
        core = self.machine.core
        ranked = [
            (_merges(shape, self.machine), bits, latency_cycles(shape, core), shape.id, shape)
            for shape in self.machine.shapes
            if (bits := fits(shape)) is not None
        ]
        return min(ranked, key=lambda row: row[:-1])[-1] if ranked else None

    def _register_bits(self, shape: Shape, class_name: str, bits: int) -> int | None:
        kinds = [operand.kind for operand in shape.operands if operand.kind.is_register]
        if not kinds or any(kind.class_name != class_name for kind in kinds):
            return None
        narrowest = min(kind.bits for kind in kinds)
        is_plain = all(_starts_low(self.machine, kind.class_name, kind.view) for kind in kinds)
        return narrowest if is_plain and narrowest >= bits else None

    def _parked_bits(self, shape: Shape, class_name: str) -> int | None:
        home = shape.by_name[shape.facts.writes[0]].kind
        if home.class_name == class_name or self.store(home.class_name, home.bits) is None:
            return None
        return home.bits

    def _reaches_frame(self, shape: Shape) -> bool:
        memory = [operand.kind for operand in shape.operands if operand.kind.is_memory]
        registers = [operand.kind for operand in shape.operands if operand.kind.is_register]
        if len(memory) != 1 or len(registers) != 1 or len(shape.operands) != 2:
            return False
        form = memory[0].address
        if form is None or form.requires_index or memory[0].bits != registers[0].bits:
            return False
        return form.space == FRAME_SPACE or (not form.space and form.has_base)


def _starts_low(machine: Machine, class_name: str, view: str) -> bool:
    return machine.isa.registers.classes[class_name].views[view].low_bit == 0


def _merges(shape: Shape, machine: Machine) -> bool:
    classes = machine.isa.registers.classes
    return any(
        classes[kind.class_name].views[kind.view].write_rule is WriteRule.MERGE
        for name in shape.facts.writes
        if (kind := shape.by_name[name].kind).is_register
    )


def _memory_bits(shape: Shape) -> int:
    return next(operand.kind.bits for operand in shape.operands if operand.kind.is_memory)


def _is_exchange(shape: Shape) -> bool:
    if len(shape.effects) != 2 or len(shape.operands) != 2:
        return False
    pairs = {(str(effect.target), str(effect.expression)) for effect in shape.effects}
    one, other = (operand.name for operand in shape.operands)
    return pairs == {(one, other), (other, one)}


def _is_park(shape: Shape, class_name: str) -> bool:
    """Whether the shape is `d = zext(p)` or `d = select(p, x, y)` with integer immediates x, y."""
    if len(shape.effects) != 1 or shape.facts.implicit_writes or len(shape.facts.writes) != 1:
        return False
    expression = shape.effects[0].expression
    if not isinstance(expression, Apply) or not expression.type.is_int:
        return False
    names = [a.name for a in expression.arguments if isinstance(a, EffectOperand)]
    wanted = {Effect.ZEXT: 1, Effect.SELECT: 3}.get(expression.effect)
    if len(names) != wanted or len(shape.operands) != wanted + 1:
        return False
    kinds = [shape.by_name[name].kind for name in names]
    is_predicate = kinds[0].is_register and kinds[0].class_name == class_name
    is_one_bit = shape.by_name[names[0]].type.total_bits == 1
    return is_predicate and is_one_bit and all(kind.immediate is not None for kind in kinds[1:])


def _is_unpark(shape: Shape, class_name: str, home: str, home_bits: int) -> bool:
    """Whether the shape is `p = icmp.ne(a, x)` with an immediate x and a in the home class."""
    if len(shape.effects) != 1 or shape.facts.implicit_writes or len(shape.facts.writes) != 1:
        return False
    expression = shape.effects[0].expression
    if not isinstance(expression, Apply) or expression.effect is not Effect.ICMP_NE:
        return False
    names = [a.name for a in expression.arguments if isinstance(a, EffectOperand)]
    if len(names) != 2 or len(shape.operands) != 3:
        return False
    value, constant = (shape.by_name[name].kind for name in names)
    target = shape.by_name[shape.facts.writes[0]].kind
    is_home = value.is_register and value.class_name == home and value.bits == home_bits
    return is_home and constant.immediate is not None and target.class_name == class_name


def move_instruction(
    shape: Shape, destination: AnyRegister, source: AnyRegister, about: VirtualRegister | None
) -> MachineInstruction:
    """`destination = source` by a move card."""
    target = shape.facts.writes[0]
    operands: dict[str, Operand] = {
        operand.name: destination if operand.name == target else source
        for operand in shape.operands
    }
    return MachineInstruction(shape, operands, role=Role.COPY, about=about)


def _in_order(shape: Shape, operands: dict[str, Operand]) -> dict[str, Operand]:
    return {operand.name: operands[operand.name] for operand in shape.operands}


def memory_instruction(
    shape: Shape, register: AnyRegister, slot: Slot, role: Role, about: VirtualRegister | None
) -> MachineInstruction:
    """A spill or reload: the shape's register operand and its memory operand, which is the slot."""
    operands: dict[str, Operand] = {
        operand.name: Address(base=slot) if operand.kind.is_memory else register
        for operand in shape.operands
    }
    return MachineInstruction(shape, operands, role=role, about=about)


def required(shape: Shape | None, purpose: str) -> Shape:
    """The card, which an earlier decision has made sure of."""
    if shape is None:
        raise InternalError(f"there is no card to {purpose}")
    return shape


def _argument_names(shape: Shape) -> list[str]:
    """The arguments of the only effect, in order."""
    expression = shape.effects[0].expression
    return [str(a) for a in expression.arguments] if isinstance(expression, Apply) else []


def park_instruction(
    shape: Shape, home: AnyRegister, predicate: AnyRegister, about: VirtualRegister | None
) -> MachineInstruction:
    """`home = zext(predicate)`, or `home = select(predicate, 1, 0)`."""
    names = _argument_names(shape)
    values: list[Operand] = [predicate, Immediate(1), Immediate(0)]
    operands: dict[str, Operand] = dict(zip(names, values)) | {shape.facts.writes[0]: home}
    return MachineInstruction(shape, _in_order(shape, operands), role=Role.SPILL, about=about)


def unpark_instruction(
    shape: Shape, predicate: AnyRegister, home: AnyRegister, about: VirtualRegister | None
) -> MachineInstruction:
    """`predicate = home != 0`."""
    names = _argument_names(shape)
    values: list[Operand] = [home, Immediate(0)]
    operands: dict[str, Operand] = dict(zip(names, values)) | {shape.facts.writes[0]: predicate}
    return MachineInstruction(shape, _in_order(shape, operands), role=Role.RELOAD, about=about)


def exchange_instruction(
    shape: Shape, one: Register, other: Register, about: VirtualRegister | None
) -> MachineInstruction:
    """Swaps two registers."""
    first, second = (operand.name for operand in shape.operands)
    return MachineInstruction(shape, {first: one, second: other}, role=Role.COPY, about=about)

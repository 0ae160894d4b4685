"""Machine functions: blocks of instructions, each an instruction shape of the ISA with its
operands.

Before allocation operands are virtual registers and phis have become parallel copies at block ends;
after it they are physical registers and frame slots. `selected` .. `rescheduled` are all this type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from isas.model import Register, Shape


@dataclass(frozen=True, slots=True)
class VirtualRegister:
    """A value that wants a register. `register_class` is a name of registers.yaml (vec, gpr, reg,
    pred); `bits` its width (which view of the class it needs); prints as v12."""

    number: int
    register_class: str
    bits: int

    def __str__(self) -> str:
        return f"v{self.number}"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the frame (a spilled value's home, or an alloca that survived); prints as
    slot4."""

    number: int
    size_bytes: int
    align_bytes: int

    def __str__(self) -> str:
        return f"slot{self.number}"


@dataclass(frozen=True, slots=True)
class StackArgument:
    """The place of an argument that arrives on the stack, `offset_bytes` above the first such one.
    Only an address's base; the frame's layout turns it into stack pointer + displacement."""

    offset_bytes: int

    def __str__(self) -> str:
        return f"argument+{self.offset_bytes}"


AnyRegister = VirtualRegister | Register


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant in the instruction. Float immediates (simt) hold the bit pattern in `value`."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class SlotOffset:
    """An immediate: how far above the stack pointer a slot lies, once the frame is laid out."""

    slot: Slot

    def __str__(self) -> str:
        return str(self.slot)


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a constant-pool entry, `.LC3`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Address:
    """A memory operand: base + index * scale + displacement. `base` may be a frame slot (the stack
    pointer is filled in when the frame is laid out) or a constant-pool symbol (PC-relative); for
    simt parameters `base` is a Symbol naming the parameter."""

    base: AnyRegister | Slot | Symbol | StackArgument | None = None
    index: AnyRegister | None = None
    scale: int = 1
    displacement: int = 0

    def registers(self) -> tuple[AnyRegister, ...]:
        """The registers the address reads, base before index."""
        parts = (self.base, self.index)
        return tuple(r for r in parts if isinstance(r, VirtualRegister | Register))


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target: a block's name."""

    block: str

    def __str__(self) -> str:
        return self.block


Operand = VirtualRegister | Register | Immediate | SlotOffset | Address | Label


class Role(Enum):
    """Why an instruction is there, beside computing what the program says."""

    COMPUTE = "compute"
    SPILL = "spill"
    RELOAD = "reload"
    REMATERIALIZE = "rematerialize"
    COPY = "copy"  # from a parallel copy, a tied operand or a fixed register
    FRAME = "frame"  # prologue and epilogue


@dataclass(slots=True, eq=False)
class MachineInstruction:
    """`shape` (which card, which operand kinds) with `operands` by the card's operand names.

    Implicit registers that the shape reads or writes beside its operands (flags, rax) are not
    stored here: `shape.facts` names them. The operand's kind says which view of a register is
    accessed, the virtual register's bits how much of it is alive: a 32-bit operand may name a
    64-bit virtual register (its low half), and a write through a view that zeroes the rest defines
    all of it.

    An operand that is both read and written (`shape.facts.tied`) stands once in `operands`: the
    register written. `tied` gives, for such operands, the register whose value is read when that is
    another one; the allocator makes them one register (a copy in front where needed) and leaves
    `tied` empty.

    `guard` is simt's predicate and whether it is negated; a guarded write leaves the old value
    where false. `origins` are HLO instruction names, `value` the IR value it computes (or ""),
    `about` the virtual register a spill, reload or copy is for, `places` where the schedulers put
    it, as `place_name` writes it.
    """

    shape: Shape
    operands: Mapping[str, Operand]
    origins: tuple[str, ...] = ()
    value: str = ""
    tied: Mapping[str, AnyRegister] = field(default_factory=dict)
    guard: tuple[AnyRegister, bool] | None = None
    role: Role = Role.COMPUTE
    about: VirtualRegister | None = None
    places: tuple[str, ...] = ()


def place_name(stage: str, subject: str) -> str:
    """The name of a place `kernel/block:index` in the order that a stage made: other stages have
    places of the same subject."""
    return f"{stage} {subject}"


@dataclass(slots=True, eq=False)
class ParallelCopy:
    """All right sides are read before any left side is written: (destination, source) pairs. Stands
    at the end of a predecessor, before its branches, in place of phis."""

    moves: tuple[tuple[AnyRegister, AnyRegister], ...]
    origins: tuple[str, ...] = ()


MachineNode = MachineInstruction | ParallelCopy


@dataclass(slots=True, eq=False)
class MachineBlock:
    """A label, its instructions and where control may go (names of blocks; the last branch may fall
    through to the next block in order). `loop_depth` counts the loops around it (for spill
    costs)."""

    name: str
    instructions: list[MachineNode] = field(default_factory=list)
    successors: tuple[str, ...] = ()
    loop_depth: int = 0


@dataclass(frozen=True, slots=True)
class PoolConstant:
    """A constant-pool entry: raw little-endian bytes, with the alignment the loads of it need."""

    name: str
    data: bytes
    align_bytes: int


@dataclass(slots=True, eq=False)
class MachineFunction:
    """A kernel in machine code. `incoming` lists the arguments that arrive in registers: the
    virtual register that receives it, with the physical one it arrives in. Arguments in memory (the
    stack, simt's parameter space) are loaded by ordinary instructions in the entry block. `noalias`
    names the parameters that point at memory which no other parameter reaches."""

    name: str
    blocks: list[MachineBlock]
    incoming: list[tuple[VirtualRegister, Register]] = field(default_factory=list)
    constants: dict[str, PoolConstant] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    next_virtual: int = 0
    parameters: tuple[str, ...] = ()
    noalias: frozenset[str] = frozenset()

    def new_virtual(self, register_class: str, bits: int) -> VirtualRegister:
        self.next_virtual += 1
        return VirtualRegister(self.next_virtual - 1, register_class, bits)

    def new_slot(self, size_bytes: int, align_bytes: int) -> Slot:
        slot = Slot(len(self.slots), size_bytes, align_bytes)
        self.slots.append(slot)
        return slot

    def block(self, name: str) -> MachineBlock:
        return next(b for b in self.blocks if b.name == name)

    def instructions(self) -> Iterator[MachineNode]:
        for block in self.blocks:
            yield from block.instructions

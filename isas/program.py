"""A finished program: instructions with physical registers, launches, and the arena they work on.

This is the only thing the compiler and the virtual machine share. Registers inside operands are
`isas.registers.Register`; simt programs may also be printed with virtual ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isas.model import Isa, Shape
from isas.registers import Register


@dataclass(frozen=True, slots=True)
class RegisterOperand:
    """A register."""

    register: Register


@dataclass(frozen=True, slots=True)
class MemoryOperand:
    """The address base + index * scale + displacement, or symbol + displacement.

    `symbol` names an entry of `Program.symbols` (constants) or, in simt parameter space, a
    parameter. `bits` of the access are the shape's.
    """

    base: Register | None = None
    index: Register | None = None
    scale: int = 1
    displacement: int = 0
    symbol: str | None = None


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number: an integer, or a float where the operand's type is one."""

    value: int | float


@dataclass(frozen=True, slots=True)
class LabelTarget:
    """A branch target, a key of `Program.labels`."""

    label: str


ProgramOperand = RegisterOperand | MemoryOperand | Immediate | LabelTarget


@dataclass(frozen=True, slots=True)
class Guard:
    """A predicate register; the instruction has an effect where it is true (or false)."""

    register: Register
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class ProgramInstruction:
    """One instruction. `operands` has exactly the shape's operand names.

    `origin` is the HLO instruction it came from ("" for frame code), `note` a remark such as
    `spill v41 → slot0`, `text` its assembly as printed, `names` are what decisions call it: the IR
    value that it computes (`kernel/%x`), the virtual register that it moves; `places` is where the
    schedulers put it, stage and place.
    """

    shape: Shape
    operands: Mapping[str, ProgramOperand]
    guard: Guard | None = None
    origin: str = ""
    note: str = ""
    text: str = ""
    names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    def register(self, name: str) -> Register | None:
        """The register in operand `name`, or None when it is not a register."""
        operand = self.operands.get(name)
        return operand.register if isinstance(operand, RegisterOperand) else None


@dataclass(frozen=True, slots=True)
class Grid:
    """How a simt kernel is launched: blocks × threads per block; every axis at least 1."""

    blocks: tuple[int, int, int] = (1, 1, 1)
    threads: tuple[int, int, int] = (1, 1, 1)

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return self.blocks[0] * self.blocks[1] * self.blocks[2]

    @property
    def threads_per_block(self) -> int:
        """Threads in one block."""
        return self.threads[0] * self.threads[1] * self.threads[2]


@dataclass(frozen=True, slots=True)
class FramePlace:
    """A slot, or a register kept for the caller (`is_kept`), `offset_bytes` above the lowered stack
    pointer (simt: the start of local memory). `values` names the virtual registers that live there.
    """

    name: str
    offset_bytes: int
    size_bytes: int
    values: tuple[str, ...] = ()
    is_kept: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One kernel in machine form.

    `labels` maps names to instruction indices (equal to len(instructions) for the end). `constants`
    is a pool of bytes with `symbols` naming offsets in it; it is aligned to 64 bytes wherever it is
    placed. `frame_size_bytes` is the spill area, addressed from the stack pointer (CPU) or as
    local memory from 0 (simt). `parameters` are the kernel's pointer parameters, in order.
    `grid` is None on CPUs. `registers_used` maps a class to the sorted indices it touches. `frame`
    says what lies where in the spill area.
    """

    isa: Isa
    name: str
    instructions: tuple[ProgramInstruction, ...]
    labels: Mapping[str, int]
    parameters: tuple[str, ...]
    entry: int = 0
    constants: bytes = b""
    symbols: Mapping[str, int] = field(default_factory=dict)
    frame_size_bytes: int = 0
    shared_size_bytes: int = 0
    grid: Grid | None = None
    registers_used: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    frame: tuple[FramePlace, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """A buffer in the arena: `offset` and `size_bytes`, with the HLO value that lives there."""

    name: str
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Launch:
    """Run `kernel` with pointers to these arena offsets, in the kernel's parameter order."""

    kernel: str
    arguments: tuple[int, ...]
    grid: Grid | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy bytes inside the arena (source and target do not overlap)."""

    source: int
    target: int
    size_bytes: int
    origin: str = ""


@dataclass(frozen=True, slots=True)
class While:
    """Run `condition`; while the byte at `predicate` is not 0, run `body` and `condition` again."""

    condition: tuple[Step, ...]
    predicate: int
    body: tuple[Step, ...]
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Conditional:
    """Run one of `branches`, chosen by the s32 (or, if `is_predicate`, the byte) at `selector`.

    A predicate that is true chooses branch 0; an index out of range chooses the last branch.
    """

    selector: int
    is_predicate: bool
    branches: tuple[tuple[Step, ...], ...]
    origin: str = ""


Step = Launch | Copy | While | Conditional


@dataclass(frozen=True, slots=True, eq=False)
class Executable:
    """A compiled module: kernels, the steps that run them, and where everything lies.

    The host writes inputs to `parameters`, `constants` (bytes) to their offsets, runs `steps` in
    order, and reads `outputs`. Offsets are multiples of 64.
    """

    programs: Mapping[str, Program]
    steps: tuple[Step, ...]
    arena_size_bytes: int
    parameters: tuple[Placement, ...]
    outputs: tuple[Placement, ...]
    constants: tuple[tuple[Placement, bytes], ...] = ()
    temporaries: tuple[Placement, ...] = ()

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches that stand directly in the list of steps."""
        return tuple(step for step in self.steps if isinstance(step, Launch))

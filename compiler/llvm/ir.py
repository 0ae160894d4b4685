"""The IR itself: mutable SSA. A module holds functions, a function blocks, a block instructions;
every value knows its users. What `compiler.llvm.text` prints of it is accepted by real LLVM.

Only scalars, fixed vectors and opaque pointers exist; intrinsics are calls by name
(`llvm.fma.v8f32`). Every instruction carries `origins`, the HLO instructions it stems from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.llvm.callees import CONVERGENT_INTRINSICS as CONVERGENT_INTRINSICS
from compiler.llvm.callees import PURE_INTRINSICS, intrinsic_base
from compiler.llvm.callees import type_suffix as type_suffix
from compiler.llvm.opcodes import Opcode, Predicate
from compiler.llvm.types import LABEL, VOID, Type


class Value:
    """Anything an instruction can use. `users` lists each use once (an instruction that uses a
    value twice stands there twice), in no promised order."""

    __slots__ = ("type", "name", "users")

    def __init__(self, type: Type, name: str = "") -> None:
        self.type = type
        self.name = name
        self.users: list[Instruction] = []

    def __str__(self) -> str:
        return f"%{self.name}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type} {self}>"

    def replace_all_uses_with(self, other: Value) -> None:
        for user in list(dict.fromkeys(self.users)):
            for index, operand in enumerate(user.operands):
                if operand is self:
                    user.set_operand(index, other)


Scalar = int | float


class Constant(Value):
    """A constant: an int (as two's complement, any sign) or float for scalars, a tuple of them for
    vectors, None for poison. A pointer constant is only ever null (0). Float values are exact in
    the type."""

    __slots__ = ("value",)

    def __init__(self, type: Type, value: Scalar | tuple[Scalar, ...] | None) -> None:
        super().__init__(type)
        self.value = value

    @property
    def is_splat(self) -> bool:
        return isinstance(self.value, tuple) and all(
            same_bits(v, self.value[0]) for v in self.value
        )

    @property
    def splat_value(self) -> Scalar | None:
        """The one scalar all lanes hold (scalars: their own value), or None."""
        if isinstance(self.value, tuple):
            return self.value[0] if self.is_splat else None
        return self.value

    def __str__(self) -> str:
        return f"{self.value}"


def same_bits(a: Scalar, b: Scalar) -> bool:
    """Equality that tells -0.0 from 0.0 and calls NaN equal to itself."""
    return repr(a) == repr(b)


def splat(type: Type, value: Scalar) -> Constant:
    """The constant with `value` in every lane of `type` (or the scalar)."""
    return Constant(type, (value,) * type.lanes if type.lanes else value)


class Argument(Value):
    """A kernel parameter: a pointer to an arena slice. `attributes` are printed LLVM parameter
    attributes (`noalias`, `readonly`, `align 64`, `dereferenceable(256)`)."""

    __slots__ = ("attributes", "origins")

    def __init__(
        self, type: Type, name: str, attributes: tuple[str, ...] = (), origins: tuple[str, ...] = ()
    ) -> None:
        super().__init__(type, name)
        self.attributes = attributes
        self.origins = origins


class Instruction(Value):
    """One instruction. What the opcode needs beyond operands:

    `predicate` (icmp, fcmp), `flags` (`nsw`, `reassoc`, `contract`, `exact`, ...), `callee` (call:
    the intrinsic's full name), `mask` (shufflevector: lane numbers, -1 for poison), `element_type`
    (alloca, getelementptr: one index only, `getelementptr inbounds T, ptr p, i64 i`), `count`
    (alloca: elements), `align` (load, store, alloca; bytes), `blocks` (phi: incoming blocks, beside
    operands; br: targets).
    """

    __slots__ = (
        "opcode", "operands", "block", "predicate", "flags", "callee", "mask", "element_type",
        "count", "align", "blocks", "origins",
    )  # fmt: skip

    def __init__(
        self,
        opcode: Opcode,
        type: Type,
        operands: Iterable[Value] = (),
        name: str = "",
        *,
        predicate: Predicate | None = None,
        flags: Iterable[str] = (),
        callee: str = "",
        mask: tuple[int, ...] = (),
        element_type: Type | None = None,
        count: int = 1,
        align: int = 0,
        blocks: Iterable[BasicBlock] = (),
        origins: tuple[str, ...] = (),
    ) -> None:
        super().__init__(type, name)
        self.opcode = opcode
        self.operands: list[Value] = []
        self.block: BasicBlock | None = None
        self.predicate = predicate
        self.flags = frozenset(flags)
        self.callee = callee
        self.mask = mask
        self.element_type = element_type
        self.count = count
        self.align = align
        self.blocks: list[BasicBlock] = list(blocks)
        self.origins = origins
        for operand in operands:
            self.add_operand(operand)

    def add_operand(self, value: Value) -> None:
        self.operands.append(value)
        value.users.append(self)

    def set_operand(self, index: int, value: Value) -> None:
        self.operands[index].users.remove(self)
        self.operands[index] = value
        value.users.append(self)

    def drop_operands(self) -> None:
        for operand in self.operands:
            operand.users.remove(self)
        self.operands.clear()

    def erase(self) -> None:
        """Takes the instruction out of its block and drops its uses. It must have no users."""
        self.drop_operands()
        if self.block is not None:
            self.block.instructions.remove(self)
            self.block = None

    def add_incoming(self, value: Value, block: BasicBlock) -> None:
        """phi only."""
        self.add_operand(value)
        self.blocks.append(block)

    def incoming_from(self, block: BasicBlock) -> Value:
        """phi only: the value that arrives from `block`."""
        return self.operands[self.blocks.index(block)]

    @property
    def intrinsic(self) -> str:
        """A call's intrinsic without its type suffixes: `llvm.fma` of `llvm.fma.v8f32`."""
        return intrinsic_base(self.callee)

    @property
    def has_side_effects(self) -> bool:
        if self.opcode in (Opcode.STORE, Opcode.BR, Opcode.RET, Opcode.UNREACHABLE):
            return True
        return self.opcode is Opcode.CALL and self.intrinsic not in PURE_INTRINSICS


class BasicBlock(Value):
    """A label and its instructions; phis first, one terminator last."""

    __slots__ = ("instructions", "function")

    def __init__(self, name: str) -> None:
        super().__init__(LABEL, name)
        self.instructions: list[Instruction] = []
        self.function: Function | None = None

    @property
    def terminator(self) -> Instruction | None:
        last = self.instructions[-1] if self.instructions else None
        return last if last is not None and last.opcode.is_terminator else None

    @property
    def successors(self) -> list[BasicBlock]:
        return list(self.terminator.blocks) if self.terminator is not None else []

    @property
    def phis(self) -> list[Instruction]:
        return [i for i in self.instructions if i.opcode is Opcode.PHI]

    def append(self, instruction: Instruction) -> Instruction:
        return self.insert(len(self.instructions), instruction)

    def insert(self, index: int, instruction: Instruction) -> Instruction:
        instruction.block = self
        self.instructions.insert(index, instruction)
        return instruction

    def insert_before(self, mark: Instruction, instruction: Instruction) -> Instruction:
        return self.insert(self.instructions.index(mark), instruction)


class Function:
    """A kernel: pointer parameters, void result, the first block is the entry."""

    __slots__ = ("name", "arguments", "blocks", "attributes", "_names")

    def __init__(
        self, name: str, arguments: Iterable[Argument] = (), attributes: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self.arguments = list(arguments)
        self.blocks: list[BasicBlock] = []
        self.attributes = attributes
        self._names: dict[str, int] = {argument.name: 1 for argument in self.arguments}

    @property
    def entry(self) -> BasicBlock:
        return self.blocks[0]

    def add_block(self, name: str, after: BasicBlock | None = None) -> BasicBlock:
        """A new block with a fresh name, at the end or right after another."""
        block = BasicBlock(self.fresh_name(name))
        block.function = self
        index = len(self.blocks) if after is None else self.blocks.index(after) + 1
        self.blocks.insert(index, block)
        return block

    def fresh_name(self, stem: str) -> str:
        """`stem`, or `stem.1`, `stem.2`... if it is taken in this function."""
        count = self._names.get(stem, 0)
        self._names[stem] = count + 1
        return stem if count == 0 else self.fresh_name(f"{stem}.{count}")

    def instructions(self) -> Iterator[Instruction]:
        for block in self.blocks:
            yield from block.instructions

    def predecessors(self) -> dict[BasicBlock, list[BasicBlock]]:
        """Each block's predecessors, in block order; an edge that exists twice is listed twice."""
        before: dict[BasicBlock, list[BasicBlock]] = {block: [] for block in self.blocks}
        for block in self.blocks:
            for successor in block.successors:
                before[successor].append(block)
        return before


class Module:
    """Functions for one target. `triple` and `data_layout` are LLVM's strings (empty: none
    printed)."""

    __slots__ = ("name", "functions", "triple", "data_layout")

    def __init__(self, name: str, triple: str = "", data_layout: str = "") -> None:
        self.name = name
        self.functions: list[Function] = []
        self.triple = triple
        self.data_layout = data_layout

    def function(self, name: str) -> Function:
        return next(f for f in self.functions if f.name == name)


def subject_of(value: Value) -> str:
    """How documents and decisions name a value of the IR: `kernel/%x`; a block `kernel/loop`; an
    instruction without a result by its place, `kernel/loop:3`."""
    block = value if isinstance(value, BasicBlock) else getattr(value, "block", None)
    if not isinstance(block, BasicBlock):
        return str(value)
    kernel = block.function.name if block.function is not None else "?"
    if value is block:
        return f"{kernel}/{block.name}"
    if value.type == VOID:
        return f"{kernel}/{block.name}:{_position(block, value)}"
    return f"{kernel}/{value}"


def _position(block: BasicBlock, value: Value) -> int:
    return next(n for n, instruction in enumerate(block.instructions) if instruction is value)

"""The IR itself: mutable SSA. A module holds functions, a function blocks, a block instructions;
every value knows its users. What `compiler.llvm.text` prints of it is accepted by real LLVM.

Only scalars, fixed vectors and opaque pointers exist; intrinsics are calls by name
(`llvm.fma.v8f32`). Every instruction carries `origins`, the HLO instructions it stems from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from compiler.llvm.types import I1, I64, LABEL, PTR, VOID, Type


class Opcode(Enum):
    """LLVM's instructions, by their printed names."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    SDIV = "sdiv"
    UDIV = "udiv"
    SREM = "srem"
    UREM = "urem"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    LSHR = "lshr"
    ASHR = "ashr"
    FADD = "fadd"
    FSUB = "fsub"
    FMUL = "fmul"
    FDIV = "fdiv"
    FREM = "frem"
    FNEG = "fneg"
    ICMP = "icmp"
    FCMP = "fcmp"
    SELECT = "select"
    ZEXT = "zext"
    SEXT = "sext"
    TRUNC = "trunc"
    BITCAST = "bitcast"
    FPEXT = "fpext"
    FPTRUNC = "fptrunc"
    SITOFP = "sitofp"
    UITOFP = "uitofp"
    FPTOSI = "fptosi"
    FPTOUI = "fptoui"
    PTRTOINT = "ptrtoint"
    INTTOPTR = "inttoptr"
    EXTRACTELEMENT = "extractelement"
    INSERTELEMENT = "insertelement"
    SHUFFLEVECTOR = "shufflevector"
    ALLOCA = "alloca"
    LOAD = "load"
    STORE = "store"
    GETELEMENTPTR = "getelementptr"
    PHI = "phi"
    CALL = "call"
    FREEZE = "freeze"
    BR = "br"  # operands: none or the condition; `blocks` holds the targets
    RET = "ret"
    UNREACHABLE = "unreachable"

    @property
    def is_terminator(self) -> bool:
        return self in (Opcode.BR, Opcode.RET, Opcode.UNREACHABLE)

    @property
    def is_cast(self) -> bool:
        return self in _CASTS

    @property
    def is_binary(self) -> bool:
        return self in _BINARY


_CASTS = frozenset(
    {
        Opcode.ZEXT, Opcode.SEXT, Opcode.TRUNC, Opcode.BITCAST, Opcode.FPEXT, Opcode.FPTRUNC,
        Opcode.SITOFP, Opcode.UITOFP, Opcode.FPTOSI, Opcode.FPTOUI, Opcode.PTRTOINT,
        Opcode.INTTOPTR,
    }
)  # fmt: skip
_BINARY = frozenset(
    {
        Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.SDIV, Opcode.UDIV, Opcode.SREM, Opcode.UREM,
        Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.SHL, Opcode.LSHR, Opcode.ASHR,
        Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FREM,
    }
)  # fmt: skip


class Predicate(Enum):
    """Comparison predicates of icmp and fcmp, by their printed names."""

    EQ = "eq"
    NE = "ne"
    SLT = "slt"
    SLE = "sle"
    SGT = "sgt"
    SGE = "sge"
    ULT = "ult"  # also fcmp: unordered or less
    ULE = "ule"
    UGT = "ugt"
    UGE = "uge"
    OEQ = "oeq"
    ONE = "one"
    OLT = "olt"
    OLE = "ole"
    OGT = "ogt"
    OGE = "oge"
    ORD = "ord"
    UNO = "uno"
    UEQ = "ueq"
    UNE = "une"


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


# Intrinsics without side effects. Names are LLVM's, without type suffixes (LangRef, "Intrinsic
# Functions").
PURE_INTRINSICS = frozenset(
    {
        "llvm.fma", "llvm.fabs", "llvm.sqrt", "llvm.copysign", "llvm.floor", "llvm.ceil",
        "llvm.trunc", "llvm.roundeven", "llvm.round", "llvm.rint", "llvm.nearbyint",
        "llvm.minimum", "llvm.maximum", "llvm.minnum", "llvm.maxnum", "llvm.smin", "llvm.smax",
        "llvm.umin", "llvm.umax", "llvm.abs", "llvm.ctpop", "llvm.ctlz", "llvm.cttz",
        "llvm.bitreverse", "llvm.bswap", "llvm.fshl", "llvm.fshr",
        "llvm.fptosi.sat", "llvm.fptoui.sat",
        "llvm.vector.reduce.fadd", "llvm.vector.reduce.fmul", "llvm.vector.reduce.add",
        "llvm.vector.reduce.mul", "llvm.vector.reduce.and", "llvm.vector.reduce.or",
        "llvm.vector.reduce.xor", "llvm.vector.reduce.smin", "llvm.vector.reduce.smax",
        "llvm.vector.reduce.umin", "llvm.vector.reduce.umax", "llvm.vector.reduce.fminimum",
        "llvm.vector.reduce.fmaximum",
        "llvm.nvvm.read.ptx.sreg.tid.x", "llvm.nvvm.read.ptx.sreg.ctaid.x",
        "llvm.nvvm.read.ptx.sreg.ntid.x", "llvm.nvvm.read.ptx.sreg.nctaid.x",
        "llvm.nvvm.read.ptx.sreg.laneid",
    }
)  # fmt: skip

# Calls that only the simt lowering emits; they order memory or exchange values between lanes.
CONVERGENT_INTRINSICS = frozenset(
    {"llvm.nvvm.shfl.sync.bfly.i32", "llvm.nvvm.shfl.sync.bfly.f32", "llvm.nvvm.shfl.sync.down.i32",
     "llvm.nvvm.shfl.sync.down.f32", "llvm.nvvm.barrier0"}
)  # fmt: skip


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


def intrinsic_base(callee: str) -> str:
    """The intrinsic's name without type suffixes: `llvm.smax` of `llvm.smax.v4i32`. NVVM names are
    whole names and stay as they are."""
    if callee.startswith("llvm.nvvm."):
        return callee
    head, _, tail = callee.rpartition(".")
    is_type = tail[:1] in ("i", "f", "v", "p", "b") and any(c.isdigit() for c in tail)
    return intrinsic_base(head) if head and is_type else callee


def type_suffix(type: Type) -> str:
    """How intrinsic names spell a type: f32, bf16, v8f32, i1, v4i32, p0."""
    if type.is_pointer:
        return f"p{type.address_space}"
    letter = {"int": "i", "float": "f", "bfloat": "bf"}[type.kind.value]
    return (f"v{type.lanes}" if type.lanes else "") + f"{letter}{type.bits}"


class Builder:
    """Appends instructions at the end of a block (or before `before`), with fresh names and the
    current `origins`. It folds nothing: what you ask for is what stands there."""

    __slots__ = ("function", "block", "before", "origins")

    def __init__(self, function: Function, block: BasicBlock | None = None) -> None:
        self.function = function
        self.block = block
        self.before: Instruction | None = None
        self.origins: tuple[str, ...] = ()

    def at(self, block: BasicBlock, before: Instruction | None = None) -> Builder:
        """Moves to `block`'s end, or in front of `before`."""
        self.block, self.before = block, before
        return self

    def add(self, instruction: Instruction, stem: str = "") -> Instruction:
        """Places an instruction made elsewhere; gives it a fresh name unless it is void."""
        if instruction.type != VOID and not instruction.name:
            instruction.name = self.function.fresh_name(stem or instruction.opcode.value)
        if not instruction.origins:
            instruction.origins = self.origins
        if self.block is None:
            raise ValueError("the builder has no block")
        if self.before is not None:
            return self.block.insert_before(self.before, instruction)
        return self.block.append(instruction)

    def binary(
        self, opcode: Opcode, a: Value, b: Value, name: str = "", flags: Iterable[str] = ()
    ) -> Instruction:
        return self.add(Instruction(opcode, a.type, (a, b), flags=flags), name)

    def fneg(self, a: Value, name: str = "") -> Instruction:
        return self.add(Instruction(Opcode.FNEG, a.type, (a,)), name)

    def icmp(self, predicate: Predicate, a: Value, b: Value, name: str = "") -> Instruction:
        return self.add(
            Instruction(Opcode.ICMP, a.type.as_bool(), (a, b), predicate=predicate), name
        )

    def fcmp(self, predicate: Predicate, a: Value, b: Value, name: str = "") -> Instruction:
        return self.add(
            Instruction(Opcode.FCMP, a.type.as_bool(), (a, b), predicate=predicate), name
        )

    def select(self, condition: Value, a: Value, b: Value, name: str = "") -> Instruction:
        return self.add(Instruction(Opcode.SELECT, a.type, (condition, a, b)), name)

    def cast(self, opcode: Opcode, value: Value, type: Type, name: str = "") -> Instruction:
        return self.add(Instruction(opcode, type, (value,)), name)

    def call(self, base: str, type: Type, operands: Iterable[Value], name: str = "") -> Instruction:
        """Calls an overloaded intrinsic: `call("llvm.fma", t, (a, b, c))` names it
        `llvm.fma.<t>`."""
        callee = f"{base}.{type_suffix(type)}"
        return self.add(
            Instruction(Opcode.CALL, type, operands, callee=callee), name or base.rpartition(".")[2]
        )

    def call_exact(
        self, callee: str, type: Type, operands: Iterable[Value] = (), name: str = ""
    ) -> Instruction:
        """Calls by the full name, as it stands."""
        return self.add(Instruction(Opcode.CALL, type, operands, callee=callee), name or "call")

    def alloca(self, type: Type, count: int = 1, name: str = "") -> Instruction:
        """Stack space; lowering puts all of them into the entry block."""
        return self.add(
            Instruction(Opcode.ALLOCA, PTR, element_type=type, count=count, align=type.size_bytes),
            name,
        )

    def load(self, type: Type, address: Value, align: int = 0, name: str = "") -> Instruction:
        align = align or type.scalar.size_bytes
        return self.add(Instruction(Opcode.LOAD, type, (address,), align=align), name)

    def store(self, value: Value, address: Value, align: int = 0) -> Instruction:
        align = align or value.type.scalar.size_bytes
        return self.add(Instruction(Opcode.STORE, VOID, (value, address), align=align))

    def gep(self, element: Type, base: Value, index: Value, name: str = "") -> Instruction:
        """`base + index * sizeof(element)`; index is an i64 in elements."""
        return self.add(
            Instruction(
                Opcode.GETELEMENTPTR,
                base.type,
                (base, index),
                element_type=element,
                flags=("inbounds",),
            ),
            name or "address",
        )

    def phi(self, type: Type, name: str = "") -> Instruction:
        return self.add(Instruction(Opcode.PHI, type), name)

    def extract(self, vector: Value, lane: Value, name: str = "") -> Instruction:
        return self.add(
            Instruction(Opcode.EXTRACTELEMENT, vector.type.scalar, (vector, lane)), name or "lane"
        )

    def insert(self, vector: Value, scalar: Value, lane: Value, name: str = "") -> Instruction:
        return self.add(
            Instruction(Opcode.INSERTELEMENT, vector.type, (vector, scalar, lane)), name or "insert"
        )

    def shuffle(self, a: Value, b: Value, mask: tuple[int, ...], name: str = "") -> Instruction:
        return self.add(
            Instruction(Opcode.SHUFFLEVECTOR, a.type.with_lanes(len(mask)), (a, b), mask=mask),
            name or "shuffle",
        )

    def splat(self, scalar: Value, lanes: int, name: str = "") -> Value:
        """A vector with `scalar` in every lane: insertelement into poison, then a zero shuffle."""
        type = scalar.type.with_lanes(lanes)
        if isinstance(scalar, Constant) and isinstance(scalar.value, (int, float)):
            return Constant(type, (scalar.value,) * lanes)
        poison = Constant(type, None)
        first = self.insert(poison, scalar, Constant(I64, 0), name or "splat.insert")
        return self.shuffle(first, poison, (0,) * lanes, name or "splat")

    def br(self, target: BasicBlock) -> Instruction:
        return self.add(Instruction(Opcode.BR, VOID, (), blocks=(target,)))

    def cond_br(self, condition: Value, if_true: BasicBlock, if_false: BasicBlock) -> Instruction:
        if condition.type != I1:
            raise ValueError(f"a branch condition must be i1, not {condition.type}")
        return self.add(Instruction(Opcode.BR, VOID, (condition,), blocks=(if_true, if_false)))

    def ret(self) -> Instruction:
        return self.add(Instruction(Opcode.RET, VOID))

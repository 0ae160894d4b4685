"""Makes instructions, named and placed."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.llvm.callees import type_suffix
from compiler.llvm.ir import BasicBlock, Constant, Function, Instruction, Value
from compiler.llvm.opcodes import Opcode, Predicate
from compiler.llvm.types import I1, I64, PTR, VOID, Type


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

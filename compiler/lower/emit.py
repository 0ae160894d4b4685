"""Emission into nested regions: code is placed in the outermost loop in which its operands exist.

A kernel under construction is a stack of levels: level 0 is the function's body, every open loop or
guard adds one. A pure operation goes to the deepest level among its operands, in front of that
level's way into the next one, so nothing invariant is computed in a loop; equal operations of one
level are emitted once. Loops keep their counter in an alloca (header, body, latch, exit); nothing
here makes phis.

Every operation may be executed speculatively: divisors are guarded where they arise, and every load
reads inside its buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from compiler.llvm.analysis.dominators import reading_order
from compiler.llvm.ir import (
    BasicBlock,
    Constant,
    Function,
    Instruction,
    Opcode,
    Predicate,
    Scalar,
    Value,
    type_suffix,
)
from compiler.llvm.types import I1, I64, PTR, VOID, Type
from compiler.lower.affine import Index, Quotient, Symbol, of_symbol, reciprocal


class Level:
    """One region that is being filled. `block` is where its code goes (in front of the terminator,
    when there is one already); `known` finds what was emitted here; `elements` finds element
    values."""

    __slots__ = ("block", "known", "elements")

    def __init__(self, block: BasicBlock) -> None:
        self.block = block
        self.known: dict[tuple[object, ...], Value] = {}
        self.elements: dict[tuple[object, ...], object] = {}


class Emitter:
    """Fills one function. `index_type` is the integer type of index arithmetic; `origins` are given
    to whatever is emitted next. `divisions` counts the index divisions emitted, `breaks` the
    counter values at which some choice of source changes (both steer the shape of loop nests)."""

    def __init__(self, function: Function, index_type: Type = I64) -> None:
        self.function = function
        self.index_type = index_type
        self.origins: tuple[str, ...] = ()
        self.divisions = 0
        self.breaks: dict[Symbol, set[int]] = {}
        self.levels = [Level(function.add_block("entry"))]
        self._depths: dict[Value, int] = {}
        self._allocas = 0
        self._constants: dict[tuple[Type, str], Constant] = {}
        self._symbols: dict[int, Value] = {}
        self._symbol_of: dict[tuple[Value, int, int], Symbol] = {}

    # -- constants and symbols --------------------------------------------------------------

    def constant(self, type: Type, value: Scalar) -> Constant:
        """The scalar constant; the same object for the same bits."""
        key = (type, repr(value))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Constant(type, value)
        return found

    def integer(self, value: int) -> Constant:
        """An index constant."""
        return self.constant(self.index_type, value)

    def symbol(self, value: Value, low: int, high: int) -> Symbol:
        """The symbol of a run-time index; the same one when asked again for the same value."""
        key = (value, low, high)
        found = self._symbol_of.get(key)
        if found is None:
            found = Symbol(len(self._symbols), low, high)
            self._symbols[found.number] = value
            self._symbol_of[key] = found
        return found

    def index_of(self, value: Value, low: int, high: int) -> Index:
        """A run-time index value as an index."""
        return of_symbol(self.symbol(value, low, high))

    def narrowed(self, symbol: Symbol, low: int, high: int) -> Symbol:
        """The same run-time value, known to lie in a smaller range."""
        return self.symbol(self._symbols[symbol.number], low, high)

    # -- placing ----------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """The number of the innermost level."""
        return len(self.levels) - 1

    def depth_of(self, value: Value) -> int:
        """The level at which a value is defined (constants and arguments: 0)."""
        return self._depths.get(value, 0)

    def place(self, instruction: Instruction, depth: int, stem: str = "") -> Instruction:
        """Puts a ready instruction at the end of a level."""
        if instruction.type != VOID:
            instruction.name = self.function.fresh_name(stem or instruction.opcode.value)
            self._depths[instruction] = depth
        instruction.origins = self.origins
        block = self.levels[depth].block
        block.insert(len(block.instructions) - (block.terminator is not None), instruction)
        return instruction

    def pure(
        self,
        opcode: Opcode,
        type: Type,
        operands: Iterable[Value],
        stem: str = "",
        *,
        predicate: Predicate | None = None,
        flags: tuple[str, ...] = (),
        callee: str = "",
        element_type: Type | None = None,
    ) -> Value:
        """An operation without effects, placed as far out as its operands allow, once per level."""
        values = tuple(operands)
        key = (opcode, type, values, predicate, flags, callee, element_type)
        depth = max((self.depth_of(value) for value in values), default=0)
        known = self.levels[depth].known
        found = known.get(key)
        if found is None:
            found = known[key] = self.place(
                Instruction(
                    opcode, type, values, predicate=predicate, flags=flags, callee=callee,
                    element_type=element_type,
                ),
                depth,
                stem,
            )  # fmt: skip
        return found

    def shuffle(self, a: Value, b: Value, mask: tuple[int, ...], stem: str = "shuffle") -> Value:
        """Lanes of two vectors, by number."""
        depth = max(self.depth_of(a), self.depth_of(b))
        known = self.levels[depth].known
        key = (Opcode.SHUFFLEVECTOR, a, b, mask)
        found = known.get(key)
        if found is None:
            type = a.type.with_lanes(len(mask))
            found = known[key] = self.place(
                Instruction(Opcode.SHUFFLEVECTOR, type, (a, b), mask=mask), depth, stem
            )
        return found

    def call(self, base: str, type: Type, operands: Iterable[Value], stem: str = "") -> Value:
        """A call of a pure overloaded intrinsic, named without its type suffix."""
        callee = f"{base}.{type_suffix(type)}"
        return self.pure(
            Opcode.CALL, type, operands, stem or base.rpartition(".")[2], callee=callee
        )

    def call_here(
        self, callee: str, type: Type, operands: Iterable[Value], stem: str = ""
    ) -> Instruction:
        """A call by its full name at the innermost level, never merged with another."""
        call = Instruction(Opcode.CALL, type, operands, callee=callee)
        return self.place(call, self.depth, stem or "call")

    # -- memory -----------------------------------------------------------------------------

    def alloca(self, type: Type, count: int = 1, stem: str = "slot") -> Instruction:
        """Stack space, in front of everything else in the entry block."""
        instruction = Instruction(
            Opcode.ALLOCA, PTR, element_type=type, count=count, align=max(type.size_bytes, 1)
        )
        instruction.name = self.function.fresh_name(stem)
        instruction.origins = self.origins
        self.function.entry.insert(self._allocas, instruction)
        self._allocas += 1
        return instruction

    def load(self, type: Type, address: Value, stem: str = "", align: int = 0) -> Value:
        """A load of memory that no one writes before its last such load; placed like a pure
        operation."""
        depth = self.depth_of(address)
        known = self.levels[depth].known
        key: tuple[object, ...] = (Opcode.LOAD, type, address)
        found = known.get(key)
        if found is None:
            align = align or type.scalar.size_bytes
            load = Instruction(Opcode.LOAD, type, (address,), align=align)
            found = known[key] = self.place(load, depth, stem)
        return found

    def load_here(self, type: Type, address: Value, stem: str = "", align: int = 0) -> Instruction:
        """A load at the innermost level, in order with the stores around it."""
        align = align or type.scalar.size_bytes
        load = Instruction(Opcode.LOAD, type, (address,), align=align)
        return self.place(load, self.depth, stem)

    def store(self, value: Value, address: Value, align: int = 0) -> None:
        """A store at the innermost level."""
        align = align or value.type.scalar.size_bytes
        store = Instruction(Opcode.STORE, VOID, (value, address), align=align)
        self.place(store, self.depth)

    def pinned(self, value: Value) -> Value:
        """The same value, known only from here on: what is computed from it stays in this
        region."""
        zero = self.constant(value.type, 0)
        return self.place(Instruction(Opcode.ADD, value.type, (value, zero)), self.depth, "here")

    # -- regions ----------------------------------------------------------------------------

    @contextmanager
    def loop(
        self, extent: Value | int, name: str, start: Value | None = None, step: int = 1
    ) -> Iterator[Value]:
        """A counted loop `for (i = start; i < extent; i += step)`; yields the counter's value.
        What the `with` block emits is the body."""
        before, terminator = self._leave_block()
        limit = self.integer(extent) if isinstance(extent, int) else extent
        slot = self.alloca(self.index_type, stem=f"{name}.slot")
        self.store(self.integer(0) if start is None else start, slot)
        header = self._enter(name, "header")
        counter = self._append(header, Instruction(Opcode.LOAD, self.index_type, (slot,),
                               align=self.index_type.size_bytes), name)  # fmt: skip
        more = self._append(
            header,
            Instruction(Opcode.ICMP, I1, (counter, limit), predicate=Predicate.ULT),
            f"{name}.more",
        )
        body = self.function.add_block(f"{name}.body")
        self._depths[counter] = len(self.levels)
        self.levels.append(Level(body))
        yield counter
        inner = self.levels.pop()
        latch = self.function.add_block(f"{name}.latch")
        self._branch(inner.block, latch)
        following = self._append(
            latch,
            Instruction(
                Opcode.ADD, self.index_type, (counter, self.integer(step)), flags=("nuw", "nsw")
            ),
            f"{name}.next",
        )
        align = self.index_type.size_bytes
        self._append(latch, Instruction(Opcode.STORE, VOID, (following, slot), align=align))
        self._branch(latch, header)
        leave = self.function.add_block(f"{name}.exit")
        self._append(header, Instruction(Opcode.BR, VOID, (more,), blocks=(body, leave)))
        self._resume(before, leave, terminator)

    @contextmanager
    def guard(self, condition: Value, name: str) -> Iterator[None]:
        """A region that runs only where the condition holds."""
        before, terminator = self._leave_block()
        inside = self.function.add_block(f"{name}.then")
        leave = self.function.add_block(f"{name}.end")
        self._append(
            before.block, Instruction(Opcode.BR, VOID, (condition,), blocks=(inside, leave))
        )
        self.levels.append(Level(inside))
        yield
        self._branch(self.levels.pop().block, leave)
        self._resume(before, leave, terminator)

    @contextmanager
    def at_depth(self, depth: int) -> Iterator[None]:
        """Makes an outer level the innermost one for a while."""
        saved = self.levels[depth + 1 :]
        del self.levels[depth + 1 :]
        yield
        self.levels.extend(saved)

    def finish(self) -> None:
        """Returns from the function and puts its blocks into reading order."""
        self._append(self.levels[0].block, Instruction(Opcode.RET, VOID))
        self.function.blocks[:] = reading_order(self.function)

    def _leave_block(self) -> tuple[Level, Instruction | None]:
        level = self.levels[-1]
        terminator = level.block.terminator
        if terminator is not None:
            level.block.instructions.pop()
        return level, terminator

    def _resume(self, level: Level, block: BasicBlock, terminator: Instruction | None) -> None:
        level.block = block
        if terminator is not None:
            block.append(terminator)

    def _enter(self, name: str, part: str) -> BasicBlock:
        block = self.function.add_block(f"{name}.{part}")
        self._branch(self.levels[-1].block, block)
        return block

    def _branch(self, source: BasicBlock, target: BasicBlock) -> None:
        self._append(source, Instruction(Opcode.BR, VOID, blocks=(target,)))

    def _append(self, block: BasicBlock, instruction: Instruction, stem: str = "") -> Instruction:
        if instruction.type != VOID:
            instruction.name = self.function.fresh_name(stem)
        instruction.origins = self.origins
        return block.append(instruction)

    # -- indices ----------------------------------------------------------------------------

    def index_value(self, index: Index) -> Value:
        """The run-time value of an index, of the index type: outer parts are added up outside."""
        total: Value | None = self.integer(index.constant) if index.constant else None
        for atom, coefficient in self._outermost_first(index):
            value = self._atom_value(atom)
            if coefficient != 1:
                value = self._arithmetic(Opcode.MUL, value, self.integer(coefficient))
            total = value if total is None else self._arithmetic(Opcode.ADD, value, total)
        return self.integer(0) if total is None else total

    def _outermost_first(self, index: Index) -> list[tuple[Symbol | Quotient, int]]:
        return sorted(index.terms, key=lambda term: self.index_depth(Index((term,), 0)))

    def index_depth(self, index: Index) -> int:
        """The innermost level on which the index depends."""
        depth = 0
        for atom, _ in index.terms:
            if isinstance(atom, Symbol):
                depth = max(depth, self.depth_of(self._symbols[atom.number]))
            else:
                depth = max(depth, self.index_depth(atom.of))
        return depth

    def _arithmetic(self, opcode: Opcode, a: Value, b: Value) -> Value:
        return self.pure(opcode, self.index_type, (a, b), "index", flags=("nsw",))

    def _atom_value(self, atom: Symbol | Quotient) -> Value:
        if isinstance(atom, Symbol):
            return self._symbols[atom.number]
        self.divisions += 1
        of = self.index_value(atom.of)
        if atom.divisor & (atom.divisor - 1) == 0:
            shift = self.integer(atom.divisor.bit_length() - 1)
            return self.pure(Opcode.LSHR, self.index_type, (of, shift), "quotient")
        found = reciprocal(atom.divisor, atom.of.high, self.index_type.bits)
        if found is None:
            divisor = self.integer(atom.divisor)
            return self.pure(Opcode.UDIV, self.index_type, (of, divisor), "quotient")
        factor, amount = (self.integer(number) for number in found)
        product = self.pure(Opcode.MUL, self.index_type, (of, factor), "scaled", flags=("nuw",))
        return self.pure(Opcode.LSHR, self.index_type, (product, amount), "quotient")

    def address(self, pointer: Value, element: Type, index: Index, count: int) -> Value:
        """Where element number `index` of a buffer of `count` elements lies: first what an inner
        loop does not change is added to the pointer, then what it does, a constant last (machines
        add it while they load)."""
        inner = self.index_depth(index)
        fixed = Index(tuple(t for t in index.terms if self.index_depth(Index((t,), 0)) < inner), 0)
        moving = Index(index.terms, 0) - fixed
        rest = index
        for part in (fixed, moving):
            done = index - rest
            if part.terms and _is_inside(done + part, count) and part != rest:
                pointer = self._element(pointer, element, part)
                rest = rest - part
        return self._element(pointer, element, rest)

    def _element(self, pointer: Value, element: Type, index: Index) -> Value:
        if index.is_constant and index.constant == 0:
            return pointer
        offset = self.index_value(index)
        if isinstance(offset, Constant):
            offset = self.constant(I64, index.constant)
        elif offset.type != I64:
            offset = self.pure(Opcode.SEXT, I64, (offset,), "offset")
        return self.pure(
            Opcode.GETELEMENTPTR, pointer.type, (pointer, offset), "address",
            flags=("inbounds",), element_type=element,
        )  # fmt: skip


def _is_inside(index: Index, count: int) -> bool:
    """Whether a pointer moved so far stays within its array, or one past its end."""
    return index.low >= 0 and index.high <= count

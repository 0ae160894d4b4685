"""Kernels for a grid of threads (simt).

Without reduces every thread computes one element of the results, neighbours in memory for
neighbouring threads, so that a warp's accesses coalesce. With reduces a warp works on one row when
its columns are contiguous and long enough: each lane takes every 32nd column, and the lanes'
partial results are combined by butterfly exchanges, after which all lanes hold the same total. Very
short rows, and many rows that are short or lie side by side in memory (column sums), get one thread
each: neighbouring threads then read neighbouring elements. So do rows whose reducer lets the order
of the elements show. Threads beyond the end do nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import prod

from compiler.hlo.stages import Kind, RowStructure, Space, Stage, StageKind
from compiler.journal import Journal
from compiler.llvm.ir import Opcode, Predicate, Value
from compiler.llvm.types import F32, I32, I64
from compiler.lower.affine import ZERO, Index, delinearize
from compiler.lower.decisions import ThreadMapping
from compiler.lower.elemental import Indices
from compiler.lower.in_place import combined
from compiler.lower.kept import plan_kept
from compiler.lower.loops import memory_order, write_roots
from compiler.lower.order import order_shows
from compiler.lower.reducer import Reducer, identity
from compiler.lower.rows import Groups, RowWriter, SerialWalk, choose_columns
from compiler.lower.strides import (
    Access,
    accesses,
    all_accesses,
    contiguous_variable,
    loop_order,
)
from compiler.lower.workshop import Workshop

SHORTEST_WARP_ROW = 8
"""Shorter rows than this are not worth the exchanges between lanes."""
LONG_ROW, COLUMNS_PER_TURN = 8, 4
"""From this many columns per lane on, a lane takes several per turn of its loop."""
MANY_ROWS = 1024
"""From so many rows on, a thread each fills the machine, and short or strided rows go that way."""


def emit_grid_kernel(shop: Workshop, structure: RowStructure, journal: Journal) -> int:
    """Fills a kernel for a simt machine and returns how many threads it needs (one, idle, when
    there is nothing to compute)."""
    if structure.kind is not Kind.ROWS:
        return _elements(shop, structure, journal)
    if 0 in structure.rows:
        return 1
    warp = shop.target.warp_size
    everything = all_accesses(shop.source, structure)
    inner = contiguous_variable(everything)
    longest = max((prod(stage.columns) for stage in structure.stages), default=0)
    rows = prod(structure.rows)
    is_better_alone = inner.startswith("r") or longest < warp
    because = f"a row has {longest} elements and there are {rows} rows"
    if longest < SHORTEST_WARP_ROW or (is_better_alone and rows >= MANY_ROWS):
        return _thread_rows(shop, structure, everything, because, journal)
    if _order_shows(shop, structure):
        because = "the reducer's result depends on the order of the elements"
        return _thread_rows(shop, structure, everything, because, journal)
    return _warp_rows(shop, structure, everything, journal)


# -- which thread am I --------------------------------------------------------------------------


def _special(shop: Workshop, register: str, bound: int) -> Index:
    """A special register as an index in 0..bound-1."""
    emitter = shop.emitter
    callee = f"llvm.nvvm.read.ptx.sreg.{register}"
    value = emitter.pure(Opcode.CALL, I32, (), register.replace(".", "_"), callee=callee)
    return emitter.index_of(_as_index(shop, value), 0, bound - 1)


def _as_index(shop: Workshop, value: Value) -> Value:
    is_long = shop.emitter.index_type == I64
    return shop.emitter.pure(Opcode.ZEXT, I64, (value,), "wide") if is_long else value


def _thread_number(shop: Workshop, threads: int) -> Index:
    block = shop.options.block_size
    blocks = -(-threads // block)
    return _special(shop, "ctaid.x", blocks) * block + _special(shop, "tid.x", block)


@contextmanager
def _guarded(shop: Workshop, number: Index, count: int) -> Iterator[Index]:
    """A region for numbers below `count`, in which the number is known to be one."""
    value = shop.emitter.index_value(number)
    if number.high < count:
        yield number
        return
    limit = shop.emitter.integer(count)
    is_inside = shop.arithmetic.icmp(Predicate.ULT, value, limit)
    with shop.emitter.guard(is_inside, "inside"):
        yield shop.emitter.index_of(shop.emitter.pinned(value), 0, count - 1)


# -- one element per thread ---------------------------------------------------------------------


def _elements(shop: Workshop, structure: RowStructure, journal: Journal) -> int:
    columns = structure.stages[0].columns
    threads = prod(columns)
    if threads == 0:
        return 1
    first = shop.source.outputs[0]
    order = memory_order(first.shape, structure.axes[first.name], Space.COLUMN)
    with _guarded(shop, _thread_number(shop, threads), threads) as number:
        parts = delinearize(number, tuple(columns[p] for p in order))
        known = dict(zip(order, parts, strict=True))
        at = tuple(known.get(p, ZERO) for p in range(len(columns)))
        write_roots(shop, structure, (), at)
    because = "neighbouring threads then write neighbouring elements"
    _record(shop, journal, "one thread per element", threads, because)
    return threads


def _record(shop: Workshop, journal: Journal, chosen: str, threads: int, because: str) -> None:
    subject = shop.source.instruction
    journal.record(
        ThreadMapping(
            subject=subject.name,
            origins=subject.origins,
            chosen=chosen,
            threads=threads,
            because=because,
        )
    )


# -- rows ---------------------------------------------------------------------------------------


def _row_counters(structure: RowStructure, order: Sequence[int], number: Index) -> Indices:
    parts = delinearize(number, tuple(structure.rows[p] for p in order))
    known = dict(zip(order, parts, strict=True))
    return tuple(known.get(p, ZERO) for p in range(len(structure.rows)))


def _order_shows(shop: Workshop, structure: RowStructure) -> bool:
    """Whether lanes must not share any of the structure's reduces."""
    computation = shop.frame.computation
    return any(
        order_shows(shop.module, computation, computation.instruction(name))
        for stage in structure.stages
        if stage.kind is StageKind.REDUCE
        for name in stage.instructions
    )


def _thread_rows(
    shop: Workshop,
    structure: RowStructure,
    found: Sequence[Access],
    because: str,
    journal: Journal,
) -> int:
    order = loop_order(found, "r", structure.rows)
    threads = prod(structure.rows)
    groups: Groups = tuple((p,) for p in order)
    columns = choose_columns(shop, structure, groups)
    kept = plan_kept(shop, structure, journal, allows_stack=False)
    with _guarded(shop, _thread_number(shop, threads), threads) as number:
        counters = _row_counters(structure, order, number)
        RowWriter(shop, structure, SerialWalk(shop, columns), counters, kept).run()
    _record(shop, journal, "one thread per row", threads, because)
    return threads


def _warp_rows(
    shop: Workshop, structure: RowStructure, found: Sequence[Access], journal: Journal
) -> int:
    warp = shop.target.warp_size
    order = loop_order(found, "r", structure.rows)
    count = prod(structure.rows)
    threads = count * warp
    orders = {
        stage.columns: _common_order(shop, structure, stage.columns) for stage in structure.stages
    }
    kept = plan_kept(shop, structure, journal, allows_stack=False)
    lane = _lane(shop)
    blocks = -(-threads // shop.options.block_size)
    per_block = shop.options.block_size // warp
    thread = shop.emitter.index_value(_special(shop, "tid.x", shop.options.block_size))
    shift = shop.emitter.integer(warp.bit_length() - 1)
    in_block = shop.emitter.index_of(
        shop.emitter.pure(Opcode.LSHR, shop.emitter.index_type, (thread, shift), "warp"),
        0,
        per_block - 1,
    )
    number = _special(shop, "ctaid.x", blocks) * per_block + in_block
    with _guarded(shop, number, count) as row:
        counters = _row_counters(structure, order, row)
        RowWriter(shop, structure, LaneWalk(shop, lane, orders), counters, kept).run()
    because = "lanes then read neighbouring columns and exchange partial results in registers"
    _record(shop, journal, "one warp per row", threads, because)
    return threads


def _lane(shop: Workshop) -> Value:
    thread = shop.emitter.index_value(_special(shop, "tid.x", shop.options.block_size))
    mask = shop.emitter.integer(shop.target.warp_size - 1)
    return shop.emitter.pure(Opcode.AND, shop.emitter.index_type, (thread, mask), "lane")


def _common_order(
    shop: Workshop, structure: RowStructure, columns: tuple[int, ...]
) -> tuple[int, ...]:
    """One order for all stages over the same columns, so that each lane meets the same elements in
    all of them."""
    found: list[Access] = []
    for number, stage in enumerate(structure.stages):
        if stage.columns == columns:
            found += accesses(shop.source, structure, number)
    return loop_order(found, "c", columns)


@dataclass(slots=True)
class LaneWalk:
    """Columns dealt out to the lanes of a warp; `orders` gives the order of the columns in each
    kind of stage."""

    shop: Workshop
    lane: Value
    orders: dict[tuple[int, ...], tuple[int, ...]]

    def columns(self, stage: Stage, number: int) -> Iterator[Indices]:
        """Every 32nd column; in long rows several per turn, so that their loads overlap."""
        order = self.orders[stage.columns]
        extents = tuple(stage.columns[p] for p in order)
        count, warp, emitter = prod(extents), self.shop.target.warp_size, self.shop.emitter
        per_turn = COLUMNS_PER_TURN if count >= LONG_ROW * warp else 1
        whole = count // (warp * per_turn) * (warp * per_turn) if per_turn > 1 else 0
        if whole:
            with emitter.loop(whole, "j", self.lane, warp * per_turn) as value:
                first = emitter.index_of(value, 0, whole - warp * (per_turn - 1) - 1)
                for turn in range(per_turn):
                    yield self._split(first + turn * warp, order, stage.columns)
        if whole < count:
            lane = emitter.index_of(self.lane, 0, warp - 1) + whole
            start = emitter.index_value(lane)
            with emitter.loop(count, "j", start, warp) as value:
                yield self._split(emitter.index_of(value, 0, count - 1), order, stage.columns)

    def _split(self, counter: Index, order: tuple[int, ...], columns: tuple[int, ...]) -> Indices:
        parts = delinearize(counter, tuple(columns[p] for p in order))
        known = dict(zip(order, parts, strict=True))
        return tuple(known.get(p, ZERO) for p in range(len(columns)))

    def start(self, reducer: Reducer, initial: Sequence[Value]) -> Sequence[Value]:
        """The identity of the operation where there is one: the initial value then counts once."""
        neutral = identity(self.shop.arithmetic, reducer)
        return initial if neutral is None else (neutral,)

    def finish(
        self, reducer: Reducer, initial: Sequence[Value], totals: Sequence[Value]
    ) -> Sequence[Value]:
        offset = self.shop.target.warp_size // 2
        while offset:
            others = [exchange(self.shop, total, offset) for total in totals]
            totals = self._combined(reducer, totals, others, offset)
            offset //= 2
        if identity(self.shop.arithmetic, reducer) is None:
            return totals
        return combined(self.shop.elemental, reducer, initial, totals)

    def _combined(
        self, reducer: Reducer, mine: Sequence[Value], others: Sequence[Value], offset: int
    ) -> Sequence[Value]:
        """Both lanes of a pair combine in the same order, so that all end with the same result."""
        if reducer.plain is not None:
            return combined(self.shop.elemental, reducer, mine, others)
        a, emitter = self.shop.arithmetic, self.shop.emitter
        bit = a.iand(self.lane, emitter.integer(offset))
        is_lower = a.icmp(Predicate.EQ, bit, emitter.integer(0))
        first = [a.select(is_lower, m, o) for m, o in zip(mine, others, strict=True)]
        second = [a.select(is_lower, o, m) for m, o in zip(mine, others, strict=True)]
        return combined(self.shop.elemental, reducer, first, second)

    def once(self) -> AbstractContextManager[None]:
        is_first = self.shop.arithmetic.icmp(Predicate.EQ, self.lane, self.shop.emitter.integer(0))
        return self.shop.emitter.guard(is_first, "first")


def exchange(shop: Workshop, value: Value, offset: int) -> Value:
    """The value of the lane whose number differs in the bit `offset`; in pieces of 32 bits."""
    a, emitter = shop.arithmetic, shop.emitter
    i32 = emitter.constant
    if value.type in (F32, I32):
        suffix = "f32" if value.type == F32 else "i32"
        operands = (i32(I32, -1), value, i32(I32, offset), i32(I32, 31))
        callee = f"llvm.nvvm.shfl.sync.bfly.{suffix}"
        return emitter.call_here(callee, value.type, operands, "other")
    bits = a.bits(value) if value.type.is_float else value
    if bits.type.bits < 32:
        other = exchange(shop, a.resize(bits, I32, is_signed=False), offset)
        return a.bitcast(a.resize(other, bits.type, is_signed=False), value.type)
    low = exchange(shop, a.resize(bits, I32, is_signed=False), offset)
    high = exchange(shop, a.resize(a.lshr(bits, 32), I32, is_signed=False), offset)
    wide = a.shl(a.resize(high, bits.type, is_signed=False), 32)
    return a.bitcast(a.ior(wide, a.resize(low, bits.type, is_signed=False)), value.type)

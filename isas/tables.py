"""Machine tables: what timing needs to know of programs on a core, as integer arrays.

An instruction becomes micro-ops: loads, computation (one micro-op after the other), store address
and store data. Each micro-op has its ports, latency, busy cycles and the storages it reads and
writes. Between the micro-ops of one instruction values pass through two temporary storages. The
instructions of all programs of an executable stand one after the other; `instruction_base` says
where each program starts. The timing models see nothing else of cards, units and cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isas.corefiles import core_micro_ops
from isas.cores import Core, MicroOp, MicroOpRole
from isas.effects import Operand, walk
from isas.microops import (
    CHAIN,
    LOADED,
    ROLES,
    MicroOpRow,
    connect,
    read_storages,
    written_storages,
)
from isas.model import Machine
from isas.program import LabelTarget, Program, ProgramInstruction

COMPUTE, LOAD, STORE_ADDRESS, STORE_DATA = range(4)
"""Micro-op roles as numbers: indices into ROLES."""

IS_BRANCH, IS_CONDITIONAL, IS_BARRIER, IS_RETURN, IS_BACKWARD = 1, 2, 4, 8, 16
"""Bits of `MachineTables.flags`."""

SPACES: tuple[str, ...] = ("", "global", "shared", "local", "param", "const")
"""Address spaces by code ("" is the CPU's only one, and that of instructions without memory)."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MachineTables:
    """Arrays over `n` static instructions, `u` micro-ops, and flat lists of reads and writes.

    instruction_base  [programs + 1]  first instruction of each program
    slots             [n]      places taken in dispatch, reorder buffer and retirement (at least 1)
    loads, stores     [n]      load micro-ops; 1 when it stores
    alias             [n]      storage whose value a move done at rename passes on, -1: none
    flags             [n]      IS_BRANCH and so on
    space             [n]      index into SPACES of its memory access
    pairing           [n]      class for `forbidden`
    first_micro_op    [n + 1]  its micro-ops are first_micro_op[i] to first_micro_op[i + 1]
    role              [u]      index into ROLES
    ports             [u]      bit mask over the core's ports; 0: done at rename
    latency, busy     [u]      cycles
    first_read        [u + 1]; read_storage, read_late: storage and how late it may come
    first_write       [u + 1]; write_storage
    forbidden         [classes]  bit mask of the classes that may not issue in the same cycle

    Storages are numbered densely; `storages` gives the ISA's id of each, without the temporaries,
    which come last.
    """

    instruction_base: Integers
    slots: Integers
    loads: Integers
    stores: Integers
    alias: Integers
    flags: Integers
    space: Integers
    pairing: Integers
    first_micro_op: Integers
    role: Integers
    ports: Integers
    latency: Integers
    busy: Integers
    first_read: Integers
    read_storage: Integers
    read_late: Integers
    first_write: Integers
    write_storage: Integers
    forbidden: Integers
    storages: tuple[int, ...]

    @property
    def storage_count(self) -> int:
        """Dense storages with the two temporaries."""
        return len(self.storages) + 2


@dataclass(slots=True)
class _InstructionRow:
    micro_ops: list[MicroOpRow]
    slots: int
    alias: int
    flags: int
    space: int
    unit: str
    loads: int
    stores: int


def machine_tables(programs: Sequence[Program], machine: Machine) -> MachineTables:
    """The tables of all instructions of `programs`, in order, on `machine`'s core."""
    rows = [
        _instruction(instruction, machine, _is_backward(instruction, index, program))
        for program in programs
        for index, instruction in enumerate(program.instructions)
    ]
    base = np.cumsum([0] + [len(program.instructions) for program in programs])
    return _arrays(rows, base, machine.core)


def _is_backward(instruction: ProgramInstruction, index: int, program: Program) -> bool:
    target = instruction.operands.get(instruction.shape.facts.target or "")
    return isinstance(target, LabelTarget) and program.labels.get(target.label, index + 1) <= index


def _instruction(
    instruction: ProgramInstruction, machine: Machine, is_backward: bool
) -> _InstructionRow:
    facts, core = instruction.shape.facts, machine.core
    micro_ops = _with_store_roles(core_micro_ops(core, instruction.shape), bool(facts.stores))
    alias = -1
    if _is_zero_idiom(instruction, core):
        rows = [_rename_row(written_storages(instruction, machine), ())]
    elif not micro_ops:
        sources = tuple(read_storages(instruction, machine))[:1]
        alias = sources[0] if sources else -1
        rows = [_rename_row(written_storages(instruction, machine), sources)]
    else:
        rows = connect(instruction, machine, micro_ops)
    roles = [row.micro_op.role for row in rows]
    return _InstructionRow(
        micro_ops=rows,
        slots=_slots(roles),
        alias=alias,
        flags=_flags(instruction) | IS_BACKWARD * is_backward,
        space=_space(instruction),
        unit=instruction.shape.unit,
        loads=roles.count(MicroOpRole.LOAD),
        stores=int(bool(facts.stores)),
    )


def _with_store_roles(micro_ops: tuple[MicroOp, ...], is_store: bool) -> list[MicroOp]:
    """A core may price a store as one micro-op; it then is the one that needs the data."""
    found = list(micro_ops)
    has_role = any(m.role in (MicroOpRole.STORE_ADDRESS, MicroOpRole.STORE_DATA) for m in found)
    if is_store and found and not has_role:
        last = found[-1]
        found[-1] = MicroOp(
            MicroOpRole.STORE_DATA, last.ports, last.latency, last.busy, last.late
        )  # fmt: skip
    return found


def _rename_row(writes: Iterable[int], reads: Iterable[int]) -> MicroOpRow:
    done_at_rename = MicroOp(MicroOpRole.COMPUTE, (), 0)
    return MicroOpRow(done_at_rename, [(storage, 0) for storage in reads], list(writes))


def _is_zero_idiom(instruction: ProgramInstruction, core: Core) -> bool:
    shape = instruction.shape
    if shape.card.name not in core.zero_idioms or shape.facts.loads:
        return False
    sources = {instruction.register(name) for name in shape.facts.reads}
    return len(sources) == 1 and len(_source_fields(instruction)) > 1


def _source_fields(instruction: ProgramInstruction) -> list[str]:
    """Register operands as often as the effects read them (xor x, x reads twice)."""
    return [
        node.name
        for assignment in instruction.shape.effects
        for node in walk(assignment.expression)
        if isinstance(node, Operand) and instruction.register(node.name) is not None
    ]


def _slots(roles: list[MicroOpRole]) -> int:
    """Fused micro-ops: a load goes with the computation, a store's address with its data."""
    work = max(roles.count(MicroOpRole.COMPUTE), roles.count(MicroOpRole.LOAD))
    stores = max(roles.count(MicroOpRole.STORE_ADDRESS), roles.count(MicroOpRole.STORE_DATA))
    return max(1, work + stores)


def _flags(instruction: ProgramInstruction) -> int:
    facts = instruction.shape.facts
    is_conditional = facts.is_conditional or (facts.is_branch and instruction.guard is not None)
    return (
        IS_BRANCH * facts.is_branch
        | IS_CONDITIONAL * is_conditional
        | IS_BARRIER * facts.is_barrier
        | IS_RETURN * facts.is_return
    )


def _space(instruction: ProgramInstruction) -> int:
    facts = instruction.shape.facts
    for name in facts.loads + facts.stores:
        address = instruction.shape.by_name[name].kind.address
        if address is not None and address.space in SPACES:
            return SPACES.index(address.space)
    return 0


def _arrays(rows: list[_InstructionRow], base: Integers, core: Core) -> MachineTables:
    micro_ops = [micro_op for row in rows for micro_op in row.micro_ops]
    used = sorted(
        {s for m in micro_ops for s in [read for read, _ in m.reads] + m.writes if s >= 0}
    )
    dense = {storage: index for index, storage in enumerate(used)}
    dense |= {LOADED: len(used), CHAIN: len(used) + 1}
    pairing, forbidden = _pairing(rows, core)
    return MachineTables(
        instruction_base=_int(base),
        slots=_int(row.slots for row in rows),
        loads=_int(row.loads for row in rows),
        stores=_int(row.stores for row in rows),
        alias=_int(dense[row.alias] if row.alias >= 0 else -1 for row in rows),
        flags=_int(row.flags for row in rows),
        space=_int(row.space for row in rows),
        pairing=_int(pairing),
        first_micro_op=_offsets(len(row.micro_ops) for row in rows),
        role=_int(ROLES.index(m.micro_op.role) for m in micro_ops),
        ports=_int(sum(1 << port for port in set(m.micro_op.ports)) for m in micro_ops),
        latency=_int(m.micro_op.latency for m in micro_ops),
        busy=_int(m.micro_op.busy for m in micro_ops),
        first_read=_offsets(len(m.reads) for m in micro_ops),
        read_storage=_int(dense[s] for m in micro_ops for s, _ in m.reads),
        read_late=_int(late for m in micro_ops for _, late in m.reads),
        first_write=_offsets(len(m.writes) for m in micro_ops),
        write_storage=_int(dense[s] for m in micro_ops for s in m.writes),
        forbidden=_int(forbidden),
        storages=tuple(used),
    )


def _pairing(rows: list[_InstructionRow], core: Core) -> tuple[list[int], list[int]]:
    """Units that the pairing rules treat alike form a class; which classes exclude which."""
    units = sorted({row.unit for row in rows})

    def signature(unit: str) -> tuple[tuple[bool, bool], ...]:
        return tuple((unit in rule.first, unit in rule.second) for rule in core.pairing)

    classes = sorted({signature(unit) for unit in units})
    number = {unit: classes.index(signature(unit)) for unit in units}
    forbidden = [
        sum(1 << j for j, other in enumerate(classes) if _excludes(one, other))
        for one in classes
    ]  # fmt: skip
    return [number[row.unit] for row in rows], forbidden or [0]


def _excludes(
    one: tuple[tuple[bool, bool], ...], other: tuple[tuple[bool, bool], ...]
) -> bool:  # fmt: skip
    return any((a[0] and b[1]) or (a[1] and b[0]) for a, b in zip(one, other))


def _int(values: Iterable[int] | Integers) -> Integers:
    return np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)


def _offsets(counts: Iterable[int]) -> Integers:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(_int(counts))]).astype(np.int64)

"""Machine tables: what becomes of instructions on a core, seen through names of storages."""

from __future__ import annotations

from isas.catalogue import load_machine
from isas.tables import (
    IS_BACKWARD,
    IS_BARRIER,
    IS_BRANCH,
    IS_CONDITIONAL,
    ROLES,
    SPACES,
    MachineTables,
    machine_tables,
)
from tests.vm.traces import kernel


def tables_of(machine_name: str, text: str) -> tuple[MachineTables, list[str]]:
    machine = load_machine(machine_name)
    tables = machine_tables([kernel(machine, text)], machine)
    names = [machine.isa.registers.storage_name(storage) for storage in tables.storages]
    return tables, [*names, "loaded", "chain"]


def _read(tables: MachineTables, names: list[str], i: int) -> str:
    late = f"@{tables.read_late[i]}" if tables.read_late[i] else ""
    return names[tables.read_storage[i]] + late


def described(machine_name: str, text: str) -> list[str]:
    """A line per micro-op: role, what it reads (with how late), what it writes."""
    tables, names = tables_of(machine_name, text)
    lines = []
    for u in range(len(tables.role)):
        reads = range(tables.first_read[u], tables.first_read[u + 1])
        writes = range(tables.first_write[u], tables.first_write[u + 1])
        shown = [_read(tables, names, i) for i in reads]
        targets = [names[tables.write_storage[i]] for i in writes]
        role = ROLES[tables.role[u]].value
        lines.append(f"{role}: {' '.join(shown) or '-'} > {' '.join(targets) or '-'}")
    return lines


def test_a_memory_operand_is_a_load_in_front_of_the_computation() -> None:
    assert described("x86/zen3", "vaddps ymm0, ymm1, ymmword ptr [rdi + 4*rax]") == [
        "load: rdi rax > loaded",
        "compute: ymm1 loaded > ymm0",
    ]


def test_a_store_waits_for_its_address_and_its_data_apart() -> None:
    assert described("x86/zen3", "vmovups ymmword ptr [rdi], ymm3") == [
        "store-address: rdi > -",
        "store-data: ymm3 > -",
    ]
    assert described("arm/cortex-a53", "str x1, [x0]") == ["store-data: x0 x1 > -"]


def test_flags_are_a_storage() -> None:
    assert described("x86/zen3", "cmp rax, rbx\njl .l\n.l:") == [
        "compute: rax rbx > flags",
        "compute: flags > -",
    ]


def test_a_zero_idiom_reads_nothing_and_needs_no_port() -> None:
    tables, _ = tables_of("x86/zen3", "vxorps xmm1, xmm1, xmm1\nvxorps xmm1, xmm1, xmm2")
    assert tables.ports[0] == 0 and tables.ports[1] != 0
    assert described("x86/zen3", "vxorps xmm1, xmm1, xmm1") == ["compute: - > ymm1"]


def test_an_eliminated_move_passes_its_source_on() -> None:
    tables, names = tables_of("x86/zen3", "mov rax, rbx")
    assert names[tables.alias[0]] == "rbx" and tables.ports[0] == 0


def test_an_accumulator_may_come_late() -> None:
    assert described("arm/cortex-a53", "fmla v0.4s, v1.4s, v2.4s") == [
        "compute: q1 q2 q0@4 > q0"
    ]  # fmt: skip


def test_slots_are_fused_micro_ops() -> None:
    tables, _ = tables_of(
        "x86/skylake",
        "vaddps ymm0, ymm1, ymmword ptr [rdi]\nvmovups ymmword ptr [rdi], ymm0\n"
        "vroundps ymm0, ymm1, 8",
    )
    assert tables.slots.tolist() == [1, 1, 2]
    assert tables.loads.tolist() == [1, 0, 0] and tables.stores.tolist() == [0, 1, 0]


def test_branches_know_their_direction() -> None:
    tables, _ = tables_of("x86/zen3", ".top:\ncmp rax, rbx\njl .top\njl .end\n.end:\nret")
    flags = tables.flags.tolist()
    assert flags[1] == IS_BRANCH | IS_CONDITIONAL | IS_BACKWARD
    assert flags[2] == IS_BRANCH | IS_CONDITIONAL


def test_a_guard_is_read_and_keeps_what_was_there() -> None:
    assert described("simt/volta", "@%p1 add.rn.f32 %r1, %r2, %r3") == [
        "compute: %r2 %r3 %r1 %p1 > %r1"
    ]  # fmt: skip


def test_a_64_bit_value_is_two_storages_on_simt() -> None:
    assert described("simt/volta", "ld.global.f32 %r1, [%rd2]") == [
        "load: %r2 %r3 > %r1"
    ]  # fmt: skip


def test_spaces_and_barriers_of_simt() -> None:
    tables, _ = tables_of(
        "simt/volta", "ld.global.f32 %r1, [%rd2]\nld.shared.f32 %r1, [%rd2]\nbar.sync 0"
    )
    assert [SPACES[space] for space in tables.space] == ["global", "shared", ""]
    assert tables.flags[2] & IS_BARRIER


def test_programs_stand_one_after_the_other() -> None:
    machine = load_machine("x86/zen3")
    programs = [kernel(machine, "add rax, 1\nret"), kernel(machine, "ret")]
    assert machine_tables(programs, machine).instruction_base.tolist() == [0, 2, 3]

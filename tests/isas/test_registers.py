"""Registers share bits exactly when they share a storage; more than the real ones can be made."""

from __future__ import annotations

import itertools

import pytest

import isas
from isas.registers import RegisterError, WriteRule

X86 = isas.load_isa("x86").registers
ARM = isas.load_isa("arm").registers
SIMT = isas.load_isa("simt").registers


def test_x86_parts_of_one_register_overlap_and_differ_in_what_a_write_does() -> None:
    names = {name: X86.by_name(name) for name in ("rax", "eax", "ax", "al", "rcx", "xmm0", "ymm0")}
    assert all(names.values())
    rules = {name: r.write_rule for name, r in names.items() if r is not None}
    assert rules["eax"] is rules["xmm0"] is WriteRule.ZERO_REST
    assert rules["ax"] is rules["al"] is WriteRule.MERGE
    overlapping = {
        frozenset((a, b))
        for (a, x), (b, y) in itertools.combinations(names.items(), 2)
        if x is not None and y is not None and x.overlaps(y)
    }
    family = [frozenset(pair) for pair in itertools.combinations(("rax", "eax", "ax", "al"), 2)]
    assert overlapping == {*family, frozenset(("xmm0", "ymm0"))}


def test_a_64_bit_simt_register_is_a_pair() -> None:
    pair, low, high = (SIMT.by_name(name) for name in ("%rd4", "%r4", "%r5"))
    assert pair is not None and low is not None and high is not None
    assert pair.storages == low.storages + high.storages
    assert pair.overlaps(low) and pair.overlaps(high)
    assert SIMT.by_name("%rd5") is None


def test_the_stack_pointer_is_never_allocatable() -> None:
    for registers, isa in ((X86, isas.load_isa("x86")), (ARM, isas.load_isa("arm"))):
        pointer = isa.calling.stack_pointer
        assert pointer is not None
        gpr = registers.classes["gpr"]
        for index in gpr.indices(gpr.maximum):
            for view in gpr.views:
                assert not registers.register("gpr", view, index).overlaps(pointer)


def test_more_registers_than_the_real_ones_follow_the_real_ones() -> None:
    vec = X86.classes["vec"]
    assert vec.indices(4) == vec.allocatable[:4]
    indices = vec.indices(20)
    assert indices[:16] == vec.allocatable
    invented = [X86.register("vec", "ymm", index) for index in indices[16:]]
    assert [register.name for register in invented] == ["ymm16", "ymm17", "ymm18", "ymm19"]
    assert not any(register.is_encodable for register in invented)
    assert X86.by_name("ymm17") is invented[1]


def test_no_two_registers_of_one_view_share_a_name() -> None:
    for registers in (X86, ARM, SIMT):
        names = [
            registers.register(group.name, view.name, index).name
            for group in registers.classes.values()
            for view in group.views.values()
            for index in range(0, group.count + 8, view.storages_per_register)
        ]
        assert len(names) == len(set(names))


def test_every_name_reads_back_to_its_register() -> None:
    for registers in (X86, ARM, SIMT):
        for group in registers.classes.values():
            for view in group.views.values():
                for index in range(0, group.count + 8, view.storages_per_register):
                    register = registers.register(group.name, view.name, index)
                    assert registers.by_name(register.name) is register


@pytest.mark.parametrize("name", ["ymm01", "ymm", "xmmx", "r8x", "", "rip", "x9999", "ymm-1"])
def test_names_that_are_no_register_are_none(name: str) -> None:
    assert X86.by_name(name) is None


@pytest.mark.parametrize(("group", "view", "index"), [("vec", "q", 0), ("gpu", "r", 0), ("vec", "ymm", -1), ("vec", "ymm", 5000)])  # fmt: skip # noqa: E501
def test_registers_that_cannot_exist_are_an_error(group: str, view: str, index: int) -> None:
    with pytest.raises(RegisterError):
        X86.register(group, view, index)


def test_storages_have_distinct_ids_below_the_count() -> None:
    for registers in (X86, ARM, SIMT):
        storages = list(registers.storages())
        assert len({storage.id for storage in storages}) == len(storages)
        assert max(storage.id for storage in storages) < registers.storage_count
        for storage in storages:
            assert registers.storage_name(storage.id) == storage.name

"""What a report says about each cause, and the words of the causes themselves."""

from __future__ import annotations

import string

import pytest

from tests.vm.traces import time_text
from vm.highlights import highlight, highlights
from vm.stalls import STALLS, Group, Stall
from vm.timeline import cycles_by_origin


def test_a_chain_names_consumer_producer_and_latency() -> None:
    text = "vmulps ymm1, ymm0, ymm2\nvaddps ymm0, ymm1, ymm2"
    timeline, program = time_text("x86/zen3", text, 99)
    found = highlight(timeline, [program], Stall.DATA)
    assert found is not None and found.culprit is not None
    assert str(found) in (
        "vaddps waits on vmulps (3 cycles)", "vmulps waits on vaddps (3 cycles)"
    )  # fmt: skip
    assert found.times == 99


def test_a_crowd_names_the_ports_and_what_keeps_them_busy() -> None:
    text = "\n".join(f"vfmadd231ps ymm{i}, ymm14, ymm15" for i in range(12))
    timeline, program = time_text("x86/skylake", text, 20)
    assert str(highlight(timeline, [program], Stall.PORT)) == "p0 p1 busy with vfmadd231ps"


def test_a_miss_names_the_load() -> None:
    timeline, program = time_text("x86/zen3", "vaddps ymm0, ymm0, ymmword ptr [rdi]", 1)
    assert str(highlight(timeline, [program], Stall.CACHE_MISS)) == "vaddps misses the cache"


def test_no_highlight_for_a_cause_that_did_not_occur() -> None:
    timeline, program = time_text("x86/zen3", "add rax, 1", 5)
    assert highlight(timeline, [program], Stall.BARRIER) is None
    assert Stall.RETIRING not in highlights(timeline, [program])


def test_cycles_by_origin_add_up_on_a_cpu() -> None:
    timeline, program = time_text("x86/zen3", "add rax, 1\nimul rbx, rax", 50)
    assert cycles_by_origin(timeline, [program]) == {"": pytest.approx(timeline.cycles)}


@pytest.mark.parametrize("stall", STALLS)
def test_every_cause_has_words_a_group_and_a_code(stall: Stall) -> None:
    assert STALLS[stall.code] is stall
    assert isinstance(stall.group, Group)
    entry = stall.glossary
    assert entry.title and entry.template and entry.meaning
    places = {name for _, name, _, _ in string.Formatter().parse(entry.template) if name}
    assert places <= {"culprit", "what"}

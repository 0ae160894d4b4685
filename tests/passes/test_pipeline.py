"""The table of passes: its constraints hold, single passes run, snapshots tell before and after."""

from __future__ import annotations

import itertools

import pytest

from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import CONSTRAINTS, HLO_PASSES, run_hlo_passes, trace_hlo_passes
from isas.errors import InputError
from tests.passes.helpers import case


def test_every_ordering_constraint_holds_and_has_a_reason() -> None:
    places = {row.name: place for place, row in enumerate(HLO_PASSES)}
    assert len(places) == len(HLO_PASSES)
    concerned = [c for c in CONSTRAINTS if c.before in places and c.after in places]
    assert concerned
    for constraint in concerned:
        assert places[constraint.before] < places[constraint.after], constraint
        assert constraint.reason


def test_every_row_says_why_it_stands_where_it_stands() -> None:
    assert all(row.why and row.stage == "hlo-fused" for row in HLO_PASSES)


def test_an_unknown_pass_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="there is no pass fuze") as caught:
        run_hlo_passes(case("softmax"), Options(), Journal(), only="fuze")
    assert "fuse" in (caught.value.hint or "")


def test_snapshots_form_a_chain_from_the_input_to_the_result() -> None:
    module = case("layernorm")
    snapshots = trace_hlo_passes(module, Options(), Journal())
    assert snapshots[0].before is module
    for one, other in itertools.pairwise(snapshots):
        assert one.after is other.before
    assert snapshots[-1].after == run_hlo_passes(module, Options(), Journal())
    assert all(s.seconds >= 0 for s in snapshots)


def test_a_pass_that_changes_nothing_hands_back_the_same_module() -> None:
    once = run_hlo_passes(case("softmax"), Options(), Journal())
    for snapshot in trace_hlo_passes(case("softmax"), Options(), Journal()):
        if snapshot.round > 1 and snapshot.name in ("fold", "dce"):
            assert snapshot.after is snapshot.before
    assert once.instruction_count > 0


def test_decisions_carry_stage_and_pass() -> None:
    journal = Journal()
    run_hlo_passes(case("layernorm"), Options(), journal)
    assert {entry.stage for entry in journal.entries} == {"hlo-fused"}
    assert {"inline", "simplify", "cse", "fuse"} <= {entry.pass_name for entry in journal.entries}


def test_every_instruction_of_the_result_has_origins_in_the_input() -> None:
    for name in ("softmax", "layernorm", "mlp_train_sgd"):
        module = case(name)
        known = {i.name for c in module.computations for i in c}
        for computation in run_hlo_passes(module, Options(), Journal()).computations:
            for instruction in computation:
                if instruction.opcode.text in ("parameter", "tuple"):
                    continue
                assert set(instruction.origins) <= known, (name, instruction.name)

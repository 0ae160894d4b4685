"""The passes of all levels as a table one can read: what runs, at which stage, and why it
stands there.

`HLO_PASSES` is run by `run_hlo_passes`; the LLVM and machine levels list theirs in the same shape.
`CONSTRAINTS` says which row must come before which, and why; a test holds the tables to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from compiler.buffers import copies, relief, reorder, returning
from compiler.hlo.module import Module
from compiler.hlo.passes import (
    bitcast,
    canonicalize,
    cse,
    dce,
    flatten,
    fold,
    fuse,
    hoist,
    inline,
    layout,
    move,
    normalize,
    simplify,
)
from compiler.hlo.passes.context import PassContext
from compiler.journal import Decision, Journal
from compiler.options import Options
from isas.errors import InputError

Unit = TypeVar("Unit")
Surroundings = TypeVar("Surroundings")


@dataclass(frozen=True, slots=True)
class Row(Generic[Unit, Surroundings]):
    """One pass. ``stage`` is the name under which its result is shown, ``why`` the reason for its
    place. Neighbouring rows of the same ``group`` are repeated together until nothing changes."""

    name: str
    stage: str
    why: str
    run: Callable[[Unit, Surroundings], Unit]
    group: str = ""


@dataclass(frozen=True, slots=True)
class Constraint:
    """The pass ``before`` must stand somewhere ahead of ``after``."""

    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[Unit]):
    """One run of a pass: the program before and after it, the seconds it took, what it decided."""

    name: str
    stage: str
    before: Unit
    after: Unit
    seconds: float
    round: int = 1
    decisions: tuple[Decision, ...] = ()


HLO_STAGE = "hlo-fused"

HLO_PASSES: tuple[Row[Module, PassContext], ...] = (
    Row(
        "normalize",
        HLO_STAGE,
        "first: pins the caller's layouts and takes all others away, so that the passes up to "
        "layout deal with numbers only",
        normalize.run,
    ),
    Row(
        "inline",
        HLO_STAGE,
        "early, so that every other pass sees whole computations instead of calls",
        inline.run,
    ),
    Row(
        "fold",
        HLO_STAGE,
        "before simplify, whose rules look for constants",
        fold.run,
        "cleanup",
    ),
    Row(
        "simplify",
        HLO_STAGE,
        "after fold, which gives it constants to look for; leaves dead operands behind",
        simplify.run,
        "cleanup",
    ),
    Row(
        "move",
        HLO_STAGE,
        "beside simplify: moves that meet or come later leave plain arithmetic to simplify again",
        move.run,
        "cleanup",
    ),
    Row(
        "canonicalize",
        HLO_STAGE,
        "after move, which brings transposes next to the dots and convolutions that take them in",
        canonicalize.run,
        "cleanup",
    ),
    Row(
        "cse",
        HLO_STAGE,
        "after the rewrites, which make alike what was spelled in different ways",
        cse.run,
        "cleanup",
    ),
    Row(
        "hoist",
        HLO_STAGE,
        "after cse, which leaves one copy to move; what leaves a loop is cleaned up outside it",
        hoist.run,
        "cleanup",
    ),
    Row(
        "dce",
        HLO_STAGE,
        "last of its group: the others leave instructions that nobody needs",
        dce.run,
        "cleanup",
    ),
    Row(
        "layout",
        HLO_STAGE,
        "when the moves that remain are known; fusion asks what is a bitcast",
        layout.run,
    ),
    Row(
        "fuse",
        HLO_STAGE,
        "after all rewriting: it hides instructions inside kernels",
        fuse.run,
    ),
    Row(
        "bitcast",
        HLO_STAGE,
        "after fuse, which copies free moves into kernels; those that are left cost nothing",
        bitcast.run,
    ),
    Row(
        "sweep",
        HLO_STAGE,
        "after fusion, which leaves constants and moves at the top level that only kernels used",
        dce.run,
    ),
    Row(
        "flatten",
        HLO_STAGE,
        "before copies and order, which give every array of a body or branch one place",
        flatten.run,
    ),
    Row(
        "copies",
        HLO_STAGE,
        "when kernels are known, which may update in place: loops overwrite their state",
        copies.run,
    ),
    Row(
        "relieve",
        HLO_STAGE,
        "when all launches are known: only then it shows which kernel runs at the memory peak",
        relief.run,
    ),
    Row(
        "order",
        HLO_STAGE,
        "last but one: the order of launches that keeps least memory alive, copies included",
        reorder.run,
    ),
    Row(
        "return",
        HLO_STAGE,
        "last: the order says which results cannot be written over the parameter donated for them",
        returning.run,
    ),
)

CONSTRAINTS: tuple[Constraint, ...] = (
    Constraint("normalize", "simplify", "rules compare arrays by their numbers, not their layouts"),
    Constraint("normalize", "cse", "twins that differ in layout only must meet"),
    Constraint("inline", "fuse", "a call inside a kernel has no element by element form"),
    Constraint("inline", "cse", "twins in different calls meet in one computation only"),
    Constraint("simplify", "layout", "simplify does not keep layouts"),
    Constraint("move", "layout", "a move that is gone needs no layout to make it free"),
    Constraint("canonicalize", "layout", "dimension numbers say which operand lies well"),
    Constraint("cse", "fuse", "twins in two kernels would be computed twice"),
    Constraint("dce", "fuse", "a dead user would count as a consumer"),
    Constraint("hoist", "fuse", "a kernel of a loop's body is all invariant or stays"),
    Constraint("layout", "fuse", "whether a move is free depends on layouts"),
    Constraint("fuse", "bitcast", "a bitcast inside a kernel hides what its index map is"),
    Constraint("bitcast", "sweep", "what only bitcasts used is dead afterwards"),
    Constraint("sweep", "copies", "a dead reader would ask for a copy"),
    Constraint("flatten", "copies", "a shared body would be copied for one of its callers"),
    Constraint("flatten", "order", "a shared body would be ordered for one of its callers"),
    Constraint("fuse", "order", "only launches have a place in time"),
    Constraint("copies", "order", "copies are launches too"),
    Constraint("copies", "relieve", "copies are part of the memory peak"),
    Constraint("relieve", "order", "a dot that was taken out is a launch of its own"),
    Constraint("order", "return", "whether a parameter is still read depends on the order"),
)

MOST_ROUNDS = 8
"""How often a group of passes is repeated at most."""


def run_hlo_passes(
    module: Module, options: Options, journal: Journal, only: str | None = None
) -> Module:
    """The module after all tensor-level passes, or after normalize and the one named ``only``.

    Raises InputError when there is no pass of that name.
    """
    snapshots = trace_hlo_passes(module, options, journal, only)
    return snapshots[-1].after if snapshots else module


def trace_hlo_passes(
    module: Module, options: Options, journal: Journal, only: str | None = None
) -> tuple[Snapshot[Module], ...]:
    """Every run of a pass in order, with the module before and after it."""
    rows = HLO_PASSES if only is None else _only(only)
    context = PassContext(options, journal)
    snapshots: list[Snapshot[Module]] = []
    for group in _groups(rows):
        rounds = MOST_ROUNDS if len(group) > 1 else 1
        for number in range(1, rounds + 1):
            before = module
            for row in group:
                snapshots.append(_run(row, module, context, number))
                module = snapshots[-1].after
            if module is before:
                break
    return tuple(snapshots)


def seconds_by_pass(runs: Sequence[Snapshot[Module]]) -> dict[str, float]:
    """Seconds of every pass, its rounds added up, in order of first appearance."""
    found: dict[str, float] = {}
    for run in runs:
        found[run.name] = found.get(run.name, 0.0) + run.seconds
    return found


def _only(name: str) -> tuple[Row[Module, PassContext], ...]:
    found = tuple(row for row in HLO_PASSES if row.name == name)
    if not found:
        known = ", ".join(row.name for row in HLO_PASSES)
        raise InputError(f"there is no pass {name}", hint=f"the passes are {known}")
    return found if found[0] is HLO_PASSES[0] else (HLO_PASSES[0], *found)


def _groups(
    rows: Sequence[Row[Module, PassContext]],
) -> list[list[Row[Module, PassContext]]]:
    groups: list[list[Row[Module, PassContext]]] = []
    for row in rows:
        if groups and row.group and groups[-1][-1].group == row.group:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _run(
    row: Row[Module, PassContext], module: Module, context: PassContext, number: int
) -> Snapshot[Module]:
    context.journal.enter(row.stage, row.name)
    known = len(context.journal.entries)
    started = time.perf_counter()
    after = row.run(module, context)
    seconds = time.perf_counter() - started
    decisions = tuple(entry.decision for entry in context.journal.entries[known:])
    return Snapshot(row.name, row.stage, module, after, seconds, number, decisions)

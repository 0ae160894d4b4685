"""Why a cycle was lost: the closed list of causes, with the words that explain each.

Timing models store a cause as its `code` (its place in this list) in integer arrays. Every cause
has a short name (the key in reports), a title, and an English sentence with places for `{culprit}`
(an instruction) and `{what}` (a register); other languages translate the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Wait(Enum):
    """What kind of thing is waited for; the pipeline diagram has a glyph for each."""

    NOTHING = " "
    DATA = "●"
    RESOURCE = "○"


class Group(Enum):
    """Causes gathered for a short report; the value is its English label."""

    RETIRING = "retiring"
    DATA = "data"
    PORTS = "ports"
    MEMORY = "memory"
    BRANCH = "branch"
    FRONT_END = "front end"
    QUEUES = "queues"
    WARPS = "warps"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Glossary:
    """One cause in words. `template` is a sentence about one instruction, `meaning` explains the
    term to a newcomer."""

    title: str
    wait: Wait
    template: str
    meaning: str


class Stall(Enum):
    """A cause for a lost cycle (and RETIRING, for one that was not)."""

    RETIRING = "retiring"
    START = "start"
    FETCH = "fetch"
    TAKEN_BRANCH = "taken-branch"
    BRANCH = "branch"
    DISPATCH = "dispatch"
    REORDER_BUFFER = "reorder-buffer"
    SCHEDULER = "scheduler"
    LOAD_QUEUE = "load-queue"
    STORE_QUEUE = "store-queue"
    DATA = "data"
    OVERWRITE = "overwrite"
    STORE_FORWARD = "store-forward"
    FORWARD_BLOCKED = "forward-blocked"
    CACHE_MISS = "cache-miss"
    LATENCY = "latency"
    PORT = "port"
    UNIT = "unit"
    ISSUE_WIDTH = "issue-width"
    PAIRING = "pairing"
    ISSUE_ORDER = "issue-order"
    RETIRE_WIDTH = "retire-width"
    END = "end"
    WARP_BRANCH = "warp-branch"
    NOT_SELECTED = "not-selected"
    COALESCING = "coalescing"
    BANK_CONFLICT = "bank-conflict"
    BARRIER = "barrier"
    DIVERGENCE = "divergence"
    NO_WARP = "no-warp"
    LAUNCH = "launch"

    @property
    def code(self) -> int:
        """The number that stands for the cause in arrays."""
        return _CODES[self]

    @property
    def glossary(self) -> Glossary:
        """The cause in words."""
        return GLOSSARY[self]

    @property
    def group(self) -> Group:
        """The cause's place in a short report."""
        return _GROUPS[self]

    def __str__(self) -> str:
        return self.value


STALLS: tuple[Stall, ...] = tuple(Stall)
"""Causes by code."""

_CODES = {stall: code for code, stall in enumerate(STALLS)}

_GROUPS: dict[Stall, Group] = {
    stall: group
    for group, stalls in {
        Group.RETIRING: (Stall.RETIRING,),
        Group.DATA: (Stall.DATA, Stall.LATENCY, Stall.OVERWRITE),
        Group.PORTS: (Stall.PORT, Stall.UNIT, Stall.ISSUE_WIDTH, Stall.PAIRING, Stall.ISSUE_ORDER),
        Group.MEMORY: (
            Stall.CACHE_MISS, Stall.STORE_FORWARD, Stall.FORWARD_BLOCKED, Stall.COALESCING,
            Stall.BANK_CONFLICT,
        ),
        Group.BRANCH: (Stall.BRANCH, Stall.TAKEN_BRANCH, Stall.WARP_BRANCH),
        Group.FRONT_END: (Stall.FETCH, Stall.DISPATCH, Stall.START),
        Group.QUEUES: (
            Stall.REORDER_BUFFER, Stall.SCHEDULER, Stall.LOAD_QUEUE, Stall.STORE_QUEUE,
            Stall.RETIRE_WIDTH,
        ),
        Group.WARPS: (Stall.BARRIER, Stall.DIVERGENCE, Stall.NO_WARP, Stall.NOT_SELECTED),
        Group.OTHER: (Stall.LAUNCH, Stall.END),
    }.items()
    for stall in stalls
}  # fmt: skip

_NONE, _DATA, _RESOURCE = Wait.NOTHING, Wait.DATA, Wait.RESOURCE

GLOSSARY: dict[Stall, Glossary] = {
    Stall.RETIRING: Glossary(
        "retiring", _NONE, "retires",
        "Useful work: an instruction left the pipeline in this slot.",
    ),
    Stall.START: Glossary(
        "start", _NONE, "is among the first instructions: the pipeline is still empty",
        "The pipeline fills at the start of the run.",
    ),
    Stall.FETCH: Glossary(
        "fetch width", _RESOURCE,
        "waits to be fetched: the front end delivers only so many instructions per cycle",
        "The front end delivered as many instructions as it can in a cycle.",
    ),
    Stall.TAKEN_BRANCH: Glossary(
        "taken branch", _RESOURCE,
        "waits to be fetched: {culprit} was a taken branch, fetching goes on in the next cycle",
        "Fetching stops for the rest of the cycle at a taken branch.",
    ),
    Stall.BRANCH: Glossary(
        "mispredicted branch", _DATA,
        "waits to be fetched: {culprit} was mispredicted, fetching restarted after it was known",
        "The branch predictor was wrong, and the right path is fetched only once the branch has"
        " executed.",
    ),
    Stall.DISPATCH: Glossary(
        "dispatch width", _RESOURCE,
        "waits for a dispatch slot: all of this cycle's went to older instructions",
        "Renaming and dispatch take only so many micro-ops per cycle.",
    ),
    Stall.REORDER_BUFFER: Glossary(
        "reorder buffer full", _RESOURCE,
        "cannot be dispatched: the reorder buffer is full until {culprit} retires",
        "Every instruction in flight holds a place in the reorder buffer until it retires.",
    ),
    Stall.SCHEDULER: Glossary(
        "scheduler full", _RESOURCE,
        "cannot be dispatched: the scheduler is full of waiting micro-ops, the oldest of {culprit}",
        "Micro-ops that wait for operands or a port hold a scheduler entry.",
    ),
    Stall.LOAD_QUEUE: Glossary(
        "load queue full", _RESOURCE,
        "cannot be dispatched: the load queue is full, its oldest entry is older than {culprit}",
        "Every load in flight holds a load queue entry until it retires.",
    ),
    Stall.STORE_QUEUE: Glossary(
        "store queue full", _RESOURCE,
        "cannot be dispatched: the store queue is full until {culprit} writes to the cache",
        "A store holds a store queue entry from dispatch until it has written the cache.",
    ),
    Stall.DATA: Glossary(
        "data", _DATA, "waits for {what} from {culprit}",
        "An operand is not there yet: a chain of dependent instructions sets the pace.",
    ),
    Stall.OVERWRITE: Glossary(
        "overwrite", _DATA, "waits because {culprit} has still to write the same register",
        "Without renaming, two writes to one register must end in program order.",
    ),
    Stall.STORE_FORWARD: Glossary(
        "store forwarding", _DATA, "waits for the data that {culprit} stores to the same place",
        "A load takes its data from an older store that has not reached the cache.",
    ),
    Stall.FORWARD_BLOCKED: Glossary(
        "store forwarding blocked", _DATA,
        "takes long because {culprit} stored only a part of what it loads",
        "A store that covers a load only in part cannot forward; the load waits for the cache.",
    ),
    Stall.CACHE_MISS: Glossary(
        "cache miss", _DATA, "waits for memory: the line of {culprit} was not in the cache",
        "The line was not in the first-level cache and comes from further away.",
    ),
    Stall.LATENCY: Glossary(
        "latency", _NONE, "is executing",
        "The instruction takes this many cycles, and nothing before it made it late.",
    ),
    Stall.PORT: Glossary(
        "port taken", _RESOURCE, "is ready, but {culprit} took the port",
        "All ports that can do this work were given to older micro-ops in this cycle.",
    ),
    Stall.UNIT: Glossary(
        "unit busy", _RESOURCE, "is ready, but the unit is still busy with {culprit}",
        "An unpipelined unit (divider, square root) takes one operation at a time.",
    ),
    Stall.ISSUE_WIDTH: Glossary(
        "issue width", _RESOURCE, "is ready, but this cycle's issue slots are taken",
        "Only so many micro-ops issue per cycle.",
    ),
    Stall.PAIRING: Glossary(
        "pairing", _RESOURCE, "is ready, but may not issue together with {culprit}",
        "In-order cores pair only certain kinds of instructions in one cycle.",
    ),
    Stall.ISSUE_ORDER: Glossary(
        "issue order", _RESOURCE, "waits behind {culprit}, which is older and has not issued",
        "An in-order core issues strictly in program order.",
    ),
    Stall.RETIRE_WIDTH: Glossary(
        "retire width", _RESOURCE, "is complete and waits for a retire slot",
        "Only so many micro-ops retire per cycle.",
    ),
    Stall.END: Glossary(
        "end", _NONE, "was the last instruction",
        "The last cycle's retire slots that no instruction was left to use.",
    ),
    Stall.WARP_BRANCH: Glossary(
        "branch latency", _DATA, "waits until its warp's branch {culprit} is resolved",
        "A warp does not run ahead of its own branches.",
    ),
    Stall.NOT_SELECTED: Glossary(
        "not selected", _RESOURCE, "is eligible, but the scheduler issued {culprit}",
        "Each scheduler issues for one warp per cycle.",
    ),
    Stall.COALESCING: Glossary(
        "uncoalesced access", _RESOURCE,
        "is ready, but the load/store unit is still serving the many sectors of {culprit}",
        "Lanes that touch many lines keep the load/store unit busy for several cycles.",
    ),
    Stall.BANK_CONFLICT: Glossary(
        "bank conflict", _RESOURCE,
        "is ready, but the load/store unit is still serving the bank conflicts of {culprit}",
        "Lanes that touch different words of one shared-memory bank are served one by one.",
    ),
    Stall.BARRIER: Glossary(
        "barrier", _DATA, "waits at the barrier for {culprit}",
        "A barrier releases its block's warps when the last of them has arrived.",
    ),
    Stall.DIVERGENCE: Glossary(
        "divergence", _NONE, "runs with only some of its lanes",
        "Lanes that are switched off waste their share of the issue slot.",
    ),
    Stall.NO_WARP: Glossary(
        "no warp", _NONE, "no warp of this scheduler is left to run",
        "The grid gives this scheduler no (more) warps: it is too small, or the launch drains.",
    ),
    Stall.LAUNCH: Glossary(
        "launch", _NONE, "waits until the launch has started",
        "Starting a kernel costs a fixed time in which nothing runs.",
    ),
}  # fmt: skip

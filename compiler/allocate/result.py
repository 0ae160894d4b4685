"""What an allocation gives: the function with registers and slots, and everything that was
decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compiler.allocate.linear_scan import ScanStep
from compiler.machine.code import MachineFunction, MachineInstruction, Slot, VirtualRegister


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A live interval as a screen draws it: its segments over the positions of its round, and where
    it went (a register's name, or "slot4", "a constant").
    """

    name: str
    members: tuple[str, ...]
    register_class: str
    segments: tuple[tuple[int, int], ...]
    place: str
    is_spilled: bool

    @property
    def start(self) -> int:
        return self.segments[0][0]

    @property
    def end(self) -> int:
        return self.segments[-1][1]


@dataclass(frozen=True, slots=True)
class Round:
    """One walk of linear scan: the intervals, the steps in order, and the number of positions."""

    number: int
    intervals: tuple[IntervalRow, ...]
    steps: tuple[ScanStep, ...]
    positions: int


@dataclass(frozen=True, slots=True)
class ClassUse:
    """Registers of one class. `pressure` counts live registers at each position of the first round,
    in storages. `enough` is the smallest count with which nothing would be spilled (None: no count
    is). `used` names the registers that the code touches, `limit` how many were allowed.
    """

    register_class: str
    limit: int
    used: tuple[str, ...]
    pressure: tuple[int, ...]
    enough: int | None

    @property
    def max_pressure(self) -> int:
        return max(self.pressure, default=0)


@dataclass(frozen=True, slots=True)
class AllocationResult:
    """`function` is the allocated code. `spilled` maps spilled virtual registers to their home: a
    slot, or None for constants that are made again and values kept in another class. `spills`,
    `reloads` and `rematerializations` count instructions in the code. `source` maps its
    instructions to those of the function that came in; those the allocator made are not in it.
    `assignment` gives the register of every virtual register that has one.
    """

    function: MachineFunction
    spilled: Mapping[VirtualRegister, Slot | None]
    spills: int
    reloads: int
    rematerializations: int
    classes: Mapping[str, ClassUse]
    rounds: tuple[Round, ...]
    source: Mapping[MachineInstruction, MachineInstruction]
    assignment: Mapping[VirtualRegister, str]

    @property
    def steps(self) -> tuple[ScanStep, ...]:
        """All steps of all rounds, in order, for the replay."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[ScanStep]:
        for round_ in self.rounds:
            yield from round_.steps

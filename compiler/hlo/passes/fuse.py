"""Fusion: decides which instructions become one kernel, and says why for every pair it looks at.

Memory is slow and launches cost; arithmetic beside a load is nearly free. So a value should be
consumed where it is produced. The pass goes from the results towards the parameters. For every
producer it tries, in this order, what keeps the value out of memory for most consumers: join all
consumers and the producer in one kernel; copy a cheap producer into each of them; join one consumer
and write the value out beside (a second result). A last sweep joins kernels that only share what
they read. Whether a set of instructions is one kernel at all is not decided here but proved by
`compiler.hlo.rows`, so softmax, layernorm and logsumexp need no patterns of their own: they are
what is left when every pair that has a common row has been joined. A dot takes elementwise work on
its result (an epilogue) and reads its operands from memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.hlo.costs import cost_of
from compiler.hlo.elements import ELEMENTAL
from compiler.hlo.fusion.decisions import FusionDecision, How, KernelFormed
from compiler.hlo.fusion.edges import untold_edges
from compiler.hlo.fusion.emit import Emitter, Formed
from compiler.hlo.fusion.graph import Graph, build_graph, is_passive
from compiler.hlo.fusion.order import Order, build_order
from compiler.hlo.fusion.trial import BYTE_COST, LAUNCH_COST, Trial, Trials, bytes_at_border
from compiler.hlo.kernels import bytes_moved, is_kernel, launching_computations
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import Rewriter

CHEAP = 4.0
"""Up to this cost per element (see `compiler.hlo.costs`) a producer may be copied."""

LARGEST_SIBLINGS = 200.0
"""Cost per element up to which kernels that only share what they read are joined: more independent
work side by side wants more registers than there are."""

MOST_SIBLINGS = 32
"""So many readers of one array are compared with each other."""


def run(module: Module, context: PassContext) -> Module:
    """Fuses the entry and every computation that loops and branches run launch by launch."""
    rewriter = Rewriter(module)
    names = dict.fromkeys(c.name for c in launching_computations(module))
    for name in names:
        computation = module.computation(name)
        graph = build_graph(computation, ELEMENTAL)
        fuser = _Fuser(context, graph, build_order(graph), Trials(module, graph))
        if context.options.fuse:
            fuser.fuse()
            for decision in untold_edges(graph, fuser.told):
                context.record(decision)
        emitter = Emitter(module, graph, rewriter.names)
        fused = emitter.emit()
        if emitter.formed:
            rewriter.replace_computation(fused)
        for formed in emitter.formed:
            rewriter.add_computation(formed.computation)
            context.record(_formed(computation, formed))
    return rewriter.build()


def _formed(before: Computation, formed: Formed) -> KernelFormed:
    parts = [before.instruction(n) for n in formed.instruction.origin if n in before]
    kernels = [i for i in parts if is_kernel(before, i)]
    inside = tuple(
        i.name for i in formed.computation if i.opcode.arity != 0 and not i.opcode.is_view
    )
    return KernelFormed(
        subject=formed.instruction.name,
        origins=formed.instruction.origins,
        chosen=" ".join(inside),
        instructions=inside,
        members=formed.members,
        stages=tuple(map(str, formed.structure.stages)),
        launches_before=len(kernels),
        bytes_before=sum(bytes_moved(before, i) for i in kernels),
        bytes_after=_border(before, formed),
    )


def _border(before: Computation, formed: Formed) -> int:
    reads = sum(p.shape.size_bytes for p in formed.computation.parameters)
    return reads + formed.instruction.shape.size_bytes


@dataclass(slots=True)
class _Fuser:
    """The decisions for one computation."""

    context: PassContext
    graph: Graph
    order: Order
    trials: Trials
    considered: set[int] = field(default_factory=set)
    told: set[tuple[str, str]] = field(default_factory=set)

    def fuse(self) -> None:
        for instruction in reversed(self.graph.computation.instructions):
            number = self.graph.home(instruction.name)
            if number is not None and number not in self.considered:
                self.considered.add(number)
                self._consider(number)
        self._join_siblings()

    def _consider(self, number: int) -> None:
        consumers = self._consumers(number)
        if not consumers:
            return
        if is_passive(self.graph, number):
            self._copy(number, consumers)
            return
        if self._is_weightless(number) and self._copy(number, consumers):
            return
        consumers = self._consumers(number)
        if len(consumers) > 1 and self._join([number, *consumers], How.MOVED, say=False):
            return
        if len(consumers) > 1 and self._is_cheap(number) and self._copy(number, consumers):
            return
        for consumer in self._consumers(number):
            if self._join([number, consumer], How.MOVED):
                return

    def _consumers(self, number: int) -> list[int]:
        """The kernels that need a group's value; groups that only rename memory are not."""
        found: dict[int, None] = {}
        for name in self.graph.ordered(self.graph.groups[number].names):
            if self.graph.home(name) == number:
                consumers, _ = self.graph.consumers(name)
                found.update((c, None) for c in consumers if c != number)
        return [c for c in found if not is_passive(self.graph, c)]

    def _instructions(self, number: int) -> list[Instruction]:
        return [self.graph.instruction(n) for n in self.graph.ordered(self._names(number))]

    def _names(self, number: int) -> set[str]:
        return self.graph.groups[number].names

    def _is_weightless(self, number: int) -> bool:
        """True of moves and fills that read no more than they yield."""
        parts = self._instructions(number)
        read = bytes_at_border(self.graph, self.graph.groups[number].inputs)
        written = sum(i.shape.size_bytes for i in parts)
        return len(parts) == 1 and cost_of(parts[0]) == 0 and read <= written

    def _is_cheap(self, number: int) -> bool:
        parts = self._instructions(number)
        return len(parts) == 1 and parts[0].is_array and self._may_copy(parts[0])

    def _may_copy(self, instruction: Instruction) -> bool:
        return instruction.opcode in ELEMENTAL and cost_of(instruction) <= CHEAP

    def _border(self, numbers: Iterable[int]) -> int:
        """The bytes that some groups move."""
        total = 0
        for number in numbers:
            if not is_passive(self.graph, number):
                outputs = self.graph.outputs((number,))
                total += bytes_at_border(self.graph, self.graph.groups[number].inputs)
                total += bytes_at_border(self.graph, outputs)
        return total

    def _join(self, numbers: list[int], how: How, say: bool = True) -> bool:
        """Makes one kernel of several groups if that is possible and pays."""
        if not self.order.admits(numbers):
            return self._refuse(numbers, "something else stands between them", say)
        trial = self.trials.join(numbers)
        if isinstance(trial, str):
            return self._refuse(numbers, trial, say)
        saved = self._border(numbers) - trial.bytes_moved
        launches = len(numbers) - 1
        paid = sum(map(self.trials.recomputed, numbers))
        if _is_too_dear(trial.spent.total - paid, saved, launches):
            return self._refuse(numbers, str(trial.spent), say)
        self._tell_joined(numbers, how, trial, saved)
        target, *others = sorted(numbers, key=lambda n: n not in self.considered)
        self.order.merged(target, others)
        self.graph.merge(target, others)
        self.trials.accept(target, trial)
        self.considered.add(target)
        return True

    def _copy(self, number: int, consumers: list[int]) -> bool:
        """Lets consumers compute a cheap producer; True when nobody else needs it.

        When all of them can, its kernel goes away, which may pay for some bytes read twice. Else
        only those take a copy that move no more bytes than before.
        """
        trials = [(c, self._try_copy(number, c)) for c in consumers]
        found = [(c, t) for c, t in trials if t is not None]
        names = self.graph.ordered(self._names(number))
        outside = any(self.graph.consumers(name)[1] for name in names)
        passive = any(
            is_passive(self.graph, c) for name in names for c in self.graph.consumers(name)[0]
        )
        alone = len(found) == len(trials) and not outside and not passive
        if alone and self._pays_to_copy(number, found):
            for consumer, trial in found:
                self._take_copy(number, consumer, trial)
            self.order.removed(number)
            self.graph.drop(number)
            return True
        for consumer, trial in found:
            if self._saved_by_copy(consumer, trial) >= 0 and self._extra(consumer, trial) <= 0:
                self._take_copy(number, consumer, trial)
            else:
                more = -self._saved_by_copy(consumer, trial)
                self._refuse([number, consumer], f"copying it would move {more} bytes more")
        return False

    def _try_copy(self, number: int, consumer: int) -> Trial | None:
        trial = self.trials.copy(number, consumer)
        if isinstance(trial, str):
            self._refuse([number, consumer], trial)
            return None
        return trial

    def _saved_by_copy(self, consumer: int, trial: Trial) -> int:
        return self._border([consumer]) - trial.bytes_moved

    def _extra(self, consumer: int, trial: Trial) -> float:
        return trial.spent.total - self.trials.recomputed(consumer)

    def _pays_to_copy(self, number: int, found: list[tuple[int, Trial]]) -> bool:
        saved = self._border([number]) + sum(self._saved_by_copy(c, t) for c, t in found)
        again = (len(found) - 1) * sum(
            cost_of(i) * i.array.element_count for i in self._instructions(number) if i.is_array
        )
        extra = again + sum(self._extra(c, t) for c, t in found)
        return extra <= saved * BYTE_COST + LAUNCH_COST

    def _take_copy(self, number: int, consumer: int, trial: Trial) -> None:
        saved = self._saved_by_copy(consumer, trial)
        self.trials.accept(consumer, trial)
        because = f"saves {saved} bytes there" if saved > 0 else "computing it again costs little"
        copied = len(self._names(number))
        self._record([number, consumer], How.COPIED, because, saved, 0, copied)
        self.graph.copy_into(number, consumer)
        self.order.changed(consumer)

    def _join_siblings(self) -> None:
        readers: dict[str, list[int]] = {}
        for number in sorted(self.graph.groups):
            if not is_passive(self.graph, number):
                for name in self.graph.groups[number].inputs:
                    readers.setdefault(name, []).append(number)
        for name in self.graph.ordered(readers):
            self._join_readers(readers[name][:MOST_SIBLINGS])

    def _join_readers(self, numbers: list[int]) -> None:
        leaders: list[int] = []
        for number in numbers:
            if number not in self.graph.groups or number in leaders:
                continue
            for place, leader in enumerate(leaders):
                if self._join_sibling(leader, number):
                    leaders[place] = leader if leader in self.graph.groups else number
                    break
            else:
                leaders.append(number)

    def _join_sibling(self, one: int, other: int) -> bool:
        if one not in self.graph.groups:
            return False
        parts = self._instructions(one) + self._instructions(other)
        if any(map(_is_dot, parts)):
            return False
        if sum(map(cost_of, parts)) > LARGEST_SIBLINGS:
            return self._refuse([one, other], "too much independent work for the registers")
        return self._join([one, other], How.SIBLING)

    def _tell_joined(self, numbers: list[int], how: How, trial: Trial, saved: int) -> None:
        producer = numbers[0]
        shared = set(trial.outputs) & self._names(producer)
        if how is How.MOVED and shared:
            how = How.SHARED
        because = f"{self._situation(numbers, how)}; saves a launch and {saved} bytes"
        if trial.analysis.is_dot and any(_is_dot(i) for i in self._instructions(producer)):
            because = f"epilogue of the dot: {because}"
        for consumer in numbers[1:]:
            self._record([producer, consumer], how, because, saved // (len(numbers) - 1), 1)

    def _situation(self, numbers: list[int], how: How) -> str:
        """Who needs the producer, in words."""
        if how is How.SIBLING:
            read = [self.graph.inputs(self._names(n)) for n in numbers]
            both = [name for name in read[0] if name in read[1]]
            return f"both read {both[0]}" if both else "neither needs the other"
        if how is How.SHARED:
            return "others need it as well, so it is written out beside"
        if len(numbers) > 2:
            return f"its {len(numbers) - 1} users fit in one kernel"
        return "its only user is there"

    def _refuse(self, numbers: list[int], reason: str, say: bool = True) -> bool:
        if say:
            self._record(numbers, How.APART, reason)
        return False

    def _record(
        self,
        pair: list[int],
        how: How,
        because: str,
        saved: int = 0,
        launches: int = 0,
        copied: int = 0,
    ) -> None:
        producer, consumer = (self.graph.groups[n].last for n in pair)
        self.told.add((producer, consumer))
        self.context.record(
            FusionDecision(
                subject=producer,
                origins=tuple(
                    dict.fromkeys(o for n in (producer, consumer) for o in self._origins(n))
                ),
                chosen=how.value,
                because=because,
                consumer=consumer,
                how=how,
                bytes_saved=saved,
                launches_saved=launches,
                code_duplicated=copied,
            )
        )

    def _origins(self, name: str) -> tuple[str, ...]:
        return self.graph.instruction(name).origins


def _is_too_dear(extra: float, saved: int, launches: int) -> bool:
    return extra > 0 and extra > saved * BYTE_COST + launches * LAUNCH_COST


def _is_dot(instruction: Instruction) -> bool:
    return instruction.opcode is Opcode.DOT

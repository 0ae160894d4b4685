"""Builds the vector loop in front of the scalar one, which stays for what is left over.

    preheader ─► vector body ─► middle ─► scalar loop ─► exit
                    └──◄──┘        └ (nothing left over: straight to the exit, the scalar loop goes)

The middle block brings the lanes and copies of each reduction together in a fixed tree: first the
copies in pairs, then the upper half of the lanes onto the lower until one is left. Every machine
and witness adds in this same order. Where the count is only known at run time, the preheader first
asks whether there is anything for vectors to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.llvm.analysis.cfg import remove_unreachable, replace_predecessor
from compiler.llvm.builder import Builder
from compiler.llvm.ir import BasicBlock, Constant, Function, Instruction, Opcode, Predicate, Value
from compiler.llvm.rules.match import int_constant
from compiler.llvm.types import VOID
from compiler.llvm.vectorizer.body import BodyWriter
from compiler.llvm.vectorizer.demand import Demand
from compiler.llvm.vectorizer.plan import Plan
from compiler.llvm.vectorizer.reduction import final_value
from compiler.llvm.vectorizer.shape import Reduction, Shape
from compiler.target import Target


@dataclass(slots=True)
class _Frame:
    """The blocks around the vector body; `done` is how many scalar iterations vectors do."""

    entry: BasicBlock
    body: BasicBlock
    middle: BasicBlock
    done: Value
    finals: dict[Reduction, Value] = field(default_factory=dict)


def widen(
    function: Function, shape: Shape, demand: Demand, plan: Plan, target: Target
) -> BasicBlock:
    """Puts the vector loop in front of the scalar one (or in its place) and returns its body."""
    builder = Builder(function)
    builder.origins = shape.trips.compare.origins
    if plan.vector_count is None:
        frame = _open_unknown(function, shape, plan, builder)
    else:
        frame = _open_known(function, shape, plan, builder)
    writer = BodyWriter(function, shape, demand, plan, frame.entry, frame.body)
    writer.write()
    _close_body(shape, plan, frame, writer, builder)
    builder.at(frame.middle)
    for reduction in shape.reductions:
        builder.origins = reduction.last.origins
        parts = [writer.vector(reduction.last, part) for part in range(plan.parts)]
        frame.finals[reduction] = final_value(builder, reduction, parts, target)
    builder.origins = shape.trips.compare.origins
    if plan.vector_count is None:
        _join_unknown(function, shape, frame, builder)
    elif plan.vector_count == shape.count:
        _replace_loop(function, shape, frame, builder)
    else:
        _enter_rest(shape, frame.middle, frame, builder)
        builder.br(shape.loop.header)
    return frame.body


def _open_known(function: Function, shape: Shape, plan: Plan, builder: Builder) -> _Frame:
    preheader = shape.preheader
    body = function.add_block(f"{shape.loop.header.name}.vector", preheader)
    middle = function.add_block(f"{shape.loop.header.name}.middle", body)
    if preheader.terminator is not None:
        preheader.terminator.erase()
    builder.at(preheader).br(body)
    type = shape.trips.induction.phi.type
    return _Frame(preheader, body, middle, Constant(type, plan.vector_count or 0))


def _open_unknown(function: Function, shape: Shape, plan: Plan, builder: Builder) -> _Frame:
    """The preheader counts: all iterations, rounded down to whole vectors, are done by vectors."""
    preheader, name = shape.preheader, shape.loop.header.name
    entry = function.add_block(f"{name}.enter", preheader)
    body = function.add_block(f"{name}.vector", entry)
    middle = function.add_block(f"{name}.middle", body)
    if preheader.terminator is not None:
        preheader.terminator.erase()
    builder.at(preheader)
    induction = shape.trips.induction
    type = induction.phi.type
    count = builder.binary(Opcode.SUB, shape.trips.bound, induction.start, "count")
    done = builder.binary(Opcode.AND, count, int_constant(type, -plan.width), "count.vector")
    any_left = builder.icmp(Predicate.SGT, done, int_constant(type, 0), "has.vector")
    builder.cond_br(any_left, entry, shape.loop.header)
    builder.at(entry).br(body)
    return _Frame(entry, body, middle, done)


def _close_body(
    shape: Shape, plan: Plan, frame: _Frame, writer: BodyWriter, builder: Builder
) -> None:
    """Counts on and branches back while vectors have something to do."""
    builder.at(frame.body)
    induction = shape.trips.induction
    counter = writer.counter(induction.phi)
    following = counter.incoming_from(frame.body)
    at_entry = builder.at(frame.entry, frame.entry.terminator)
    end = _advanced(at_entry, induction.start, frame.done, induction.step)
    builder.at(frame.body)
    again = builder.icmp(Predicate.NE, following, end, f"{induction.phi.name}.more")
    builder.cond_br(again, frame.body, frame.middle)


def _advanced(builder: Builder, start: Value, done: Value, step: int) -> Value:
    """start + done * step."""
    type = start.type
    if isinstance(done, Constant) and isinstance(done.value, int):
        total = done.value * step
        if isinstance(start, Constant) and isinstance(start.value, int):
            return int_constant(type, start.value + total)
        return builder.binary(Opcode.ADD, start, int_constant(type, total), "end")
    if done.type.bits != type.bits:
        opcode = Opcode.TRUNC if done.type.bits > type.bits else Opcode.ZEXT
        done = builder.cast(opcode, done, type)
    grown = done if step == 1 else builder.binary(Opcode.MUL, done, int_constant(type, step))
    if isinstance(start, Constant) and start.value == 0:
        return grown
    return builder.binary(Opcode.ADD, start, grown, "end")


def _resume_values(shape: Shape, frame: _Frame, builder: Builder) -> dict[Instruction, Value]:
    """What each header phi holds when vectors are done."""
    values: dict[Instruction, Value] = {}
    for phi, induction in shape.inductions.items():
        values[phi] = _advanced(builder, induction.start, frame.done, induction.step)
    for reduction in shape.reductions:
        values[reduction.phi] = frame.finals[reduction]
    return values


def _enter_rest(shape: Shape, source: BasicBlock, frame: _Frame, builder: Builder) -> None:
    """The scalar loop starts where vectors ended; `source` leads to it instead of the preheader."""
    for phi, value in _resume_values(shape, frame, builder).items():
        index = phi.blocks.index(shape.preheader)
        phi.set_operand(index, value)
        phi.blocks[index] = source


def _join_unknown(function: Function, shape: Shape, frame: _Frame, builder: Builder) -> None:
    """The scalar loop is entered from the preheader (nothing for vectors) or from the middle."""
    rest = function.add_block(f"{shape.loop.header.name}.rest", frame.middle)
    resume = _resume_values(shape, frame, builder)
    builder.br(rest)
    for phi, value in resume.items():
        merged = Instruction(
            Opcode.PHI, phi.type, name=function.fresh_name(f"{phi.name}.rest"), origins=phi.origins
        )
        rest.append(merged)
        merged.add_incoming(phi.incoming_from(shape.preheader), shape.preheader)
        merged.add_incoming(value, frame.middle)
        index = phi.blocks.index(shape.preheader)
        phi.set_operand(index, merged)
        phi.blocks[index] = rest
    if shape.preheader.terminator is not None:
        shape.preheader.terminator.blocks[1] = rest
    builder.at(rest).br(shape.loop.header)


def _replace_loop(function: Function, shape: Shape, frame: _Frame, builder: Builder) -> None:
    """Nothing is left over: the scalar loop goes, its final values come from the middle block."""
    finals = _resume_values(shape, frame, builder)
    values: dict[Instruction, Value] = dict(finals)
    if not shape.is_tested_first:
        for phi, induction in shape.inductions.items():
            values[induction.next] = finals[phi]
            back = int_constant(phi.type, -induction.step)
            values[phi] = builder.binary(Opcode.ADD, finals[phi], back, f"{phi.name}.last")
        for reduction in shape.reductions:
            values[reduction.last] = finals[reduction.phi]
    members = shape.loop.members
    for value, final in values.items():
        for user in dict.fromkeys(value.users):
            if user.block not in members:
                _redirect(user, value, final)
    exiting, exit = shape.trips.exiting, shape.trips.exit
    replace_predecessor(exit, exiting, frame.middle)
    builder.br(exit)
    if exiting.terminator is not None:
        exiting.terminator.erase()
    exiting.append(Instruction(Opcode.UNREACHABLE, VOID))
    remove_unreachable(function)
    _drop_unused(frame.middle)


def _redirect(user: Instruction, value: Value, final: Value) -> None:
    for index, operand in enumerate(user.operands):
        if operand is value:
            user.set_operand(index, final)


def _drop_unused(block: BasicBlock) -> None:
    for instruction in reversed(list(block.instructions)):
        if not instruction.users and not instruction.has_side_effects:
            instruction.erase()

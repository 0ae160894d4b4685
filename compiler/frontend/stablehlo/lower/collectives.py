"""Collectives, infeed and outfeed, send and receive."""

from __future__ import annotations

from typing import Any

from compiler.frontend.stablehlo.lower.checks import declared_results
from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import (
    Fault,
    Refusal,
    flag,
    groups,
    integer,
    text,
)
from compiler.frontend.stablehlo.lower.structured import only_region
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.values import Record
from compiler.hlo.attributes import Verbatim
from compiler.hlo.infer.base import array
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType, TokenShape, TupleShape


def _grouping(operation: Operation) -> dict[str, Any]:
    """Replica groups, channel and identifiers as HLO attributes."""
    rows = groups(operation, "replica_groups")
    body = ",".join("{" + ",".join(map(str, row)) + "}" for row in rows)
    channel = operation.attributes.get("channel_handle")
    number = channel.fields.get("handle") if isinstance(channel, Record) else None
    return {
        "channel_id": number or None,
        "replica_groups": Verbatim("{" + body + "}"),
        "use_global_device_ids": flag(operation, "use_global_device_ids") or None,
    }


def all_reduce(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    body = frame.function(only_region(operation), "region")
    made = frame.emit(Opcode.ALL_REDUCE, operands, **_grouping(operation), to_apply=body)
    return frame.split(made, len(operands))


def cross_replica_sum(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    body = frame.program.binary(Opcode.ADD, operands[0].kind, frame.line)
    return [frame.emit(Opcode.ALL_REDUCE, operands, **_grouping(operation), to_apply=body)]


def _along(opcode: Opcode, key: str, reduces: bool = False) -> Handler:
    """A collective that gathers or scatters along one dimension."""

    def handle(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
        body = frame.function(only_region(operation), "region") if reduces else None
        made = frame.emit(
            opcode,
            operands,
            declared_results(frame, operation),
            **_grouping(operation),
            dimensions=(integer(operation, key),),
            to_apply=body,
        )
        return frame.split(made, len(operands))

    return handle


def all_to_all(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    split, joined = integer(operation, "split_dimension"), integer(operation, "concat_dimension")
    if split != joined and integer(operation, "split_count") != 1:
        raise Refusal(f"an exchange that splits dimension {split} and joins dimension {joined}")
    made = frame.emit(
        Opcode.ALL_TO_ALL,
        operands,
        declared_results(frame, operation),
        **_grouping(operation),
        dimensions=(split,),
    )
    return frame.split(made, len(operands))


def collective_permute(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    grouping = _grouping(operation)
    return [
        frame.emit(
            Opcode.COLLECTIVE_PERMUTE,
            operands,
            operands[0].shape,
            channel_id=grouping["channel_id"],
            source_target_pairs=groups(operation, "source_target_pairs"),
        )
    ]


def _same_shape(opcode: Opcode, reduces: bool = False) -> Handler:
    def handle(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
        body = frame.function(only_region(operation), "region") if reduces else None
        made = frame.emit(
            opcode,
            operands,
            declared_results(frame, operation),
            **_grouping(operation),
            to_apply=body,
        )
        return frame.split(made, len(operands))

    return handle


def _identifier(opcode: Opcode) -> Handler:
    def handle(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
        return [frame.emit(opcode, [], array(ElementType.U32, ()))]

    return handle


def infeed(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """What the program that runs this one feeds, if it does; else an operation of its own."""
    count = len(operation.result_types) - 1
    if frame.program.infeed:
        owner, values = frame.program.infeed.pop(0)
        if owner is not frame or len(values) != count:
            raise Refusal("an infeed inside a region, or of several values,")
        return [*values, operands[0]]
    shapes = tuple(frame.declared_shape(i) for i in range(count))
    data = shapes[0] if count == 1 else TupleShape(shapes)
    made = frame.emit(
        Opcode.INFEED,
        operands,
        TupleShape((data, TokenShape())),
        infeed_config=text(operation, "infeed_config", "") or None,
    )
    first = frame.element(made, 0)
    parts = [first] if count == 1 else [frame.element(first, i) for i in range(count)]
    return [*parts, frame.element(made, 1)]


def outfeed(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if not operands:
        raise Fault("needs a token")
    data = frame.packed(operands[:-1])
    return [
        frame.emit(
            Opcode.OUTFEED,
            [data, operands[-1]],
            outfeed_config=text(operation, "outfeed_config", "") or None,
        )
    ]


def _channel(operation: Operation) -> dict[str, Any]:
    handle = operation.attributes.get("channel_handle")
    number = handle.fields.get("handle", 0) if isinstance(handle, Record) else 0
    return {
        "channel_id": number,
        "is_host_transfer": flag(operation, "is_host_transfer") or None,
    }


def send(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if not operands:
        raise Fault("needs a token")
    channel = _channel(operation)
    data = frame.packed(operands[:-1])
    made = frame.emit(Opcode.SEND, [data, operands[-1]], **channel)
    return [frame.emit(Opcode.SEND_DONE, [made], **channel)]


def recv(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    channel = _channel(operation)
    count = len(operation.result_types) - 1
    shapes = tuple(frame.declared_shape(i) for i in range(count))
    data = shapes[0] if count == 1 else TupleShape(shapes)
    shape = TupleShape((data, array(ElementType.U32, ()), TokenShape()))
    made = frame.emit(Opcode.RECV, operands, shape, **channel)
    done = frame.emit(Opcode.RECV_DONE, [made], **channel)
    first = frame.element(done, 0)
    parts = [first] if count == 1 else [frame.element(first, i) for i in range(count)]
    return [*parts, frame.element(done, 1)]


HANDLERS: dict[str, Handler] = {
    "stablehlo.all_reduce": all_reduce,
    "stablehlo.cross-replica-sum": cross_replica_sum,
    "stablehlo.all_gather": _along(Opcode.ALL_GATHER, "all_gather_dim"),
    "stablehlo.reduce_scatter": _along(Opcode.REDUCE_SCATTER, "scatter_dimension", reduces=True),
    "stablehlo.all_to_all": all_to_all,
    "stablehlo.collective_permute": collective_permute,
    "stablehlo.collective_broadcast": _same_shape(Opcode.COLLECTIVE_BROADCAST),
    "stablehlo.collective_reduce": _same_shape(Opcode.COLLECTIVE_REDUCE, reduces=True),
    "stablehlo.replica_id": _identifier(Opcode.REPLICA_ID),
    "stablehlo.partition_id": _identifier(Opcode.PARTITION_ID),
    "stablehlo.infeed": infeed,
    "stablehlo.outfeed": outfeed,
    "stablehlo.send": send,
    "stablehlo.recv": recv,
}

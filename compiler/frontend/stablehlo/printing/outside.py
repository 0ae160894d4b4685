"""Writers of calls to the outside: custom calls, checks, send and receive, infeed and outfeed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from compiler.frontend.stablehlo.printing.spelling import i64_matrix, truth
from compiler.frontend.stablehlo.printing.structured import operands_of, written
from compiler.hlo.evaluate.checks import PREFIX, settings_of
from compiler.hlo.evaluate.special import TARGETS
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.quoting import quoted
from compiler.hlo.shape import TokenShape, leaves

if TYPE_CHECKING:
    from compiler.frontend.stablehlo.printing.functions import FunctionPrinter

Writer: TypeAlias = "Callable[[FunctionPrinter, Computation, Instruction], None]"
Attributes: TypeAlias = dict[str, str]


def _custom_call(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    from compiler.frontend.stablehlo.printing.functions import shaped

    target = instruction.attributes["custom_call_target"]
    operands = operands_of(p, computation, instruction)
    if target in TARGETS:
        names = p.generic(target, instruction, operands, {})
    elif target.startswith(PREFIX):
        names = p.generic("stablehlo.custom_call", instruction, operands, _check(instruction))
    else:
        entries = _call_attributes(p, instruction)
        names = p.generic("stablehlo.custom_call", instruction, operands, entries)
    p.trees[instruction.name] = shaped(names, instruction.shape)


def _call_attributes(p: FunctionPrinter, instruction: Instruction) -> Attributes:
    get = instruction.attributes.get
    entries = {"call_target_name": quoted(instruction.attributes["custom_call_target"])}
    if get("custom_call_has_side_effect", False):
        entries["has_side_effect"] = "true"
    configuration = str(get("backend_config", ""))
    if configuration:
        entries["backend_config"] = configuration
    if str(get("api_version", "")).endswith("TYPED_FFI"):
        entries["api_version"] = "4 : i32"
    called = get("called_computations", ())
    if called:
        listed = ", ".join(f"@{p.module.symbol(name)}" for name in called)
        entries["called_computations"] = f"[{listed}]"
    return entries


def _check(instruction: Instruction) -> Attributes:
    """A check with its settings as attributes."""
    entries = {
        "call_target_name": quoted(instruction.attributes["custom_call_target"]),
        "has_side_effect": "true",
    }
    for key, value in settings_of(instruction).items():
        entries[key] = _setting(value)
    return entries


def _setting(value: object) -> str:
    if isinstance(value, int):
        return f"{value} : ui64"
    return f"{value:.16e} : f64" if isinstance(value, float) else quoted(str(value))


def _send_done(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    start = computation.instruction(instruction.operands[0])
    operands = operands_of(p, computation, start)
    names = p.generic("stablehlo.send", start, operands, _channel(start), results=[TokenShape()])
    p.trees[instruction.name] = names[0]


def _recv_done(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    from compiler.frontend.stablehlo.printing.functions import shaped

    start = computation.instruction(instruction.operands[0])
    operands = operands_of(p, computation, start)
    results = list(leaves(instruction.shape))
    names = p.generic("stablehlo.recv", start, operands, _channel(start), results=results)
    p.trees[instruction.name] = shaped(names, instruction.shape)


def _channel(instruction: Instruction) -> Attributes:
    number = instruction.attributes.get("channel_id", 0)
    host = bool(instruction.attributes.get("is_host_transfer", False))
    to_host = instruction.opcode is Opcode.SEND
    kind = 1 if not host else 2 if to_host else 3
    return {
        "channel_handle": f"#stablehlo.channel_handle<handle = {number}, type = {kind}>",
        "is_host_transfer": truth(host),
    }


def _later(p: FunctionPrinter, computation: Computation, instruction: Instruction) -> None:
    """A start whose done writes both."""
    p.trees[instruction.name] = ()


def configured(name: str, ours: str) -> Writer:
    def attributes(i: Instruction) -> Attributes:
        return {ours: quoted(i.attributes.get(ours, ""))}

    return written(name, attributes)


def _permute(i: Instruction) -> Attributes:
    pairs: Any = i.attributes.get("source_target_pairs", ())
    entries = {"source_target_pairs": i64_matrix(pairs or [()])}
    return {**entries, **channel_of(i)}


def channel_of(i: Instruction) -> Attributes:
    """The channel of a collective that has one."""
    number = i.attributes.get("channel_id")
    if number is None:
        return {}
    return {"channel_handle": f"#stablehlo.channel_handle<handle = {number}, type = 1>"}


WRITERS: dict[Opcode, Writer] = {
    Opcode.CUSTOM_CALL: _custom_call,
    Opcode.SEND: _later,
    Opcode.SEND_DONE: _send_done,
    Opcode.RECV: _later,
    Opcode.RECV_DONE: _recv_done,
    Opcode.INFEED: configured("stablehlo.infeed", "infeed_config"),
    Opcode.OUTFEED: configured("stablehlo.outfeed", "outfeed_config"),
    Opcode.COLLECTIVE_PERMUTE: written("stablehlo.collective_permute", _permute),
}

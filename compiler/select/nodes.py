"""The selector's view of LLVM IR: nodes over the same effects that instruction cards use.

`NodeBuilder` turns each IR value into one node; pointers become integers, `getelementptr` becomes
adds and shifts, and intrinsics become the effect they are named after. A tree pattern derived from
a card then matches nodes directly.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from compiler.llvm import ir
from compiler.llvm.ir import Opcode, subject_of
from compiler.llvm.legal.bounds import is_mask
from compiler.llvm.types import Kind, Type
from isas.effects import EFFECTS, Effect
from isas.errors import UnsupportedError
from isas.values import I64, TypeKind, ValueType

ConstantValue = int | float | tuple[int | float, ...] | None
"""As in `ir.Constant`: one number, a number per lane, or None for poison."""


class NodeKind(Enum):
    """What a node is to the tiler."""

    OPERATION = "operation"
    CONSTANT = "constant"
    INPUT = "input"  # an argument or a phi: always in a register
    FRAME = "frame"  # the address of a place in the frame
    STORE = "store"  # children: value, address
    BRANCH = "branch"  # child: the condition
    LEAF = "leaf"  # only when asking what is covered: some value in its home register


@dataclass(slots=True, eq=False)
class Node:
    """One value or statement. `attributes` are those of `isas.effects.Apply` (lanes, spaces).

    `value` is the IR value or statement (None for the inner nodes of an address). `is_root`: it is
    computed once into a register of its own; otherwise it belongs to its only user's tree.
    `is_ghost`: it has no register form and is computed again inside every user (a compare where
    only flags can hold it). `bound` is an upper bound of a leaf's lanes as unsigned numbers, if
    known; `is_mask` says that each is all ones or zero. `is_available`: when asking what is
    covered, that it can also be had in a register. `home` names the register class it lives in
    where that is not its type's usual one."""

    kind: NodeKind
    type: ValueType
    effect: Effect | None = None
    children: tuple[Node, ...] = ()
    attributes: tuple[int | str, ...] = ()
    constant: ConstantValue = None
    value: ir.Value | None = None
    is_root: bool = False
    is_ghost: bool = False
    bound: int | None = None
    is_mask: bool = False
    home: str = ""
    is_available: bool = False

    @property
    def title(self) -> str:
        """A short name for decisions: the IR name, or the effect."""
        if self.value is not None and self.value.name:
            return subject_of(self.value)
        return str(self.effect or self.kind.value)


_TYPE_KINDS = {Kind.INT: TypeKind.INT, Kind.FLOAT: TypeKind.FLOAT, Kind.BFLOAT: TypeKind.BFLOAT}


def value_type(type: Type) -> ValueType:
    """The card type of an IR type; pointers are 64-bit integers."""
    if type.is_pointer:
        return I64
    if type.kind not in _TYPE_KINDS:
        raise UnsupportedError(f"a value of type {type} cannot be held in a register")
    return ValueType(_TYPE_KINDS[type.kind], type.bits, max(1, type.lanes))


_PREDICATES: Mapping[tuple[Opcode, ir.Predicate], Effect] = MappingProxyType(
    {
        (opcode, predicate): EFFECTS[f"{opcode.value}.{predicate.value}"]
        for opcode in (Opcode.ICMP, Opcode.FCMP)
        for predicate in ir.Predicate
        if f"{opcode.value}.{predicate.value}" in EFFECTS
    }
)

# LLVM's intrinsics that are not named exactly like their effect.
_INTRINSICS: Mapping[str, Effect] = MappingProxyType(
    {
        "llvm.trunc": Effect.FTRUNC,
        "llvm.rint": Effect.ROUNDEVEN,
        "llvm.nearbyint": Effect.ROUNDEVEN,
        "llvm.vector.reduce.add": Effect.REDUCE_ADD,
        "llvm.vector.reduce.smin": Effect.REDUCE_SMIN,
        "llvm.vector.reduce.smax": Effect.REDUCE_SMAX,
        "llvm.vector.reduce.umin": Effect.REDUCE_UMIN,
        "llvm.vector.reduce.umax": Effect.REDUCE_UMAX,
        "llvm.vector.reduce.fminimum": Effect.REDUCE_FMINIMUM,
        "llvm.vector.reduce.fmaximum": Effect.REDUCE_FMAXIMUM,
        "llvm.fptosi.sat": Effect.FPTOSI_SAT,
        "llvm.fptoui.sat": Effect.FPTOUI_SAT,
        "llvm.nvvm.read.ptx.sreg.tid.x": Effect.THREAD_ID_X,
        "llvm.nvvm.read.ptx.sreg.tid.y": Effect.THREAD_ID_Y,
        "llvm.nvvm.read.ptx.sreg.tid.z": Effect.THREAD_ID_Z,
        "llvm.nvvm.read.ptx.sreg.ctaid.x": Effect.BLOCK_ID_X,
        "llvm.nvvm.read.ptx.sreg.ctaid.y": Effect.BLOCK_ID_Y,
        "llvm.nvvm.read.ptx.sreg.ctaid.z": Effect.BLOCK_ID_Z,
        "llvm.nvvm.read.ptx.sreg.ntid.x": Effect.BLOCK_DIM_X,
        "llvm.nvvm.read.ptx.sreg.ntid.y": Effect.BLOCK_DIM_Y,
        "llvm.nvvm.read.ptx.sreg.ntid.z": Effect.BLOCK_DIM_Z,
        "llvm.nvvm.read.ptx.sreg.nctaid.x": Effect.GRID_DIM_X,
        "llvm.nvvm.read.ptx.sreg.nctaid.y": Effect.GRID_DIM_Y,
        "llvm.nvvm.read.ptx.sreg.nctaid.z": Effect.GRID_DIM_Z,
        "llvm.nvvm.read.ptx.sreg.laneid": Effect.LANE_ID,
        "llvm.nvvm.shfl.sync.bfly.i32": Effect.EXCHANGE_XOR,
        "llvm.nvvm.shfl.sync.bfly.f32": Effect.EXCHANGE_XOR,
        "llvm.nvvm.shfl.sync.down.i32": Effect.EXCHANGE_DOWN,
        "llvm.nvvm.shfl.sync.down.f32": Effect.EXCHANGE_DOWN,
        "llvm.nvvm.shfl.sync.up.i32": Effect.EXCHANGE_UP,
        "llvm.nvvm.shfl.sync.up.f32": Effect.EXCHANGE_UP,
        "llvm.nvvm.shfl.sync.idx.i32": Effect.EXCHANGE_INDEX,
        "llvm.nvvm.shfl.sync.idx.f32": Effect.EXCHANGE_INDEX,
        "llvm.nvvm.barrier0": Effect.BARRIER,
    }
)

_SPACES = MappingProxyType({0: "", 1: "global", 3: "shared", 4: "const", 5: "local", 101: "param"})
"""NVPTX's address space numbers by PTX's names (NVPTX usage guide, "Address Spaces")."""

_SHUFFLES_WITH_MASK = "llvm.nvvm.shfl.sync."


def effect_of(instruction: ir.Instruction) -> Effect | None:
    """The effect an IR instruction computes; None for those that need a shape of their own (gep,
    phi, casts between pointers and integers) or that no card can compute."""
    predicate = instruction.predicate
    if predicate is not None:
        return _PREDICATES.get((instruction.opcode, predicate))
    if instruction.opcode is Opcode.CALL:
        base = instruction.intrinsic
        return _INTRINSICS.get(base) or EFFECTS.get(base.removeprefix("llvm."))
    return _OPCODES.get(instruction.opcode)


_OPCODES: Mapping[Opcode, Effect] = MappingProxyType(
    {opcode: EFFECTS[opcode.value] for opcode in Opcode if opcode.value in EFFECTS}
    | {Opcode.EXTRACTELEMENT: Effect.EXTRACT, Opcode.INSERTELEMENT: Effect.INSERT}
    | {Opcode.SHUFFLEVECTOR: Effect.SHUFFLE}
)


def space_name(type: Type) -> str:
    """The address space of a pointer by its written name ("" for the generic one)."""
    return _SPACES.get(type.address_space, str(type.address_space))


def constant_node(constant: ConstantValue, type: ValueType) -> Node:
    """A constant leaf; integers are kept as the signed number of their bits."""
    if type.is_int and constant is not None:
        if isinstance(constant, tuple):
            constant = tuple(_signed(int(lane), type.bits) for lane in constant)
        else:
            constant = _signed(int(constant), type.bits)
    return Node(NodeKind.CONSTANT, type, constant=constant)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


_FLOAT_FORMATS = {16: "<e", 32: "<f", 64: "<d"}


def scalar_bits(value: int | float | None, type: ValueType) -> int:
    """The bit pattern of one lane (poison is 0)."""
    if value is None:
        return 0
    if type.is_int:
        return int(value) & ((1 << type.bits) - 1)
    if type.kind is TypeKind.BFLOAT:
        return int.from_bytes(struct.pack("<f", value), "little") >> 16
    return int.from_bytes(struct.pack(_FLOAT_FORMATS[type.bits], value), "little")


def constant_bits(constant: ConstantValue, type: ValueType) -> int:
    """The bit pattern of a whole constant, lane 0 lowest."""
    lanes = constant if isinstance(constant, tuple) else (constant,) * type.lanes
    bits = 0
    for index, lane in enumerate(lanes):
        bits |= scalar_bits(lane, type.element) << (index * type.bits)
    return bits


def bits_to_number(bits: int, type: ValueType) -> int | float:
    """The number that one lane's bit pattern is (integers signed)."""
    if type.is_int:
        return _signed(bits, type.bits)
    if type.kind is TypeKind.BFLOAT:
        return float(struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0])
    raw = bits.to_bytes(type.bits // 8, "little")
    return float(struct.unpack(_FLOAT_FORMATS[type.bits], raw)[0])


class NodeBuilder:
    """Makes the nodes of one function, one per IR value and one per distinct constant."""

    def __init__(self) -> None:
        self.nodes: dict[ir.Value, Node] = {}
        self.constants: dict[tuple[ValueType, str], Node] = {}

    def node(self, value: ir.Value) -> Node:
        """The node of a value (its operands' nodes are made on the way)."""
        found = self.nodes.get(value)
        if found is None:
            found = self.nodes[value] = self._make(value)
            found.is_mask = value.type.is_int and value.type.bits > 1 and is_mask(value)
        return found

    def _make(self, value: ir.Value) -> Node:
        if isinstance(value, ir.Constant):
            return self._constant(value)
        if not isinstance(value, ir.Instruction) or value.opcode is Opcode.PHI:
            return Node(NodeKind.INPUT, value_type(value.type), value=value, is_root=True)
        if value.opcode is Opcode.ALLOCA:
            return Node(NodeKind.FRAME, I64, value=value)
        return self._instruction(value)

    def _constant(self, value: ir.Constant) -> Node:
        type = value_type(value.type)
        key = (type, repr(value.value))
        found = self.constants.get(key)
        if found is None:
            found = self.constants[key] = constant_node(value.value, type)
        return found

    def _instruction(self, value: ir.Instruction) -> Node:
        opcode = value.opcode
        if opcode is Opcode.STORE:
            stored, address = (self.node(operand) for operand in value.operands)
            space = space_name(value.operands[1].type)
            return Node(NodeKind.STORE, stored.type, None, (stored, address), (space,), value=value)
        if opcode is Opcode.GETELEMENTPTR:
            return self._address(value)
        if opcode in (Opcode.FREEZE, Opcode.PTRTOINT, Opcode.INTTOPTR, Opcode.BITCAST):
            return self._same_bits(value)
        effect = effect_of(value)
        if effect is None:
            raise UnsupportedError(
                f"no machine operation is named after {opcode.value} {value.callee}".strip(),
                subject_of(value),
            )
        return self._operation(value, effect)

    def _same_bits(self, value: ir.Instruction) -> Node:
        operand, type = self.node(value.operands[0]), value_type(value.type)
        if operand.type.total_bits == type.total_bits:
            return Node(NodeKind.OPERATION, type, Effect.BITCAST, (operand,), value=value)
        effect = Effect.ZEXT if type.bits > operand.type.bits else Effect.TRUNC
        return Node(NodeKind.OPERATION, type, effect, (operand,), value=value)

    def _operation(self, value: ir.Instruction, effect: Effect) -> Node:
        operands, type = value.operands, ValueType(TypeKind.INT, 0)
        if effect is not Effect.BARRIER:
            type = value_type(value.type)
        attributes: tuple[int | str, ...] = ()
        if effect is Effect.LOAD:
            attributes = (space_name(operands[0].type),)
        elif effect in (Effect.EXTRACT, Effect.INSERT):
            lane = operands[-1]
            if isinstance(lane, ir.Constant) and isinstance(lane.value, int):
                attributes, operands = (lane.value,), operands[:-1]
        elif effect is Effect.SHUFFLE:
            return self._shuffle(value)
        elif value.callee.startswith(_SHUFFLES_WITH_MASK):
            operands = operands[1:3]
        elif effect in (Effect.ABS, Effect.CTLZ, Effect.CTTZ):
            operands = operands[:1]
        children = tuple(self.node(operand) for operand in operands)
        return Node(NodeKind.OPERATION, type, effect, children, attributes, value=value)

    def _shuffle(self, value: ir.Instruction) -> Node:
        """A shuffle under the simplest name it has: splat, half, concatenation, or lanes."""
        first, second = value.operands
        type, mask = value_type(value.type), value.mask
        lanes = max(1, first.type.lanes)

        def make(effect: Effect, *children: Node, attributes: tuple[int, ...] = ()) -> Node:
            return Node(NodeKind.OPERATION, type, effect, children, attributes, value=value)

        scalar = _splatted_scalar(value)
        if scalar is not None:
            return make(Effect.SPLAT, self.node(scalar))
        if _matches(mask, range(lanes)) and len(mask) == lanes:
            return make(Effect.BITCAST, self.node(first))
        if len(mask) * 2 == lanes and _matches(mask, range(lanes // 2)):
            return make(Effect.LOW, self.node(first))
        if len(mask) * 2 == lanes and _matches(mask, range(lanes // 2, lanes)):
            return make(Effect.HIGH, self.node(first))
        if len(mask) == 2 * lanes and _matches(mask, range(2 * lanes)):
            return make(Effect.CONCAT, self.node(first), self.node(second))
        if isinstance(second, ir.Constant) and second.value is None:
            mask = tuple(lane if lane < lanes else -1 for lane in mask)
            second = first
        return make(Effect.SHUFFLE, self.node(first), self.node(second), attributes=mask)

    def _address(self, value: ir.Instruction) -> Node:
        base, index = (self.node(operand) for operand in value.operands)
        assert value.element_type is not None
        size = value.element_type.size_bytes
        if isinstance(index.constant, int):
            offset = constant_node(index.constant * size, I64)
        else:
            if index.type != I64:
                index = Node(NodeKind.OPERATION, I64, Effect.SEXT, (index,))
            offset = scaled(index, size)
        return Node(NodeKind.OPERATION, I64, Effect.ADD, (base, offset), value=value)


def scaled(index: Node, size: int) -> Node:
    """index * size, as a shift where size is a power of two."""
    if size == 1:
        return index
    if size & (size - 1) == 0:
        amount = constant_node(size.bit_length() - 1, index.type)
        return Node(NodeKind.OPERATION, index.type, Effect.SHL, (index, amount))
    factor = constant_node(size, index.type)
    return Node(NodeKind.OPERATION, index.type, Effect.MUL, (index, factor))


def _matches(mask: tuple[int, ...], lanes: range) -> bool:
    """Whether the mask is these lanes, poison lanes standing for anything."""
    return all(lane in (-1, wanted) for lane, wanted in zip(mask, lanes))


def _splatted_scalar(shuffle: ir.Instruction) -> ir.Value | None:
    """The scalar of the splat idiom: insertelement at lane 0, then a shuffle of lane 0 only."""
    insert = shuffle.operands[0]
    if set(shuffle.mask) - {0, -1} or not isinstance(insert, ir.Instruction):
        return None
    if insert.opcode is not Opcode.INSERTELEMENT:
        return None
    lane = insert.operands[2]
    is_first = isinstance(lane, ir.Constant) and lane.value == 0
    return insert.operands[1] if is_first else None

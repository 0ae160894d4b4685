"""cores/NAME.yaml: what each unit of work costs on one core, with sizes and widths.

A unit is a list of micro-ops. A memory operand inside an instruction adds the core's own `load`,
`vload` or `store` micro-ops in front and behind; `core_micro_ops` puts them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TypeVar

from isas.cores import (
    Cache,
    Core,
    MicroOp,
    MicroOpRole,
    Order,
    PairingRule,
    Predictor,
    Simt,
    Unit,
    WarpPolicy,
)
from isas.model import Role, Shape
from isas.tree import Tree

_HEAD = (
    "title", "order", "features", "vector_bits", "clock_ghz", "fetch", "rename", "issue", "retire",
    "reorder_buffer", "scheduler", "load_queue", "store_queue", "ports", "units", "l1",
    "memory_latency", "mispredict", "store_forward", "store_forward_blocked", "store_commit",
    "fetch_queue", "predictor", "pairing", "zero_idioms", "simt", "sources",
)  # fmt: skip
_SIMT = tuple(Simt.__dataclass_fields__)
_POLICY = "policy"
Choice = TypeVar("Choice", bound=Enum)
LOAD, VECTOR_LOAD, STORE = "load", "vload", "store"


def read_core(tree: Tree, name: str, isa_name: str) -> Core:
    """The core that a file describes. Raises CardError."""
    tree.only(_HEAD, "a core file")

    def count(key: str, default: int | None = None) -> int:
        entry = tree.get(key)
        if entry is None and default is not None:
            return default
        return tree.need(key, "the core").integer()

    ports = tree.need("ports", "the core").texts()
    simt, features, idioms = tree.get("simt"), tree.get("features"), tree.get("zero_idioms")
    return Core(
        name=name,
        title=tree.need("title", "the core").text(),
        isa_name=isa_name,
        order=_order(tree.need("order", "the core")),
        features=() if features is None else features.texts(),
        vector_bits=count("vector_bits"),
        clock_ghz=tree.need("clock_ghz", "the core").number(),
        fetch_width=count("fetch"),
        rename_width=count("rename"),
        issue_width=count("issue"),
        retire_width=count("retire"),
        reorder_buffer=count("reorder_buffer", 0),
        scheduler_entries=count("scheduler", 0),
        load_queue=count("load_queue", 0),
        store_queue=count("store_queue", 0),
        ports=ports,
        units={key: _unit(key, unit, ports) for key, unit in tree.need("units").items()},
        l1=_cache(tree.need("l1", "the core")),
        memory_latency_cycles=count("memory_latency"),
        mispredict_cycles=count("mispredict", 0),
        store_forward_cycles=count("store_forward", 0),
        store_forward_blocked_cycles=count("store_forward_blocked", 0),
        store_commit_width=count("store_commit", 1),
        fetch_queue=count("fetch_queue", 0),
        predictor=_choice(tree.get("predictor"), Predictor, Predictor.LOOP),
        pairing=_pairing(tree),
        zero_idioms=() if idioms is None else idioms.texts(),
        simt=None if simt is None else _simt(simt),
        sources=tree.need("sources", "the core").text().strip(),
        file=tree.source.name,
    )


def _order(tree: Tree) -> Order:
    for order in Order:
        if order.value == tree.text():
            return order
    tree.fail(f"order is one of {', '.join(order.value for order in Order)}")


def _cache(tree: Tree) -> Cache:
    tree.only(("size", "ways", "line", "latency"), "a cache")
    return Cache(*(tree.need(key).integer() for key in ("size", "ways", "line", "latency")))


def _simt(tree: Tree) -> Simt:
    tree.only(_SIMT, "simt")
    numbers = {key: tree.need(key, "simt").integer() for key in _SIMT if key != _POLICY}
    policy = _choice(tree.get(_POLICY), WarpPolicy, WarpPolicy.GREEDY_THEN_OLDEST)
    return Simt(**numbers, policy=policy)


def _choice(tree: Tree | None, choices: type[Choice], default: Choice) -> Choice:
    """The member of an Enum that an optional entry names."""
    if tree is None:
        return default
    for choice in choices:
        if choice.value == tree.text():
            return choice
    tree.fail(f"one of {', '.join(str(choice.value) for choice in choices)} is expected")


def _pairing(tree: Tree) -> tuple[PairingRule, ...]:
    entry = tree.get("pairing")
    if entry is None:
        return ()
    return tuple(
        PairingRule(row.need("first").texts(), row.need("second").texts()) for row in entry.list()
    )


def _unit(name: str, tree: Tree, ports: tuple[str, ...]) -> Unit:
    if tree.is_text and tree.text() == "eliminated":
        return Unit(name, (), True)
    rows = (tree,) if tree.is_map else tree.list()
    return Unit(name, tuple(_micro_op(row, ports) for row in rows))


def _micro_op(tree: Tree, ports: tuple[str, ...]) -> MicroOp:
    tree.only(("ports", "latency", "busy", "late", "role"), "a micro-op")
    indices = []
    for item in (tree.need("ports"),):
        for word in item.text().split():
            if word not in ports:
                item.fail(f"there is no port '{word}'; ports: {' '.join(ports)}")
            indices.append(ports.index(word))
    busy, late, role = tree.get("busy"), tree.get("late"), tree.get("role")
    roles = {role.value: role for role in MicroOpRole}
    if role is not None and role.text() not in roles:
        role.fail(f"role is one of {', '.join(roles)}")
    return MicroOp(
        MicroOpRole.COMPUTE if role is None else roles[role.text()],
        tuple(indices),
        tree.need("latency").integer(),
        1 if busy is None else busy.integer(),
        {} if late is None else {key: value.integer() for key, value in late.items()},
    )


def units_of(core: Core, shape: Shape) -> Iterator[tuple[str, int]]:
    """The units (with width in bits) a shape's work is made of, in order: load, compute, store.

    A memory operand adds the core's load or store unit, unless the shape's own unit has such
    micro-ops already (a plain load, a broadcast from memory).
    """
    own = core.unit(shape.unit, shape.width)
    roles = frozenset() if own is None else frozenset(op.role for op in own.micro_ops)
    if MicroOpRole.LOAD not in roles:
        for name in shape.facts.loads:
            yield load_unit(shape), shape.by_name[name].kind.bits
    yield shape.unit, shape.width
    if MicroOpRole.STORE_DATA not in roles:
        for name in shape.facts.stores:
            yield STORE, shape.by_name[name].kind.bits


def load_unit(shape: Shape) -> str:
    """`vload` where vectors or floats take part, else `load`."""
    is_vector = any(
        operand.type.is_float or operand.type.is_vector
        for operand in shape.operands
        if operand.kind.role is Role.REGISTER
    )
    return VECTOR_LOAD if is_vector else LOAD


def uncovered_units(core: Core, shapes: Iterable[Shape]) -> Iterator[tuple[Shape, str]]:
    """Shapes the core has by its features, with a unit that its file does not price.

    Of shapes with the same unit, width and memory operands one is looked at.
    """
    features = frozenset(core.features)
    seen: set[object] = set()
    for shape in shapes:
        memory = tuple(
            operand.kind.bits for operand in shape.operands if operand.kind.role is Role.MEMORY
        )
        stores = memory and tuple(effect.is_store for effect in shape.effects)
        key = (shape.unit, shape.width, memory, stores, memory and load_unit(shape))
        if key in seen or not features.issuperset(shape.needs):
            continue
        seen.add(key)
        own = core.unit(shape.unit, shape.width)
        if own is not None and (not memory or _is_memory_unit(own)):
            continue
        for name, width in units_of(core, shape):
            if core.unit(name, width) is None:
                yield shape, name


def _is_memory_unit(unit: Unit) -> bool:
    return any(op.role is not MicroOpRole.COMPUTE for op in unit.micro_ops)


def core_micro_ops(core: Core, shape: Shape) -> tuple[MicroOp, ...]:
    """All micro-ops of a shape on a core, in order: loads, computation, store address and data."""
    found: list[MicroOp] = []
    for name, width in units_of(core, shape):
        unit = core.unit(name, width)
        if unit is not None:
            found.extend(unit.micro_ops)
    return tuple(found)

"""An ISA out of its folder: registers, operands, calling convention, cards and cores.

`load_folder` raises the first mistake; `read_folder` takes a function that may collect them all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from isas.cards import CardContext, CardTable
from isas.corefiles import read_core, uncovered_units
from isas.cores import Core
from isas.errors import InputError
from isas.kinds import read_kinds
from isas.model import CallingConvention, Guards, Isa, Syntax
from isas.registerfiles import read_registers
from isas.registers import Register, RegisterFile
from isas.tree import CardError, Source, Tree, read_tree
from isas.values import FLAGS, TypeKind, ValueType

Report = Callable[[CardError], None]


def _raise(error: CardError) -> NoReturn:
    raise error


def load_folder(folder: Path) -> Isa:
    """The ISA in `folder`. Raises CardError at the first mistake."""
    return read_folder(folder, _raise)


def read_folder(folder: Path, report: Report) -> Isa:
    """The ISA in `folder`, every card's mistakes going to `report`.

    Mistakes in registers, operands and calling.yaml raise: cards mean nothing without them.
    """
    head = read_tree(folder / "registers.yaml", _name(folder, "registers.yaml"))
    registers = read_registers(head)
    kinds = read_kinds(_tree(folder, "operands.yaml"), registers)
    table = CardTable(CardContext(kinds, implicit_types(registers), report))
    for path in sorted((folder / "instructions").glob("*.yaml")):
        try:
            table.add_file(_tree(folder, f"instructions/{path.name}"))
        except CardError as error:
            report(error)
    table.build()
    cores = _cores(folder, report)
    _check_units(table, cores, report)
    top = head.map()
    return Isa(
        name=folder.name,
        title=head.need("title").text(),
        syntax=_syntax(head.need("syntax")),
        pointer_bits=head.need("pointer_bits").integer(),
        registers=registers,
        kinds=kinds,
        cards=table.cards,
        shapes=tuple(table.shapes),
        calling=_calling(_tree(folder, "calling.yaml"), registers),
        guards=_guards(top["guards"]) if "guards" in top else None,
        cores=cores,
        folder=str(folder),
        triple=top["triple"].text() if "triple" in top else "",
        data_layout=top["data_layout"].text() if "data_layout" in top else "",
        comment=top["comment"].text() if "comment" in top else "#",
    )


def implicit_types(registers: RegisterFile) -> Callable[[str], ValueType | None]:
    """The types of registers that a card may name without an operand: flags, eax, sp."""

    def type_of(name: str) -> ValueType | None:
        if name == "flags" and "flags" in registers.fixed:
            return FLAGS
        register = registers.by_name(name)
        return None if register is None else ValueType(TypeKind.INT, register.bits)

    return type_of


def _name(folder: Path, file: str) -> str:
    return f"{folder.name}/{file}"


def _tree(folder: Path, file: str) -> Tree:
    return read_tree(folder / file, _name(folder, file))


def _syntax(tree: Tree) -> Syntax:
    for syntax in Syntax:
        if syntax.value == tree.text():
            return syntax
    tree.fail(f"unknown syntax; known: {', '.join(s.value for s in Syntax)}")


def _guards(tree: Tree) -> Guards:
    view = tree.need("view").text().split(".")
    return Guards(
        view[0], view[1], tree.need("positive").quoted("positive"),
        tree.need("negative").quoted("negative"),
    )  # fmt: skip


def _calling(tree: Tree, registers: RegisterFile) -> CallingConvention:
    def named(key: str) -> tuple[Register, ...]:
        entry = tree.get(key)
        return () if entry is None else tuple(_register(item, registers) for item in entry.list())

    def count(key: str) -> int:
        entry = tree.get(key)
        return 0 if entry is None else entry.integer()

    pointer, space = tree.get("stack_pointer"), tree.get("parameter_space")
    return CallingConvention(
        arguments=named("arguments"),
        returns=named("returns"),
        callee_saved=named("callee_saved"),
        caller_saved=named("caller_saved"),
        stack_pointer=None if pointer is None else _register(pointer, registers),
        stack_alignment_bytes=count("stack_alignment"),
        red_zone_bytes=count("red_zone"),
        return_address_bytes=count("return_address"),
        parameter_space="" if space is None else space.text(),
        float_arguments=named("float_arguments"),
    )


def _register(tree: Tree, registers: RegisterFile) -> Register:
    found = registers.by_name(tree.text())
    if found is None:
        tree.fail(f"there is no register '{tree.text()}'")
    return found


def _cores(folder: Path, report: Report) -> dict[str, Core]:
    cores: dict[str, Core] = {}
    for path in sorted((folder / "cores").glob("*.yaml")):
        try:
            tree = _tree(folder, f"cores/{path.name}")
            cores[path.stem] = read_core(tree, path.stem, folder.name)
        except CardError as error:
            report(error)
    if not cores:
        hint = "write cores/NAME.yaml"
        raise InputError(f"{folder.name}/cores has no usable core file", hint=hint)
    return cores


def _check_units(table: CardTable, cores: dict[str, Core], report: Report) -> None:
    """Every unit that a shape uses must be present in every core that has the shape's features."""
    for core in cores.values():
        told: set[str] = set()
        for shape, unit in uncovered_units(core, table.shapes):
            if unit not in told:
                told.add(unit)
                tree = table.entries(shape.card.name).get("unit") or table.trees[shape.card.name]
                source = Source(tree.source.name, tree.source.text)
                message = f"unit '{unit}' of {shape.title} is missing in {core.file}"
                report(CardError(message, source, tree.line, tree.column))

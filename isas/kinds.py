"""operands.yaml: the operand kinds that shapes may use."""

from __future__ import annotations

from isas.model import AddressForm, ImmediateEncoding, ImmediateForm, OperandKind, Role
from isas.registers import RegisterFile
from isas.tree import Tree

_FORM_KEYS = (
    "base", "scales", "min", "max", "multiple", "symbol", "exclusive", "index", "space",
)  # fmt: skip


def read_kinds(tree: Tree, registers: RegisterFile) -> dict[str, OperandKind]:
    """The kinds of operands.yaml by name. Raises CardError."""
    tree.only(("registers", "forms", "memory", "immediates", "labels"), "operands.yaml")
    kinds: dict[str, OperandKind] = {}
    forms = {name: _form(name, row) for name, row in _section(tree, "forms")}
    for name, row in _section(tree, "registers"):
        _add(kinds, row, _register_kind(name, row, registers))
    for name, row in _section(tree, "memory"):
        _add(kinds, row, _memory_kind(name, row, forms))
    for name, row in _section(tree, "immediates"):
        _add(kinds, row, _immediate_kind(name, row))
    for name, row in _section(tree, "labels"):
        _add(kinds, row, OperandKind(name, Role.LABEL, 64))
    return kinds


def _section(tree: Tree, key: str) -> list[tuple[str, Tree]]:
    section = tree.get(key)
    return [] if section is None else list(section.items())


def _add(kinds: dict[str, OperandKind], row: Tree, kind: OperandKind) -> None:
    if kind.name in kinds:
        row.fail(f"operand kind '{kind.name}' exists already")
    kinds[kind.name] = kind


def _register_kind(name: str, row: Tree, registers: RegisterFile) -> OperandKind:
    row.only(("view", "text", "bits", "element", "suffix"), f"operand kind {name}")
    view_tree = row.need("view")
    class_name, _, view_name = view_tree.text().partition(".")
    register_class = registers.classes.get(class_name)
    if register_class is None or view_name not in register_class.views:
        view_tree.fail(f"there is no register view '{view_tree.text()}'")
    bits, element, suffix = row.get("bits"), row.get("element"), row.get("suffix")
    text = row.get("text")
    if text is not None and text.text() not in register_class.views:
        text.fail(f"class {class_name} has no view '{text.text()}'")
    return OperandKind(
        name,
        Role.REGISTER,
        register_class.views[view_name].bits if bits is None else bits.integer(),
        class_name,
        view_name,
        None if element is None else element.integer(),
        "" if suffix is None else suffix.quoted("suffix"),
        text_view="" if text is None else text.text(),
    )


def _form(name: str, row: Tree) -> AddressForm:
    row.only(_FORM_KEYS, f"address form {name}")

    def number(key: str, default: int) -> int:
        entry = row.get(key)
        return default if entry is None else entry.integer()

    def truth(key: str, default: bool) -> bool:
        entry = row.get(key)
        return default if entry is None else entry.truth()

    scales, space = row.get("scales"), row.get("space")
    return AddressForm(
        has_base=truth("base", True),
        scales=() if scales is None else tuple(item.integer() for item in scales.list()),
        minimum=number("min", 0),
        maximum=number("max", 0),
        multiple=number("multiple", 1),
        has_symbol=truth("symbol", False),
        index_excludes_displacement=truth("exclusive", False),
        requires_index=truth("index", False),
        space="" if space is None else space.text(),
    )


def _memory_kind(name: str, row: Tree, forms: dict[str, AddressForm]) -> OperandKind:
    row.only(("bits", "form", "pointer", "element"), f"operand kind {name}")
    form, pointer, element = row.need("form"), row.get("pointer"), row.get("element")
    if form.text() not in forms:
        form.fail(f"there is no address form '{form.text()}'")
    return OperandKind(
        name,
        Role.MEMORY,
        row.need("bits").integer(),
        element_bits=None if element is None else element.integer(),
        address=forms[form.text()],
        pointer="" if pointer is None else pointer.quoted("pointer"),
    )


def _immediate_kind(name: str, row: Tree) -> OperandKind:
    row.only(("bits", "min", "max", "multiple", "encoding"), f"operand kind {name}")
    encodings = {encoding.value: encoding for encoding in ImmediateEncoding}
    encoding, multiple = row.get("encoding"), row.get("multiple")
    if encoding is not None and encoding.text() not in encodings:
        encoding.fail(f"unknown encoding; known: {', '.join(encodings)}")
    form = ImmediateForm(
        row.need("min").integer(),
        row.need("max").integer(),
        1 if multiple is None else multiple.integer(),
        ImmediateEncoding.RANGE if encoding is None else encodings[encoding.text()],
    )
    return OperandKind(name, Role.IMMEDIATE, row.need("bits").integer(), immediate=form)

"""registers.yaml: classes with their views, and fixed registers (flags, sp)."""

from __future__ import annotations

from isas.registers import (
    STORAGES_PER_CLASS,
    Register,
    RegisterClass,
    RegisterFile,
    View,
    WriteRule,
)
from isas.tree import Tree

_CLASS_KEYS = ("doc", "count", "bits", "allocatable", "spill_view", "views")
_VIEW_KEYS = ("bits", "write", "pattern", "names", "low_bit", "storages")
_HEAD_KEYS = (
    "title", "syntax", "pointer_bits", "triple", "data_layout", "comment", "guards", "classes",
    "fixed", "aliases",
)  # fmt: skip


def read_registers(head: Tree) -> RegisterFile:
    """The register file that registers.yaml describes. Raises CardError."""
    head.only(_HEAD_KEYS, "registers.yaml")
    fixed_tree = head.get("fixed")
    rows = list(fixed_tree.items()) if fixed_tree is not None else []
    first = max(16, len(rows))
    classes = {}
    for position, (name, tree) in enumerate(head.need("classes").items()):
        classes[name] = _class(name, tree, first + position * STORAGES_PER_CLASS)
    fixed: dict[str, Register] = {}
    for number, (name, tree) in enumerate(rows):
        fixed[name] = _fixed(name, tree, number, classes)
    aliases = head.get("aliases")
    return RegisterFile(
        classes,
        fixed,
        first + len(classes) * STORAGES_PER_CLASS,
        {} if aliases is None else {name: tree.text() for name, tree in aliases.items()},
    )


def _fixed(name: str, tree: Tree, number: int, classes: dict[str, RegisterClass]) -> Register:
    tree.only(("bits", "view", "index"), f"register {name}")
    bits = tree.need("bits").integer()
    view, index = tree.get("view"), tree.get("index")
    class_name, _, view_name = view.text().partition(".") if view is not None else ("", "", name)
    if class_name and class_name not in classes:
        tree.fail(f"there is no register class '{class_name}'")
    number_in_class = index.integer() if index is not None else 0
    rule = WriteRule.ZERO_REST
    return Register(name, class_name, view_name, number_in_class, (number,), 0, bits, rule)


def _class(name: str, tree: Tree, first: int) -> RegisterClass:
    tree.only(_CLASS_KEYS, f"register class {name}")
    count = tree.need("count").integer()
    views = {key: _view(name, key, view) for key, view in tree.need("views").items()}
    listed = tree.get("allocatable")
    allocatable = tuple(range(count))
    if listed is not None:
        allocatable = tuple(number for item in listed.list() for number in _numbers(item, count))
    spill = tree.need("spill_view")
    if spill.text() not in views:
        spill.fail(f"class {name} has no view '{spill.text()}'")
    doc = tree.get("doc")
    return RegisterClass(
        name, count, tree.need("bits").integer(), first, views, allocatable, spill.text(),
        "" if doc is None else doc.text(),
    )  # fmt: skip


def _numbers(tree: Tree, count: int) -> tuple[int, ...]:
    """`3` or `8-15`."""
    low, _, high = tree.text().partition("-")
    if not low.isdecimal() or (high and not high.isdecimal()):
        tree.fail("expected a register number or a range such as 8-15")
    numbers = tuple(range(int(low), int(high or low) + 1))
    if any(number >= count for number in numbers):
        tree.fail(f"register numbers must be below {count}")
    return numbers


def _view(class_name: str, name: str, tree: Tree) -> View:
    tree.only(_VIEW_KEYS, f"view {name}")
    rules = {rule.value: rule for rule in WriteRule}
    rule = tree.need("write")
    if rule.text() not in rules:
        rule.fail("write is 'zero' (the rest) or 'merge' (with the rest)")
    names, low, storages = tree.get("names"), tree.get("low_bit"), tree.get("storages")
    return View(
        name,
        class_name,
        tree.need("bits").integer(),
        rules[rule.text()],
        tree.need("pattern").quoted("pattern"),
        () if names is None else names.texts(),
        0 if low is None else low.integer(),
        1 if storages is None else storages.integer(),
    )

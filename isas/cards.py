"""Cards out of YAML: inheritance (`like:`), alternatives (`ymm | m256`), typing, derived facts.

A card named `.binary` (with a dot) is only a template for `like:`. In `asm`, `{name}` is the card's
own mnemonic: the first word of its key. A key such as `add vector` gives a second card for `add`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from isas.codes import EncodingError, parse_code
from isas.does import DoesError, names_in, type_does
from isas.effects import Assignment, Operand, walk
from isas.model import Card, ImmediateEncoding, OperandKind, Role, Shape, ShapeOperand
from isas.templates import placeholders
from isas.tree import CardError, Tree
from isas.values import I64, TypeKind, ValueType, parse_type

_CARD_KEYS = (
    "like", "asm", "does", "elements", "unit", "doc", "rest", "needs", "shapes", "with", "code",
    "opcode",
)  # fmt: skip
_SHAPE_KEYS = ("with", "asm", "does", "elements", "unit", "rest", "needs", "code", "opcode")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class CardContext:
    """What cards refer to: operand kinds, fixed registers, and where mistakes go.

    `report` receives every mistake; a strict loader raises there, a checker collects. `operands`
    holds those made already, since shapes repeat each other.
    """

    kinds: Mapping[str, OperandKind]
    implicit: Callable[[str], ValueType | None]
    report: Callable[[CardError], None]
    operands: dict[tuple[str, str, str], ShapeOperand] = field(default_factory=dict)


@dataclass(slots=True)
class CardTable:
    """Cards and shapes collected over the files of one ISA."""

    context: CardContext
    trees: dict[str, Tree] = field(default_factory=dict)
    resolved: dict[str, dict[str, Tree]] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)

    def add_file(self, tree: Tree) -> None:
        """Note every card of a file; `build` makes them, so that `like` may point anywhere."""
        for name, card in tree.items():
            if name in self.trees:
                other = self.trees[name].source.name
                tree.fail_key(name, f"card '{name}' exists already in {other}")
            if not card.is_map:
                card.fail(f"card '{name}' must be a mapping with asm, does, unit and shapes")
            card.only(_CARD_KEYS, f"card '{name}'")
            self.trees[name] = card

    def build(self) -> None:
        """Make every card, reporting the mistakes of each."""
        for name in self.trees:
            if name.startswith("."):
                continue
            try:
                self._build_card(name)
            except CardError as error:
                self.context.report(error)

    def entries(self, name: str, chain: tuple[str, ...] = ()) -> dict[str, Tree]:
        """The card's keys with those of its `like` ancestors underneath."""
        if name in self.resolved:
            return self.resolved[name]
        own = self.trees[name].map()
        like = own.get("like")
        merged = dict(own)
        if like is not None:
            parent = like.text()
            if parent not in self.trees:
                like.fail(f"like: there is no card '{parent}'")
            if parent in (*chain, name):
                like.fail(f"like: '{name}' inherits from itself")
            merged = {**self.entries(parent, (*chain, name)), **own}
            if "with" in own and "shapes" not in own:
                merged.pop("shapes", None)
        self.resolved[name] = merged
        return merged

    def _build_card(self, name: str) -> None:
        tree, entries = self.trees[name], self.entries(name)
        for key in ("asm", "does", "unit"):
            if key not in entries and "shapes" not in entries:
                tree.fail(f"card '{name}' lacks '{key}'")
        mnemonic = name.split(" ")[0]
        asm = entries["asm"].quoted("asm") if "asm" in entries else ""
        does = entries["does"].quoted("does") if "does" in entries else ""
        card = Card(
            name,
            mnemonic,
            asm.replace("{name}", mnemonic),
            does,
            entries["unit"].text() if "unit" in entries else "",
            entries["doc"].text() if "doc" in entries else "",
            tree.source.name,
            tree.line + 1,
        )
        shapes = [shape for row in self._rows(name, entries) for shape in self._shapes(card, row)]
        object.__setattr__(card, "shapes", tuple(shapes))  # card and shapes know each other
        self.cards[name] = card

    def _rows(self, name: str, entries: dict[str, Tree]) -> Iterator[dict[str, Tree]]:
        common = {key: entries[key] for key in _SHAPE_KEYS if key in entries}
        if "shapes" not in entries:
            yield common
            return
        for row in entries["shapes"].list():
            row.only(_SHAPE_KEYS, f"a shape of '{name}'")
            yield {**common, **row.map()}

    def _shapes(self, card: Card, row: dict[str, Tree]) -> Iterator[Shape]:
        for key in ("asm", "does", "unit"):
            if key not in row:
                self.trees[card.name].fail(f"a shape of '{card.name}' lacks '{key}'")
        names = row["with"].map() if "with" in row else {}
        choices = [
            [alternative.strip() for alternative in tree.text().split("|")]
            for tree in names.values()
        ]
        for combination in itertools.product(*choices):
            builder = _ShapeBuilder(self.context, card, row, names, combination)
            shape = builder.shape(len(self.shapes))
            self.shapes.append(shape)
            yield shape


@dataclass(frozen=True, slots=True)
class _ShapeBuilder:
    """Makes one shape: one combination of operand kinds."""

    context: CardContext
    card: Card
    row: dict[str, Tree]
    names: dict[str, Tree]
    combination: tuple[str, ...]

    def shape(self, number: int) -> Shape:
        operands = {
            name: self._operand(name, tree, text)
            for (name, tree), text in zip(self.names.items(), self.combination)
        }
        template = self.row["asm"].quoted("asm").replace("{name}", self.card.mnemonic)
        does_tree = self.row["does"]
        does = does_tree.quoted("does")
        try:
            self._check_used(operands, template, names_in(does))
            effects = type_does(does, operands, self.context.implicit)
        except DoesError as error:
            kinds = ", ".join(self.combination)
            does_tree.fail(f"{error.message} (in {self.card.name} {kinds})", error.offset + 1)
        operands = {name: _as_used(operand, effects) for name, operand in operands.items()}
        return Shape(
            id=number,
            card=self.card,
            operands=tuple(operands.values()),
            effects=effects,
            needs=self.row["needs"].texts() if "needs" in self.row else (),
            unit=self.row["unit"].text(),
            width=_width(operands),
            rest=self._rest(operands),
            template=template,
            code=self._code(template),
        )

    def _code(self, template: str) -> str:
        """The encoding, `{opcode}` filled in (a card with `like` often differs in it alone)."""
        tree, opcode = self.row.get("code"), self.row.get("opcode")
        if tree is None:
            return ""
        code = tree.quoted("code")
        if opcode is not None:
            code = code.replace("{opcode}", opcode.text())
        places = len(placeholders(template)) - 1
        try:
            roles = [len(alternative.roles) for alternative in parse_code(code)]
        except EncodingError as error:
            tree.fail(f"{error.message} (in {self.card.name})")
        if places not in roles:
            tree.fail(f"code has no alternative for {places} operands (in {self.card.name})")
        return code

    def _operand(self, name: str, tree: Tree, text: str) -> ShapeOperand:
        elements = self.row["elements"].text() if "elements" in self.row else "i"
        key = (name, text, elements)
        found = self.context.operands.get(key)
        if found is None:
            found = self.context.operands[key] = self._make_operand(name, tree, text, elements)
        return found

    def _make_operand(self, name: str, tree: Tree, text: str, elements: str) -> ShapeOperand:
        kind_name, _, override = text.partition(".")
        kind = self.context.kinds.get(kind_name)
        if kind is None:
            tree.fail(f"unknown operand kind '{kind_name}' for {name}")
        if kind.role is Role.LABEL:
            return ShapeOperand(name, kind, I64)
        if override:
            elements = override
        elif kind.role is Role.IMMEDIATE and not _is_float_immediate(kind):
            elements = "i"
        found = operand_type(kind, elements)
        if found is None:
            tree.fail(f"{kind_name} ({kind.bits} bits) cannot hold elements '{elements}'")
        return ShapeOperand(name, kind, found)

    def _rest(self, operands: Mapping[str, ShapeOperand]) -> str | None:
        tree = self.row.get("rest")
        if tree is None or tree.text() == "none":
            return None
        named = operands.get(tree.text())
        if named is None or not named.kind.is_register:
            tree.fail(f"rest: '{tree.text()}' is not a register operand of this shape")
        return tree.text()

    def _check_used(
        self, operands: Mapping[str, ShapeOperand], template: str, named: frozenset[str]
    ) -> None:
        in_text = set(_PLACEHOLDER.findall(template))
        for name in in_text - set(operands):
            self._fail(self.row["asm"], f"asm names {{{name}}}, which 'with' does not have")
        rest = self.row["rest"].text() if "rest" in self.row else None
        for name in operands:
            if name not in in_text:
                self._fail(self.names[name], f"operand {name} does not appear in asm")
            if name not in named and name != rest:
                self._fail(self.names[name], f"operand {name} is not used in does")

    def _fail(self, tree: Tree, message: str) -> NoReturn:
        tree.fail(f"{message} (in {self.card.name})")


def operand_type(kind: OperandKind, elements: str) -> ValueType | None:
    """The type a kind holds when its elements are `f32`, `i8` ..., or `i`, `f`: of its own size."""
    if elements in ("i", "f", "bf"):
        bits = kind.element_bits or kind.bits
        return ValueType(TypeKind(elements), bits, max(1, kind.bits // bits) if bits else 1)
    element = parse_type(elements)
    if element is None or element.is_vector:
        return None
    if kind.role is Role.IMMEDIATE:
        return element
    if kind.bits % element.bits or (kind.element_bits or element.bits) != element.bits:
        return None
    return element.with_lanes(kind.bits // element.bits)


def _as_used(operand: ShapeOperand, effects: tuple[Assignment, ...]) -> ShapeOperand:
    """A float immediate has the type of the operation that uses it, however few bits encode it."""
    if not _is_float_immediate(operand.kind):
        return operand
    uses = [
        node.type.element
        for assignment in effects
        for node in walk(assignment.expression)
        if isinstance(node, Operand) and node.name == operand.name
    ]
    return replace(operand, type=uses[0]) if uses else operand


def _is_float_immediate(kind: OperandKind) -> bool:
    form = kind.immediate
    floats = (ImmediateEncoding.FLOAT_BITS, ImmediateEncoding.ARM_FLOAT8)
    return form is not None and form.encoding in floats


def _width(operands: Mapping[str, ShapeOperand]) -> int:
    """The widest value the shape works on, in bits; core files may price widths apart."""
    widths = [
        operand.kind.bits
        for operand in operands.values()
        if operand.kind.role in (Role.REGISTER, Role.MEMORY)
    ]
    return max(widths, default=0)

"""YAML as strings with places: every node remembers its line and column, so errors can point.

PyYAML only composes; no tag is resolved, so `off`, `0010_0001` and `1e3` stay what was written.
Duplicate keys are refused, because YAML would silently keep the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from isas.errors import InputError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CardError(InputError):
    """A mistake in a machine's YAML, shown as `file:line:col: message`, the line, and a caret."""

    def __init__(self, message: str, source: Source, line: int, column: int) -> None:
        super().__init__(message, f"{source.name}:{line + 1}:{column + 1}")
        self.file = source.name
        self.source_line = source.line(line)
        self.line = line
        self.column = column

    @property
    def excerpt(self) -> str:
        blank = "".join("\t" if c == "\t" else " " for c in self.source_line[: self.column])
        return f"{self.source_line}\n  {blank}^"


@dataclass(frozen=True, slots=True)
class Source:
    """A file's name (as errors show it) and text."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """Line `number`, counted from 0, or nothing past the end."""
        lines = self.text.split("\n")
        return lines[number].rstrip("\r") if number < len(lines) else ""


class Tree:
    """A YAML node: text, list or mapping, with its place."""

    __slots__ = ("children", "key_nodes", "node", "source")

    def __init__(self, node: Any, source: Source) -> None:
        self.node = node
        self.source = source
        self.children: dict[str, Tree] | None = None
        self.key_nodes: dict[str, Any] = {}

    @property
    def line(self) -> int:
        """Line of the first character, counted from 0."""
        return int(self.node.start_mark.line)

    @property
    def column(self) -> int:
        """Column of the first character, counted from 0."""
        return int(self.node.start_mark.column)

    @property
    def is_text(self) -> bool:
        """Whether the node is a scalar."""
        return isinstance(self.node, yaml.ScalarNode)

    @property
    def is_map(self) -> bool:
        """Whether the node is a mapping."""
        return isinstance(self.node, yaml.MappingNode)

    @property
    def is_list(self) -> bool:
        """Whether the node is a sequence."""
        return isinstance(self.node, yaml.SequenceNode)

    def fail(self, message: str, offset: int = 0) -> NoReturn:
        """Raise a CardError at this node; `offset` counts characters inside a quoted text."""
        raise CardError(message, self.source, self.line, self.column + offset)

    def fail_key(self, key: str, message: str) -> NoReturn:
        """Raise a CardError at the key of an entry of this mapping."""
        mark = self.key_nodes[key].start_mark
        raise CardError(message, self.source, mark.line, mark.column)

    def text(self) -> str:
        """The scalar's text."""
        if not self.is_text:
            self.fail("expected a single value here")
        return str(self.node.value)

    def quoted(self, key: str) -> str:
        """The scalar's text, which must stand in quotes (YAML would mangle it otherwise)."""
        value = self.text()
        if self.node.style not in ("'", '"'):
            self.fail(f"{key} must be quoted: {key}: '{value}'")
        return value

    def integer(self) -> int:
        """The scalar as an integer (decimal, 0x..., with _ allowed)."""
        try:
            return int(self.text(), 0)
        except ValueError:
            self.fail(f"expected an integer, found '{self.text()}'")

    def number(self) -> float:
        """The scalar as a number."""
        try:
            return float(self.text())
        except ValueError:
            self.fail(f"expected a number, found '{self.text()}'")

    def truth(self) -> bool:
        """The scalar as `yes` or `no`."""
        value = self.text()
        if value not in ("yes", "no"):
            self.fail(f"expected yes or no, found '{value}'")
        return value == "yes"

    def items(self) -> Iterator[tuple[str, Tree]]:
        """A mapping's entries, in order."""
        return iter(self.map().items())

    def map(self) -> dict[str, Tree]:
        """A mapping's entries by key; refuses duplicate keys."""
        if self.children is not None:
            return self.children
        if not self.is_map:
            self.fail("expected a mapping (key: value) here")
        children: dict[str, Tree] = {}
        for key_node, value_node in self.node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                Tree(key_node, self.source).fail("a key must be a single word")
            if key in children:
                first = self.key_nodes[key].start_mark.line + 1
                Tree(key_node, self.source).fail(f"'{key}' stands here twice (first: line {first})")
            children[key] = Tree(value_node, self.source)
            self.key_nodes[key] = key_node
        self.children = children
        return children

    def list(self) -> tuple[Tree, ...]:
        """A sequence's items."""
        if not self.is_list:
            self.fail("expected a list here")
        return tuple(Tree(item, self.source) for item in self.node.value)

    def texts(self) -> tuple[str, ...]:
        """A list of single values; one value alone counts as a list of one."""
        return (self.text(),) if self.is_text else tuple(item.text() for item in self.list())

    def get(self, key: str) -> Tree | None:
        """A mapping's entry, or None."""
        return self.map().get(key)

    def need(self, key: str, what: str = "") -> Tree:
        """A mapping's entry, which must be there."""
        found = self.map().get(key)
        if found is None:
            self.fail(f"{what or 'this entry'} lacks '{key}'")
        return found

    def only(self, allowed: tuple[str, ...], what: str) -> None:
        """Refuse keys that mean nothing here."""
        for key in self.map():
            if key not in allowed:
                self.fail_key(key, f"unknown key '{key}' in {what}; known: {', '.join(allowed)}")


def read_tree(path: Path, name: str) -> Tree:
    """The tree of a YAML file. Raises CardError (syntax) or InputError (unreadable)."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {name}: {error}") from None
    source = Source(name, text)
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        raise CardError(error.problem or "not YAML", source, line, column) from None
    except yaml.YAMLError as error:
        raise InputError(f"{name} is not YAML: {error}") from None
    if node is None:
        raise CardError("the file is empty", source, 0, 0)
    return Tree(node, source)

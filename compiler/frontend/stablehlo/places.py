"""Where an operation comes from: MLIR locations as HLO metadata."""

from __future__ import annotations

import re

from compiler.hlo.attributes import Metadata

_DEFINITION = re.compile(r"^[ \t]*#(loc\w*)[ \t]*=[ \t]*loc\((.*)\)[ \t]*$", re.MULTILINE)
_FILE = re.compile(r'\s*"((?:[^"\\]|\\.)*)":(\d+)(?::(\d+))?')
_NAMED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*(?:\((.*)\))?\s*\Z', re.DOTALL)
_ALIAS = re.compile(r"\s*#(\w+)\s*\Z")
_CALL = re.compile(r"\s*callsite\((.*)\s+at\s+.*\)\s*\Z", re.DOTALL)
_FUSED = re.compile(r"\s*fused(?:<.*?>)?\[(.*)\]\s*\Z", re.DOTALL)
_MAX_STEPS = 16


class Places:
    """The location aliases of a text, and what the locations of operations mean."""

    def __init__(self, text: str) -> None:
        has_any = "#loc" in text
        self._defined = dict(_DEFINITION.findall(text)) if has_any else {}
        self._cache: dict[str, Metadata | None] = {}

    def metadata(self, location: str | None) -> Metadata | None:
        """The metadata of ``loc(...)``'s inside: the operation's name, its file and line."""
        if location is None:
            return None
        if location not in self._cache:
            self._cache[location] = self._read(location)
        return self._cache[location]

    def _read(self, location: str) -> Metadata | None:
        name: str | None = None
        text: str | None = location
        for _ in range(_MAX_STEPS):
            if text is None:
                break
            place = _FILE.match(text)
            if place is not None:
                return _metadata(name, place[1], place[2])
            name, text = self._step(name, text)
        return _metadata(name, None, None)

    def _step(self, name: str | None, text: str) -> tuple[str | None, str | None]:
        """One step towards a file: the operation's name, and the location inside this one."""
        alias = _ALIAS.match(text)
        if alias is not None:
            return name, self._defined.get(alias[1])
        named = _NAMED.match(text)
        if named is not None:
            return name or named[1], named[2]
        inner = _CALL.match(text) or _FUSED.match(text)
        return name, inner[1] if inner is not None else None


def _metadata(name: str | None, file: str | None, line: str | None) -> Metadata | None:
    parts = []
    if name:
        parts.append(f'op_name="{name}"')
    if file and line:
        parts.append(f'source_file="{file}" source_line={line}')
    return Metadata("{" + " ".join(parts) + "}") if parts else None

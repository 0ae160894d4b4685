"""Reads gettext catalogues (.po): entries of msgid and msgstr, strings joined over lines.

Only what our catalogues use: comments, msgid, msgstr. Plural forms and contexts are not needed,
since templates name their fields and Chinese has no plurals.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator, Mapping

from isas.errors import InternalError


def read_catalogue(text: str, place: str = "catalogue") -> Mapping[str, str]:
    """The entries of a catalogue by msgid. Raises InternalError naming the line of a mistake."""
    entries: dict[str, str] = {}
    for number, key, value in _entries(text, place):
        if key in entries:
            raise InternalError(f"'{key}' stands twice", where=f"{place}:{number}")
        if key:
            entries[key] = value
    return entries


def _entries(text: str, place: str) -> Iterator[tuple[int, str, str]]:
    key: list[str] = []
    value: list[str] = []
    current: list[str] | None = None
    for number, line in enumerate([*text.splitlines(), "msgid"], 1):
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        if word == "msgid":
            if current is not None:
                yield number, "".join(key), "".join(value)
            key, value = [], []
            current, quoted = key, rest
        elif word == "msgstr":
            current, quoted = value, rest
        else:
            quoted = line.strip()
            if not quoted.startswith('"'):
                current = None
        if current is None or (not quoted and line != "msgid"):
            raise InternalError("this is neither msgid nor msgstr", where=f"{place}:{number}")
        if quoted:
            current.append(_string(quoted, f"{place}:{number}"))


def _string(quoted: str, place: str) -> str:
    try:
        found = literal_eval(quoted)
    except (SyntaxError, ValueError):
        found = None
    if not isinstance(found, str):
        raise InternalError(f"{quoted} is not a quoted string", where=place)
    return found

"""Reads HLO files: anything but a readable text file is refused with one clear sentence."""

from __future__ import annotations

import os
from pathlib import Path

from compiler.hlo.module import Module
from compiler.hlo.text.parser import parse_module
from isas.errors import InputError

_BYTECODE = b"ML\xefR"
"""How MLIR's binary files begin (MLIR Bytecode Format)."""


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file. Raises InputError when it is missing, a directory or not text."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", str(path)) from None
    except IsADirectoryError:
        raise InputError("this is a directory, a file was expected", str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"the file cannot be read: {reason}", str(path)) from None
    if data.startswith(_BYTECODE):
        what = "this is MLIR bytecode, its text was expected"
        raise InputError(what, str(path), "stablehlo-translate --deserialize writes the text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte {error.start} is not UTF-8"
        raise InputError(f"this is not a text file ({place})", str(path)) from None
    if "\0" in text:
        raise InputError("this is a binary file, HLO text was expected", str(path))
    return text


def read_module(path: str | os.PathLike[str]) -> Module:
    """The module in an HLO text file, parsed but not verified.

    Raises InputError (unreadable file) or HloSyntaxError (not HLO).
    """
    return parse_module(read_text(path), str(path))

"""Files that commands write."""

from __future__ import annotations

from pathlib import Path


def write_file(path: str, content: str | bytes) -> None:
    """Writes text as UTF-8, or bytes. Raises InputError naming the file where that fails."""
    from isas.errors import InputError

    data = content.encode() if isinstance(content, str) else content
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot write ({error.strerror})", where=path) from None

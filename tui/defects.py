"""What a user is told of a defect of Hob's own: one sentence, with the traceback in a file."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path

from lab.words.words import Words


def defect_text(error: BaseException, words: Words) -> str:
    """The sentence. Keeps the details in a file, and says where."""
    text = str(error).splitlines()
    reason = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
    try:
        log = Path(tempfile.mkdtemp(prefix="hob-")) / "error.txt"
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError:
        return words("internal error ({reason}); please report it", reason=reason)
    return words(
        "internal error ({reason}); details are in {log}; please report it", reason=reason, log=log
    )

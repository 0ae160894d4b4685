"""The application in a browser, through textual-serve. Listens on the loopback address unless told
otherwise: whoever can reach the page can read the files that the user can.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from isas.errors import InputError
from lab.words.words import Words

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(command: Sequence[str], host: str, port: int, words: Words) -> None:
    """Runs the web server until it is interrupted; each page runs `command`."""
    try:
        from textual_serve.server import Server
    except ImportError:
        raise InputError(
            "textual-serve is not installed", where="--serve", hint="pip install textual-serve"
        ) from None
    if host not in LOOPBACK:
        print(words("anyone who can reach {host} can use this page", host=host))
    Server(shlex.join(command), host=host, port=port, title="Hob").serve()

"""What all tests share: golden files, the same surroundings everywhere, no network, no chance."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("hob", deadline=None, derandomize=True, database=None)
settings.load_profile("hob")

_NEUTRAL = {"LC_ALL": "C.UTF-8", "COLUMNS": "120", "LINES": "40"}
_UNSET = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "LANGUAGE")
_LOOPBACK = ("127.", "localhost", "::1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite golden files with what is found")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares text with a file in the folder ``golden`` beside the test."""
    folder = Path(request.path).parent / "golden"
    bless = bool(request.config.getoption("--bless"))

    def check(name: str, text: str) -> None:
        path = folder / name
        if bless:
            folder.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.is_file(), f"{path} is missing; pytest --bless writes it"
        assert text == path.read_text()

    return check


@pytest.fixture(autouse=True, scope="session")
def same_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """English, one terminal size, no colours asked for, and nobody's own list of recent files."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _NEUTRAL.items():
            patch.setenv(name, value)
        for name in _UNSET:
            patch.delenv(name, raising=False)
        patch.setenv("XDG_STATE_HOME", os.fspath(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """A test that reaches for another machine fails, with a network or without."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = str(address[0]) if isinstance(address, tuple) else ""
        if host and not host.startswith(_LOOPBACK):
            raise RuntimeError(f"a test wants to talk to {host}; tests use no network")
        connect(self, address)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield

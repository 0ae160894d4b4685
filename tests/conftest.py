"""Golden files: stored text that tests compare with; `pytest --bless` rewrites them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


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

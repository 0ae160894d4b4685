"""The application in a browser: served on the loopback address, drawn by headless Chromium."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
EXAMPLE = str(TOP / "examples" / "element_wise_chain.hlo")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A served application; it is ended with the tests."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "tui.commands.main", "tui", EXAMPLE, "--serve", "--port", str(port)],
        cwd=TOP, env={**os.environ, "PYTHONPATH": str(TOP)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=PATIENCE_SECONDS)


def page(address: str) -> str:
    """The page, as soon as the server answers."""
    for _ in range(PATIENCE_SECONDS * 4):
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.25)
    raise AssertionError("the server does not answer")


def test_the_page_is_served_on_the_loopback_address(address: str) -> None:
    text = page(address)
    assert "<title>Hob</title>" in text or "Hob" in text
    assert "textual" in text


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_chromium_draws_the_terminal(address: str, tmp_path: Path) -> None:
    page(address)
    picture = tmp_path / "page.png"
    found = subprocess.run(
        [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800",
         "--virtual-time-budget=15000", f"--user-data-dir={tmp_path}", f"--screenshot={picture}",
         address],
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-500:]
    assert picture.stat().st_size > 5_000

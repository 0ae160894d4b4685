"""The application in a browser: served on the loopback address, drawn by headless Chromium."""

from __future__ import annotations

import asyncio
import base64
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
from typing import Any

import aiohttp
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


async def looked_at(address: str, folder: Path) -> bytes:
    """A picture of the page in headless Chromium, once the terminal has got its first bytes."""
    browser = subprocess.Popen(
        [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800",
         "--remote-debugging-port=0", f"--user-data-dir={folder}", address],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        async with aiohttp.ClientSession() as session:
            target = await page_target(session, folder, address)
            async with session.ws_connect(target, max_msg_size=0) as socket:
                for _ in range(PATIENCE_SECONDS * 4):
                    classes = await asked(socket, "Runtime.evaluate", expression=CLASSES)
                    if "-first-byte" in classes["result"].get("value", ""):
                        await asyncio.sleep(3)
                        shot = await asked(socket, "Page.captureScreenshot", format="png")
                        return base64.b64decode(shot["data"])
                    await asyncio.sleep(0.25)
        raise AssertionError("the terminal stayed empty")
    finally:
        os.killpg(browser.pid, signal.SIGTERM)
        browser.wait(timeout=PATIENCE_SECONDS)


CLASSES = "document.body ? document.body.className : ''"


async def page_target(session: aiohttp.ClientSession, folder: Path, address: str) -> str:
    """Where the page's debugging socket is, as soon as there is one."""
    for _ in range(PATIENCE_SECONDS * 4):
        port_file = folder / "DevToolsActivePort"
        if port_file.exists() and port_file.read_text().strip():
            port = port_file.read_text().splitlines()[0]
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                for target in await answer.json():
                    if target["type"] == "page" and target["url"].startswith(address):
                        return str(target["webSocketDebuggerUrl"])
        await asyncio.sleep(0.25)
    raise AssertionError("chromium does not open the page")


async def asked(socket: Any, method: str, **parameters: Any) -> dict[str, Any]:
    """One command of the DevTools protocol and its result."""
    await socket.send_json({"id": 1, "method": method, "params": parameters})
    while True:
        answer = await socket.receive_json(timeout=PATIENCE_SECONDS)
        if answer.get("id") == 1:
            return dict(answer["result"])


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_chromium_draws_the_terminal(address: str, tmp_path: Path) -> None:
    """The start page of the server alone takes some 9 kB, a screen full of text far more."""
    page(address)
    picture = asyncio.run(looked_at(address, tmp_path))
    if os.environ.get("HOB_KEEP_PICTURE"):
        Path(os.environ["HOB_KEEP_PICTURE"]).write_bytes(picture)
    assert picture.startswith(b"\x89PNG") and len(picture) > 25_000

"""A defect of Hob's own is told in one sentence, wherever it happens; nobody waits for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tui.driving import press, request, running
from tui.commands.main import main
from tui.pictures.shot import take_shot
from tui.screens.run import RunScreen
from tui.session import Session


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every work fails; details of defects go to a folder of the test's own."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(Session, "work", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.mark.usefixtures("broken")
def test_the_application_goes_on_and_says_where_the_details_are(tmp_path: Path) -> None:
    async def story() -> list[str]:
        async with running(request()) as (app, pilot):
            assert not app.is_working
            await press(app, pilot, "1")
            return [notice.message for notice in app._notifications]

    (message,) = asyncio.run(story())
    assert message.startswith("internal error (ZeroDivisionError: a defect); details are in ")
    log = next(tmp_path.glob("hob-*/error.txt"))
    assert str(log) in message
    assert "Traceback" in log.read_text(encoding="utf-8")


@pytest.mark.usefixtures("broken")
def test_a_picture_of_it_is_an_error_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["show", "run", "examples/softmax.hlo"])
    assert end.value.code == 1
    assert capsys.readouterr().err.startswith("hob: internal error (ZeroDivisionError: a defect)")


def test_a_defect_of_a_screen_reaches_whoever_drives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: RunScreen) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(RunScreen, "refresh_content", fail)
    with pytest.raises(ZeroDivisionError):
        take_shot("run", request())

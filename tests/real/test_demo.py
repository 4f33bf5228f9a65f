"""The demo as a newcomer runs it, on the test run's own broker."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from kgroup.cli import main
from kgroup.testing.kafka import RealKafka
from tests.real.ground import eventually

pytestmark = [pytest.mark.real, pytest.mark.slow]

PATIENCE = 60.0
INTERRUPTED = 130


@pytest.fixture
def broker(kafka: RealKafka, monkeypatch: pytest.MonkeyPatch) -> RealKafka:
    """Have the demo use the broker that is there already."""
    monkeypatch.setenv("KGROUP_BOOTSTRAP", kafka.bootstrap)
    return kafka


def members_left(bootstrap: str) -> list[str]:
    """Return the command lines of demo members that talk to this broker."""
    return [
        line
        for process in Path("/proc").glob("[0-9]*")
        if "kgroup.demo.member" in (line := command_line(process)) and bootstrap in line
    ]


def command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def test_a_short_demo_is_clean_and_leaves_nothing_running(
    broker: RealKafka, capfd: pytest.CaptureFixture[str]
):
    assert main(["demo", "--seconds", "12", "--members", "2", "--no-tty"]) == 0
    shown = capfd.readouterr().out
    assert "CLEAN: " in shown.splitlines()[-1]
    for disturbance in ("is added", "is killed", "is restarted", "is closed"):
        assert disturbance in shown
    assert members_left(broker.bootstrap) == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_ctrl_c_ends_the_demo_and_all_it_started(broker: RealKafka, tmp_path: Path):
    shown = tmp_path / "shown"
    with shown.open("wb") as output:
        demo = await anyio.open_process(
            [sys.executable, "-m", "kgroup.cli", "demo", "--seconds", "600", "--no-tty"],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
    try:
        await eventually(lambda: re.search(r"generation \d+:", shown.read_text()), "a generation")
        assert members_left(broker.bootstrap)
        demo.send_signal(signal.SIGINT)
        with anyio.fail_after(PATIENCE):
            code = await demo.wait()
    finally:
        with suppress(ProcessLookupError):
            demo.kill()
    assert (code, "Traceback" in shown.read_text()) == (INTERRUPTED, False), shown.read_text()
    assert members_left(broker.bootstrap) == []

"""The demo from its first word to its exit code.

Decides: what a person is told before and after the run, and which logs are kept.
Never: leaves anything running, or calls a run good that its logs do not prove good.
"""

import secrets
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
from rich.console import Console

from kgroup.audit import Verdict, render_verdict
from kgroup.demo.judging import exit_code, judge_run
from kgroup.demo.runner import Bounds, Setting, perform
from kgroup.demo.scenario import Scenario, plan_scenario
from kgroup.demo.view import LineScreen, LiveScreen, Screen
from kgroup.testing.kafka import RealKafka

__all__ = ["run_demo"]


def run_demo(*, seconds: float, members: int, tty: bool) -> int:
    """Run the demo and return its exit code, as `kgroup.demo.run` says."""
    console = Console()
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    live = tty and console.is_terminal
    folder = Path(tempfile.mkdtemp(prefix="kgroup-demo-"))
    scenario = plan_scenario(seconds, members)
    verdict: Verdict | None = None
    try:
        with RealKafka.start(progress=say) as kafka:
            setting = _setting(kafka, folder)
            say(f"Kafka: {kafka.describe()}; topic and group {setting.topic}")
            screen: Screen = LiveScreen(console) if live else LineScreen(console)
            with screen:
                bounds = _play(setting, scenario, screen)
        verdict = judge_run(folder, bounds)
        say(render_verdict(verdict))
        return exit_code(verdict)
    finally:
        _put_away(folder, verdict, say)


def _setting(kafka: RealKafka, folder: Path) -> Setting:
    name = f"demo-{secrets.token_hex(4)}"
    return Setting(bootstrap=kafka.bootstrap, topic=name, group=name, folder=folder)


def _play(setting: Setting, scenario: Scenario, screen: Screen) -> Bounds:
    """Play, and let the error itself out of the task groups it went through."""
    try:
        return anyio.run(perform, setting, scenario, screen)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group


def _put_away(folder: Path, verdict: Verdict | None, say: Callable[[str], None]) -> None:
    """Remove the logs of a clean run; those of any other are what a person needs next."""
    if (verdict is not None and verdict.clean) or not any(folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        say(f"the logs of this run are kept in {folder}")

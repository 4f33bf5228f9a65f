"""The demo from its first word to its exit code.

Decides: which Kafka the run takes, what a person reads before and after it, and which logs are
kept.
Never: leaves anything running, or calls a run good that its logs do not prove good.
"""

import json
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
from rich.console import Console

from kgroup.audit import Verdict, render_verdict, verdict_json
from kgroup.demo.runner import Ran, Setting, exit_code, judge_run, perform
from kgroup.demo.scenario import Scenario, plan_scenario
from kgroup.demo.view import LineScreen, LiveScreen, Screen
from kgroup.demo.which_kafka import WhichKafka
from kgroup.errors import UnsupportedError
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.in_process import stand_in

_STANDS_IN = (
    "The in-process broker takes its place: Kafka's bytes and group rules, in this process."
)


def run_demo(
    *, seconds: float, members: int, tty: bool, kafka: WhichKafka, as_json: bool = False
) -> int:
    """Run the demo and return its exit code, as `kgroup.demo.run` says."""
    console = Console(stderr=as_json)
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    live = tty and console.is_terminal
    folder = Path(tempfile.mkdtemp(prefix="kgroup-demo-"))
    scenario = plan_scenario(seconds, members)
    verdict: Verdict | None = None
    try:
        with _started(kafka, say) as ground:
            setting = setting_of(ground, folder)
            say(f"Kafka: {ground.describe()}; topic and group {setting.topic}")
            screen: Screen = LiveScreen(console) if live else LineScreen(console)
            with screen:
                ran = _play(setting, scenario, screen)
        verdict = judge_run(folder, ran.bounds)
        if as_json:
            sys.stdout.write(json.dumps(_run_json(setting, ran, verdict), indent=2) + "\n")
        else:
            say(render_verdict(verdict))
        return exit_code(verdict)
    finally:
        _put_away(folder, verdict, say)


def _started(which: WhichKafka, say: Callable[[str], None]) -> RealKafka:
    if which is WhichKafka.IN_PROCESS:
        return stand_in()
    try:
        return RealKafka.start(progress=say)
    except UnsupportedError as error:
        if which is WhichKafka.REAL:
            raise
        say(f"{error}\n{_STANDS_IN}")
        return stand_in()


def setting_of(kafka: RealKafka, folder: Path) -> Setting:
    """Return where a run takes place: a new topic and a new group of the same name.

    Args:
        kafka: the brokers.
        folder: for event logs.
    """
    name = f"demo-{secrets.token_hex(4)}"
    return Setting(bootstrap=kafka.bootstrap, topic=name, group=name, folder=folder)


def _run_json(setting: Setting, ran: Ran, verdict: Verdict) -> dict[str, object]:
    """Return a run for programs; all seconds count from one moment."""
    return {
        "topic": setting.topic,
        "group": setting.group,
        "happenings": [{"at": round(each.at, 3), "text": each.text} for each in ran.happenings],
        "logs": None if verdict.clean else str(setting.folder),
        "verdict": verdict_json(verdict),
    }


def _play(setting: Setting, scenario: Scenario, screen: Screen) -> Ran:
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

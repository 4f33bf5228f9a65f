"""The demo with a Spark query in its group, and a Marshal group beside it; then all checks are run.

Decides: the stages, what is disturbed besides the members, and the exit code: 0 only if what was
handled, event logs, tables and reports are clean.
Never: judges anything itself, but that each record could be read; each check is the command that a
person would type, in this process.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
from rich.console import Console

from kgroup.demo.claims import ClaimsGroup
from kgroup.demo.damage import damage
from kgroup.demo.handled import write_handled
from kgroup.demo.query import Query
from kgroup.demo.runner import Setting, perform
from kgroup.demo.scenario import Scenario, Strike, plan_scenario
from kgroup.demo.show import setting_of
from kgroup.demo.view import LineScreen
from kgroup.spark.coordination.declared import BAD
from kgroup.spark.coordination.kept import Kept
from kgroup.spark.table import open_session, told_plainly
from kgroup.testing.kafka import RealKafka
from kgroup.values import dataclass

Command = Callable[[Sequence[str]], int]
"""Runs a verb with some words; returns its exit code."""

_SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS: Final = {
    "spark.app.name": "kgroup spark demo",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": _SHORT_LIVED,
    "spark.executor.extraJavaOptions": _SHORT_LIVED,
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
_CLUSTER: Final = "local-cluster[2,1,1024]"
"""The query has executors of its own: one of them is killed."""
_CHECKS: Final = "local[2,4]"
_BACK: Final = 50
"""Records that positions are set back when something is to be broken."""
_STRIKES: Final = (0.38, 0.46, 0.68)
"""When the executor, the positions and the broker have their turn, as a share of the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run is to be.

    Args:
        seconds: how long the group works after it has settled.
        damage: whether something of each kind is broken before it is judged.
        out: where table, logs, tables, verdict and pages go; None for a folder that is removed
            when all is clean.
    """

    seconds: float = 30.0
    damage: bool = False
    out: Path | None = None


def run_with_spark(asked: Asked, command: Command) -> int:
    """Run the demo with a Spark, and return the exit code: 0 only if each check is clean.

    Args:
        asked: what it is to be.
        command: runs `kgroup spark` with some words.

    Raises:
        MissingExtraError: pyspark is not installed.
        UnsupportedError: no real Kafka can be had here.
        KGroupError, TimeoutError: something did not happen.
    """
    folder = (asked.out or Path(tempfile.mkdtemp(prefix="kgroup-spark-demo-"))).resolve()
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    stages = _Stages()
    # A worker is to find the packages that this process has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with told_plainly():
        stages.begin("starting Kafka")
        with RealKafka.start(progress=stages.say) as kafka:
            codes = _run(_Scene(asked, folder, kafka, stages), command)
    good = not any(codes.values())
    red = ", ".join(name for name, code in codes.items() if code)
    if good and asked.out is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        stages.say(f"everything is kept in {folder}")
    stages.say("CLEAN: records, event logs, tables and reports" if good else f"NOT CLEAN: {red}")
    return 0 if good else 1


class _Stages:
    """Says what is done, and how long what was done before took."""

    def __init__(self) -> None:
        self.console = Console()
        self._began = time.monotonic()

    def begin(self, text: str) -> None:
        """Say what is done next."""
        self.say(f"[{time.monotonic() - self._began:4.0f} s] {text}")

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class _Scene:
    asked: Asked
    folder: Path
    kafka: RealKafka
    stages: _Stages


def _run(scene: _Scene, command: Command) -> dict[str, int]:
    stages, setting = scene.stages, setting_of(scene.kafka, scene.folder / "logs")
    claims = replace(setting, group=f"{setting.topic}-claims", claims=True)
    stages.begin(f"starting Spark, {_CLUSTER}")
    with _session(scene.folder, _CLUSTER) as spark:
        query = Query(spark, setting, scene.folder)
        beside = ClaimsGroup(claims, back=_BACK if scene.asked.damage else 0)
        stages.begin(f"group {setting.group}: members and a query that writes {query.table}")
        stages.begin(f"group {claims.group}: two members that claim in a log")
        scenario = _scenario(scene, query, beside)
        _play(partial(perform, setting, scenario, LineScreen(stages.console), (query, beside)))
    stages.begin(f"starting Spark, {_CHECKS}")
    with _session(scene.folder, _CHECKS) as spark:
        handled = scene.folder / "handled"
        stages.begin(f"what the query wrote, and what members took: {handled}")
        write_handled(spark, setting, query.table, handled)
        if scene.asked.damage:
            stages.begin("a row, a line, a commit and a claim are damaged")
            damage(setting, handled)
        return _checked(scene, (setting, claims), command)


def _play(work: Callable[[], Any]) -> None:
    """Play, and let the error itself out of the task groups it went through."""
    try:
        anyio.run(work)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group


# -- disturbances ----------------------------------------------------------------------------------


def _scenario(scene: _Scene, query: Query, claims: ClaimsGroup) -> Scenario:
    """Return the demo's own, and besides: an executor, positions, the broker."""
    seconds, kafka = scene.asked.seconds, scene.kafka
    usual = plan_scenario(seconds, 3)
    executor, positions, broker = (seconds * share for share in _STRIKES)
    strikes = [
        Strike(executor, "an executor of the query is killed (SIGKILL)", "EXECUTOR", query.strike),
        Strike(positions, "positions of the other group are set", None, claims.set_positions),
    ]
    if kafka.kind == "given":
        scene.stages.say("the broker is somebody else's: it is not bounced")
    else:
        bounce = partial(anyio.to_thread.run_sync, partial(_bounce, kafka))
        strikes.append(Strike(broker, "the coordinator is bounced", "BOUNCE", bounce))
    return replace(usual, strikes=tuple(strikes))


def _bounce(kafka: RealKafka) -> None:
    node = kafka.nodes[0]
    kafka.kill(node)
    kafka.restart(node)


# -- Spark -----------------------------------------------------------------------------------------


@contextmanager
def _session(folder: Path, master: str) -> Iterator[Any]:
    """Have a session of Spark for one block; what it writes goes into a folder."""
    home = _home(folder / "spark")
    before = os.environ.get("SPARK_HOME")
    os.environ["SPARK_HOME"] = str(home)
    warehouse = {"spark.sql.warehouse.dir": str(home / "warehouse")}
    spark, _ = open_session({**_SETTINGS, **warehouse, "spark.master": master})
    try:
        yield spark
    finally:
        spark.stop()
        if before is None:
            del os.environ["SPARK_HOME"]
        else:
            os.environ["SPARK_HOME"] = before


def _home(folder: Path) -> Path:
    """Return a home of Spark in which executors leave their files, and not in the package."""
    import pyspark  # noqa: PLC0415 - an extra

    folder.mkdir(exist_ok=True)
    for entry in Path(pyspark.__file__).parent.iterdir():
        link = folder / entry.name
        if entry.name in ("bin", "jars", "python", "sbin") and not link.exists():
            link.symlink_to(entry)
    return folder


# -- checks ----------------------------------------------------------------------------------------


def _checked(scene: _Scene, groups: Sequence[Setting], command: Command) -> dict[str, int]:
    """Return check -> exit code."""
    tables, codes = scene.folder / "tables", {}
    for name, words in _checks(scene, groups).items():
        scene.stages.begin(f"{name}: kgroup spark {' '.join(words)}")
        codes[name] = command(words)
        if words[0] == "coordination":
            bad = Kept(tables).rows(BAD)
            codes[name] = codes[name] or int(bool(bad))
    return codes


def _checks(scene: _Scene, groups: Sequence[Setting]) -> Mapping[str, Sequence[str]]:
    folder, brokers = scene.folder, ("--bootstrap", scene.kafka.bootstrap)
    setting = groups[0]
    handled, tables, verdict = (str(folder / name) for name in ("handled", "tables", "verdict"))
    reports = {
        f"report on {each.group}": (
            *("report", tables, "--group", each.group, "--verdict", verdict),
            *("--out", str(folder / f"{each.group}.html")),
        )
        for each in groups
    }
    of_group = ("--topic", setting.topic, "--group", setting.group)
    return {
        "records": ("verify", handled, *of_group, *brokers),
        "event logs": ("audit", f"{folder}/logs/*.jsonl", "--out", verdict, *brokers),
        "tables of what groups did": ("coordination", "--out", tables, *brokers),
        **reports,
    }

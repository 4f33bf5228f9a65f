"""The demo with a Spark beside it: a query writes a table meanwhile, then all four checks are run.

Decides: the stages, and the exit code: 0 only if table, event logs and reports are clean.
Never: judges anything itself; each check is the command that a person would type, in this process.

What it can damage for a look at each check in red: a row of the table is taken away, a delivery is
taken out of an event log, and a commit goes back.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Final, Self

import anyio
from rich.console import Console

from kgroup.demo.board import Board
from kgroup.demo.runner import Setting, perform
from kgroup.demo.scenario import plan_scenario
from kgroup.demo.show import setting_of
from kgroup.demo.view import LineScreen
from kgroup.spark.table import open_session, told_plainly
from kgroup.sync import Consumer
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from kgroup.values import dataclass

Command = Callable[[Sequence[str]], int]
"""Runs a verb with some words; returns its exit code."""

_SETTINGS: Final = {
    "spark.app.name": "kgroup spark demo",
    "spark.master": "local[2,4]",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
_TABLE: Final = "table"


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
    folder = asked.out or Path(tempfile.mkdtemp(prefix="kgroup-spark-demo-"))
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    stages = _Stages()
    # A worker is to find the packages that this process has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with told_plainly():
        stages.begin("starting Spark and Kafka")
        spark, _ = open_session(_SETTINGS)
        try:
            with RealKafka.start(progress=stages.say) as kafka:
                codes = _run(_Scene(asked, folder, spark, kafka, stages), command)
        finally:
            spark.stop()
    good = not any(codes.values())
    red = ", ".join(name for name, code in codes.items() if code)
    if good and asked.out is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        stages.say(f"everything is kept in {folder}")
    stages.say("CLEAN: table, event logs and report" if good else f"NOT CLEAN: {red}")
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
    spark: Any
    kafka: RealKafka
    stages: _Stages


def _run(scene: _Scene, command: Command) -> dict[str, int]:
    folder, stages = scene.folder, scene.stages
    setting = setting_of(scene.kafka, folder / "logs")
    group = f"{setting.topic}-table"
    stages.begin(f"group {setting.topic} reads, and query {group} writes {folder / _TABLE}")
    query = _Query(scene, setting, group)
    with _Screen(stages.console, query) as screen:
        anyio.run(perform, setting, plan_scenario(scene.asked.seconds, 3), screen)
    stages.begin("the query reads what is left")
    query.drain()
    if scene.asked.damage:
        stages.begin("a row, a line and a commit are damaged")
        _damage(folder, scene.kafka.bootstrap, setting)
    brokers = ["--bootstrap", scene.kafka.bootstrap]
    table, tables, verdict = (str(folder / name) for name in (_TABLE, "tables", "verdict"))
    pages = {name: str(folder / f"{name}.html") for name in (setting.group, group)}
    checks: dict[str, Sequence[str]] = {
        "table": ["verify", table, "--topic", setting.topic, "--group", group, *brokers],
        "event logs": ["audit", f"{folder}/logs/*.jsonl", "--out", verdict, *brokers],
        "tables of what groups did": ["coordination", "--out", tables, *brokers],
        **{
            f"report on {name}": [
                *("report", tables, "--group", name, "--verdict", verdict, "--out", page)
            ]
            for name, page in pages.items()
        },
    }
    codes = {}
    for name, words in checks.items():
        stages.begin(f"{name}: kgroup spark {' '.join(words)}")
        codes[name] = command(words)
    return codes


# -- the query -------------------------------------------------------------------------------------


class _Query:
    """A streaming query that writes a topic as Parquet, in a group of its own.

    Args:
        scene: where.
        setting: of the group beside it; its topic is there when the query is begun.
        group: of the query.
    """

    def __init__(self, scene: _Scene, setting: Setting, group: str) -> None:
        self._scene = scene
        self._setting = setting
        self._group = group
        self._begun: Thread | None = None
        self._found: Any = None
        self._error: Exception | None = None

    def begin(self) -> None:
        """Begin it, once; nobody waits for that."""
        if self._begun is None:
            self._begun = Thread(target=self._begin, name="kgroup-spark-demo")
            self._begun.start()

    def _begin(self) -> None:
        try:
            self._found = self._start()
        except Exception as error:  # noqa: BLE001 - it is raised where the query is waited for
            self._error = error

    def _start(self) -> Any:  # noqa: ANN401 - pyspark's
        scene = self._scene
        return (
            scene.spark.readStream.format("kgroup")
            .option("kafka.bootstrap.servers", scene.kafka.bootstrap)
            .option("kafka.group.id", self._group)
            .option("subscribe", self._setting.topic)
            .option("startingOffsets", "earliest")
            .load()
            .writeStream.format("parquet")
            .option("path", str(scene.folder / _TABLE))
            .option("checkpointLocation", str(scene.folder / "checkpoint"))
            .trigger(processingTime="1 second")
            .start()
        )

    def drain(self) -> None:
        """Wait until it has written all there is, and end it."""
        assert self._begun is not None
        self._begun.join()
        if self._error is not None:
            raise self._error
        self._found.processAllAvailable()
        self._found.stop()


class _Screen:
    """Shows lines, and begins the query when the topic is there."""

    def __init__(self, console: Console, query: _Query) -> None:
        self._lines = LineScreen(console)
        self._query = query

    def show(self, board: Board) -> None:
        """Show a board; a settled group has a topic."""
        self._lines.show(board)
        if board.settled:
            self._query.begin()

    def __enter__(self) -> Self:
        self._lines.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lines.__exit__(kind, error, traceback)


# -- damage ----------------------------------------------------------------------------------------


def _damage(folder: Path, bootstrap: str, setting: Setting) -> None:
    _take_a_row(folder / _TABLE)
    _take_a_delivery(folder / "logs" / "m2.jsonl")
    _commit_back(bootstrap, setting)


def _take_a_row(table: Path) -> None:
    """Take a row away from the table; without the sink's own list of files, Spark lists them."""
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    shutil.rmtree(table / "_spark_metadata")
    path = max(table.glob("*.parquet"), key=lambda each: each.stat().st_size)
    rows = parquet.read_table(path)
    parquet.write_table(rows.slice(1), path)
    for sum_file in table.glob(".*.crc"):
        sum_file.unlink()


def _take_a_delivery(path: Path) -> None:
    lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    places = [n for n, line in enumerate(lines) if '"event":"deliver"' in line]
    del lines[places[len(places) // 2]]
    path.write_text("".join(lines), encoding="ascii")


def _commit_back(bootstrap: str, setting: Setting) -> None:
    place = TopicPartition(setting.topic, 0)
    with Consumer(
        bootstrap_servers=bootstrap, group_id=setting.group, enable_auto_commit=False
    ) as one:
        one.assign([place])
        one.commit({place: 1})

"""`kgroup spark coordination`: what groups did, as tables.

Decides: the options, how often the logs are asked when it goes on, and what is shown at the end.
Never: reads a record; a record that cannot be read is a row and a number, no failure.
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from kgroup.cli.connecting import Common, consumer_config, options_of_file, perform
from kgroup.cli.marshal import Log
from kgroup.cli.printing import on_one_line
from kgroup.cli.spark import setting
from kgroup.cli.tables import make_table, print_whole, screen
from kgroup.errors import ArgumentError
from kgroup.spark.connecting import OF_MEMBERS
from kgroup.spark.coordination import asking
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.alarms import Alarms
from kgroup.spark.coordination.beating import Limits
from kgroup.spark.coordination.job import Job
from kgroup.spark.coordination.kept import Kept
from kgroup.spark.coordination.schema import Row
from kgroup.spark.coordination.silver import OFFSETS_TOPIC
from kgroup.spark.coordination.store import Store
from kgroup.spark.counting import Span
from kgroup.spark.options import REFUSED
from kgroup.spark.table import functions, open_session, told_plainly
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_PASSWORD: Final = "KGROUP_SASL_PASSWORD"  # noqa: S105 - the name of a variable
_SETTINGS: Final = {
    "spark.app.name": "kgroup spark coordination",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.showConsoleProgress": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `kgroup spark coordination` takes.

    Args:
        out: folder of the tables.
        from_: folder with the records that another run has kept, None to ask brokers.
        stream: whether it goes on.
        trigger: seconds between two looks at the logs.
        gold_every: seconds from gold to gold.
        alarms: whether alarms are told meanwhile.
        stuck_after: seconds for which a group may be behind and commit nothing further.
        conf: settings of Spark, `NAME=VALUE`.
    """

    out: Annotated[
        Path,
        typer.Option(help="Folder of the tables; what is there is gone on with."),
    ]
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help="Make the tables of the records in the folder of another run; asks no broker.",
        ),
    ] = None
    stream: Annotated[
        bool, typer.Option("--stream", help="Go on with what is written, until Ctrl-C.")
    ] = False
    trigger: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two looks at the logs.")
    ] = 2.0
    gold_every: Annotated[
        float,
        typer.Option(min=0, help="With --stream: seconds at least until gold is made anew."),
    ] = 30.0
    alarms: Annotated[
        bool,
        typer.Option(
            "--alarms",
            help="With --stream: tell of owners that do not beat, zombies, and lag that does not "
            "move; each is a line, and a row of `alarm`.",
        ),
    ] = False
    stuck_after: Annotated[
        float,
        typer.Option(min=1, help="Seconds a group may be behind and commit nothing further."),
    ] = 300.0
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
    ] = None


def make_tables(asked: Asked, log: Log, common: Common) -> None:
    """Make tables of what groups did: owners, rebalances, commits and lag; see the page."""
    found = made(asked, log, common)
    if common.as_json:
        print(json.dumps(found, indent=2))
    else:
        _show(found)


def made(asked: Asked, log: Log, common: Common) -> dict[str, Any]:
    """Make the tables; return what is told of them to programs.

    Raises:
        ArgumentError, ConfigError: an option cannot be used, or the folder is not what it must be.
        MissingExtraError: pyspark is not installed.
        KGroupError, TimeoutError: brokers or Spark cannot do it.
    """
    if asked.stream and asked.from_ is not None:
        raise ArgumentError("stream", "true", "brokers; a folder of --from is read once")
    if asked.alarms and not asked.stream:
        raise ArgumentError("alarms", "true", "--stream beside it: alarms are told while it reads")
    settings = dict(map(setting, asked.conf or ()))
    functions()
    # A worker is to find the packages that this process has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with ExitStack() as stack:
        stack.enter_context(told_plainly())
        _say("starting Spark")
        spark, own = open_session({**_SETTINGS, **settings})
        if own:
            stack.callback(spark.stop)
        store = Store(spark, asked.out)
        topic = log.topic(common)
        watched = topic if asked.alarms else None
        gold_every = asked.gold_every if asked.stream else None
        job = Job(spark, store, _say, watched=watched, gold_every=gold_every)
        if asked.from_ is not None:
            job.copy(asked.from_)
        else:
            if asked.alarms:
                limits = Limits(stuck=round(asked.stuck_after * 1000))
                stack.callback(Alarms(spark, store, _say, limits, topic).start().stop)
            _read(job, asked, log, common)
    return summary(asked.out)


def _read(job: Job, asked: Asked, log: Log, common: Common) -> None:
    brokers = _Asked(common, (OFFSETS_TOPIC, log.topic(common)))
    options = source_options(common)
    if not asked.stream:
        plan = job.step(brokers, options)
        while plan is not None and plan.more:
            plan = job.step(brokers, options)
        return
    _say("reading on; Ctrl-C ends")
    with suppress(KeyboardInterrupt):
        while True:
            began = time.monotonic()
            plan = job.step(brokers, options)
            if plan is None or not plan.more:
                time.sleep(max(began + asked.trigger - time.monotonic(), 0))
    _say("making the gold that is left; Ctrl-C again leaves it to the next run")
    job.settle()


class _Asked:
    """Brokers, each time they are asked.

    Args:
        common: how they are reached.
        topics: the coordination logs.
    """

    def __init__(self, common: Common, topics: Collection[str]) -> None:
        self._common = common
        self._topics = topics

    def logs(self) -> Mapping[TopicPartition, Span]:
        ask = partial(asking.logs, topics=self._topics, timeout=self._common.timeout)
        return perform(self._common, ask)

    def ends(self, topics: Collection[str]) -> list[Row]:
        ask = partial(asking.ends, topics=topics, timeout=self._common.timeout)
        return perform(self._common, ask) if topics else []


def source_options(common: Common) -> dict[str, str]:
    """Return the options of `format("kgroup")` that reach the same brokers in the same way.

    A password in a variable stays there; its name is handed on.
    """
    config = consumer_config(common)
    given = {
        name: value
        for name, value in options_of_file(common).items()
        if name not in OF_MEMBERS and name not in REFUSED
    }
    given["bootstrap_servers"] = config.bootstrap_servers
    if "sasl_username" in given and os.environ.get(_PASSWORD):
        given["sasl_password"] = f"env:{_PASSWORD}"
    return {f"kgroup.{name}": _text(value) for name, value in given.items()}


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case list() | tuple():
            return ",".join(map(_text, value))
        case _:
            return str(value)


# -- what is shown ---------------------------------------------------------------------------------


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def summary(folder: Path) -> dict[str, Any]:
    """Return what is told of the tables to programs."""
    kept = Kept(folder)
    bad = Counter(row["reason"] for row in kept.rows(d.BAD))
    other = Counter(row["type"] for row in kept.rows(d.OTHER))
    history = [row for row in kept.rows(d.HISTORY) if row["whole_from"] > 0]
    return {
        "out": str(folder),
        "batches": kept.batches,
        "tables": kept.counts(),
        "bad": dict(sorted(bad.items())),
        "not_read": {str(kind): other[kind] for kind in sorted(other)},
        "history": sorted(history, key=lambda row: (row["src"], row["log_partition"])),
        "marshal": sorted(kept.rows(d.MARSHAL_END), key=lambda row: int(row["log_partition"])),
    }


def _show(found: Mapping[str, Any]) -> None:
    print_whole(make_table(("table", "rows"), found["tables"].items()))
    out = screen()
    for row in found["history"]:
        lost = row["lost_from"]
        what = "what was before it is not known" if lost is None else f"{lost} and on were lost"
        text = f"note: {row['src']}-{row['log_partition']} begins at {row['whole_from']}; {what}"
        out.print(on_one_line(text), markup=False)
    for reason, count in found["bad"].items():
        out.print(on_one_line(f"not readable: {count} x {reason}"), markup=False)
    for number, count in found["not_read"].items():
        out.print(f"not decoded: {count} of type {number}", markup=False)
    count = found["tables"].get(d.RAW.name, 0)
    out.print(on_one_line(f"DONE: {count:,} records are in {found['out']}"), markup=False)

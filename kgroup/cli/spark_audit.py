"""`kgroup spark audit`: the verdict on a whole fleet, from the event logs of its groups.

Decides: the options, where the ends of logs come from, what is shown, and the exit code: 0 only
when every group is clean.
Never: judges; `kgroup.spark.audit` does.
"""

import json
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from kgroup.cli.connecting import Common, perform
from kgroup.cli.printing import on_one_line
from kgroup.cli.spark import read_truth, setting
from kgroup.cli.tables import make_table, print_whole, screen
from kgroup.errors import ArgumentError, ConfigError
from kgroup.net.cluster import Cluster
from kgroup.spark.audit.fleet import Fleet, FleetVerdict, GroupVerdict
from kgroup.spark.audit.judge import Law
from kgroup.spark.audit.tables import write
from kgroup.spark.logs import bounds_of
from kgroup.spark.table import functions, open_session, told_plainly
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.values import dataclass

_AT_LEAST_ONCE: Final = "at_least_once"
_SETTINGS: Final = {
    "spark.app.name": "kgroup spark audit",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.showConsoleProgress": "false",
}
_NUMBERS: Final = ("records", "lost", "duplicated", "out_of_order", "not_owned", "two_owners")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `kgroup spark audit` takes.

    Args:
        logs: paths and patterns of event logs, or a folder that `keep` wrote.
        truth: file that says where logs of topics begin and end, None without one.
        each_folder: whether each folder is a run of its own.
        oracles: which oracles judge besides, None for none.
        keep: folder for the events as Parquet, None for none.
        out: folder for tables of the verdict, None for none.
        conf: settings of Spark, `NAME=VALUE`.
    """

    logs: Annotated[
        list[str],
        typer.Argument(help="Event logs of all members, or a folder of --keep; patterns are fine."),
    ]
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Where logs begin and end: {"TOPIC": {"0": [first, end]}}. --bootstrap or '
            "--config asks brokers instead.",
        ),
    ] = None
    each_folder: Annotated[
        bool,
        typer.Option(
            "--each-folder", help="Each folder is a run: groups of one name in two are two."
        ),
    ] = False
    oracles: Annotated[
        str | None,
        typer.Option(help="at_least_once: each group is judged line by line, by more promises."),
    ] = None
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the events as Parquet; DIR is read as LOGS later."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write groups, partitions and problems as Parquet."),
    ] = None
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
    ] = None


def audit_fleet(asked: Asked, common: Common) -> None:
    """Say what each of many groups lost, doubled or delivered wrongly; exit code 1 if anything."""
    verdict = judged(asked, common)
    if common.as_json:
        print(json.dumps(fleet_json(verdict), indent=2))
    else:
        _show(verdict)
    raise typer.Exit(0 if verdict.clean else 1)


def judged(asked: Asked, common: Common) -> FleetVerdict:
    """Return the verdict on a fleet, and write its tables.

    Raises:
        ArgumentError, ConfigError: an option cannot be used, or there are no such logs.
        MissingExtraError: pyspark is not installed.
        BrokerError, NoBrokerError, TimeoutError: brokers do not answer, or refuse.
        TableError: Spark cannot do it.
    """
    if asked.oracles not in (None, _AT_LEAST_ONCE):
        raise ArgumentError("--oracles", asked.oracles, _AT_LEAST_ONCE)
    brokers = common.bootstrap is not None or common.config is not None
    if brokers and asked.truth is not None:
        raise ArgumentError("--truth", str(asked.truth), "either a file or brokers, not both")
    given = None if asked.truth is None else read_truth(asked.truth)
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
        try:
            fleet = Fleet(spark, asked.logs, each_folder=asked.each_folder, say=_say)
        except FileNotFoundError as error:
            raise ConfigError("logs", " ".join(asked.logs), "event logs that exist") from error
        if asked.keep is not None:
            fleet.keep(asked.keep)
        more = asked.oracles is not None
        if brokers:
            given = _ends(common, fleet.verdict(Law()).topics)
        verdict = fleet.verdict(Law(bounds=given, at_least_once=more))
    if asked.out is not None:
        write(verdict, asked.out)
    return verdict


def _ends(common: Common, topics: Collection[str]) -> dict[TopicPartition, tuple[int, int]]:
    async def ask(cluster: Cluster) -> dict[TopicPartition, tuple[int, int]]:
        found: dict[TopicPartition, tuple[int, int]] = {}
        isolation = IsolationLevel.READ_UNCOMMITTED
        for topic in sorted(topics):
            spans = await bounds_of(cluster, topic, isolation=isolation, timeout=common.timeout)
            found |= {TopicPartition(topic, n): (span.first, span.end) for n, span in spans.items()}
        return found

    return perform(common, ask) if topics else {}


# -- what is shown ---------------------------------------------------------------------------------


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def fleet_json(verdict: FleetVerdict) -> dict[str, Any]:
    """Return the verdict for programs; of groups that are clean only a line."""
    return {
        "clean": verdict.clean,
        "groups": [_group_json(group) for group in verdict.groups],
        "empty": list(verdict.empty),
    }


def _group_json(group: GroupVerdict) -> dict[str, Any]:
    whole = {} if group.clean else {"verdict": group.verdict}
    return {
        "run": group.run,
        "group": group.group,
        "clean": group.clean,
        "judged_because": group.why,
        "entries": group.verdict["entries"],
        "total": group.verdict["total"],
        **whole,
    }


def _show(verdict: FleetVerdict) -> None:
    broken = [group for group in verdict.groups if not group.clean]
    if broken:
        cells = ([_name(g), *(g.verdict["total"][name] for name in _NUMBERS)] for g in broken)
        print_whole(make_table(("group", *_NUMBERS), cells))
    out = screen()
    for path in verdict.empty:
        out.print(on_one_line(f"note: {path} holds nothing"), markup=False)
    for group in broken:
        for line in _problems(group):
            out.print(Text(on_one_line(line), style="red"))
    out.print(on_one_line(word(verdict)), markup=False)


def _name(group: GroupVerdict) -> str:
    name = "(no group)" if group.group is None else group.group
    return f"{group.run}: {name}" if group.run else name


def _problems(group: GroupVerdict) -> Iterator[str]:
    for problem in group.verdict["problems"]:
        where = f" {problem['partition']}" if problem["partition"] else ""
        what = f"{problem['kind']}{where}, {problem['count']}x: {problem['text']}"
        yield f"PROBLEM {_name(group)} {what}"
        for line in problem["lines"]:
            yield f"    {line}"


def word(verdict: FleetVerdict) -> str:
    """Return the last line: whether all is well."""
    count, broken = len(verdict.groups), sum(not group.clean for group in verdict.groups)
    records = sum(group.verdict["total"]["records"] for group in verdict.groups)
    sieved = sum(group.why is None for group in verdict.groups)
    told = f"{sieved:,} passed the sieve, {count - sieved:,} were judged"
    if verdict.clean:
        return f"CLEAN: {count:,} groups, {records:,} records delivered; {told}"
    if not count:
        return "NOT CLEAN: the logs hold no group"
    return f"NOT CLEAN: {broken:,} of {count:,} groups; {told}"

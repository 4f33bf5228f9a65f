"""`kgroup spark verify`: what a table lacks of a topic and has too much.

Decides: the options, what is shown, and the exit code: 0 only for a clean verdict.
Never: judges or asks anybody itself; `kgroup.spark` does.
"""

import json
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from kgroup.cli.connecting import Common, consumer_config, perform
from kgroup.cli.printing import on_one_line
from kgroup.cli.tables import Cell, make_table, print_whole, screen
from kgroup.config import ConsumerConfig
from kgroup.errors import ArgumentError, ConfigError
from kgroup.net.cluster import Cluster
from kgroup.spark.counting import Span
from kgroup.spark.logs import ReadLog, bounds_of, positions_of
from kgroup.spark.table import Table, functions, open_session, rows_of, told_plainly
from kgroup.spark.verdict import Finding, PartitionRow, TableVerdict, Truth
from kgroup.spark.verify import Sides, verify
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.values import dataclass

_COLUMNS: Final = "topic,partition,offset"
_FURTHEST: Final = 1 << 62
_BAR: Final = "spark.ui.showConsoleProgress"
_OFTEN: Final = 2.0
"""Seconds between two lines about how far the log is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `kgroup spark verify` takes.

    Args:
        table: a path, or the name of a table.
        topic: whose records the table is to hold.
        group: name of a group, None for none.
        bounds: file of bounds, None to ask the log.
        columns: of the table, with commas between.
        form: format of what lies at the path.
        isolation: what is seen of transactions, None for the option of the file.
        conf: settings of Spark, `NAME=VALUE`.
    """

    table: Annotated[str, typer.Argument(help="Path of a table, or its name.")]
    topic: Annotated[str, typer.Option(help="Topic whose records the table is to hold.")]
    group: Annotated[
        str | None,
        typer.Option(help="Group whose commits must not be ahead of the table."),
    ] = None
    bounds: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Where logs begin and end: {"TOPIC": {"0": [first, end]}}. No broker is asked '
            "then, unless --bootstrap, --config or --group is there.",
        ),
    ] = None
    columns: Annotated[
        str,
        typer.Option(help="Columns of topic, partition and offset; without the first: only two."),
    ] = _COLUMNS
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="What lies at the path, by Spark's name; parquet by default."
        ),
    ] = None
    isolation: Annotated[
        str | None,
        typer.Option(
            help="read_committed: records of aborted transactions need not be in the table. "
            "Default: that of --config, else read_uncommitted."
        ),
    ] = None
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
    ] = None


def verify_table(asked: Asked, common: Common) -> None:
    """Say what a table lacks of a topic, and has twice or too much; exit code 1 if anything."""
    verdict = judged(asked, common)
    if common.as_json:
        print(json.dumps(verdict_json(asked, verdict), indent=2))
    else:
        _show(asked, verdict)
    raise typer.Exit(0 if verdict.clean else 1)


def judged(asked: Asked, common: Common) -> TableVerdict:
    """Return the verdict on a table.

    Raises:
        ArgumentError, ConfigError: an option cannot be used; nobody was asked, or only Spark.
        MissingExtraError: pyspark is not installed.
        BrokerError, NoBrokerError, TimeoutError: brokers do not answer, or refuse.
        TableError: Spark cannot read the table to its end.
    """
    table, settings = _table(asked), dict(map(setting, asked.conf or ()))
    given = None if asked.bounds is None else read_bounds(asked.bounds, asked.topic)
    more = {} if asked.isolation is None else {"isolation_level": asked.isolation}
    config = consumer_config(common, more=more)
    functions()
    with_log = given is None or bool(common.bootstrap or common.config or asked.group)
    truth = _truth(asked, common, config, given)
    with ExitStack() as stack:
        stack.enter_context(told_plainly())
        _say("starting Spark")
        spark, own = open_session({_BAR: str(sys.stderr.isatty()).lower(), **settings})
        if own:
            stack.callback(spark.stop)
        rows = rows_of(spark, table)
        if not with_log:
            return verify(spark, rows, truth, Sides(say=_say))
        log = stack.enter_context(ReadLog(asked.topic, config, _Ticks()))
        ends = None if truth.given else lambda: _ends(asked, common)
        return verify(spark, rows, truth, Sides(log=log, ends=ends, say=_say))


# -- what is asked ---------------------------------------------------------------------------------


def _table(asked: Asked) -> Table:
    columns = tuple(name.strip() for name in asked.columns.split(","))
    if not 2 <= len(columns) <= len(_COLUMNS.split(",")) or not all(columns):
        expected = "three names with commas between, or two: partition and offset"
        raise ArgumentError("--columns", asked.columns, expected)
    return Table(name=asked.table, form=asked.form, columns=columns, topic=asked.topic)


def setting(text: str) -> tuple[str, str]:
    """Return the name and the value of a setting of Spark.

    Raises:
        ArgumentError: it has another form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ArgumentError("--conf", text, "NAME=VALUE, such as spark.master=local[4]")
    return name.strip(), value.strip()


def read_bounds(path: Path, topic: str, option: str = "bounds") -> dict[int, Span]:
    """Return where the logs of a topic begin and end, as a file has it.

    Args:
        path: JSON, `{"topic": {"0": [first, end]}}`.
        topic: its name.
        option: which names the file.

    Raises:
        ConfigError: there is no such file, it has another form, or it has nothing of the topic.
    """
    form = 'JSON such as {"orders": {"0": [0, 5000]}}, each partition with its first offset and end'
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        known = ", ".join(document) or "no topic"
        if topic in document:
            return {int(number): _span(pair) for number, pair in document[topic].items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(option, str(path), f"a file of {form} ({reason})") from None
    raise ConfigError(option, str(path), f"a file with topic {topic!r}; it has {known}")


def read_truth(path: Path) -> dict[TopicPartition, tuple[int, int]]:
    """Return where the logs of all topics in a file begin and end; the file is as `read_bounds`'s.

    Raises:
        ConfigError: there is no such file, or it has another form.
    """
    try:
        topics = list(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        topics = [""]
    found = {topic: read_bounds(path, topic, "truth") for topic in topics}
    return {
        TopicPartition(topic, number): (span.first, span.end)
        for topic, spans in found.items()
        for number, span in spans.items()
    }


def _span(pair: object) -> Span:
    match pair:
        case [int(first), int(end)] if 0 <= first <= end <= _FURTHEST:
            return Span(first, end)
        case _:
            raise ValueError(f"{pair!r} is no first offset and end")


def _truth(
    asked: Asked, common: Common, config: ConsumerConfig, given: Mapping[int, Span] | None
) -> Truth:
    """Ask for commits first, then for ends: a log grows, and a commit never lies behind its end."""
    if given is not None and asked.group is None:
        return Truth(topic=asked.topic, bounds=given, given=True)

    async def ask(cluster: Cluster) -> Truth:
        timeout = common.timeout
        committed: Mapping[int, int] = {}
        if asked.group is not None:
            committed = await positions_of(cluster, asked.group, asked.topic, timeout=timeout)
        bounds = given
        if bounds is None:
            isolation = config.fetching().isolation_level
            bounds = await bounds_of(cluster, asked.topic, isolation=isolation, timeout=timeout)
        return Truth(
            topic=asked.topic,
            bounds=bounds,
            given=given is not None,
            group=asked.group,
            committed=committed,
        )

    return perform(common, ask)


def _ends(asked: Asked, common: Common) -> dict[int, int]:
    """Ask where logs end now, whatever transactions are open: no row can lie behind that."""
    isolation = IsolationLevel.READ_UNCOMMITTED

    async def ask(cluster: Cluster) -> dict[int, Span]:
        return await bounds_of(cluster, asked.topic, isolation=isolation, timeout=common.timeout)

    return {p: span.end for p, span in perform(common, ask).items()}


# -- how far it is ---------------------------------------------------------------------------------


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Ticks:
    """Says now and then how many offsets the log was asked about."""

    def __init__(self) -> None:
        self._said_at = time.monotonic()

    def __call__(self, passed: int) -> None:
        now = time.monotonic()
        if now - self._said_at >= _OFTEN:
            self._said_at = now
            _say(f"the log was asked about {passed:,} offsets")


# -- what is shown ---------------------------------------------------------------------------------


def _show(asked: Asked, verdict: TableVerdict) -> None:
    names = ["partition", "first", "end", "rows", "lost", "invisible", "doubled", "outside"]
    names += [] if asked.group is None else ["committed", "ahead"]
    rows = [_cells(row, len(names)) for row in verdict.partitions]
    if len(rows) > 1:
        rows.append(_total(verdict, len(names)))
    print_whole(make_table(names, rows))
    out = screen()
    for note in verdict.notes:
        out.print(on_one_line(f"note: {note}"), markup=False)
    for finding in verdict.findings:
        out.print(Text(on_one_line(_line(finding)), style="red"))
    out.print(on_one_line(word(asked, verdict)), markup=False)


def _cells(row: PartitionRow, count: int) -> list[Cell]:
    cells: list[Cell] = [str(row.tp), row.bounds.first, row.bounds.end, row.rows, row.lost]
    cells += [row.invisible, row.doubled, row.outside, row.committed, row.ahead]
    return cells[:count]


def _total(verdict: TableVerdict, count: int) -> list[Cell]:
    rows = verdict.partitions
    cells: list[Cell] = ["all", "", sum(row.bounds.size for row in rows)]
    cells += [sum(row.rows for row in rows), sum(row.lost for row in rows)]
    cells += [sum(row.invisible for row in rows), sum(row.doubled for row in rows)]
    cells += [sum(row.outside for row in rows), "", sum(row.ahead for row in rows)]
    return cells[:count]


def _line(finding: Finding) -> str:
    where = "" if finding.tp is None else f" {finding.tp}"
    shown = ", ".join(map(str, finding.examples))
    examples = f": {shown}" if shown else ""
    more = sum(span.size for span in finding.examples) < finding.count and shown
    return f"PROBLEM {finding.kind.value}{where}: {finding.text}{examples}{', ...' if more else ''}"


def word(asked: Asked, verdict: TableVerdict) -> str:
    """Return the last line: whether all is well."""
    rows = sum(row.rows for row in verdict.partitions)
    if verdict.clean:
        return f"CLEAN: {asked.table} has each of the {rows:,} records of {asked.topic} once"
    kinds = ", ".join(dict.fromkeys(finding.kind.value for finding in verdict.findings))
    count = len(verdict.findings)
    return f"NOT CLEAN: {count} problem{'' if count == 1 else 's'} ({kinds})"


def verdict_json(asked: Asked, verdict: TableVerdict) -> dict[str, Any]:
    """Return the verdict for programs; a range has its first offset and the one after its last."""
    return {
        "clean": verdict.clean,
        "table": asked.table,
        "topic": asked.topic,
        "group": asked.group,
        "log_asked": verdict.log_asked,
        "partitions": [_row_json(row) for row in verdict.partitions],
        "findings": [
            {
                "kind": finding.kind.value,
                "topic": None if finding.tp is None else finding.tp.topic,
                "partition": None if finding.tp is None else finding.tp.partition,
                "count": finding.count,
                "text": finding.text,
                "ranges": [[span.first, span.end] for span in finding.examples],
            }
            for finding in verdict.findings
        ],
        "notes": list(verdict.notes),
    }


def _row_json(row: PartitionRow) -> dict[str, Any]:
    return {
        "topic": row.tp.topic,
        "partition": row.tp.partition,
        "first": row.bounds.first,
        "end": row.bounds.end,
        "rows": row.rows,
        "lost": row.lost,
        "untold": row.untold,
        "invisible": row.invisible,
        "doubled": row.doubled,
        "outside": row.outside,
        "committed": row.committed,
        "ahead": row.ahead,
    }

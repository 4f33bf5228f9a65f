"""What happened to one group in a span of time: from the rows of the tables, for a person.

Decides: what is a finding: a message of somebody who is not the owner, a commit that went back, a
claim that ran out while its owner lived, what an audit found; and the cause of a rebalance.
Never: reads a table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, NamedTuple

from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.schema import Row, Table
from kgroup.values import dataclass

READ: Final = (
    d.OWNERSHIP, d.UNOWNED, d.REBALANCE, d.LAG, d.REWIND, d.HB_GAP, d.ZOMBIE, d.COMMIT_LOG,
    d.STATUS,
)  # fmt: skip
"""The tables that a report is made of."""

_BEGINS: Final = ("from_ts", "ts", "append_ts")
_ENDS: Final = ("to_ts", "ts", "append_ts")


class Finding(NamedTuple):
    """What a person should look at.

    Args:
        kind: in a few words.
        where: topic and partition, "" when it is about none.
        ts: when, None where only lines say it.
        text: what happened.
        proof: log and offset, or files and lines.
    """

    kind: str
    where: str
    ts: int | None
    text: str
    proof: tuple[str, ...]


class Query(NamedTuple):
    """Commits of one Spark query."""

    name: str
    first_batch: int | None
    last_batch: int | None
    commits: int
    from_ts: int
    to_ts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What happened to a group.

    Args:
        group: its name.
        span: first moment, and the one behind the last; milliseconds since the epoch.
        rows: table -> its rows that touch the span, in order of time.
        findings: what a person should look at.
        queries: Spark queries that committed.
    """

    group: str
    span: tuple[int, int]
    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    queries: tuple[Query, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether there is nothing to look at."""
        return not self.findings

    @property
    def unowned_ms(self) -> int:
        """How long partitions had no owner within the span, all together."""
        first, end = self.span
        return sum(
            max(min(_or(row["to_ts"], end), end) - max(row["from_ts"], first), 0)
            for row in self.rows[d.UNOWNED.name]
        )


def report(
    group: str,
    tables: Mapping[str, Iterable[Row]],
    *,
    first: int | None = None,
    end: int | None = None,
    problems: Iterable[Row] = (),
) -> Report:
    """Return what happened to a group.

    Args:
        group: its name.
        tables: rows of the tables of `READ`, those of the group.
        first: begin of the span, None for the first moment anything is known of.
        end: the moment behind it, None for the one behind the last.
        problems: rows of `problems` that `kgroup spark audit --out` has of it.
    """
    all_rows = {table.name: list(tables.get(table.name, ())) for table in READ}
    span = _span(all_rows, first, end)
    rows = {
        name: sorted((row for row in those if _touches(row, span)), key=_begin)
        for name, those in all_rows.items()
    }
    return Report(
        group=group,
        span=span,
        rows=rows,
        findings=tuple(_findings(rows, problems)),
        queries=tuple(_queries(rows[d.COMMIT_LOG.name])),
    )


def place(row: Row) -> str:
    """Return topic and partition of a row."""
    return f"{row['topic']}-{row['partition']}"


def owner(row: Row) -> str:
    """Return by what an owner is known: its static name, its process, or its member id."""
    if row["mode"] == "marshal":
        return f"{row['client']} ({row['instance']})"
    return str(row["instance"] or row["owner"])


def cause(row: Row) -> str:
    """Return why a rebalance came, as far as two generations tell."""
    said = [f"{row[name]} {name}" for name in ("joined", "left") if row.get(name)]
    if not said and row.get("leader_changed"):
        said.append("another leader")
    if not said:
        said.append("the members are the same: topics, partitions or assignments changed")
    if row.get("skipped_generations"):
        said.append(f"{row['skipped_generations']} generations were overtaken")
    return ", ".join(said)


def report_json(found: Report) -> dict[str, Any]:
    """Return the report for programs: numbers and findings."""
    changes = found.rows[d.REBALANCE.name]
    return {
        "group": found.group,
        "clean": found.clean,
        "from_ts": found.span[0],
        "to_ts": found.span[1],
        "partitions": len({place(row) for row in found.rows[d.OWNERSHIP.name]}),
        "rebalances": len(changes),
        "moved": sum(row["moved"] for row in changes),
        "skipped_generations": sum(row["skipped_generations"] or 0 for row in changes),
        "unowned_s": found.unowned_ms / 1000,
        "findings": [each._asdict() for each in found.findings],
        "queries": [each._asdict() for each in found.queries],
    }


# -- rows ------------------------------------------------------------------------------------------


def _or(value: int | None, other: int) -> int:
    return other if value is None else value


def _begin(row: Row) -> int:
    return int(next(row[name] for name in _BEGINS if row.get(name) is not None))


def _end(row: Row) -> int | None:
    return next((int(row[name]) for name in _ENDS if row.get(name) is not None), None)


def _span(rows: Mapping[str, Sequence[Row]], first: int | None, end: int | None) -> tuple[int, int]:
    # A status stands for the last moment that was looked at; it makes no span longer. Nor does a
    # look at the logs after the last owner has gone.
    lasts = any(row["to_ts"] is None for row in rows[d.OWNERSHIP.name])
    left_out = {d.STATUS.name} if lasts else {d.STATUS.name, d.LAG.name}
    those = [row for name, each in rows.items() if name not in left_out for row in each]
    said = those or list(rows[d.LAG.name])
    begins = min(map(_begin, said), default=0)
    ends = max((_or(_end(row), _begin(row)) for row in said), default=0) + 1
    return _or(first, begins), max(_or(end, ends), _or(first, begins) + 1)


def _touches(row: Row, span: tuple[int, int]) -> bool:
    last = _end(row) if "from_ts" not in row else row["to_ts"]
    return _begin(row) < span[1] and (last is None or last >= span[0])


def _log(row: Row, table: Table) -> str:
    log = "__marshal" if table in (d.ZOMBIE, d.HB_GAP) else "__consumer_offsets"
    return f"{log}-{row['log_partition']}:{row['log_offset']}"


def _findings(rows: Mapping[str, Sequence[Row]], problems: Iterable[Row]) -> Iterator[Finding]:
    for row in rows[d.ZOMBIE.name]:
        held = row["owner_client"] or "nobody"
        text = f"{row['type']} of {row['client']}, while {held} owned it"
        yield _finding("zombie", row, d.ZOMBIE, text)
    for row in rows[d.HB_GAP.name]:
        if row["expired"]:
            text = f"{row['client']} did not beat for {row['gap_ms'] / 1000:.1f} s"
            yield _finding("claim ran out", row, d.HB_GAP, text)
    for row in rows[d.REWIND.name]:
        text = f"committed {row['to_position']} after {row['from_position']}"
        yield _finding("commit went back", row, d.REWIND, text)
    for row in problems:
        text = f"{row['count']}x: {row['text']}"
        yield Finding(row["kind"], row["partition"] or "", None, text, tuple(row["lines"] or ()))


def _finding(kind: str, row: Row, table: Table, text: str) -> Finding:
    return Finding(kind, place(row), row["append_ts"], text, (_log(row, table),))


def _queries(commits: Iterable[Row]) -> Iterator[Query]:
    of_query: dict[str, list[Row]] = {}
    for row in commits:
        if row.get("md_query") is not None:
            of_query.setdefault(row["md_query"], []).append(row)
    for name, those in of_query.items():
        batches = [row["md_batch"] for row in those if row.get("md_batch") is not None]
        yield Query(
            name,
            min(batches, default=None),
            max(batches, default=None),
            len(those),
            those[0]["append_ts"],
            those[-1]["append_ts"],
        )

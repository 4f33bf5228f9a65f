"""A report as one page of HTML that needs nothing besides itself.

Decides: what is drawn, and in which order a person reads it.
Never: reckons; numbers are the report's.
"""

from collections.abc import Iterator, Mapping, Sequence

from kgroup.audit import drawing
from kgroup.audit.drawing import Bar, Mark, moment
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.report import Report, cause, owner, place
from kgroup.spark.coordination.schema import Row


def page(found: Report) -> str:
    """Return a report as a whole page."""
    return drawing.page(f"What happened to {found.group}", _parts(found))


def _parts(found: Report) -> Iterator[str]:
    yield from _head(found)
    if found.findings:
        cells = [
            (each.kind, each.where, _at(each.ts), each.text, " ".join(each.proof))
            for each in found.findings
        ]
        names = ("what", "partition", "when (UTC)", "what happened", "where it stands")
        yield drawing.section("Findings", drawing.rows(names, cells))
    lanes = _lanes(found)
    if lanes:
        about = "A colour is an owner; what has a red frame had none. A line is a rebalance."
        chart = drawing.bars(lanes, found.span, _marks(found))
        yield drawing.section("Who had which partition", drawing.words(about, "note"), chart)
    yield from _rebalances(found.rows[d.REBALANCE.name])
    yield from _lags(found)
    yield from _unowned(found)
    yield from _queries(found)
    yield from _status(found.rows[d.STATUS.name])


def _head(found: Report) -> Iterator[str]:
    first, end = found.span
    changes = found.rows[d.REBALANCE.name]
    yield drawing.words(f"{moment(first)} to {moment(end)} UTC", "note")
    yield drawing.words(
        f"{len({place(row) for row in found.rows[d.OWNERSHIP.name]}):,} partitions, "
        f"{len(changes):,} rebalances, {sum(row['moved'] for row in changes):,} partitions moved, "
        f"{found.unowned_ms / 1000:,.1f} s without an owner, all partitions together"
    )
    if found.clean:
        yield drawing.words("Nothing was found that a person should look at.", "well")
    else:
        yield drawing.words(f"{len(found.findings):,} findings", "bad")


def _at(ts: int | None) -> str | None:
    return None if ts is None else moment(ts)


def _lanes(found: Report) -> Mapping[str, Sequence[Bar]]:
    end = found.span[1]
    bars: dict[tuple[str, int], list[Bar]] = {}
    for row in found.rows[d.OWNERSHIP.name]:
        why = row["end_reason"] or "it lasts"
        last = end if row["to_ts"] is None else row["to_ts"]
        about = f"{owner(row)}: {moment(row['from_ts'])} to {moment(last)}, {why}"
        _lane(bars, row).append(Bar(row["from_ts"], last, owner(row), about))
    for row in found.rows[d.UNOWNED.name]:
        last = end if row["to_ts"] is None else row["to_ts"]
        about = f"no owner: {moment(row['from_ts'])} to {moment(last)}"
        _lane(bars, row).append(Bar(row["from_ts"], last, None, about))
    return {f"{topic}-{number}": sorted(bars[topic, number]) for topic, number in sorted(bars)}


def _lane(bars: dict[tuple[str, int], list[Bar]], row: Row) -> list[Bar]:
    return bars.setdefault((row["topic"], row["partition"]), [])


def _marks(found: Report) -> list[Mark]:
    return [
        Mark(row["ts"], f"generation {row['generation']}: {cause(row)}")
        for row in found.rows[d.REBALANCE.name]
    ]


def _rebalances(rows: Sequence[Row]) -> Iterator[str]:
    if rows:
        cells = [
            (
                *(moment(row["ts"]), row["generation"], cause(row), row["members"], row["moved"]),
                *(row["kept"], row["given"], row["taken"], row["gap_ms"]),
                f"{row['log_partition']}:{row['log_offset']}",
            )
            for row in rows
        ]
        names = (
            *("when (UTC)", "generation", "cause", "members", "moved", "kept", "given", "taken"),
            *("gap, ms", "in the log"),
        )
        yield drawing.section("Rebalances", drawing.rows(names, cells))


def _lags(found: Report) -> Iterator[str]:
    records: dict[str, list[tuple[int, float]]] = {}
    seconds: dict[str, list[tuple[int, float]]] = {}
    for row in found.rows[d.LAG.name]:
        records.setdefault(place(row), []).append((row["ts"], row["lag"]))
        if row["lag_s"] is not None:
            seconds.setdefault(place(row), []).append((row["ts"], row["lag_s"]))
    for title, series in (("Lag in records", records), ("Lag in seconds", seconds)):
        if any(len(points) > 1 for points in series.values()):
            yield drawing.section(title, drawing.lines(series, found.span))
    if records and not any(len(points) > 1 for points in records.values()):
        most = max(points[-1][1] for points in records.values())
        text = f"{most:,.0f} records at most, at the one moment when the logs were asked"
        yield drawing.section("Lag", drawing.words(text))


def _unowned(found: Report) -> Iterator[str]:
    first, end = found.span
    cells = [
        (place(row), moment(row["from_ts"]), _at(row["to_ts"]), (last - row["from_ts"]) / 1000)
        for row in found.rows[d.UNOWNED.name]
        for last in [min(end if row["to_ts"] is None else row["to_ts"], end)]
        if last > first
    ]
    if cells:
        names = ("partition", "from (UTC)", "to", "seconds")
        longest = sorted(cells, key=lambda cell: -cell[3])
        yield drawing.section("Without an owner", drawing.rows(names, longest, most=50))


def _queries(found: Report) -> Iterator[str]:
    if found.queries:
        cells = [(*each[:4], moment(each.from_ts), moment(each.to_ts)) for each in found.queries]
        names = ("query", "first batch", "last batch", "commits", "from (UTC)", "to")
        yield drawing.section("Spark queries", drawing.rows(names, cells))


def _status(rows: Sequence[Row]) -> Iterator[str]:
    odd = [row for row in rows if row["status"] not in ("ok", "removed")]
    if odd:
        cells = [
            (place(row), row["status"], row["position"], row["end"], row["lag"]) for row in odd
        ]
        names = ("partition", "status", "position", "end", "lag")
        yield drawing.section("Status at the end of the tables", drawing.rows(names, cells))

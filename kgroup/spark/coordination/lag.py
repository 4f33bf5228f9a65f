"""How far groups were behind: lag at each moment a log was asked, rewinds, and a status.

Decides: seconds of lag: the age of the log's end at the position, between two ends that were seen;
the status, by Burrow's rules. Both say nothing where nothing was seen.
Never: asks a log.
Sources: kafka-lag-exporter (interpolation), Burrow (rules; its window is ten commits).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from kgroup.spark.coordination.declared import LAG, REWIND, STATUS
from kgroup.spark.coordination.schema import Row, Table

Found: TypeAlias = Iterator[tuple[Table, Row]]
Place: TypeAlias = tuple[str, int]
"""Topic and partition."""

_MINUTE: Final = 60_000
_WINDOW: Final = 10
"""Commits that a status is made of."""


class End(NamedTuple):
    """The end of a log at one moment, milliseconds since the epoch."""

    ts: int
    high: int


def behind(position: int, ends: Sequence[End]) -> tuple[float | None, float | None]:
    """Return how many seconds a position is behind, and by how much that may be wrong.

    Args:
        position: next to read.
        ends: of the log in order, the last one now; an end never goes back.
    """
    at = ends[-1]
    later = bisect_right(ends, position, key=lambda end: end.high)
    if later == len(ends):
        return 0.0, 0.0
    if later == 0:
        return None, None
    before, after = ends[later - 1], ends[later]
    part = (position - before.high) / (after.high - before.high)
    appended = before.ts + part * (after.ts - before.ts)
    return (at.ts - appended) / 1000, (after.ts - before.ts) / 1000


def rising(ends: Iterable[End]) -> list[End]:
    """Return ends in order of time, none below one before: a new leader may say less at first."""
    found: list[End] = []
    for ts, high in sorted(ends):
        found.append(End(ts, max(high, found[-1].high) if found else high))
    return found


def lags(commits: Sequence[Row], ends: Sequence[End]) -> Iterator[Row]:
    """Yield the lag of one partition, at the last moment of each minute when its end was seen.

    Args:
        commits: rows of `commit_log` of one partition, in order.
        ends: of its log, in order.
    """
    moments = [row["append_ts"] for row in commits]
    for number, at in enumerate(ends):
        if number + 1 < len(ends) and ends[number + 1].ts // _MINUTE == at.ts // _MINUTE:
            continue
        place = bisect_right(moments, at.ts) - 1
        if place < 0 or commits[place]["tombstone"]:
            continue
        position = commits[place]["offset"]
        seconds, error = behind(position, ends[: number + 1])
        yield {
            "ts": at.ts,
            "position": position,
            "end": at.high,
            "lag": max(at.high - position, 0),
            "lag_s": seconds,
            "error_s": error,
        }


def rewinds(commits: Sequence[Row]) -> Iterator[Row]:
    """Yield commits below the one before; removed positions are forgotten."""
    last: int | None = None
    highest = -1
    for row in commits:
        if row["tombstone"]:
            last, highest = None, -1
            continue
        offset = row["offset"]
        if last is not None and offset < last:
            yield {
                "log_offset": row["log_offset"],
                "append_ts": row["append_ts"],
                "from_position": last,
                "to_position": offset,
                "highest": highest,
                "gen_by_order": row["gen_by_order"],
            }
        last, highest = offset, max(highest, offset)


# -- status ----------------------------------------------------------------------------------------


def status(commits: Sequence[Row], ends: Sequence[End]) -> Row:
    """Return how a group does with one partition; see `lags`. There is a commit, or its removal."""
    last = commits[-1]
    end = ends[-1] if ends else None
    if last["tombstone"]:
        return {"status": "removed", "ts": last["append_ts"], "commits": 0}
    window: list[Row] = []
    for row in reversed(commits):
        if row["tombstone"] or len(window) == _WINDOW:
            break
        window.append(row)
    window.reverse()
    now = max(last["append_ts"], -1 if end is None else end.ts)
    lag = None if end is None else max(end.high - last["offset"], 0)
    return {
        "status": _word(window, ends, lag, now),
        "ts": now,
        "position": last["offset"],
        "end": None if end is None else end.high,
        "lag": lag,
        "commit_ts": last["commit_ts"],
        "commits": len(window),
    }


def _word(window: Sequence[Row], ends: Sequence[End], lag: int | None, now: int) -> str:
    if lag is None:
        return "unknown"
    first, last = window[0]["commit_ts"], window[-1]["commit_ts"]
    if lag == 0:
        return "ok"
    if len(window) == 1:
        return "unknown"
    if now - last > last - first:
        return "stopped"
    known = [_lag_at(row, ends) for row in window]
    if 0 in known:
        return "ok"
    offsets = [row["offset"] for row in window]
    if any(later < earlier for earlier, later in pairwise(offsets)):
        return "rewind"
    growing = all(
        earlier is None or later is None or later >= earlier for earlier, later in pairwise(known)
    )
    if growing and offsets[0] == offsets[-1]:
        return "stalled"
    return "warning" if growing and None not in known else "ok"


def _lag_at(row: Row, ends: Sequence[End]) -> int | None:
    """Return the lag at a commit, by the end that was seen last before it."""
    place = bisect_right(ends, row["append_ts"], key=lambda end: end.ts) - 1
    return None if place < 0 else max(ends[place].high - row["offset"], 0)


# -- a group ---------------------------------------------------------------------------------------


def positions(group: str, silver: Mapping[str, Sequence[Row]]) -> Found:
    """Yield what `lag`, `rewind` and `status` say of a group.

    Args:
        group: its name.
        silver: rows of `commit_log` and `log_end`, those of the group and of its topics.
    """
    commits: dict[Place, list[Row]] = {}
    for row in sorted(silver["commit_log"], key=lambda each: int(each["log_offset"])):
        commits.setdefault((row["topic"], row["partition"]), []).append(row)
    ends: dict[Place, list[End]] = {}
    for row in silver["log_end"]:
        ends.setdefault((row["topic"], row["partition"]), []).append(End(row["ts"], row["high"]))
    for (topic, partition), own in sorted(commits.items()):
        where = {
            "group": group,
            "topic": topic,
            "partition": partition,
            "log_partition": own[0]["log_partition"],
        }
        seen = rising(ends.get((topic, partition), ()))
        yield from ((LAG, where | row) for row in lags(own, seen))
        yield from ((REWIND, where | row) for row in rewinds(own))
        yield STATUS, where | status(own, seen)

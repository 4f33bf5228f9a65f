"""What is told of groups while their logs are read: claims without heartbeats, zombies, stuck lag.

Decides: when something is an alarm, by the times that logs and looks have; the same rows in pieces
of any size make the same alarms. Each alarm is told once.
Never: reads a clock; keeps a group that has not gone on for a week.

Claims are read by `beating`. What is kept is small enough to be one value.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

from kgroup.marshal.rules import WorldRules
from kgroup.spark.coordination.beating import Claims, Limits, Record
from kgroup.spark.coordination.schema import Row
from kgroup.values import dataclass

STUCK: Final = "lag does not move"

_STANDS: Final = 7 * 86_400_000
"""Milliseconds for which a group is kept that commits nothing further."""


# -- lag -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Standing:
    """Where a group stands with a partition.

    Args:
        position: committed.
        moved: when that was committed first.
        place: of that commit in its log: log partition and offset.
        seen: offset of the last commit that was taken in.
        behind: when it was first seen to be behind since, None before.
        told: whether it was told that it is stuck.
    """

    position: int
    moved: int
    place: tuple[int, int]
    seen: int
    behind: int | None = None
    told: bool = False


class Lag:
    """Watches the commits for one topic.

    Args:
        topic: its name.
        limits: when something is an alarm.
    """

    def __init__(self, topic: str, limits: Limits) -> None:
        self._topic = topic
        self._limits = limits
        self._groups: dict[tuple[str, int], _Standing] = {}

    def commit(self, row: Row) -> None:
        """Take in a row of `commit_log`; those of a group in their order."""
        key = (row["group"], row["partition"])
        standing = self._groups.get(key)
        if standing is not None and row["log_offset"] <= standing.seen:
            return
        if row["tombstone"]:
            self._groups.pop(key, None)
        elif standing is not None and standing.position == row["offset"]:
            standing.seen = row["log_offset"]
        else:
            place = (row["log_partition"], row["log_offset"])
            self._groups[key] = _Standing(row["offset"], row["append_ts"], place, place[1])

    @property
    def is_empty(self) -> bool:
        """Whether no group is known."""
        return not self._groups

    def look(self, ts: int, ends: Iterable[Row]) -> Iterator[Row]:
        """Take in where the topic ends.

        Args:
            ts: when it was asked.
            ends: rows of `log_end` of that moment.
        """
        high = {row["partition"]: row["high"] for row in ends}
        for key in [k for k, each in self._groups.items() if each.moved < ts - _STANDS]:
            del self._groups[key]
        for (group, partition), standing in self._groups.items():
            if high.get(partition, -1) <= standing.position:
                continue
            if standing.behind is None:
                standing.behind = ts
            due = max(standing.moved, standing.behind) + self._limits.stuck
            if ts > due and not standing.told:
                standing.told = True
                yield {
                    "kind": STUCK,
                    "ts": due,
                    "group": group,
                    "topic": self._topic,
                    "partition": partition,
                    "last_ts": standing.moved,
                    "position": standing.position,
                    "lag": high[partition] - standing.position,
                    "log_partition": standing.place[0],
                    "log_offset": standing.place[1],
                }


# -- in pieces -------------------------------------------------------------------------------------

RECORD: Final = 0
COMMIT: Final = 1
LOOK: Final = 2
"""What a row is."""

COLUMNS: Final = {
    RECORD: ("log_partition", "log_offset", "append_ts", "append_time", "value", "headers"),
    COMMIT: (
        *("group", "topic", "partition", "offset", "tombstone"),
        *("log_partition", "log_offset", "append_ts"),
    ),
    LOOK: ("topic", "partition", "ts", "high"),
}
"""What is looked at of a row."""


class Piece(NamedTuple):
    """Rows of one batch that wait together.

    Args:
        batch: its number.
        order: what they are.
        data: a stream of Arrow, with columns of `COLUMNS`.
    """

    batch: int
    order: int
    data: bytes


@dataclass(slots=True)
class Watch:
    """What is kept of one partition of the log of claims, or of one topic, between two pieces.

    Rows of the newest batch wait for one of the next: only then all of theirs are there. A batch
    that was killed is made again the same; what is known of it already is left out.

    Args:
        claims: None before the first record.
        lag: None before the first commit.
        done: last batch of which everything was taken in.
        waiting: rows of later ones.
    """

    claims: Claims | None = None
    lag: Lag | None = None
    done: int = -1
    waiting: list[Piece] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to keep."""
        lag = self.lag
        return not self.waiting and self.claims is None and (lag is None or lag.is_empty)

    def take(self, pieces: Iterable[Piece], limits: Limits) -> Iterator[Row]:
        """Take in rows in any order; return what is told."""
        self.waiting += [piece for piece in pieces if piece.batch > self.done]
        newest = max((piece.batch for piece in self.waiting), default=-1)
        ready = sorted(piece for piece in self.waiting if piece.batch < newest)
        self.waiting = [piece for piece in self.waiting if piece.batch == newest]
        self.done = max(self.done, newest - 1)
        for _, batch in groupby(ready, key=lambda piece: piece.batch):
            yield from self._batch(list(batch), limits)

    def _batch(self, pieces: Sequence[Piece], limits: Limits) -> Iterator[Row]:
        records, commits, looks = (_table(pieces, order) for order in (RECORD, COMMIT, LOOK))
        if len(records):
            if self.claims is None:
                first = records.slice(0, 1).to_pylist()[0]
                complete = first["log_offset"] == 0
                rules = WorldRules(append_time=first["append_time"], complete=complete)
                self.claims = Claims(first["log_partition"], rules, limits)
            yield from self.claims.records(_records(records))
        for row in commits.to_pylist():
            self.lag = self.lag or Lag(row["topic"], limits)
            self.lag.commit(row)
        if not len(looks):
            return
        ends = looks.to_pylist()
        ts = max(row["ts"] for row in ends)
        if self.claims is not None:
            yield from self.claims.look(ts)
        if self.lag is not None:
            yield from self.lag.look(ts, ends)


def _table(pieces: Sequence[Piece], order: int) -> Any:  # noqa: ANN401 - pyarrow's
    """Return the rows of one kind, in order."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    found = []
    for piece in pieces:
        if piece.order == order:
            with pa.ipc.open_stream(piece.data) as stream:
                found.append(stream.read_all())
    whole = pa.concat_tables(found) if found else pa.table({})
    return whole.sort_by("log_offset") if "log_offset" in whole.column_names else whole


def _records(table: Any) -> Iterator[Record]:  # noqa: ANN401 - pyarrow's
    headers = table.column("headers").combine_chunks()
    ends = headers.offsets.to_pylist()
    names, values = (headers.values.field(name).to_pylist() for name in ("key", "value"))
    pairs = list(zip(names, values, strict=True))
    each = (tuple(pairs[begin:end]) for begin, end in pairwise(ends))
    columns = [table.column(name).to_pylist() for name in ("log_offset", "append_ts", "value")]
    return map(Record, *columns, each)

"""What is told of groups while their logs are read: claims without heartbeats, zombies, stuck lag.

Decides: when something is an alarm, by the times that logs and looks have; the same rows in pieces
of any size make the same alarms. Each alarm is told once.
Never: reads a clock; keeps a key that nobody has had for an hour, or a group that has not gone on
for a week.

Claims are read by `World`, as the tables are. What is kept is small enough to be one value.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import groupby
from typing import Any, Final, NamedTuple

from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.messages import Kind, Reject
from kgroup.marshal.presence import is_presence
from kgroup.marshal.rules import Verdict, WorldRules
from kgroup.marshal.world import World
from kgroup.spark.coordination.schema import Row
from kgroup.spark.coordination.silver import RawRecord, headers_of, word
from kgroup.values import dataclass

MISSING: Final = "heartbeats missing"
ZOMBIE: Final = "zombie"
STUCK: Final = "lag does not move"

_KEPT: Final = 3_600_000
"""Milliseconds for which a key is kept that nobody owns."""
_STANDS: Final = 7 * 86_400_000
"""Milliseconds for which a group is kept that commits nothing further."""


class Limits(NamedTuple):
    """When something is an alarm.

    Args:
        silent: share of its time to live for which an owner may be silent.
        stuck: milliseconds for which a group may be behind and commit nothing further.
    """

    silent: float = 0.75
    stuck: int = 300_000


# -- claims ----------------------------------------------------------------------------------------


class Claims:
    """Watches one partition of the log of claims.

    Args:
        first: its first record.
        limits: when something is an alarm.
    """

    def __init__(self, first: RawRecord, limits: Limits) -> None:
        self._number = first.log_partition
        complete = first.log_offset == 0
        self._world = World(WorldRules(append_time=first.append_time, complete=complete))
        self._limits = limits
        self._told: dict[Key, int] = {}
        """Key -> the heartbeat after which silence was told."""

    def record(self, record: RawRecord) -> Iterator[Row]:
        """Take in the next record; one that was taken in already tells nothing."""
        if record.log_offset < self._world.next_offset:
            return
        key = _key_of(record.value)
        state = None if key is None else self._world.keys.get(key)
        was = None if state is None else _Owner.of(state)
        verdict = self._world.apply(
            record.log_offset, record.append_ts, record.value, headers_of(record)
        )
        message = self._world.message
        if isinstance(verdict, Reject) or message is None or message.kind is Kind.RELEASE_GROUP:
            return
        if key is None or is_presence(message.topic):
            return
        if was is not None:
            yield from self._silent(key, was, self._world.time)
        if verdict is Verdict.VOID or (verdict is Verdict.ADOPTED and self._took(was, message)):
            peer = self._world.peer
            yield self._row(key, ZOMBIE, record.append_ts) | {
                "client": word(message.client_id),
                "instance": word(message.instance_id),
                "epoch": None if peer is None else peer.epoch,
                "log_offset": record.log_offset,
            }

    def _took(self, was: "_Owner | None", message: Any) -> bool:  # noqa: ANN401 - a message
        """Tell whether a heartbeat took a key whose claim was fresh, and another's."""
        if was is None or self._world.time - was.beat >= was.ttl:
            return False
        return (was.client, was.instance) != (message.client_id, message.instance_id)

    def look(self, ts: int) -> Iterator[Row]:
        """Take in a moment up to which all records were taken in."""
        for key, state in self._world.keys.items():
            if state.owned:
                owner = _Owner.of(state)
                if owner is not None:
                    yield from self._silent(key, owner, ts)
        self._world.forget(ts - _KEPT)
        for key in [key for key in self._told if key not in self._world.keys]:
            del self._told[key]

    def _silent(self, key: Key, owner: "_Owner", now: int) -> Iterator[Row]:
        due = owner.beat + int(owner.ttl * self._limits.silent)
        if now > due and self._told.get(key) != owner.beat:
            self._told[key] = owner.beat
            yield self._row(key, MISSING, due) | {
                "client": word(owner.client),
                "instance": word(owner.instance),
                "epoch": owner.epoch,
                "last_ts": owner.beat,
            }

    def _row(self, key: Key, kind: str, ts: int) -> Row:
        return {
            "kind": kind,
            "ts": ts,
            "group": word(key.group),
            "topic": word(key.topic),
            "partition": key.partition,
            "log_partition": self._number,
        }


class _Owner(NamedTuple):
    """Who has a key, and when its claim was renewed."""

    client: bytes
    instance: bytes
    epoch: int
    beat: int
    ttl: int

    @staticmethod
    def of(state: KeyState) -> "_Owner | None":
        if not state.owned:
            return None
        return _Owner(state.client_id, state.instance_id, state.epoch, state.beat, state.ttl)


def _key_of(value: bytes | None) -> Key | None:
    """Return what a message is about, as far as its form says: a world changes it in place."""
    fields = (value or b"").split(b"/")
    if len(fields) < 8 or not fields[7].isdigit() or len(fields[7]) > 9:
        return None
    return Key(fields[5], fields[6], int(fields[7]))


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
"""What a row is, in the order in which those of a batch are taken in."""


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
    waiting: list[Row] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to keep."""
        lag = self.lag
        return not self.waiting and self.claims is None and (lag is None or lag.is_empty)

    def take(self, rows: Iterable[Row], limits: Limits) -> Iterator[Row]:
        """Take in rows in any order; return what is told."""
        self.waiting += [row for row in rows if row["batch"] > self.done]
        newest = max((row["batch"] for row in self.waiting), default=-1)
        ready = [row for row in self.waiting if row["batch"] < newest]
        self.waiting = [row for row in self.waiting if row["batch"] == newest]
        self.done = max(self.done, newest - 1)
        ready.sort(key=lambda row: (row["batch"], row["order"], row["log_offset"] or 0))
        for _, batch in groupby(ready, key=lambda row: row["batch"]):
            yield from self._batch(list(batch), limits)

    def _batch(self, rows: Sequence[Row], limits: Limits) -> Iterator[Row]:
        for row in rows:
            if row["order"] == RECORD:
                record = RawRecord(**{name: row[name] for name in RawRecord._fields})
                self.claims = self.claims or Claims(record, limits)
                yield from self.claims.record(record)
            elif row["order"] == COMMIT:
                self.lag = self.lag or Lag(row["topic"], limits)
                self.lag.commit(row)
        ends = [row for row in rows if row["order"] == LOOK]
        if not ends:
            return
        ts = max(row["ts"] for row in ends)
        if self.claims is not None:
            yield from self.claims.look(ts)
        if self.lag is not None:
            yield from self.lag.look(ts, ends)

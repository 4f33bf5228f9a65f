"""What is told of claims while their log is read: owners without heartbeats, and zombies.

Decides: when something is an alarm, by the times of the log. A heartbeat like a former one is not
read in full, as where a consumer catches up.
Never: reads a clock; keeps a key that nobody has had for an hour.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final, NamedTuple

from kgroup.marshal.key_state import Key, KeyState, Tenure
from kgroup.marshal.messages import NONCE, Kind, Reject
from kgroup.marshal.presence import is_presence
from kgroup.marshal.rules import Verdict, WorldRules
from kgroup.marshal.world import World
from kgroup.spark.coordination.schema import Row
from kgroup.spark.coordination.silver import word

MISSING: Final = "heartbeats missing"
ZOMBIE: Final = "zombie"

_KEPT: Final = 3_600_000
"""Milliseconds for which a key is kept that nobody owns."""
_DIGITS: Final = 18
"""A number of so many may be too large for its field."""
_LONGEST: Final = 1024
"""Bytes of who and what a heartbeat is about; a longer one may be too long for the world."""


class Limits(NamedTuple):
    """When something is an alarm.

    Args:
        silent: share of its time to live for which an owner may be silent.
        stuck: milliseconds for which a group may be behind and commit nothing further.
    """

    silent: float = 0.75
    stuck: int = 300_000


class Record(NamedTuple):
    """A record of the log of claims, as far as it is watched."""

    offset: int
    ts: int
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Claims:
    """Watches one partition of the log of claims.

    Args:
        number: of the partition.
        rules: how it is read.
        limits: when something is an alarm.
    """

    def __init__(self, number: int, rules: WorldRules, limits: Limits) -> None:
        self._number = number
        self._world = World(rules)
        self._limits = limits
        self._told: dict[Key, int] = {}
        """Key -> the heartbeat after which silence was told."""

    def records(self, records: Iterable[Record]) -> Iterator[Row]:
        """Take in the next records, in order; one that was taken in already tells nothing."""
        known: dict[object, _Known] = {}
        for record in records:
            if record.offset < self._world.next_offset:
                continue
            beat = _beat_of(record)
            like = None if beat is None else known.get(beat.like)
            if beat is not None and like is not None:
                was = _Owner.of(like.tenure.state)
                if was and self._world.renew(like.tenure, *record[:2], beat.sent, beat.tail):
                    yield from self._silent(like.key, was, self._world.time)
                    continue
            counts = yield from self._record(record)
            if beat is not None and counts:
                self._remember(beat, known)
        for each in known.values():
            each.tenure.state.tenure = None  # it is no part of what is kept

    def _remember(self, beat: "_Beat", known: "dict[object, _Known]") -> None:
        """Remember the last heartbeat for others like it, as `CatchUp` does."""
        message, peer = self._world.message, self._world.peer
        if message is None or (peer is not None and peer.epoch is None):
            return
        key = Key(message.group_id, message.topic, message.partition)
        state = self._world.keys.get(key)
        if state is None:
            return
        original = self._world.is_of_original
        state.tenure = Tenure(state, fenced=peer is not None, is_of_original=original)
        known[beat.like] = _Known(key, state.tenure)

    def _record(self, record: Record) -> Generator[Row, None, bool]:
        """Take in a record; return whether it is a heartbeat that counts."""
        key = _key_of(record.value)
        state = None if key is None else self._world.keys.get(key)
        was = None if state is None else _Owner.of(state)
        verdict = self._world.apply(*record)
        message = self._world.message
        if isinstance(verdict, Reject) or message is None or message.kind is Kind.RELEASE_GROUP:
            return False
        if key is None or is_presence(message.topic):
            return False
        if was is not None:
            yield from self._silent(key, was, self._world.time)
        if verdict is Verdict.VOID or (verdict is Verdict.ADOPTED and self._took(was, message)):
            peer = self._world.peer
            yield self._row(key, ZOMBIE, record.ts) | {
                "client": word(message.client_id),
                "instance": word(message.instance_id),
                "epoch": None if peer is None else peer.epoch,
                "log_offset": record.offset,
            }
        return verdict in (Verdict.RENEWED, Verdict.ADOPTED)

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


class _Beat(NamedTuple):
    """A heartbeat as far as its form says.

    Args:
        like: all of it but the times, the position and the nonce.
        sent: time in it.
        tail: position in it.
    """

    like: object
    sent: int
    tail: int


class _Known(NamedTuple):
    """What heartbeats like a former one need not be read for."""

    key: Key
    tenure: Tenure


def _beat_of(record: Record) -> _Beat | None:
    """Return a heartbeat, None of one that is to be read in full, and of other messages."""
    kind, _, rest = (record.value or b"").partition(b"/1/")
    sent, _, rest = rest.partition(b"/")
    who, _, tail = rest.rpartition(b"/")
    if kind != b"Heartbeat" or not (sent.isdigit() and tail.isdigit()):
        return None
    if len(sent) >= _DIGITS or len(tail) >= _DIGITS or len(who) > _LONGEST:
        return None
    headers = record.headers
    if headers and headers[-1][0] == NONCE:
        headers = headers[:-1]
    return _Beat((who, headers), int(sent), int(tail))


def _key_of(value: bytes | None) -> Key | None:
    """Return what a message is about, as far as its form says: a world changes it in place."""
    fields = (value or b"").split(b"/")
    if len(fields) < 8 or not fields[7].isdigit() or len(fields[7]) > 9:
        return None
    return Key(fields[5], fields[6], int(fields[7]))

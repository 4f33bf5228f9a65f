"""What Marshal groups did: a log of claims, read by the rules of `kgroup.marshal`.

Decides: when a period of ownership ends: at a release, when another claim is accepted, when a
heartbeat of the original library takes the key, or at the end of the time to live; and what is
said of messages that do not count.
Never: judges a message itself; `World` does. So the tables and `kgroup marshal state` agree.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.messages import Kind, Message, Reject
from kgroup.marshal.presence import is_presence
from kgroup.marshal.rules import Verdict, WorldRules
from kgroup.marshal.world import World
from kgroup.spark.coordination.declared import HB_GAP, MARSHAL_END, ZOMBIE
from kgroup.spark.coordination.holds import Holds, Moment, Owner, Place
from kgroup.spark.coordination.schema import Row, Table
from kgroup.spark.coordination.silver import RawRecord, headers_of, word

Found: TypeAlias = Iterator[tuple[Table, Row]]

MARSHAL: Final = "marshal"


class _Was(NamedTuple):
    """What stood of a key before a message."""

    owned: bool
    client_id: bytes
    instance_id: bytes
    epoch: int
    beat: int
    ttl: int

    def over(self, time: int) -> bool:
        """Tell whether its claim had expired."""
        return self.owned and time - self.beat >= self.ttl


_NOTHING: Final = _Was(owned=False, client_id=b"", instance_id=b"", epoch=-1, beat=-1, ttl=0)


def claims(records: Iterable[RawRecord], *, complete: bool) -> Found:
    """Yield what the gold tables say of one partition of the log of claims.

    Args:
        records: all of them, in order.
        complete: whether nothing that the log ever held is missing before the first.
    """
    story: _Story | None = None
    for record in records:
        if story is None:
            story = _Story(record, complete=complete)
        yield from story.apply(record)
    if story is not None:
        yield from story.end()


class _Story:
    """One partition of the log, record by record."""

    def __init__(self, first: RawRecord, *, complete: bool) -> None:
        self._number = first.log_partition
        self._world = World(WorldRules(append_time=first.append_time, complete=complete))
        self._holds = Holds(first.log_partition)

    def apply(self, record: RawRecord) -> Found:
        before = self._before(record)
        offset, ts = record.log_offset, record.append_ts
        verdict = self._world.apply(offset, ts, record.value, headers_of(record))
        message = self._world.message
        if isinstance(verdict, Reject) or message is None or message.kind is Kind.RELEASE_GROUP:
            return
        if is_presence(message.topic):
            return
        key = Key(message.group_id, message.topic, message.partition)
        state, was = self._world.keys[key], before.get(key, _NOTHING)
        at = Moment(self._world.time, offset)
        match verdict:
            case Verdict.ACCEPTED | Verdict.ADOPTED:
                yield from self._take(record, message, verdict, was)
                self._own(key, state, at, was, _why(was, state, verdict))
            case Verdict.RENEWED:
                yield from self._beat(record, key, state, was)
            case Verdict.RELEASED:
                self._holds.end(_place(key), at, "released")
            case Verdict.VOID:
                yield ZOMBIE, self._zombie(record, message, was, took_over=False)
            case _:
                return

    def _before(self, record: RawRecord) -> dict[Key, _Was]:
        """Return what stands of the key that a record may be about: a world changes it in place."""
        fields = (record.value or b"").split(b"/")
        if len(fields) < 8 or not fields[7].isdigit() or len(fields[7]) > 9:
            return {}
        key = Key(fields[5], fields[6], int(fields[7]))
        state = self._world.keys.get(key)
        if state is None:
            return {}
        return {
            key: _Was(
                state.owned, state.client_id, state.instance_id, state.epoch, state.beat, state.ttl
            )
        }

    def _take(self, record: RawRecord, message: Message, verdict: Verdict, was: _Was) -> Found:
        """A heartbeat that takes a key whose claim was fresh is that of a zombie."""
        fresh = was.owned and not was.over(self._world.time)
        other = (was.client_id, was.instance_id) != (message.client_id, message.instance_id)
        if verdict is Verdict.ADOPTED and fresh and other:
            yield ZOMBIE, self._zombie(record, message, was, took_over=True)

    def _own(self, key: Key, state: KeyState, at: Moment, was: _Was, reason: str) -> None:
        place = _place(key)
        if was.over(at.ts):
            self._holds.end(place, Moment(was.beat + was.ttl, at.offset), "expired")
        client, instance = word(state.client_id), word(state.instance_id)
        owner = Owner(MARSHAL, client, instance, client, state.epoch)
        self._holds.give(place, owner, at, reason)

    def _beat(self, record: RawRecord, key: Key, state: KeyState, was: _Was) -> Found:
        gap = self._world.time - was.beat
        if gap <= was.ttl // 2:
            return
        if was.over(self._world.time):
            at = Moment(self._world.time, record.log_offset)
            self._own(key, state, at, was, "expired")
        yield (
            HB_GAP,
            {
                **_place(key)._asdict(),
                **record.place,
                "client": word(state.client_id),
                "instance": word(state.instance_id),
                "epoch": state.epoch,
                "gap_ms": gap,
                "ttl_ms": was.ttl,
                "expired": gap >= was.ttl,
            },
        )

    def _zombie(self, record: RawRecord, message: Message, was: _Was, *, took_over: bool) -> Row:
        peer = self._world.peer
        return {
            "group": word(message.group_id),
            "topic": word(message.topic),
            "partition": message.partition,
            **record.place,
            "type": message.kind.value.decode(),
            "client": word(message.client_id),
            "instance": word(message.instance_id),
            "epoch": None if peer is None else peer.epoch,
            "owner_client": word(was.client_id) if was.owned else None,
            "owner_instance": word(was.instance_id) if was.owned else None,
            "owner_epoch": was.epoch if was.owned else None,
            "took_over": took_over,
        }

    def end(self) -> Found:
        """Yield what is known at the end of the log; a claim that is over has ended."""
        world = self._world
        for key, state in world.keys.items():
            if state.owned and not state.owned_at(world.time):
                at = Moment(state.beat + state.ttl, world.next_offset)
                self._holds.end(_place(key), at, "expired")
        yield from self._holds.rows()
        yield (
            MARSHAL_END,
            {
                "log_partition": self._number,
                "next_offset": world.next_offset,
                "time": world.time,
                "rejected": world.rejects.total(),
                "digest": world.digest(),
            },
        )


def _place(key: Key) -> Place:
    return Place(word(key.group), word(key.topic), key.partition)


def _why(was: _Was, state: KeyState, verdict: Verdict) -> str:
    if verdict is Verdict.ADOPTED:
        return "taken by a heartbeat"
    return "succeeded" if was.client_id == state.client_id else "moved"

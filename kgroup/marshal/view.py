"""One coordination partition as one group reads it: records in, the events of its member out.

Decides: which records a member hears of, and which members are there: those that show themselves,
    and those that own a key.
Never: reads a clock; keeps anything that does not follow from the records: views of equal logs
    are equal, in whatever pieces they were read.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.marshal.catching_up import CatchUp
from kgroup.marshal.events import KeyRead, LogOpened, LogRead
from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.messages import Message, Reject
from kgroup.marshal.presence import (
    NOBODY,
    UNKNOWN,
    Limits,
    Owners,
    Presence,
    Wait,
    Waits,
    is_presence,
)
from kgroup.marshal.rules import Compat, Verdict, WorldRules
from kgroup.marshal.standing import standing_of
from kgroup.marshal.world import World
from kgroup.types import TopicPartition
from kgroup.wire.records import RawRow, RecordColumns

DAMAGED: Final = "damaged batch"
"""Why a batch that cannot be read changes nothing, beside the words of `Reject`."""

LogRow = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Offset, timestamp in milliseconds (-1: none), key, value, headers; as `RecordColumns` has it."""

_MOVES: Final = frozenset({Verdict.ACCEPTED, Verdict.ADOPTED, Verdict.RELEASED, Verdict.RENEWED})
"""Verdicts that change the owner of a key, or the end of its claim."""


class LogView:
    """What a group knows of one coordination partition; grows by records.

    Args:
        partition: its number.
        group_id: the group whose keys are reported.
        rules: how the log is read.
    """

    def __init__(self, partition: int, group_id: str, rules: WorldRules) -> None:
        self.partition = partition
        self.world = World(rules)
        """All groups' keys."""
        self.damaged = 0
        """How many batches could not be read, and were skipped."""
        self.damaged_at = -1
        """Offset at which the last of them begins; -1 without."""
        self._rules = rules
        self._group = group_id.encode()
        self._there = _There(self.world, self._group)
        self._short: CatchUp | None = None

    def skip(self, offset: int) -> None:
        """Note that the batch at an offset cannot be read; nothing follows from it."""
        self.damaged += 1
        self.damaged_at = offset

    def catch_up(self, columns: RecordColumns, rows: Iterable[RawRow]) -> None:
        """Fold records without their events: `opened` reports what they came to.

        Args:
            columns: of one batch.
            rows: of its `raw_rows`, in order, none of them folded before.
        """
        if self._short is None:
            self._short = CatchUp(self.world)
        self._short.fold(columns, rows)

    def read(self, rows: Iterable[LogRow], next_offset: int) -> LogRead:
        """Fold the next records.

        Args:
            rows: in the order of their offsets, none of them folded before.
            next_offset: behind the last of them, and behind what has no record.

        Returns:
            What the group's member is to hear of them.
        """
        world, reads = self.world, list[KeyRead]()
        for offset, timestamp, _, value, headers in rows:
            verdict = world.apply(offset, timestamp, value, headers)
            message = world.message
            if message is None or isinstance(verdict, Reject) or message.group_id != self._group:
                continue
            read = self._key_read(offset, verdict, message)
            if read is not None:
                reads.append(read)
                self._there.heard(read)
            elif is_presence(message.topic):
                self._there.shown()
        return LogRead(
            partition=self.partition,
            next_offset=next_offset,
            time=world.time,
            since=world.since,
            reads=tuple(reads),
            presence=self._there.now(),
            limits=self._there.limits,
            waits=self._there.waits,
            pause=world.pause_of(self._group),
        )

    def opened(self, topics: frozenset[str], next_offset: int) -> LogOpened:
        """Report all that is known, after the log was read to its end.

        Args:
            topics: subscribed topics whose claims this partition has.
            next_offset: where reading goes on.
        """
        world = self.world
        self._there.forget()
        self._short = None
        return LogOpened(
            partition=self.partition,
            topics=topics,
            next_offset=next_offset,
            time=world.time,
            since=world.since,
            append_time=self._rules.append_time,
            complete=self._rules.complete,
            keys=MappingProxyType(
                {tp: standing_of(state) for tp, state in _keys_of(world, self._group)}
            ),
            presence=self._there.now(),
            limits=self._there.limits,
            waits=self._there.waits,
            pause=world.pause_of(self._group),
            is_go=self._rules.compat is Compat.GO,
        )

    def _key_read(self, offset: int, verdict: Verdict, message: Message) -> KeyRead | None:
        state = self.world.keys.get(Key(self._group, message.topic, message.partition))
        tp = _tp(message.topic, message.partition)
        if state is None or tp is None:
            return None
        return KeyRead(
            tp=tp,
            kind=message.kind,
            verdict=verdict,
            offset=offset,
            client_id=message.client_id,
            instance_id=message.instance_id,
            nonce=self.world.nonce,
            tail=message.tail,
            standing=standing_of(state),
        )


class _There:
    """The members that are there: by a sign of presence or by a key, whichever lasts longer.

    It is kept from one reading to the next, because most readings change one time of one member.
    """

    def __init__(self, world: World, group: bytes) -> None:
        self._world = world
        self._group = group
        self._owners: Owners | None = None
        self._reported: Presence | None = None
        self._over_at = 0
        self.limits: Limits = NOBODY
        """How much each member takes at most, as of the last `now`."""
        self.waits: Waits = UNKNOWN
        """How long each member was there without taking anything, likewise."""

    def forget(self) -> None:
        """Look at everything again: keys have changed of which nothing was heard."""
        self._owners = self._reported = None

    def shown(self) -> None:
        """Look again at the signs of presence."""
        self._reported = None

    def heard(self, read: KeyRead) -> None:
        """Take one record about a key in."""
        standing, owners = read.standing, self._owners
        if read.verdict in _MOVES:
            self._reported = None
            if owners is not None and standing.owned:
                beat = -1 if standing.beat is None else standing.beat
                owners.has(read.tp, standing.client_id, beat + standing.ttl)
            elif owners is not None:
                owners.free(read.tp)
        elif read.verdict is Verdict.REFUSED:
            self._reported = None  # its sender is waited for again

    def now(self) -> Presence:
        """Return the members at the latest log time; the same object while nothing changed."""
        time = self._world.time
        if self._reported is not None and time < self._over_at:
            return self._reported
        if self._owners is None:
            self._owners = self._found()
        signs = self._world.presences.of(self._group, time)
        there = dict[str, dict[bytes, int]]()
        for name, shown in signs.items():
            tp = _tp(name, 0)
            if tp is not None:
                there[tp.topic] = dict(shown)
        for topic, client_id, until in self._owners.latest():
            if until > time:
                clients = there.setdefault(topic, {})
                clients[client_id] = max(until, clients.get(client_id, until))
        self.limits, self.waits = self._limits(), self._waits()
        # A sign may expire before the claims of its sender; its limit and wait go with it.
        both = (*there.values(), *signs.values())
        ends = [until for clients in both for until in clients.values()]
        self._over_at = min(ends, default=time + 1)
        self._reported = MappingProxyType(
            {topic: MappingProxyType(clients) for topic, clients in there.items()}
        )
        return self._reported

    def _limits(self) -> Limits:
        world, found = self._world, dict[str, Mapping[bytes, int]]()
        for name, clients in world.presences.limits(self._group, world.time).items():
            tp = _tp(name, 0)
            if tp is not None:
                found[tp.topic] = MappingProxyType(dict(clients))
        return MappingProxyType(found)

    def _waits(self) -> Waits:
        world, found = self._world, dict[str, Mapping[bytes, Wait]]()
        for name, clients in world.presences.waits(self._group, world.time).items():
            tp = _tp(name, 0)
            if tp is not None:
                found[tp.topic] = MappingProxyType(dict(clients))
        return MappingProxyType(found)

    def _found(self) -> Owners:
        found = Owners()
        for tp, state in _keys_of(self._world, self._group):
            if state.owned:
                found.has(tp, state.client_id, state.beat + state.ttl)
        return found


def _keys_of(world: World, group: bytes) -> Iterable[tuple[TopicPartition, KeyState]]:
    """Yield the keys of one group; those whose topic is no text belong to no topic there is."""
    keys: Mapping[Key, KeyState] = world.keys
    for key, state in keys.items():
        tp = _tp(key.topic, key.partition) if key.group == group else None
        if tp is not None:
            yield tp, state


def _tp(topic: bytes, partition: int) -> TopicPartition | None:
    try:
        return TopicPartition(topic.decode(), partition)
    except UnicodeDecodeError:
        return None

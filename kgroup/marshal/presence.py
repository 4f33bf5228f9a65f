"""Signs of presence: members that own nothing would be invisible in the log without them.

Decides: which records are signs of presence, how long each counts, and when one is forgotten.
Never: makes a key of one; no topic can have such a name, and no member claims it. Depends on how
    records were grouped: an expired sign is dropped at an instant of log time.

A sign is a heartbeat on partition 0 of `<topic>~members`, a release takes it back. It counts for
twice the interval that its sender announces, and says how much its sender takes at most.

The others stop waiting for a member that shows itself and takes nothing: 1. a member may not claim,
or cannot find out where to begin; 2. the others leave free keys to it. When one of them takes a key
that had no owner for `PATIENCE_MS`, every member that could have taken it, and has less, is
skipped: it counts for what it has until it begins with a key, has a claim refused, starts again, or
`SKIPPED_MS` are over. A refused claim proves nothing if its sender had a claim and did not begin.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kgroup.marshal.key_state import TTL_MS
from kgroup.marshal.messages import Extension, Kind, Message
from kgroup.marshal.rules import Verdict
from kgroup.types import TopicPartition

Presence = Mapping[str, Mapping[bytes, int]]
"""Topic -> client id -> log time until which this member counts as there, milliseconds."""

Limits = Mapping[str, Mapping[bytes, int]]
"""Topic -> client id -> partitions of it that this member takes at most, if it says so."""

NOBODY: Final[Presence] = MappingProxyType({})

PATIENCE_MS: Final = 30_000
"""How long a free key is left to members that have less."""

SKIPPED_MS: Final = 600_000
"""After which a skipped member is waited for once more."""


class Wait(NamedTuple):
    """How long a member was there without taking anything; log time, milliseconds.

    Args:
        since: it shows itself and has begun with nothing.
        skipped_until: it is not waited for, -1 when it is.
        has_claimed: whether a claim of its was accepted since.
    """

    since: int
    skipped_until: int = -1
    has_claimed: bool = False

    def is_over(self, idle_since: int, time: int) -> bool:
        """Tell whether it is not waited for at a log time to take what is free since another."""
        return time < self.skipped_until or time - max(self.since, idle_since) >= PATIENCE_MS


Waits = Mapping[str, Mapping[bytes, Wait]]
"""Topic -> client id -> how long this member was there without taking anything of it."""

UNKNOWN: Final[Waits] = MappingProxyType({})

PRESENCE_SUFFIX: Final = "~members"
"""Behind the name of a topic; a tilde is illegal in names of topics."""

_SUFFIX: Final = PRESENCE_SUFFIX.encode()
_MS: Final = 1000
_FEW: Final = 64


def is_presence(topic: bytes) -> bool:
    """Tell whether a message about this topic is a sign of presence."""
    return topic.endswith(_SUFFIX)


class Sign(NamedTuple):
    """The last sign of a member.

    Args:
        instance_id: of its sender's process.
        until: log time until which it counts, milliseconds.
        most: partitions of the topic that its sender takes at most, None for any number.
        wait: of that process.
    """

    instance_id: bytes
    until: int
    most: int | None
    wait: Wait


class Presences:
    """The signs of all groups; mutable, written by the world alone."""

    __slots__ = ("_by_topic", "_count", "_sweep_at")

    def __init__(self) -> None:
        self._by_topic: dict[tuple[bytes, bytes], dict[bytes, Sign]] = {}
        self._count = 0
        self._sweep_at = _FEW

    def apply(self, message: Message, peer: Extension | None, time: int, latest: int) -> Verdict:
        """Take a sign in, or back.

        Args:
            message: about a presence.
            peer: its headers, None without.
            time: log time of its record, milliseconds.
            latest: the latest log time there was.
        """
        if message.partition != 0:
            return Verdict.VOID
        key = (message.group_id, message.topic[: -len(_SUFFIX)])
        there = self._by_topic.get(key, {})
        known = there.get(message.client_id)
        match message.kind:
            case Kind.HEARTBEAT:
                interval = None if peer is None else peer.interval
                until = time + (TTL_MS if interval is None else 2 * interval * _MS)
                wait = Wait(time)
                if known is not None:
                    until = max(until, known.until)
                    if known.until > time and known.instance_id == message.instance_id:
                        wait = known.wait
                most = None if peer is None else peer.most
                there[message.client_id] = Sign(message.instance_id, until, most, wait)
                self._by_topic[key] = there
                self._count += known is None
                self._sweep(latest)
                return Verdict.RENEWED
            case Kind.RELEASING_PARTITION if known and known.instance_id == message.instance_id:
                del there[message.client_id]
                self._count -= 1
                return Verdict.RELEASED
            case _:
                return Verdict.VOID

    def takes(self, message: Message, verdict: Verdict, time: int) -> None:
        """Note what a member has done to come to a key.

        Args:
            message: its claim, or its first heartbeat under one.
            verdict: of it.
            time: log time, milliseconds.
        """
        there = self._by_topic.get((message.group_id, message.topic), {})
        sign = there.get(message.client_id)
        if sign is None or sign.instance_id != message.instance_id:
            return
        wait = Wait(max(time, sign.wait.since))
        if verdict is Verdict.ACCEPTED:
            wait = sign.wait._replace(has_claimed=True)
        elif verdict is Verdict.REFUSED and sign.wait.has_claimed:
            return
        there[message.client_id] = sign._replace(wait=wait)

    def late(self, group: bytes, topic: bytes, idle_since: int, time: int) -> list[bytes]:
        """Return the members that could have taken a key that is free since a log time."""
        there = self._by_topic.get((group, topic), {})
        return [
            who
            for who, sign in there.items()
            if sign.until > time and sign.wait.is_over(idle_since, time)
        ]

    def skip(self, group: bytes, topic: bytes, client_id: bytes, time: int) -> None:
        """Count a member for what it has, for a while from a log time on."""
        there = self._by_topic[group, topic]
        sign = there[client_id]
        there[client_id] = sign._replace(wait=sign.wait._replace(skipped_until=time + SKIPPED_MS))

    def waits(self, group: bytes, time: int) -> Mapping[bytes, Mapping[bytes, Wait]]:
        """Return how long each member was there without taking anything, by topic and client id."""
        return {
            topic: {who: sign.wait for who, sign in there.items() if sign.until > time}
            for (one, topic), there in self._by_topic.items()
            if one == group
        }

    def of(self, group: bytes, time: int) -> Mapping[bytes, Mapping[bytes, int]]:
        """Return the members of a group at a log time: topic -> client id -> until when."""
        return {
            topic: clients
            for (one, topic), there in self._by_topic.items()
            if one == group and (clients := _live(there, time))
        }

    def limits(self, group: bytes, time: int) -> Mapping[bytes, Mapping[bytes, int]]:
        """Return how much members take at most: topic -> client id -> partitions.

        A member that takes any number is left out.
        """
        found: dict[bytes, dict[bytes, int]] = {}
        for (one, topic), there in self._by_topic.items():
            for client_id, sign in there.items() if one == group else ():
                if sign.most is not None and sign.until > time:
                    found.setdefault(topic, {})[client_id] = sign.most
        return found

    def known(self, time: int) -> Iterator[tuple[bytes, bytes, bytes, Sign]]:
        """Yield every sign that counts at a log time, in order."""
        for (group, topic), there in sorted(self._by_topic.items()):
            for client_id, sign in sorted(there.items()):
                if sign.until > time:
                    yield group, topic, client_id, sign

    def _sweep(self, time: int) -> None:
        """Drop what is over, each time there is twice as much as was left the last time."""
        if self._count < self._sweep_at:
            return
        for key, there in list(self._by_topic.items()):
            left = {who: sign for who, sign in there.items() if sign.until > time}
            if left:
                self._by_topic[key] = left
            else:
                del self._by_topic[key]
        self._count = sum(map(len, self._by_topic.values()))
        self._sweep_at = max(_FEW, 2 * self._count)


def _live(there: Mapping[bytes, Sign], time: int) -> dict[bytes, int]:
    return {who: sign.until for who, sign in there.items() if sign.until > time}


# -- owners ----------------------------------------------------------------------------------------
#
# Until when each client owns keys of a topic: the end of its last claim, kept as records move keys.
#
# Decides: what a record about one key changes for its owner, and for the former owner.
# Never: looks at other keys when one moves: a group may have 10,000 of them in one partition of the
#     log. Drops an expired claim: it knows no time.


class Owners:
    """The owners of one group's keys; mutable."""

    __slots__ = ("_ends", "_latest", "_who")

    def __init__(self) -> None:
        self._who: dict[TopicPartition, bytes] = {}
        self._ends: dict[tuple[str, bytes], dict[int, int]] = {}
        self._latest: dict[tuple[str, bytes], int | None] = {}

    def has(self, tp: TopicPartition, client_id: bytes, until: int) -> None:
        """Note the owner of a key.

        Args:
            tp: the key.
            client_id: of its owner.
            until: log time at which its claim expires, milliseconds.
        """
        if self._who.get(tp) != client_id:
            self.free(tp)
        self._who[tp] = client_id
        owner = (tp.topic, client_id)
        ends = self._ends.setdefault(owner, {})
        latest, before = self._latest.get(owner, until), ends.get(tp.partition)
        ends[tp.partition] = until
        if latest is not None and until >= latest:
            self._latest[owner] = until
        elif before == latest:
            self._latest[owner] = None  # the latest is looked up when it is asked for

    def free(self, tp: TopicPartition) -> None:
        """Note that a key has no owner."""
        client_id = self._who.pop(tp, None)
        if client_id is None:
            return
        owner = (tp.topic, client_id)
        ends = self._ends[owner]
        until = ends.pop(tp.partition)
        if not ends:
            del self._ends[owner], self._latest[owner]
        elif until == self._latest[owner]:
            self._latest[owner] = None

    def latest(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield each owner: topic, client id, and the log time at which its last claim expires."""
        for owner, known in self._latest.items():
            until = max(self._ends[owner].values()) if known is None else known
            self._latest[owner] = until  # no new key: iterating goes on
            yield *owner, until

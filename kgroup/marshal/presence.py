"""Who shows itself in the log: members that own nothing would be invisible otherwise.

Decides: which records are signs of presence, how long each counts, and when one is forgotten.
Never: makes a key of one; no topic can have such a name, and nobody claims it. Depends on how
    records were grouped: what is over is dropped at instants of log time.

A sign is a heartbeat on partition 0 of `<topic>~members`, a release takes it back. It counts for
twice the interval that its sender announces, and says how much its sender takes at most.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kgroup.marshal.extension import Extension
from kgroup.marshal.key_state import LEASE_MS
from kgroup.marshal.messages import Kind, Message
from kgroup.marshal.rules import Verdict

__all__ = ["NOBODY", "PRESENCE_SUFFIX", "Limits", "Presence", "Presences", "is_presence"]

Presence = Mapping[str, Mapping[bytes, int]]
"""Topic -> client id -> log time until which this member counts as there, milliseconds."""

Limits = Mapping[str, Mapping[bytes, int]]
"""Topic -> client id -> partitions of it that this member takes at most, of those who say so."""

NOBODY: Final[Presence] = MappingProxyType({})

PRESENCE_SUFFIX: Final = "~members"
"""Behind the name of a topic; a tilde is illegal in names of topics."""

_SUFFIX: Final = PRESENCE_SUFFIX.encode()
_MS: Final = 1000
_FEW: Final = 64


def is_presence(topic: bytes) -> bool:
    """Tell whether a message about this topic is a sign of presence."""
    return topic.endswith(_SUFFIX)


class _Sign(NamedTuple):
    """The last sign of somebody.

    Args:
        instance_id: of its sender's process.
        until: log time until which it counts, milliseconds.
        most: partitions of the topic that its sender takes at most, None for any number.
    """

    instance_id: bytes
    until: int
    most: int | None


class Presences:
    """The signs of all groups; mutable, written by the world alone."""

    __slots__ = ("_by_topic", "_count", "_sweep_at")

    def __init__(self) -> None:
        self._by_topic: dict[tuple[bytes, bytes], dict[bytes, _Sign]] = {}
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
                until = time + (LEASE_MS if interval is None else 2 * interval * _MS)
                if known is not None:
                    until = max(until, known.until)
                most = None if peer is None else peer.most
                there[message.client_id] = _Sign(message.instance_id, until, most)
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

    def of(self, group: bytes, time: int) -> Mapping[bytes, Mapping[bytes, int]]:
        """Return who of a group is there at a log time: topic -> client id -> until when."""
        return {
            topic: clients
            for (one, topic), there in self._by_topic.items()
            if one == group and (clients := _live(there, time))
        }

    def limits(self, group: bytes, time: int) -> Mapping[bytes, Mapping[bytes, int]]:
        """Return how much who takes at most: topic -> client id -> partitions.

        Who takes any number is left out.
        """
        found: dict[bytes, dict[bytes, int]] = {}
        for (one, topic), there in self._by_topic.items():
            for client_id, sign in there.items() if one == group else ():
                if sign.most is not None and sign.until > time:
                    found.setdefault(topic, {})[client_id] = sign.most
        return found

    def known(self, time: int) -> Iterator[tuple[bytes, bytes, bytes, _Sign]]:
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


def _live(there: Mapping[bytes, _Sign], time: int) -> dict[bytes, int]:
    return {who: sign.until for who, sign in there.items() if sign.until > time}

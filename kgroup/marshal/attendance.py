"""Who is there: members show themselves, also while they own nothing.

Decides: what shows a member, and until when it counts.
Never: makes a key of it; grows with what is over.

A member shows itself by a heartbeat on a topic that cannot be (`orders~members`, partition 0),
written to the coordination partition of the topic itself. Members of the original library keep one
harmless slot for it and never claim it. It counts for two of the intervals that it announces, or
until the same process releases it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kgroup.marshal.extension import Extension
from kgroup.marshal.key_state import LEASE_MS
from kgroup.marshal.messages import Kind, Message
from kgroup.marshal.rules import Verdict

__all__ = ["MEMBERS", "Attendance", "shows_members"]

MEMBERS: Final = "~members"
"""Ends the name that stands for the members of a topic; no topic can have it."""

_SUFFIX: Final = MEMBERS.encode()
_MS: Final = 1000
_AT_LEAST: Final = 64
"""Entries below which nothing is swept."""


def shows_members(topic: bytes) -> bool:
    """Tell whether a name stands for the members of a topic."""
    return topic.endswith(_SUFFIX)


class _Seen(NamedTuple):
    """Until which log time a client counts, milliseconds, and which of its processes said so."""

    until: int
    instance_id: bytes


class Attendance:
    """Who shows itself in one coordination partition, of all groups; grows by one message."""

    def __init__(self) -> None:
        self._found: dict[tuple[bytes, bytes], dict[bytes, _Seen]] = {}
        self._count = 0
        self._sweep_above = _AT_LEAST

    def apply(self, message: Message, peer: Extension | None, sent: int, time: int) -> Verdict:
        """Take in one message whose topic stands for members.

        Args:
            message: of any kind.
            peer: its headers.
            sent: its log time, milliseconds.
            time: the latest log time, milliseconds.

        Returns:
            RENEWED, RELEASED, or VOID when it says nothing of who is there.
        """
        name = (message.group_id, message.topic[: -len(_SUFFIX)])
        if message.partition or not name[1]:
            return Verdict.VOID
        match message.kind:
            case Kind.HEARTBEAT:
                self._renew(name, message, peer, sent)
                if self._count > self._sweep_above:
                    self._sweep(time)
                return Verdict.RENEWED
            case Kind.RELEASING_PARTITION:
                return self._release(name, message)
            case _:
                return Verdict.VOID

    def of(self, group_id: bytes, time: int) -> Mapping[bytes, Mapping[bytes, int]]:
        """Return who is there of a group: topic -> client id -> until when it counts."""
        found: dict[bytes, Mapping[bytes, int]] = {}
        for (group, topic), clients in self._found.items():
            if group == group_id:
                there = {name: each.until for name, each in clients.items() if each.until > time}
                if there:
                    found[topic] = there
        return found

    def known(self, time: int) -> list[tuple[bytes, bytes, bytes, int, bytes]]:
        """Return all that counts, in order; equal logs give equal ones."""
        return sorted(
            (group, topic, client, each.until, each.instance_id)
            for (group, topic), clients in self._found.items()
            for client, each in clients.items()
            if each.until > time
        )

    def __len__(self) -> int:
        """Return how many are kept, those that are over and not swept yet among them."""
        return self._count

    def _renew(
        self, name: tuple[bytes, bytes], message: Message, peer: Extension | None, sent: int
    ) -> None:
        interval = None if peer is None else peer.interval
        until = sent + (LEASE_MS if interval is None else 2 * interval * _MS)
        clients = self._found.setdefault(name, {})
        known = clients.get(message.client_id)
        if known is None:
            self._count += 1
        elif known.until > until:
            return
        clients[message.client_id] = _Seen(until, message.instance_id)

    def _release(self, name: tuple[bytes, bytes], message: Message) -> Verdict:
        clients = self._found.get(name, {})
        known = clients.get(message.client_id)
        if known is None or known.instance_id != message.instance_id:
            return Verdict.VOID
        del clients[message.client_id]
        self._count -= 1
        return Verdict.RELEASED

    def _sweep(self, time: int) -> None:
        """Forget what is over; so seldom that a message costs the same, however many there are."""
        kept: dict[tuple[bytes, bytes], dict[bytes, _Seen]] = {}
        for name, clients in self._found.items():
            there = {client: each for client, each in clients.items() if each.until > time}
            if there:
                kept[name] = there
        self._found = kept
        self._count = sum(len(clients) for clients in kept.values())
        self._sweep_above = max(2 * self._count, _AT_LEAST)

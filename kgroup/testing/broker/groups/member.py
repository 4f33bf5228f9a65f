"""One member as its coordinator knows it.

Decides: what a member offers, whether it waits for an answer, and what it votes for.
Never: knows the group it is in.

Metadata: The little a broker reads of its members' subscriptions: the topics. Decides: which bytes
the coordinator stumbles over (`broker_facts.md` B14a). Real ones read topics and user data only,
forgive what ends inside a length field, and throw at a count or length that is negative or promises
more than is there. Never: judges what comes after the user data; no broker does.
"""

import struct
from collections.abc import Collection
from dataclasses import field
from typing import Final

from kgroup.testing.broker.agenda import Timer
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Waiting:
    """A parked request of a member.

    Args:
        ticket: where its answer goes; None = it has been answered, but counts as one that waits.
        version: of the request; answers differ in what null may be.
    """

    ticket: int | None
    version: int


@dataclass(slots=True, kw_only=True)
class Member:
    """One member.

    Args:
        member_id: its id.
        instance_id: group.instance.id of a static member, None for a dynamic one.
        client_id: for DescribeGroups.
        client_host: the same.
        session_timeout: seconds.
        rebalance_timeout: seconds.
        protocols: (name, metadata) of each assignor, in order of preference.
        assignment: bytes the leader gave it last.
        is_new: waits in its first join; it has no session yet and cannot keep one alive.
        join: its parked JoinGroup.
        sync: its parked SyncGroup.
        session: the end of its session.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    is_new: bool = True
    join: Waiting | None = None
    sync: Waiting | None = None
    session: Timer | None = field(default=None, repr=False)

    def metadata(self, protocol: str) -> bytes:
        """Return what it offers under an assignor's name, empty bytes if it does not know it."""
        return next((blob for name, blob in self.protocols if name == protocol), b"")

    def vote(self, candidates: Collection[str]) -> str:
        """Return its first choice among candidates that it supports, as all members do."""
        return next(name for name, _ in self.protocols if name in candidates)

    @property
    def outlives_session(self) -> bool:
        """Whether the end of its session is no reason to remove it: it waits for an answer."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    def quiet(self) -> None:
        """Call its session timer off."""
        if self.session is not None:
            self.session.cancel()


# -- metadata --------------------------------------------------------------------------------------


_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")


class UnreadableMetadataError(Exception):
    """The bytes of a subscription at which a coordinator throws."""


def topics_of(metadata: bytes) -> frozenset[str] | None:
    """Return the topics of an embedded subscription, None where a broker takes it for unknown.

    Raises:
        UnreadableMetadataError: a real coordinator would throw.
    """
    try:
        return _read(metadata)
    except struct.error:
        return None


def _read(data: bytes) -> frozenset[str] | None:
    (version,) = _SHORT.unpack_from(data, 0)
    if version < 0:
        return None
    (count,) = _INT.unpack_from(data, 2)
    at = 6
    _must_fit(count, len(data) - at)
    topics = []
    for _ in range(count):
        (length,) = _SHORT.unpack_from(data, at)
        at += 2
        _must_fit(length, len(data) - at)
        topics.append(data[at : at + length].decode("utf-8", "replace"))
        at += length
    (length,) = _INT.unpack_from(data, at)
    if length >= 0:
        _must_fit(length, len(data) - at - 4)
    return frozenset(topics)


def _must_fit(length: int, left: int) -> None:
    if not 0 <= length <= left:
        raise UnreadableMetadataError(f"a length of {length} where {left} byte(s) are left")

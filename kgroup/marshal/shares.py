"""Fair shares: how many partitions of a topic one member should have, and what it hands back.

Decides: who counts as a member of a topic, the quota, and when something is given up for others.
Never: takes anything from anybody: shares are reached by claiming less and handing back.

With M members and P partitions nobody claims beyond ceil(P / M). What one has beyond that it hands
back, one partition after the other, once M has been the same for a while; each time the sum of
what members have too much gets smaller, so it comes to an end. Members of the original library
take no part in it.
"""

from hashlib import md5
from typing import Final

from kgroup.frozen import replace
from kgroup.marshal.member import MarshalMember, Sharing
from kgroup.types import TopicPartition

__all__ = ["Share", "looked", "members_of", "share_of", "share_of_topics", "surplus"]

SETTLED: Final = 10.0
"""Seconds for which the members of a topic must be the same before anything is handed back."""

APART: Final = 5.0
"""Seconds between two partitions that are handed back."""


class Share:
    """What one member should have of one topic.

    Args:
        partitions: of the topic, that are asked for.
        members: that ask for it, at least one.
        own: what this member has, or is about to have.
    """

    __slots__ = ("floor", "members", "own", "quota")

    def __init__(self, partitions: int, members: int, own: int = 0) -> None:
        self.members, self.own = members, own
        self.floor, rest = divmod(partitions, members)
        self.quota = self.floor + (1 if rest else 0)


def members_of(member: MarshalMember, topic: str, now: float) -> frozenset[bytes]:
    """Return the client ids that show themselves, or own something of a topic; ours among them."""
    log = member.log_of(topic)
    mine = member.who[0]
    if log is None:
        return frozenset({mine})
    time = log.time_at(now)
    there = {who for who, until in log.presence.get(topic, {}).items() if time < until}
    there |= _counts(member, topic, time).keys()
    return frozenset(there | {mine})


def share_of(member: MarshalMember, topic: str, now: float) -> Share:
    """Return what this member should have of a topic."""
    count = member.counts.get(topic, 0)
    own = sum(tp.topic == topic and not life.is_idle for tp, life in member.lives.items())
    return Share(count, len(members_of(member, topic, now)), own)


def share_of_topics(member: MarshalMember, now: float) -> Share:
    """Return what this member should have where topics are had whole, counted in topics."""
    topics = [topic for topic in member.wishes.of_topics() if member.counts.get(topic, 0)]
    there = frozenset().union(*(members_of(member, topic, now) for topic in topics))
    own = sum(tp.partition == 0 and not life.is_idle for tp, life in member.lives.items())
    return Share(len(topics), max(len(there), 1), own)


def looked(member: MarshalMember, now: float) -> Sharing:
    """Return what is remembered after a look at who is there."""
    before = member.sharing
    members = {topic: members_of(member, topic, now) for topic in member.wishes.of_topics()}
    if members == before.members:
        return before
    stable_since = {
        topic: before.stable_since.get(topic, now) if before.members.get(topic) == who else now
        for topic, who in members.items()
    }
    return replace(before, members=members, stable_since=stable_since)


def surplus(member: MarshalMember, topic: str, now: float) -> bool:
    """Tell whether one partition of a topic should be handed back for the others."""
    log = member.log_of(topic)
    if log is None:
        return False
    share, mine = share_of(member, topic, now), member.who[0]
    counts = _counts(member, topic, log.time_at(now))
    own = counts.get(mine, 0)
    if own > share.quota:
        return True
    if not own == share.quota > share.floor:
        return False
    there = members_of(member, topic, now)
    needy = any(counts.get(who, 0) < share.floor for who in there)
    most = max(there, key=lambda who: (counts.get(who, 0), _order(who, topic)))
    return needy and most == mine


def _counts(member: MarshalMember, topic: str, time: int) -> dict[bytes, int]:
    """Count what everybody owns of a topic at a log time."""
    counts: dict[bytes, int] = {}
    for number in range(member.counts.get(topic, 0)):
        standing = member.standings.get(TopicPartition(topic, number))
        if standing is not None and standing.owned and time < (standing.beat or 0) + standing.lease:
            counts[standing.client_id] = counts.get(standing.client_id, 0) + 1
    return counts


def _order(client_id: bytes, topic: str) -> bytes:
    return md5(client_id + b"/" + topic.encode(), usedforsecurity=False).digest()

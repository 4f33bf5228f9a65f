"""Fair shares: how many partitions of a topic one member should have, and what it hands back.

Decides: which members count for a topic, the quota, and when a member hands back for others.
Never: takes anything from another member: members reach their shares by claiming less and by
    handing back.

With M members and P partitions no member claims more than ceil(P / M). It hands back what it has
beyond that, one partition after the other, once M has been the same for a while. Each time the sum
of all surpluses gets smaller, so it comes to an end. Members of the original library take no part.

A member that takes less says so with its sign of presence, and the others divide what it leaves. A
member that says nothing and takes nothing, though a key is free, is waited for no longer than
`PATIENCE`, and counts for what it has (`presence`); no other member hands back more for it
meanwhile. Where a member owns topics as a whole, topics are shared like that, not partitions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import md5
from heapq import heappop, heappush
from typing import Final, NamedTuple

from kgroup.frozen import replace
from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.member import MarshalLog, MarshalMember, Sharing
from kgroup.marshal.presence import PATIENCE_MS
from kgroup.marshal.wishing import pause_ends_at
from kgroup.types import TopicPartition

SETTLED: Final = 10.0
"""Seconds for which the members of a topic must be the same before anything is handed back."""

APART: Final = 5.0
"""Seconds between two partitions that are handed back."""

PATIENCE: Final = PATIENCE_MS / 1000
"""Seconds for which the members of a topic must be the same before one of them is skipped."""


class Share:
    """What one member should have of one topic.

    Args:
        partitions: of the topic, that are asked for.
        members: that ask for it, at least one.
        own: what this member has, or is about to have.
        limits: what members take at most, if they say so; one of them may be this one.
        most: what this member takes at most, None for any number.

    Attributes to look at: `floor`, what it should have at least, `quota`, at most, `level`, what a
    member without a limit should have at least.
    """

    __slots__ = ("floor", "level", "members", "own", "quota")

    def __init__(
        self,
        partitions: int,
        members: int,
        own: int = 0,
        limits: Iterable[int] = (),
        most: int | None = None,
    ) -> None:
        self.members, self.own = members, own
        self.level, highest = _levels(partitions, members, limits)
        self.floor = self.level if most is None else min(self.level, most)
        self.quota = highest if most is None else min(highest, most)


def _levels(partitions: int, members: int, limits: Iterable[int]) -> tuple[int, int]:
    """Return what a member without a limit should have at least, and at most.

    A member that takes less than an equal share leaves the rest of it to the others.
    """
    left, sharing = partitions, members
    for limit in sorted(limits):
        if limit > left // sharing:
            break
        left, sharing = left - limit, sharing - 1
        if not sharing:
            return partitions, partitions
    level, rest = divmod(left, sharing)
    return level, level + (1 if rest else 0)


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
    count, most = member.counts.get(topic, 0), limit_of(member, topic)
    own = sum(tp.topic == topic and not life.is_idle for tp, life in member.lives.items())
    there = members_of(member, topic, now)
    limits = _limits(member, topic, there, now)
    return Share(count, len(there), own, limits.values(), most)


def limit_of(member: MarshalMember, topic: str) -> int | None:
    """Return how much of a topic this member takes at most, None for any number.

    Topics that are had whole are counted; partitions otherwise, and those of other topics are part
    of what it takes in all.
    """
    most = member.settings.max_claims
    if most is None or member.settings.whole_topics:
        return most
    lives = member.lives.items()
    return max(most - sum(tp.topic != topic and not life.is_idle for tp, life in lives), 0)


def _limits(
    member: MarshalMember, topic: str, there: frozenset[bytes], now: float
) -> dict[bytes, int]:
    """Return how much of a topic its members take at most, if they say so, and this one.

    A member that has less than it should, and is not waited for, counts for what it has.
    """
    limits, mine, own = _shown_limits(member, topic, there), member.who[0], limit_of(member, topic)
    if own is not None:
        limits[mine] = own
    log = member.log_of(topic)
    if log is None:
        return limits
    look = _look(member, log, topic, now)
    level, _ = _levels(member.counts.get(topic, 0), len(there), limits.values())
    for who in _late(member, log, topic, look, now) & there:
        if look.begun[who] < min(level, limits.get(who, level)):
            limits[who] = look.begun[who]
    return limits


def _shown_limits(member: MarshalMember, topic: str, there: frozenset[bytes]) -> dict[bytes, int]:
    log, mine = member.log_of(topic), member.who[0]
    shown = {} if log is None else log.limits.get(topic, {})
    return {who: most for who, most in shown.items() if who in there and who != mine}


class _Look(NamedTuple):
    """What becomes of a topic's keys.

    Args:
        time: log time of the look.
        begun: client id -> keys that it works on.
        idle: for each key that is free to claim, the log time since which no member works on it.
    """

    time: int
    begun: Counter[bytes]
    idle: list[int]


def _look(member: MarshalMember, log: MarshalLog, topic: str, now: float) -> _Look:
    look = _Look(log.time_at(now), Counter(), [])
    for number in range(member.counts.get(topic, 0)):
        standing = member.standing(TopicPartition(topic, number))
        since = standing.nobodys_since(look.time)
        if since is None:
            look.begun[standing.client_id] += 1
        elif standing.owned or standing.free_at(log.since) <= look.time:
            look.idle.append(since)
    return look


def _late(
    member: MarshalMember, log: MarshalLog, topic: str, look: _Look, now: float
) -> frozenset[bytes]:
    """Return the members not waited for: the others took what these left, or may take it now."""
    settled = now >= member.sharing.stable_since.get(topic, now) + PATIENCE
    idle = min(look.idle, default=look.time) if settled else look.time
    waits = log.waits.get(topic, {}).items()
    late = frozenset(who for who, wait in waits if wait.is_over(idle, look.time))
    return late - {member.who[0]}


def is_left_to_others(member: MarshalMember, topic: str, now: float) -> bool:
    """Tell whether a key of a topic is free since a short time: a member in need may take it."""
    log = member.log_of(topic)
    if log is None:
        return False
    look = _look(member, log, topic, now)
    return any(since >= 0 and look.time - since < PATIENCE_MS for since in look.idle)


def patience_ends(member: MarshalMember, now: float) -> Iterator[float]:
    """Yield the instants at which waiting for a member may end, or begin again."""
    for topic in member.wishes.of_topics():
        log = member.log_of(topic)
        if log is None:
            continue
        yield member.sharing.stable_since.get(topic, now) + PATIENCE
        look, waits = _look(member, log, topic, now), log.waits.get(topic, {}).values()
        yield from (log.instant_of(wait.skipped_until) for wait in waits if wait.skipped_until >= 0)
        if look.idle:
            since = {*look.idle, *(max(wait.since, min(look.idle)) for wait in waits)}
            yield from (log.instant_of(one + PATIENCE_MS) for one in since)


def share_of_topics(member: MarshalMember, now: float) -> Share:
    """Return what this member should have where topics are owned as a whole, counted in topics."""
    topics = [topic for topic in member.wishes.of_topics() if member.counts.get(topic, 0)]
    there = frozenset().union(*(members_of(member, topic, now) for topic in topics))
    own = sum(tp.partition == 0 and not life.is_idle for tp, life in member.lives.items())
    limits: dict[bytes, int] = {}
    for topic in topics:
        limits |= _shown_limits(member, topic, there)
    most = member.settings.max_claims
    if most is not None:
        limits[member.who[0]] = most
    level, _ = _levels(len(topics), max(len(there), 1), limits.values())
    for who, begun in _late_with_topics(member, topics, now).items():
        if who in there and begun < min(level, limits.get(who, level)):
            limits[who] = begun
    return Share(len(topics), max(len(there), 1), own, limits.values(), most)


def _late_with_topics(member: MarshalMember, topics: list[str], now: float) -> dict[bytes, int]:
    """Return the members not waited for to take a free topic, and how many each has.

    Such a member has left one free topic alone, and taken no other meanwhile.
    """
    begun, late, busy = Counter[bytes](), set[bytes](), {member.who[0]}
    for topic in topics:
        log = member.log_of(topic)
        if log is None or now < member.sharing.stable_since.get(topic, now) + PATIENCE:
            return {}
        lock, time = member.standing(TopicPartition(topic, 0)), log.time_at(now)
        since = lock.nobodys_since(time)
        if since is None:
            begun[lock.client_id] += 1
        free = since is not None and (lock.owned or lock.free_at(log.since) <= time)
        for who, wait in log.waits.get(topic, {}).items():
            if not wait.is_over(-1, time):
                busy.add(who)
            elif free and since is not None and wait.is_over(since, time):
                late.add(who)
    return {who: begun[who] for who in late - busy}


def looked(member: MarshalMember, now: float) -> Sharing:
    """Return what is remembered after a look at the members."""
    before, stable_since = member.sharing, dict[str, float]()
    members = {topic: members_of(member, topic, now) for topic in member.wishes.of_topics()}
    counts = {topic: member.counts.get(topic, 0) for topic in members}
    for topic, who in members.items():
        known = before.members.get(topic), before.counts.get(topic)
        since = before.stable_since.get(topic, now) if known == (who, counts[topic]) else now
        stable_since[topic] = max(min(since, now), pause_ends_at(member, topic))
    return replace(before, members=members, counts=counts, stable_since=stable_since)


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
    limits = _limits(member, topic, there, now)
    needy = any(
        counts.get(who, 0) < min(share.level, limits.get(who, share.level)) for who in there
    )
    most = max(there, key=lambda who: (counts.get(who, 0), _order(who, topic)))
    return needy and most == mine


def _counts(member: MarshalMember, topic: str, time: int) -> dict[bytes, int]:
    """Count what everybody owns of a topic at a log time."""
    counts: dict[bytes, int] = {}
    for number in range(member.counts.get(topic, 0)):
        standing = member.standings.get(TopicPartition(topic, number))
        if standing is not None and standing.owned and time < (standing.beat or 0) + standing.ttl:
            counts[standing.client_id] = counts.get(standing.client_id, 0) + 1
    return counts


def _order(client_id: bytes, topic: str) -> bytes:
    return md5(client_id + b"/" + topic.encode(), usedforsecurity=False).digest()


# -- workers ---------------------------------------------------------------------------------------
#
# How many keys of a topic each member works on: counted once, and from then on kept as it changes.
#
# Decides: how many keys each member of one topic has begun with, at the latest log time.
# Never: looks at all keys again: a count costs what has changed since the last one, however many
#     keys there are.
#
# Most records are heartbeats about a key that its owner works on, and they are not reported here:
# the end of a claim is looked up when it may have come. A key whose claim has expired is let go. A
# heartbeat that comes later renews no tenure, and is reported here (`World.renew`).


class Workers:
    """The members of one topic of a group; mutable, written by the world alone.

    Args:
        keys: all keys of the topic.
        states: of all keys.
        time: latest log time, milliseconds.
    """

    __slots__ = ("_ends", "_known", "_states", "_working")

    def __init__(self, keys: Iterable[Key], states: Mapping[Key, KeyState], time: int) -> None:
        self._states = states
        self._working: Counter[bytes] = Counter()
        self._known: dict[Key, tuple[bytes, int]] = {}
        self._ends: list[tuple[int, Key]] = []
        for key in keys:
            self.changed(key, time)

    def changed(self, key: Key, time: int) -> None:
        """Take in what a message has done to a key.

        Args:
            key: of the topic.
            time: latest log time, milliseconds.
        """
        state, known = self._states[key], self._known.get(key)
        works, end = state.nobodys_since(time) is None, state.beat + state.ttl
        if known is not None:
            if works and known[0] == state.client_id and known[1] <= end:
                return
            self._let_go(key)
        if works:
            self.working(time)  # drops expired claims now, not at the next question
            self._known[key] = state.client_id, end
            self._working[state.client_id] += 1
            heappush(self._ends, (end, key))

    def working(self, time: int) -> Counter[bytes]:
        """Return how many keys each member works on; a view, not to be written through.

        Args:
            time: latest log time, milliseconds.
        """
        while self._ends and self._ends[0][0] <= time:
            end, key = heappop(self._ends)
            who, known_end = self._known.get(key, (b"", -1))
            if end != known_end:
                continue  # it has changed hands since
            state = self._states[key]
            later = state.beat + state.ttl
            if later > time:
                self._known[key] = who, later
                heappush(self._ends, (later, key))
            else:
                self._let_go(key)
        return self._working

    def _let_go(self, key: Key) -> None:
        who, _ = self._known.pop(key)
        self._working[who] -= 1
        if not self._working[who]:
            del self._working[who]

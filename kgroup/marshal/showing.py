"""Writing signs of presence: by them the others know of a member that owns nothing.

Decides: for which topics a member shows itself, and when again.
Never: claims anything by it: no topic can have such a name, and peers of the original library keep
    one harmless slot of memory for it.

A member that was skipped (`presence`) and can claim takes its sign back and shows itself anew: 1.
it read nothing for minutes; 2. it reads again, and all keys have been taken.
"""

import math
from types import MappingProxyType
from typing import Final

from kgroup.frozen import replace
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.messages import Extension, Kind
from kgroup.marshal.presence import PRESENCE_SUFFIX
from kgroup.marshal.shares import limit_of
from kgroup.marshal.turn import Turn
from kgroup.types import TopicPartition

_AGAIN: Final = 5.0
"""Seconds after which a sign that was not written is written again."""

_SAYS_SO: Final = 1.0
"""Seconds after which a sign says how much this member takes now, if that has changed."""


def topics_shown(member: MarshalMember) -> frozenset[str]:
    """Return the topics for which a member shows itself: asked for, and read."""
    return _kept(member) & member.read_topics()


def presence_due(member: MarshalMember) -> float:
    """Return when the next sign is due, infinity when none is."""
    if not member.presence_at:
        return math.inf
    shown = topics_shown(member)
    return min((at for topic, at in member.presence_at.items() if topic in shown), default=math.inf)


def sooner(member: MarshalMember, now: float) -> MarshalMember:
    """Return the member with its signs due soon: one of them was not written."""
    again = now + _AGAIN
    due = {topic: min(at, again) for topic, at in member.presence_at.items()}
    return replace(member, presence_at=MappingProxyType(due))


def _kept(member: MarshalMember) -> frozenset[str]:
    """Return the topics for which its signs are to stand, also while their log is not read.

    A member with assigned partitions takes no part in fair shares, and is not counted for them.
    """
    settings, wishes = member.settings, member.wishes
    gone = wishes.closing is not None or member.failure is not None or member.dormant
    if gone or not settings.shows_itself or wishes.partitions is not None:
        return frozenset()
    return wishes.of_topics()


def show_presence(turn: Turn) -> None:
    """Write the signs that are due, and take back those of topics not asked for any more."""
    member, now = turn.member, turn.now
    shown = topics_shown(member)
    if not shown and not member.presence_at:
        return  # as nearly always, for a member that shows nothing
    due, limits = dict(member.presence_at), dict(member.limits_shown)
    interval = member.settings.interval * (0.8 + 0.2 * turn.moment.chance)
    for topic in sorted(member.presence_at.keys() - _kept(member)):
        _write(turn, Kind.RELEASING_PARTITION, topic)
        del due[topic], limits[topic]
    for topic in sorted(shown):
        most = limit_of(member, topic)
        if due.get(topic, now) <= now:
            if _comes_anew(member, topic, now):
                _write(turn, Kind.RELEASING_PARTITION, topic)
            _write(turn, Kind.HEARTBEAT, topic, most)
            due[topic], limits[topic] = now + interval, most
        elif limits[topic] != most:
            due[topic] = min(due[topic], now + _SAYS_SO)
    if due != member.presence_at:
        turn.member = replace(
            turn.member,
            presence_at=MappingProxyType(due),
            limits_shown=MappingProxyType(limits),
        )


def _comes_anew(member: MarshalMember, topic: str, now: float) -> bool:
    """Tell whether it was skipped, and would claim its share if that were free."""
    log = member.log_of(topic)
    wait = None if log is None else log.waits.get(topic, {}).get(member.who[0])
    if log is None or wait is None or log.time_at(now) >= wait.skipped_until:
        return False
    # The end of a claim is one failure; a member that cannot claim or begin soon has more.
    failures = (life.failures for tp, life in member.lives.items() if tp.topic == topic)
    return max(failures, default=0) <= 1 and member.trouble is None


def _write(turn: Turn, kind: Kind, topic: str, most: int | None = None) -> None:
    turn.append(kind, TopicPartition(topic + PRESENCE_SUFFIX, 0), 0, Extension(most=most))

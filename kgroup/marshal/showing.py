"""Signs of presence: how the others know of a member that owns nothing.

Decides: for which topics a member shows itself, and when again.
Never: claims anything by it: no topic can have such a name, and peers of the original library keep
    one harmless slot of memory for it.
"""

import math
from types import MappingProxyType

from kgroup.frozen import replace
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.messages import Kind
from kgroup.marshal.presence import PRESENCE_SUFFIX
from kgroup.marshal.turn import Turn
from kgroup.types import TopicPartition

__all__ = ["presence_due", "show_presence", "topics_shown"]


def topics_shown(member: MarshalMember) -> frozenset[str]:
    """Return the topics for which a member shows itself: asked for, and read."""
    settings, wishes = member.settings, member.wishes
    if not settings.shows_itself or wishes.closing is not None or member.dormant:
        return frozenset()
    return wishes.of_topics() & member.read_topics()


def presence_due(member: MarshalMember) -> float:
    """Return when the next sign is due, infinity when none is."""
    return min(member.presence_at.values(), default=math.inf)


def show_presence(turn: Turn) -> None:
    """Write the signs that are due, and take back those of topics not asked for any more."""
    member, now = turn.member, turn.now
    shown = topics_shown(member)
    if not shown and not member.presence_at:
        return  # as nearly always, for who shows nothing
    due = dict(member.presence_at)
    interval = member.settings.interval * (0.8 + 0.2 * turn.moment.chance)
    for topic in sorted(member.presence_at.keys() - shown):
        _write(turn, Kind.RELEASING_PARTITION, topic)
        del due[topic]
    for topic in sorted(shown):
        if due.get(topic, now) <= now:
            _write(turn, Kind.HEARTBEAT, topic)
            due[topic] = now + interval
    if due != member.presence_at:
        turn.member = replace(turn.member, presence_at=MappingProxyType(due))


def _write(turn: Turn, kind: Kind, topic: str) -> None:
    place = TopicPartition(topic + PRESENCE_SUFFIX, 0)
    turn.append(turn.draw(), kind, place, 0)

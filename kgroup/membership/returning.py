"""What a static member that came back owes the group: the topics nobody heard of.

Decides: which topics of a restarted static member the leader may not know, and when a round is
owed for them.
Never: begins the round; the rows do.
KIPs: 345.
"""

from kgroup.frozen import replace
from kgroup.membership.turn import Turn
from kgroup.membership.value import GroupMember
from kgroup.types import Cause, TopicPartition

__all__ = ["asks_anew", "owe_told", "owe_unheard", "unheard_topics"]


def asks_anew(member: GroupMember) -> bool:
    """Tell whether a static member came back with other topics than it was remembered with."""
    before = member.round.remembered
    told = member.round.told_topics
    return member.round.returned and before is not None and before.topics != told


def unheard_topics(member: GroupMember, assigned: frozenset[TopicPartition]) -> frozenset[str]:
    """Return the topics a static member came back with and the leader may not have heard of.

    1. A static member restarts with one topic more; 2. it is given its old assignment at once,
    without a round; 3. the leader never hears of the topic. When nothing is remembered, nobody can
    tell a topic that is new from one that went to others: one round in vain is the smaller harm.
    When it is, a topic that nobody was given is suspect all the same: 4. that process dies before
    its round; 5. the next one asks for the same topics, and the coordinator remembers them.
    """
    if not member.round.returned:
        return frozenset()
    before = member.round.remembered
    heard = frozenset(tp.topic for tp in assigned)
    if before is not None:
        heard |= before.assigned
    return member.round.told_topics - heard


def owe_unheard(turn: Turn) -> bool:
    """Owe a round as soon as a topic that the group has not heard of has partitions.

    The JoinGroup of that round differs from the one before in the generation it names, so a
    coordinator in Stable takes it for a change and begins a round, also from a follower.
    """
    if not turn.member.unheard():
        return False
    owe_told(turn)
    return True


def owe_told(turn: Turn) -> None:
    """Owe the round in which the group is told all topics this member asks for."""
    turn.put_round(replace(turn.member.round, unheard=frozenset()))
    turn.put_wishes(replace(turn.member.wishes, enforced=Cause.SUBSCRIBED.value))

"""What a static member that came back owes the group: a round for partitions that nobody has.

Decides: which topics of a restarted static member the leader may not know, or not have given out
whole; what the group may hold back for one that only unsubscribed and subscribed again; and when a
round is owed for them.
Never: begins the round; the rows do.
KIPs: 345, 429.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kgroup.frozen import replace
from kgroup.membership.turn import Turn
from kgroup.membership.value import GroupMember
from kgroup.types import Cause, TopicPartition

__all__ = ["asks_anew", "claimed", "let_go", "owe_told", "owe_unheard", "unheard_topics"]


def asks_anew(member: GroupMember, assigned: frozenset[TopicPartition]) -> bool:
    """Tell whether a static member came back to a group that must hear more than it was told.

    It asks for other topics than it was remembered with; or the group holds back what it claimed
    under its former id (see `let_go`); or the round that it owed after coming back never came.

    When nobody could say what is remembered, a cooperative one asks too:
    1. Its process dies while it hands t-1 back, the others' round goes on without it; 2. the next
    process asks while that round is on, and is told nothing; 3. its JoinGroup arrives when the
    round is over, and is answered with t-0 at once. If t-1 is nobody's, nobody else would see.
    That round may be in vain, for mostly step 3 falls into the round that was on, and no answer
    tells a follower which. It is not put off to ask once more: a round that is prepared waits for
    this very member, and one that is completed begins anew with its JoinGroup, as soon as that
    comes. Nor can such rounds go on for ever: each process asks before its first JoinGroup, so it
    begins one at most, those that adopt one generation share it, and nothing is revoked for it.
    """
    before = member.round.remembered
    if not member.round.returned:
        return False
    if member.round.unsettled or member.round.held_back - assigned:
        return True
    if before is None:
        return False
    if before.in_doubt:
        return not member.eager
    return before.topics != member.round.told_topics


def unheard_topics(member: GroupMember, assigned: frozenset[TopicPartition]) -> Mapping[str, int]:
    """Return the topics a static member came back with and the group may not have given out whole.

    A topic that the leader may not have heard of has 0 partitions that somebody has:
    1. A static member restarts with one topic more; 2. it is given its old assignment at once,
    without a round; 3. the leader never hears of the topic. When nothing is remembered, nobody can
    tell a topic that is new from one that went to others: one round in vain is the smaller harm.
    When it is, a topic that nobody was given is suspect all the same: 4. that process dies before
    its round; 5. the next one asks for the same topics, and the coordinator remembers them.

    Of others somebody has a part (KIP-429):
    1. A cooperative member must hand t-1 back before another one may have it; 2. its process dies
    before the round in which it would have said that it did; 3. the next process is given what it
    may keep, at once, without a round. Nobody else owes that round, so nobody would ever have t-1.

    Returns:
        Topic -> how many partitions of it somebody has; a round is owed when there are more.
    """
    if not member.round.returned:
        return MappingProxyType({})
    before = member.round.remembered
    heard = frozenset(tp.topic for tp in assigned)
    divided: Mapping[str, int] = {}
    if before is not None:
        heard |= before.assigned
        divided = before.divided
    told = member.round.told_topics
    return MappingProxyType(
        dict.fromkeys(sorted(told - heard), 0)
        | {topic: divided[topic] for topic in sorted(told & heard & divided.keys())}
    )


def owe_unheard(turn: Turn) -> bool:
    """Owe a round as soon as there are partitions that nobody has.

    What was found to be given out whole is settled: that it grows, who leads will see.

    The JoinGroup of that round differs from the one before in the generation it names, so a
    coordinator in Stable takes it for a change and begins a round, also from a follower.
    """
    if turn.member.unheard():
        owe_told(turn)
        return True
    known, counts = turn.member.round.unheard, turn.member.counts
    open_yet = {topic: had for topic, had in known.items() if not (had and counts.get(topic))}
    if len(open_yet) < len(known):
        turn.put_round(replace(turn.member.round, unheard=MappingProxyType(open_yet)))
    return False


def owe_told(turn: Turn) -> None:
    """Owe the round in which the group is told all that this member asks for and has.

    Whatever made it find out: that it asks for these topics is why it joins. The round stays owed
    until one is adopted: 1. it is to be asked for; 2. the application unsubscribes, and subscribes
    again; 3. the member comes back once more, and is given the same, at once.
    """
    turn.cause = Cause.SUBSCRIBED
    turn.put_round(replace(turn.member.round, unheard=MappingProxyType({}), unsettled=True))
    turn.put_wishes(replace(turn.member.wishes, enforced=Cause.SUBSCRIBED.value))


# -- the same process ----------------------------------------------------------------------------


def claimed(member: GroupMember) -> frozenset[TopicPartition]:
    """Return what the group may hold back for a static member whose JoinGroup is on its way.

    Until a generation is adopted nobody knows whether it was heard, and what became of the claims.
    """
    if not _may_come_back(member) or member.identity.member_id is None:
        return member.round.held_back
    return member.round.held_back | member.round.told | member.holdings.partitions


def let_go(member: GroupMember) -> frozenset[TopicPartition]:
    """Return what the group may hold back for a static member that forgets its generation now.

    What it claimed and was not given, nobody else was given either (KIP-429):
    1. A static member hands t-1 back, and owes the round that says so; 2. before that round the
    application unsubscribes, and subscribes again: no LeaveGroup is sent; 3. its JoinGroup, without
    an id, is answered at once with t-0, which it had before (KIP-345). By then it owns t-0 and has
    no memory of t-1 but this, and without a round nobody would ever own t-1.
    """
    known = member.round
    if not _may_come_back(member) or known.assigned_in is None:
        return known.held_back
    return known.held_back | (known.told - known.assigned)


def _may_come_back(member: GroupMember) -> bool:
    return member.settings.group_instance_id is not None and not member.eager

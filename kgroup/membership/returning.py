"""What a static member that came back owes the group: a round for partitions that nobody has.

Decides: which topics of a restarted static member the leader may not know, or not have given out
whole; what the group may hold back for one that only unsubscribed and subscribed again; and when a
round is owed for them; when the coordinator is asked a second time.
Never: begins the round; the rows do.
KIPs: 345, 429.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kgroup.frozen import replace
from kgroup.membership.group_description import IN_DOUBT, NEW, Remembered, Said
from kgroup.membership.leadership import watch_topics
from kgroup.membership.turn import Turn
from kgroup.membership.value import GroupMember
from kgroup.membership.waiting import tell_group
from kgroup.types import Cause, TopicPartition


def asks_anew(member: GroupMember, assigned: frozenset[TopicPartition]) -> bool:
    """Tell whether a static member came back to a group that must hear more than it has heard.

    It asks for other topics than it was remembered with; or the group holds back what it claimed
    under its former id (see `let_go`); or the round that it owed after coming back never came.

    That holds under its id, too: 1. it came back, and asks for the round; 2. the coordinator
    resigns, and forgets that; 3. its lease expires; 4. it joins as it did when it came back, with
    nothing, so in Stable the coordinator takes that for no change, and answers at once.

    When nobody could say what is remembered, a cooperative one asks too:
    1. Its process dies while it hands t-1 back, the others' round goes on without it; 2. the next
    process asks while that round is on, and learns nothing; 3. its JoinGroup arrives when the
    round is over, and is answered with t-0 at once. If t-1 is nobody's, nobody else would see.
    That round may be in vain, for mostly step 3 falls into the round that was on, and no answer
    tells a follower which. It is not put off to ask once more: a round that is prepared waits for
    this very member, and one that is completed begins anew with its JoinGroup, as soon as that
    comes. Nor can such rounds go on for ever: each process asks before its first JoinGroup, so it
    begins one at most, those that adopt one generation share it, and nothing is revoked for it.
    """
    before = member.round.remembered
    if not member.round.returned:
        return member.round.unsettled and member.round.bare
    if member.round.unsettled or member.round.held_back - assigned:
        return True
    if before is None:
        return False
    if before.said is Said.NOTHING:
        return not member.eager
    return before.said is Said.KNOWN and before.topics != member.round.joined_topics


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

    The group knows the topics of a new member: its JoinGroup began a round. A member that is still
    asking whether it is new learns so with the answer.

    Returns:
        Topic -> how many partitions of it somebody has; a round is owed when there are more.
    """
    before = member.round.remembered
    is_new = before is not None and before.said is Said.NEW
    if not member.round.returned or is_new or _looks(member):
        return MappingProxyType({})
    heard = frozenset(tp.topic for tp in assigned)
    divided: Mapping[str, int] = {}
    if before is not None:
        heard |= before.assigned
        divided = before.divided
    joined = member.round.joined_topics
    return MappingProxyType(
        dict.fromkeys(sorted(joined - heard), 0)
        | {topic: divided[topic] for topic in sorted(joined & heard & divided.keys())}
    )


def owe_unheard(turn: Turn) -> bool:
    """Owe a round as soon as there are partitions that nobody has.

    A topic that was found to be given out whole is settled: its growth is the leader's to see.

    The JoinGroup of that round differs from the one before in the generation it names, so a
    coordinator in Stable takes it for a change and begins a round, also from a follower.
    """
    if turn.member.unheard():
        owe_round(turn)
        return True
    known, counts = turn.member.round.unheard, turn.member.counts
    open_yet = {topic: had for topic, had in known.items() if not (had and counts.get(topic))}
    if len(open_yet) < len(known):
        turn.put_round(replace(turn.member.round, unheard=MappingProxyType(open_yet)))
    return False


def owe_round(turn: Turn) -> None:
    """Owe the round in which the group hears of all that this member asks for and has.

    Whatever made it find out: that it asks for these topics is why it joins. The round stays owed
    until one is adopted: 1. it is to be asked for; 2. the application unsubscribes, and subscribes
    again; 3. the member comes back once more, and is given the same, at once.
    """
    turn.cause = Cause.SUBSCRIBED
    turn.put_round(replace(turn.member.round, unheard=MappingProxyType({}), unsettled=True))
    turn.put_wishes(replace(turn.member.wishes, enforced=Cause.SUBSCRIBED.value))


def unsettled_by_loss(member: GroupMember) -> bool:
    """Tell whether a round stays owed, or may be, when a generation is lost but not the member id.

    1. t-1 is to go from this static member to another; its process dies when it has handed that
    back, and the next one is given the same generation at once, without a round (KIP-345); 2. a
    heartbeat is answered ILLEGAL_GENERATION before SyncGroup is; 3. it joins under its new id, as
    it did when it came back, and is given t-0 at once. Nobody else owes the round for t-1, and what
    was remembered of this member was forgotten with the generation. So it is when topics were still
    to be looked at. A round in vain is the smaller harm, so none is spared by what was remembered.
    An eager round gives out all that the leader has heard of: only other topics are owed to it.
    """
    known = member.round
    if known.unsettled or known.unheard:
        return True
    entered = member.identity.generation is not None and not member.identity.synced
    before = known.remembered
    if not known.returned or not entered or before is None:
        return False
    if member.eager:
        return before.said is Said.KNOWN and before.topics != known.joined_topics
    return before.said is not Said.NEW


# -- new members, unless a coordinator resigns --------------------------------------------------


def look_again(turn: Turn) -> None:
    """Ask what was given out, now that JoinGroup is answered, when a round was on without us.

    1. a has t-0 and t-1, one of which is to go to b; it is killed before it hands that back. 2. Its
    session ends, and a round begins; a restarts and asks: the group has no such member. 3. The
    coordinator resigns amid the round; its successor loads the generation before, with a in it.
    4. a's JoinGroup is answered at once with t-0 (KIP-345); nobody has t-1, and no round is owed.

    No answer to JoinGroup or SyncGroup tells this from the round that a should have been in. The
    group's state does: what is answered in a round is answered while members wait for its leader.
    A generation that stands says whether all was given out, and no more than that is asked of it:
    the leader may hear later that a asks for other topics than before. So the first start of a
    member, also of many at once, costs no round. A leader that is to divide nothing looks anyway
    (KIP-814).
    """
    before = turn.member.round.remembered
    if turn.member.round.returned and before is not None and before.said is Said.LEFT_OUT:
        watch_topics(turn, follows=True)


def looked_again(turn: Turn, divided: Mapping[str, int] | None) -> None:
    """Owe a round when that answer says so, or leaves it in doubt.

    Args:
        turn: the step.
        divided: topic -> how many partitions of it were assigned, empty when a round is on; None
            when there was no answer.
    """
    member = turn.member
    known = IN_DOUBT if divided is None else NEW
    if divided:
        given = frozenset(topic for topic, count in divided.items() if count)
        known = Remembered(member.round.joined_topics, given, divided)
    turn.put_round(replace(member.round, watch=None, remembered=known))
    if not member.identity.synced:
        return  # what is adopted is judged by it
    assigned = member.round.assigned
    owes = asks_anew(turn.member, assigned)
    unheard = unheard_topics(turn.member, assigned)
    turn.put_round(replace(turn.member.round, unheard=unheard, remembered=None))
    if owes:
        owe_round(turn)
    owe_unheard(turn)
    tell_group(turn)


def _looks(member: GroupMember) -> bool:
    return member.round.watch is not None and not member.round.leader


# -- the same process ----------------------------------------------------------------------------


def claimed(member: GroupMember) -> frozenset[TopicPartition]:
    """Return what the group may hold back for a static member whose JoinGroup is on its way.

    Until a generation is adopted nobody knows whether it was heard, and what became of the claims.
    """
    if not _may_come_back(member) or member.identity.member_id is None:
        return member.round.held_back
    return member.round.held_back | member.round.believed | member.holdings.partitions


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
    return known.held_back | (known.believed - known.assigned)


def _may_come_back(member: GroupMember) -> bool:
    return member.settings.group_instance_id is not None and not member.eager

"""What leading a round means for a member, and what it keeps of it.

Decides: what the assignor is asked with; how long a leader remembers what it sent; when the round
that the assignor asked for is due; how a round that could not be assigned is shown.
Never: runs an assignor, or moves the state.
KIPs: 345, 429, 814.

A leader remembers what the coordinator last took from it as long as it leads round after round.
Another leader, a lost generation, or a SyncGroup whose fate is not known end that: what it knew
is not what the members hold. What a generation was made from stays true of that generation.
"""

from collections.abc import Mapping
from typing import Final

from kgroup.errors import AssignorError, KGroupError, UnauthorizedError
from kgroup.frozen import replace
from kgroup.machine.wishes import Errand
from kgroup.membership.events import AssignorDone, Note, RunAssignor, Tell
from kgroup.membership.turn import Turn
from kgroup.membership.value import GroupMember, Leadership, Led
from kgroup.types import Cause

SOONEST_ROUND: Final = 1.0
"""Seconds that a generation stands at least before its assignor has another one begun: each costs
all members a round, and an assignor that asks for no time at all would do nothing else."""


# -- the errand ----------------------------------------------------------------------------


def run_assignor(turn: Turn) -> None:
    """Have the group divided."""
    joined = turn.joined
    assert joined is not None
    ticket = turn.draw(Errand.RUN_ASSIGNOR)
    # The leader is in a round, so it has not just come back; and it hears itself, too.
    turn.put_round(replace(turn.member.round, ticket=ticket, returned=False))
    name = joined.protocol_name or ""
    sent = turn.member.lead.sent
    turn.effects.append(RunAssignor(ticket, name, joined.members, joined.generation_id, sent))


def watch_topics(turn: Turn, *, follows: bool = False) -> None:
    """Have it found out what the group's topics were, without dividing anything."""
    joined = turn.joined
    assert joined is not None
    watch = turn.draw(Errand.RUN_ASSIGNOR)
    turn.put_round(replace(turn.member.round, watch=watch))
    asked = RunAssignor(
        watch,
        joined.protocol_name or "",
        joined.members,
        joined.generation_id,
        unasked=True,
        node_id=turn.member.coordinator.node_id,
        follows=follows,
    )
    turn.effects.append(asked)


def watch_from(turn: Turn, found: Mapping[str, int] | None) -> None:
    """Watch the group's topics from what they were when the generation was made.

    1. A static leader unsubscribes; no LeaveGroup is sent; 2. a topic is given more partitions;
    3. it subscribes again, and leads on, unasked (KIP-814); 4. the coordinator does not say what
    was assigned, so that only the counts of now are found. From those on nobody would notice what
    happened in step 2, so it counts what this process itself assigned from; when nothing at all is
    found, the topics are known from that, too. When the coordinator does say, less may have been
    assigned than that: what was held back for another round, too, is nobody's until there is one
    (KIP-429).

    Args:
        turn: the step.
        found: topic -> partition count, of the topics that are to be watched; None when the look
            failed: growth of its own topics is still seen, and of those that it led.
    """
    member, made_from = turn.member, _made_from(turn.member)
    counts = member.counts
    if found is None:
        own = {topic: counts.get(topic, 0) for topic in member.round.joined_topics}
        watched = {**own, **made_from}
    else:
        watched = {topic: min(count, made_from.get(topic, count)) for topic, count in found.items()}
        # A topic made anew with fewer partitions is found so, too, if only the present is known.
        watched |= {
            topic: before
            for topic, before in made_from.items()
            if counts.get(topic, before) < before
        }
    # An unknown count is not a changed one.
    turn.member = replace(member, counts={**watched, **counts})
    turn.put_round(replace(member.round, watch=None, watched=watched))


def _made_from(member: GroupMember) -> Mapping[str, int]:
    """Return what its generation was made from, empty when it does not know that."""
    led, generation = member.lead.led, member.identity.generation
    if led is None or generation is None or led.generation_id != generation.generation_id:
        return {}
    return led.watched


# -- from round to round -------------------------------------------------------------------


def begin_round(turn: Turn) -> None:
    """Let go of what belongs to the round before, now that JoinGroup is sent."""
    lead = turn.member.lead
    # 1. SyncGroup carries an assignment; 2. its answer never comes: was it taken or not?
    sent = lead.sent if lead.offered is None else None
    turn.put_lead(replace(lead, offered=None, sent=sent, rejoin_after=None, rejoin_at=None))


def enter_as(turn: Turn, *, leader: bool) -> None:
    """Keep, as a leader, what was kept; another leader's followers keep nothing."""
    if not leader:
        turn.put_lead(Leadership())
        _end_trouble(turn)


def offer(turn: Turn, done: AssignorDone) -> None:
    """Note what SyncGroup carries; what becomes of it is not known yet."""
    lead = turn.member.lead
    turn.put_lead(replace(lead, offered=done.sent, rejoin_after=done.rejoin_after))


def stand(turn: Turn) -> None:
    """Note that the coordinator took the assignment, if one was offered: the generation stands."""
    lead = turn.member.lead
    rejoin_at = None
    if lead.rejoin_after is not None:
        rejoin_at = turn.now + max(lead.rejoin_after, SOONEST_ROUND)
    turn.put_lead(Leadership(sent=lead.offered, rejoin_at=rejoin_at, led=lead.led))
    _end_trouble(turn)


def forget_lead(turn: Turn) -> None:
    """Keep of a lost generation why rounds fail, for that may go on, and what it was made from."""
    lead = turn.member.lead
    turn.put_lead(
        Leadership(
            failure=lead.failure, failing_since=lead.failing_since, led=_led_last(turn.member)
        )
    )


def _led_last(member: GroupMember) -> Led | None:
    """Return what the generation was made from that it led last; a static one may come back."""
    generation, watched = member.identity.generation, member.round.watched
    if generation is None or watched is None:
        return member.lead.led
    return Led(generation.generation_id, watched)


# -- rounds that fail ----------------------------------------------------------------------


def note_failure(turn: Turn) -> None:
    """Show why the round failed: at once in the snapshot, in every read once that lasts.

    It lasts when failures in a row go on for longer than a round may wait for a slow member.
    """
    error = turn.error
    assert isinstance(error, KGroupError)
    member = turn.member
    known = member.lead.failure
    if known is None or str(known) != str(error):
        known = error
        # Where foreign code raised is worth a traceback; where we did is not.
        raised = isinstance(error, AssignorError) and error.__cause__ is not None
        turn.effects.append(Tell(Note.ROUND_FAILED, str(error), error if raised else None))
    since = member.lead.failing_since
    since = turn.now if since is None else since
    turn.put_lead(replace(member.lead, failure=known, failing_since=since))
    turn.put_round(replace(member.round, cause=Cause.ASSIGNMENT_FAILED))
    lasts = turn.now - since >= member.settings.rebalance_timeout
    if lasts and not isinstance(member.trouble, UnauthorizedError):
        turn.member = replace(turn.member, trouble=known)


def _end_trouble(turn: Turn) -> None:
    """Have reads no longer raise why rounds failed; what is not permitted is another matter."""
    if not isinstance(turn.member.trouble, UnauthorizedError):
        turn.member = replace(turn.member, trouble=None)

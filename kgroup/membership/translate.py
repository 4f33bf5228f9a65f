"""From events to triggers: which trigger an answer, a failure or a wish is.

Decides: whether a reply is still awaited (late ones are dropped here), what its error code means
(through the one reactions table), and whether its content can be used.
Never: moves the state; the rows do.
"""

from kgroup.codes import ApiKey
from kgroup.errors import (
    AssignorError,
    DecodeError,
    KGroupError,
    LocalProtocolError,
    UnauthorizedError,
    UnsupportedVersionError,
)
from kgroup.frozen import replace
from kgroup.machine.coordinator import CoordinatorState, CoordinatorTrigger
from kgroup.machine.reactions import Reaction, reaction
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    AssignorDone,
    AssignorFailed,
    CommitRejected,
    CoordinatorFound,
    Note,
    RequestFailed,
    Tell,
)
from kgroup.membership.group_description import PROTOCOL_TYPE
from kgroup.membership.leadership import watch_from
from kgroup.membership.refusals import fenced, fences, not_permitted, refused
from kgroup.membership.returning import looked_again
from kgroup.membership.triggers import Trigger
from kgroup.membership.turn import Turn
from kgroup.types import Cause, MemberState
from kgroup.wire.consumer_protocol import decode_assignment
from kgroup.wire.messages import HeartbeatResponse, JoinGroupResponse, SyncGroupResponse

_PATIENCE_ROUNDS = 3
_UUID_LENGTH = 36


def hear_answer(turn: Turn, event: Answered) -> Trigger | None:
    """Return what an answer to a group request triggers; None when nothing moves."""
    member, ticket = turn.member, event.ticket
    if ticket == member.heartbeat:
        turn.member = replace(member, heartbeat=None)
        assert isinstance(event.response, HeartbeatResponse)
        return _heartbeat(turn, event.response.error_code, ticket.sent_at)
    if ticket != member.round.ticket:
        return _fenced(turn) if fences(member, event) else None
    turn.in_use = event.in_use
    match event.response:
        case JoinGroupResponse():
            return _joined(turn, event.response)
        case SyncGroupResponse():
            return _synced(turn, event.response)
        case left:
            moved = reaction(ApiKey.LEAVE_GROUP, left.error_code) is Reaction.FIND_COORDINATOR
            return _leave_again(turn) if moved else Trigger.LEAVE_ENDED


def hear_failure(turn: Turn, event: RequestFailed) -> Trigger | None:
    """Return what a request without a usable answer triggers."""
    member, ticket = turn.member, event.ticket
    if ticket == member.coordinator.ticket:
        return _search_failed(turn, event.error)
    beat = ticket == member.heartbeat
    if beat:
        turn.member = replace(member, heartbeat=None)
    elif ticket != member.round.ticket:
        return None
    if ticket.errand is Errand.LEAVE_GROUP:
        return _leave_again(turn)
    if isinstance(event.error, (UnsupportedVersionError, LocalProtocolError)):
        turn.error = event.error
        turn.cause = Cause.FAILED
        return Trigger.REFUSED
    return _coordinator_lost(turn)


def hear_coordinator(turn: Turn, event: CoordinatorFound) -> Trigger | None:
    """Return what an answer to FindCoordinator triggers in the round; the rest is asked."""
    coordinator = turn.member.coordinator
    if event.ticket != coordinator.ticket:
        return None
    turn.put_coordinator(replace(coordinator, ticket=None, node_id=event.node_id))
    if event.code == 0 and event.node_id is not None:
        _permitted(turn, ApiKey.FIND_COORDINATOR)
        # In any other state no JoinGroup follows at once, and what is remembered may change.
        if event.remembered is not None and turn.member.state is MemberState.FINDING:
            turn.put_round(replace(turn.member.round, remembered=event.remembered))
        turn.asked.append(CoordinatorTrigger.FOUND)
        return None
    match reaction(ApiKey.FIND_COORDINATOR, event.code):
        case Reaction.RETRY:
            turn.asked.append(CoordinatorTrigger.NOT_FOUND)
            return None
        case Reaction.UNAUTHORIZED:
            turn.asked.append(CoordinatorTrigger.NOT_PERMITTED)
            turn.error = not_permitted(turn.member.settings, ApiKey.FIND_COORDINATOR)
            return Trigger.NOT_PERMITTED
        case _:
            turn.asked.append(CoordinatorTrigger.NOT_FOUND)
            return _refused(turn, ApiKey.FIND_COORDINATOR, event.code)


def hear_assignor(turn: Turn, event: AssignorDone | AssignorFailed) -> Trigger | None:
    """Return what the assignor's result triggers."""
    member = turn.member
    if event.ticket not in (member.round.ticket, member.round.watch):
        return None
    if event.ticket == member.round.watch:
        return _watched(turn, event)
    if isinstance(event, AssignorDone):
        # 1. a group topic is new to this leader; 2. it asks for metadata and assigns; 3. the
        # result is here before MetadataChanged: an unknown count is not a changed one.
        counts = {**event.watched, **member.counts}
        turn.member = replace(member, counts=counts, places=event.places_now)
        turn.assignor = event
        return Trigger.ASSIGNOR_DONE
    if isinstance(event.error, TimeoutError):
        # Metadata of what members own did not come: that says nothing against the assignor.
        turn.effects.append(Tell(Note.ASSIGNING_LATE, str(event.error)))
        return Trigger.RETRY_LATER
    turn.error = event.error
    if not isinstance(event.error, KGroupError):
        generation = member.identity.generation
        name = generation.protocol_name if generation else None
        turn.error = AssignorError(name or "", [f"raised {event.error!r}"])
        turn.error.__cause__ = event.error
    return Trigger.ASSIGNOR_FAILED


def hear_commit(turn: Turn, event: CommitRejected) -> Trigger | None:
    """Return what a refused commit triggers; one of an older generation, at most that of a twin."""
    if event.generation != turn.member.identity.generation:
        return _fenced(turn) if fences(turn.member, event) else None
    return _signal(turn, event.reaction, ApiKey.OFFSET_COMMIT, event.code)


# -- heartbeats ----------------------------------------------------------------------------


def _heartbeat(turn: Turn, code: int, sent_at: float) -> Trigger | None:
    lease = turn.member.lease
    verdict = reaction(ApiKey.HEARTBEAT, code)
    if verdict is Reaction.SUCCEED:
        turn.put_lease(lease.confirmed(sent_at, synced=turn.member.identity.synced))
        _served(turn)
        return None
    if verdict is Reaction.REJOIN:
        turn.put_lease(lease.signalled(sent_at))
        _served(turn)
    return _signal(turn, verdict, ApiKey.HEARTBEAT, code)


def _signal(turn: Turn, verdict: Reaction, api: ApiKey, code: int) -> Trigger | None:
    match verdict:
        case Reaction.REJOIN | Reaction.REJOIN_LATER:
            turn.cause = Cause.GROUP_REBALANCED
            return Trigger.REBALANCE_SIGNALLED
        case Reaction.LOSE_GENERATION:
            turn.cause = Cause.GENERATION_STALE
            return Trigger.GENERATION_LOST
        case Reaction.LOSE_MEMBER:
            turn.cause = Cause.UNKNOWN_MEMBER
            return Trigger.MEMBER_LOST
        case Reaction.FENCE:
            return _fenced(turn)
        case Reaction.FIND_COORDINATOR:
            return _coordinator_lost(turn)
        case Reaction.UNAUTHORIZED:
            turn.error = not_permitted(turn.member.settings, api)
            return Trigger.NOT_PERMITTED
        case Reaction.REFUSE if api is ApiKey.HEARTBEAT:
            return _refused(turn, api, code)
        case _:
            return None


# -- the round -----------------------------------------------------------------------------


def _joined(turn: Turn, answer: JoinGroupResponse) -> Trigger | None:
    turn.joined = answer
    verdict = reaction(ApiKey.JOIN_GROUP, answer.error_code)
    match verdict:
        case Reaction.SUCCEED:
            return _entered(turn, answer)
        case Reaction.TAKE_MEMBER_ID if answer.member_id:
            _permitted(turn, ApiKey.JOIN_GROUP)
            return Trigger.MEMBER_ID_GIVEN
        case Reaction.RETRY_BOUNDED:
            return _inexplicable(turn, answer.error_code)
        case _:
            return _refusal(turn, verdict, ApiKey.JOIN_GROUP, answer.error_code)


def _entered(turn: Turn, answer: JoinGroupResponse) -> Trigger:
    absurdity = _absurdity(turn, answer)
    if absurdity is not None:
        turn.effects.append(Tell(Note.JOIN_ABSURD, absurdity))
        return Trigger.RETRY_LATER
    ticket = turn.member.round.ticket
    assert ticket is not None
    turn.put_lease(turn.member.lease.rejoined(ticket.sent_at))
    _served(turn)
    led = _led_before(turn, answer)
    turn.leads = led or answer.leader == answer.member_id
    if led or (turn.leads and answer.skip_assignment):
        return Trigger.ELECTED_UNASKED
    return Trigger.ELECTED if turn.leads else Trigger.JOINED


def _absurdity(turn: Turn, answer: JoinGroupResponse) -> str | None:
    """Say what is wrong with a JoinGroup answer without an error, None when it can be used.

    A generation lower than the last one is in order: a coordinator that dies in the middle of a
    round forgets it, and its successor gives the number out again.
    """
    offered = [assignor.name for assignor in turn.member.settings.assignors]
    leads = answer.leader == answer.member_id
    if answer.generation_id < 0:
        return f"generation {answer.generation_id}"
    if not answer.member_id:
        return "no member id"
    if leads and all(each.member_id != answer.member_id for each in answer.members):
        return f"member {answer.member_id!r} leads and is not among the members"
    if answer.protocol_type not in (None, PROTOCOL_TYPE):
        return f"protocol type {answer.protocol_type!r}, asked was {PROTOCOL_TYPE!r}"
    if answer.protocol_name not in offered:
        return f"assignor {answer.protocol_name!r}, offered were {offered}"
    return None


def _led_before(turn: Turn, answer: JoinGroupResponse) -> bool:
    """Tell whether the leader that is named is this static member before its restart.

    Below version 9 of JoinGroup a leader that comes back in Stable gets its own old id, and no
    members: it must not assign, and goes on leading (KIP-814). The id of a static member is its
    instance id, a hyphen, and a UUID.
    """
    instance_id = turn.member.settings.group_instance_id
    if instance_id is None or not turn.member.round.returned:
        return False
    prefix, leader = f"{instance_id}-", answer.leader
    named_alike = leader.startswith(prefix) and len(leader) == len(prefix) + _UUID_LENGTH
    return named_alike and leader != answer.member_id


def _synced(turn: Turn, answer: SyncGroupResponse) -> Trigger | None:
    verdict = reaction(ApiKey.SYNC_GROUP, answer.error_code)
    if verdict is not Reaction.SUCCEED:
        # Refused, so nobody was given what it carried.
        turn.put_lead(replace(turn.member.lead, offered=None))
        if verdict is Reaction.REJOIN and turn.member.lease.lapsed:
            return Trigger.RETRY_LATER  # also said while loading; a heartbeat tells of a round
        return _refusal(turn, verdict, ApiKey.SYNC_GROUP, answer.error_code)
    member = turn.member
    ticket = member.round.ticket
    generation = member.identity.generation
    assert ticket is not None
    assert generation is not None
    turn.cause = Cause.ASSIGNED
    meant = answer.protocol_type in (None, PROTOCOL_TYPE)
    if not meant or answer.protocol_name not in (None, generation.protocol_name):
        return Trigger.GENERATION_LOST_IN_ROUND if member.lease.lapsed else Trigger.REJOIN_ASKED
    try:
        read = decode_assignment(answer.assignment)
    except DecodeError as error:
        turn.effects.append(Tell(Note.ASSIGNMENT_ABSURD, str(error)))
        return Trigger.ASSIGNMENT_UNREADABLE
    turn.assigned, turn.user_data = frozenset(read.partitions), read.user_data
    impossible = sorted(str(tp) for tp in turn.assigned if tp.partition < 0)
    if impossible:
        turn.effects.append(Tell(Note.ASSIGNMENT_ABSURD, ", ".join(impossible)))
        return Trigger.ASSIGNMENT_UNREADABLE
    turn.put_lease(member.lease.rejoined(ticket.sent_at))
    _served(turn)
    return Trigger.SYNCED


def _refusal(turn: Turn, verdict: Reaction, api: ApiKey, code: int) -> Trigger | None:
    match verdict:
        case Reaction.FIND_COORDINATOR:
            return _coordinator_lost(turn)
        case Reaction.REJOIN:
            turn.cause = Cause.GROUP_REBALANCED
            return Trigger.REJOIN_ASKED
        case Reaction.LOSE_GENERATION:
            turn.cause = Cause.GENERATION_STALE
            return Trigger.GENERATION_LOST_IN_ROUND
        case Reaction.LOSE_MEMBER:
            turn.cause = Cause.UNKNOWN_MEMBER
            return Trigger.MEMBER_LOST_IN_ROUND
        case Reaction.FENCE:
            return _fenced(turn)
        case Reaction.UNAUTHORIZED:
            turn.error = not_permitted(turn.member.settings, api)
            return Trigger.ROUND_NOT_PERMITTED
        case Reaction.REFUSE:
            return _refused(turn, api, code)
        case _:
            return Trigger.RETRY_LATER


def _inexplicable(turn: Turn, code: int) -> Trigger:
    """Count JoinGroup answers that say nothing (-1): usually one member's unreadable bytes."""
    member = turn.member
    since = member.round.failing_since
    if since is None:
        since = turn.now
        turn.put_round(replace(member.round, failing_since=since))
        turn.effects.append(Tell(Note.JOIN_FAILING, f"group {member.settings.group_id!r}"))
    if turn.now - since < _PATIENCE_ROUNDS * member.settings.rebalance_timeout:
        return Trigger.RETRY_LATER
    return _refused(turn, ApiKey.JOIN_GROUP, code)


# -- shared --------------------------------------------------------------------------------


def _served(turn: Turn) -> None:
    """Note that the coordinator answered as one: the next search need not wait long.

    Once it serves for as long as it was waited for. 1. The log of offsets lacks replicas: commits
    get COORDINATOR_NOT_AVAILABLE, heartbeats are answered; 2. the coordinator is lost by that,
    found, and answers the first heartbeat; 3. the commit is sent again. Pauses that began anew each
    time would be ten searches a second for as long as that lasts.
    """
    coordinator = turn.member.coordinator
    if coordinator.attempts:
        waited = turn.backoff(coordinator.attempts, turn.member.settings.retry_backoff_max)
        if turn.now >= coordinator.search_at + waited:
            turn.put_coordinator(replace(coordinator, attempts=0))
    if isinstance(turn.member.trouble, UnauthorizedError):
        turn.member = replace(turn.member, trouble=None)


def _permitted(turn: Turn, api: ApiKey) -> None:
    """Note that one question is permitted again; the others may not be."""
    trouble = turn.member.trouble
    if isinstance(trouble, UnauthorizedError) and trouble.api == api.name:
        turn.member = replace(turn.member, trouble=None)


def _watched(turn: Turn, event: AssignorDone | AssignorFailed) -> Trigger | None:
    """Have a round begun when the group's topics are not what they were when it was assigned."""
    done = event.watched if isinstance(event, AssignorDone) else None
    if not turn.member.round.leader:
        looked_again(turn, done)
        return None
    watch_from(turn, done)
    if not turn.member.recounted():
        return None
    turn.cause = Cause.TOPICS_CHANGED
    return Trigger.TOPICS_CHANGED


def _coordinator_lost(turn: Turn) -> Trigger | None:
    """Forget the coordinator; the round hears of it only where it awaits an answer from it."""
    if turn.member.coordinator.state is CoordinatorState.KNOWN:
        turn.asked.append(CoordinatorTrigger.LOST)
    return None


def _leave_again(turn: Turn) -> Trigger | None:
    """Leave at the next coordinator while `close()` may last; what has no limit goes on at once."""
    if turn.member.wishes.closing is None:
        return Trigger.LEAVE_ENDED
    turn.put_round(replace(turn.member.round, ticket=None))
    return _coordinator_lost(turn)


def _search_failed(turn: Turn, error: Exception) -> Trigger | None:
    turn.put_coordinator(replace(turn.member.coordinator, ticket=None))
    turn.asked.append(CoordinatorTrigger.NOT_FOUND)
    if isinstance(error, (UnsupportedVersionError, LocalProtocolError)):
        turn.error = error
        turn.cause = Cause.FAILED
        return Trigger.REFUSED
    return None


def _fenced(turn: Turn) -> Trigger:
    turn.cause = Cause.FENCED
    turn.error = fenced(turn.member.settings, turn.member.identity.generation)
    return Trigger.FENCED


def _refused(turn: Turn, api: ApiKey, code: int) -> Trigger:
    turn.cause = Cause.FAILED
    turn.error = refused(turn.member.settings, api, code, turn.in_use)
    return Trigger.REFUSED

"""From events to triggers: which trigger an answer, a failure or a search is.

Decides: whether an answer is still awaited (late ones are dropped here), what its error code means
(through the one reactions table), whether its content can be used, and what it proves.
Never: moves the state; the rows do.
"""

from typing import Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.consumer_group.events import Answered, CoordinatorFound, Note, RequestFailed
from kgroup.consumer_group.refusals import fenced, not_permitted, refused, unsupported
from kgroup.consumer_group.triggers import Trigger
from kgroup.consumer_group.turn import Turn
from kgroup.consumer_group.value import Said
from kgroup.errors import BrokerError, LocalProtocolError, UnsupportedVersionError
from kgroup.frozen import replace
from kgroup.machine.coordinator import CoordinatorState, CoordinatorTrigger
from kgroup.machine.reactions import Reaction, reaction
from kgroup.machine.wishes import CommitRejected, Tell
from kgroup.types import Cause, Generation, MemberState
from kgroup.wire.messages import ConsumerGroupHeartbeatResponse

_API: Final = ApiKey.CONSUMER_GROUP_HEARTBEAT


def hear_answer(turn: Turn, event: Answered) -> Trigger | None:
    """Return what an answer to a heartbeat triggers; None when nothing moves."""
    member, ticket, code = turn.member, event.ticket, event.response.error_code
    verdict = reaction(_API, code)
    if ticket == member.farewell:
        gone = verdict not in (Reaction.FIND_COORDINATOR, Reaction.RETRY)
        return Trigger.LEAVE_ENDED if gone else _leave_again(turn)
    if ticket != member.heartbeat:
        return None
    saying = member.saying
    turn.put(heartbeat=None, saying=None)
    if verdict is Reaction.SUCCEED:
        absurdity = _absurdity(turn, event.response)
        if absurdity is None:
            return _answered(turn, event.response, ticket.sent_at, saying)
        turn.effects.append(Tell(Note.ANSWER_ABSURD, absurdity))
        turn.say_everything()
        turn.cause = Cause.GENERATION_STALE
        return Trigger.RETRY_LATER if _joins(turn) else Trigger.EPOCH_LOST
    turn.say_everything()
    return _refusal(turn, verdict, event.response)


def hear_failure(turn: Turn, event: RequestFailed) -> Trigger | None:
    """Return what a request without a usable answer triggers."""
    member, ticket = turn.member, event.ticket
    if ticket == member.coordinator.ticket:
        return _search_failed(turn, event.error)
    if ticket == member.farewell:
        return _leave_again(turn)
    if ticket != member.heartbeat:
        return None
    turn.put(heartbeat=None)
    turn.say_everything()
    if isinstance(event.error, (UnsupportedVersionError, LocalProtocolError)):
        return _unusable(turn, event.error)
    return coordinator_lost(turn)


def hear_coordinator(turn: Turn, event: CoordinatorFound) -> Trigger | None:
    """Return what an answer to FindCoordinator triggers; the rest is asked."""
    coordinator = turn.member.coordinator
    if event.ticket != coordinator.ticket:
        return None
    turn.put(coordinator=replace(coordinator, ticket=None, node_id=event.node_id))
    if event.code == 0 and event.node_id is not None:
        _learn_session(turn, event.session)
        turn.asked.append(CoordinatorTrigger.FOUND)
        return None
    match reaction(ApiKey.FIND_COORDINATOR, event.code):
        case Reaction.RETRY:
            turn.asked.append(CoordinatorTrigger.NOT_FOUND)
            return None
        case Reaction.UNAUTHORIZED:
            turn.asked.append(CoordinatorTrigger.NOT_PERMITTED)
            settings = turn.member.settings
            turn.error = not_permitted(settings, ApiKey.FIND_COORDINATOR, event.code)
            return Trigger.NOT_PERMITTED
        case _:
            turn.asked.append(CoordinatorTrigger.NOT_FOUND)
            return _refused(turn, ApiKey.FIND_COORDINATOR, event.code, "")


def hear_commit(turn: Turn, event: CommitRejected) -> Trigger | None:
    """Return what a refused commit triggers; one of an older epoch says nothing that lasts."""
    if event.generation != turn.member.identity.generation:
        return None
    match event.reaction:
        case Reaction.RENEW_EPOCH:
            return Trigger.EPOCH_STALE
        case Reaction.LOSE_MEMBER | Reaction.LOSE_GENERATION:
            return _epoch_lost(turn, event.code)
        case Reaction.FENCE:
            return _fenced(turn)
        case Reaction.FIND_COORDINATOR:
            return coordinator_lost(turn)
        case Reaction.UNAUTHORIZED:
            turn.error = not_permitted(turn.member.settings, ApiKey.OFFSET_COMMIT, event.code)
            return Trigger.NOT_PERMITTED
        case _:
            return None


# -- answers -------------------------------------------------------------------------------


def _absurdity(turn: Turn, answer: ConsumerGroupHeartbeatResponse) -> str | None:
    """Say what is wrong with an answer without an error, None when it can be used."""
    epoch, known = answer.member_epoch, turn.member.identity.epoch
    mine = turn.member.settings.member_id
    if epoch <= 0:
        return f"epoch {epoch}"
    if epoch < known:
        return f"epoch {epoch} after {known}"
    if answer.member_id not in (None, "", mine):
        return f"it is about member {answer.member_id!r}, not {mine!r}"
    rows = () if answer.assignment is None else answer.assignment.topic_partitions
    if any(number < 0 for row in rows for number in row.partitions):
        return "a partition with a negative number is assigned"
    return None


def _answered(
    turn: Turn, answer: ConsumerGroupHeartbeatResponse, sent_at: float, saying: Said | None
) -> Trigger:
    settings = turn.member.settings
    if answer.member_epoch != turn.member.identity.epoch:
        generation = Generation(
            settings.group_id,
            answer.member_epoch,
            settings.member_id,
            settings.group_instance_id,
            settings.server_assignor,
        )
        turn.put(identity=replace(turn.member.identity, generation=generation))
    _obey_interval(turn, answer.heartbeat_interval_ms / 1000, sent_at)
    joins = _joins(turn)
    if answer.assignment is not None:
        turn.given = frozenset(
            (row.topic_id, number)
            for row in answer.assignment.topic_partitions
            for number in row.partitions
        )
    elif saying is not None and saying.whole:
        saying = None  # everything was said, and not everything answered: it is said again
    turn.put(said=saying)
    _acknowledged(turn, saying)
    _prove(turn, sent_at)
    _served(turn)
    turn.cause = Cause.GROUP_REBALANCED
    if joins:
        return Trigger.JOINED
    return Trigger.CONFIRMED if turn.given is None else Trigger.ASSIGNED


def _acknowledged(turn: Turn, saying: Said | None) -> None:
    """Note what the coordinator has heard of, and leaves to this member."""
    assigned = turn.member.assigned
    target = assigned.target if turn.given is None else turn.given
    if saying is None or not saying.lists:
        return
    if saying.owned <= target:
        turn.put_assigned(owes=False, gives_up=False)
    holdings = turn.member.holdings.states
    heard = frozenset(
        claim
        for claim in saying.claims
        if claim in holdings and turn.member.place_of(claim) in target
    )
    turn.put_assigned(acknowledged=turn.member.assigned.acknowledged | heard)


def _prove(turn: Turn, sent_at: float) -> None:
    """Count the answer: the session begins anew; a revocation that is awaited has its own end."""
    assigned = turn.member.assigned
    removed = turn.given is not None and bool(assigned.target - turn.given)
    waits = removed or assigned.gives_up
    turn.put(lease=turn.member.lease.confirmed(sent_at, synced=not waits))


def _obey_interval(turn: Turn, told: float, sent_at: float) -> None:
    longest = turn.member.lease.session_timeout / 2
    interval = min(told, longest) if told > 0 else turn.member.interval
    if interval != turn.member.interval:
        due = min(turn.member.heartbeat_at, sent_at + interval)
        turn.put(interval=interval, heartbeat_at=due)


def _refusal(
    turn: Turn, verdict: Reaction, answer: ConsumerGroupHeartbeatResponse
) -> Trigger | None:
    code, said = answer.error_code, answer.error_message or ""
    match verdict:
        case Reaction.FIND_COORDINATOR:
            return coordinator_lost(turn)
        case Reaction.LOSE_GENERATION:
            return _epoch_lost(turn, code)
        case Reaction.FENCE:
            return _fenced(turn)
        case Reaction.UNAUTHORIZED:
            turn.error = not_permitted(turn.member.settings, _API, code)
            return Trigger.NOT_PERMITTED
        case Reaction.REFUSE:
            return _refused(turn, _API, code, said)
        case Reaction.AWAIT_RELEASE if _joins(turn):
            turn.error = BrokerError(_API.name, code, said)
            return Trigger.INSTANCE_UNRELEASED
        case _ if _joins(turn):
            return Trigger.RETRY_LATER
        case _:
            attempts = turn.member.pace.attempts + 1
            turn.put_pace(attempts=attempts)
            turn.put(heartbeat_at=turn.now + turn.backoff(attempts))
            return None


# -- shared --------------------------------------------------------------------------------


def _joins(turn: Turn) -> bool:
    return turn.member.state is MemberState.JOINING


def _served(turn: Turn) -> None:
    """Note that the coordinator answered as one: the next search need not wait long."""
    member = turn.member
    turn.put_pace(attempts=0)
    turn.put(trouble=None)
    turn.may_tell(Note.INSTANCE_IN_USE)
    coordinator = member.coordinator
    if coordinator.attempts:
        waited = turn.backoff(coordinator.attempts)
        if turn.now >= coordinator.search_at + waited:
            turn.put(coordinator=replace(coordinator, attempts=0))


def _learn_session(turn: Turn, session: float | None) -> None:
    member = turn.member
    if member.settings.session_timeout is not None or member.session_told:
        return
    turn.put(session_told=True)
    if session is not None:
        turn.put(lease=replace(member.lease, session_timeout=session))
        return
    turn.tell_once(Note.SESSION_ASSUMED, f"{member.lease.session_timeout:g} s is assumed")


def coordinator_lost(turn: Turn) -> Trigger | None:
    """Forget the coordinator; only a join hears of it."""
    if turn.member.coordinator.state is CoordinatorState.KNOWN:
        turn.asked.append(CoordinatorTrigger.LOST)
    return None


def _leave_again(turn: Turn) -> Trigger | None:
    """Leave at the next coordinator while `close()` may last; what has no limit goes on at once."""
    if turn.member.wishes.closing is None:
        return Trigger.LEAVE_ENDED
    turn.put(farewell=None)
    coordinator_lost(turn)
    turn.asked.append(CoordinatorTrigger.NEEDED)
    return None


def _search_failed(turn: Turn, error: Exception) -> Trigger | None:
    turn.put(coordinator=replace(turn.member.coordinator, ticket=None))
    turn.asked.append(CoordinatorTrigger.NOT_FOUND)
    if isinstance(error, (UnsupportedVersionError, LocalProtocolError)):
        return _unusable(turn, error)
    return None


def _unusable(turn: Turn, error: UnsupportedVersionError | LocalProtocolError) -> Trigger:
    turn.cause = Cause.FAILED
    turn.error = unsupported(error) if isinstance(error, UnsupportedVersionError) else error
    return Trigger.REFUSED


def _epoch_lost(turn: Turn, code: int) -> Trigger:
    expelled = code == ErrorCode.UNKNOWN_MEMBER_ID
    turn.cause = Cause.UNKNOWN_MEMBER if expelled else Cause.GENERATION_STALE
    return Trigger.EPOCH_LOST


def _fenced(turn: Turn) -> Trigger:
    turn.cause = Cause.FENCED
    turn.error = fenced(turn.member.settings, turn.member.identity.generation)
    return Trigger.FENCED


def _refused(turn: Turn, api: ApiKey, code: int, said: str) -> Trigger:
    turn.cause = Cause.FAILED
    turn.error = refused(turn.member.settings, api, code, said)
    return Trigger.REFUSED

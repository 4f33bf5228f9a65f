"""A member that is fenced under its id hears of it: no JoinGroup takes the place back.

1. A static member has unsubscribed, and on_revoked runs; a heartbeat, or a commit, is out. 2. A
twin has taken its place (KIP-345). 3. The lease ends, or the coordinator is lost: the old answers
prove nothing any more. 4. One of them is FENCED_INSTANCE_ID. 5. The application subscribes again:
a static member that unsubscribes sends no LeaveGroup, and comes back without its id, so nothing it
asks from step 4 on would be refused. Its JoinGroup would fence the twin.
"""

from collections.abc import Callable

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import FencedError
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    CloseRequested,
    CommitRejected,
    Done,
    Drained,
    EnforceRebalance,
    Event,
    Moment,
    Polled,
    Raise,
    Tick,
    Unsubscribed,
)
from kgroup.membership.step import step
from kgroup.types import Leave, MemberState
from kgroup.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
)
from tests.membership.driver import (
    HEARTBEAT,
    REBALANCE,
    SESSION,
    Driven,
    join_answer,
    settings,
    sync_answer,
)

S = MemberState
FENCED, MOVED = ErrorCode.FENCED_INSTANCE_ID, ErrorCode.NOT_COORDINATOR


def joined(instance: str | None = "i-1") -> Driven:
    return Driven(settings(instance=instance)).join("t-0")


def heartbeat(member: Driven, code: int = FENCED) -> Event:
    member.on(Tick(), after=HEARTBEAT)
    return Answered(member.ticket(Errand.HEARTBEAT), HeartbeatResponse(error_code=code))


def commit(member: Driven) -> Event:
    generation = member.member.identity.generation
    assert generation is not None
    return CommitRejected(Reaction.FENCE, generation, FENCED)


def join(member: Driven) -> Event:
    member.on(EnforceRebalance("x"))
    return Answered(member.ticket(Errand.JOIN_GROUP), join_answer(member.member, code=FENCED))


def sync(member: Driven) -> Event:
    member.on(EnforceRebalance("x"))
    member.joined(2)
    return Answered(member.ticket(Errand.SYNC_GROUP), sync_answer(code=FENCED))


Question = Callable[[Driven], Event]
"""Has a member ask something, and makes the answer of it."""


def out_of_its_lease(member: Driven, question: Question) -> Event:
    """It hands back, and its lease ends."""
    member.on(Unsubscribed())
    member.on(Drained(member.member.holdings.claims))
    answer = question(member)
    member.on(Tick(), after=SESSION)
    member.expect(S.RELEASING)
    assert member.member.identity.generation is None
    return answer


def without_coordinator(member: Driven, question: Question) -> Event:
    """Its JoinGroup went to no coordinator."""
    member.on(EnforceRebalance("x"))
    answer = question(member)
    member.joined(code=MOVED)
    member.expect(S.FINDING)
    return answer


def and_unsubscribes(member: Driven, question: Question) -> Event:
    """Likewise, and it hands back by then."""
    answer = without_coordinator(member, question)
    member.on(Unsubscribed())
    member.expect(S.RELEASING)
    return answer


def amid_a_round(member: Driven, question: Question) -> Event:
    """It unsubscribes before the round answers."""
    answer = question(member)
    member.on(Unsubscribed())
    member.expect(S.RELEASING)
    return answer


Way = Callable[[Driven, Question], Event]
"""Has a member give the question up that it asks on the way."""

WAYS = pytest.mark.parametrize(
    ("way", "question"),
    [
        (out_of_its_lease, heartbeat),
        (out_of_its_lease, commit),
        (without_coordinator, heartbeat),
        (and_unsubscribes, heartbeat),
        (amid_a_round, join),
        (amid_a_round, sync),
    ],
)
BEFORE = pytest.mark.parametrize("question", [heartbeat, commit])


def given_up(way: Way, question: Question, *, instance: str | None = "i-1") -> tuple[Driven, Event]:
    """A member that awaits an answer no more, and that answer."""
    member = joined(instance)
    answer = way(member, question)
    member.effects.clear()
    return member, answer


# -- members that are fenced ----------------------------------------------------------------------


@WAYS
def test_a_member_that_is_fenced_late_ends_and_does_not_take_the_place_back(
    way: Way, question: Question
) -> None:
    member, answer = given_up(way, question)
    member.on(answer)
    member.expect(S.FENCED)
    (raised,) = member.did(Raise)
    assert isinstance(raised.error, FencedError)
    member.settle()
    member.subscribe()
    assert member.sent(JoinGroupRequest) == []


@BEFORE
def test_a_closing_member_that_is_fenced_late_ends_normally_and_sends_nothing(
    question: Question,
) -> None:
    member, answer = given_up(out_of_its_lease, question)
    limit = member.now + 2 * SESSION
    member.on(CloseRequested(Leave.LEAVE, "closing", limit, limit + 1.0))
    member.on(answer)
    member.settle()
    member.expect(S.LEFT)
    assert member.sent(LeaveGroupRequest) == []
    assert (member.did(Done), member.did(Raise)) == ([Done()], [])


@BEFORE
def test_a_member_that_wakes_beyond_the_limit_of_handing_back_is_fenced_before_it_joins(
    question: Question,
) -> None:
    """1. on_revoked hangs, and the application subscribes again; 2. the process stands still; 3. it
    wakes, waits for on_revoked no longer, and the answer is there."""
    member, answer = given_up(out_of_its_lease, question)
    member.subscribe()
    member.on(answer, after=REBALANCE)
    member.expect(S.FENCED)
    assert member.sent(JoinGroupRequest) == []


# -- what else is heard late ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NONE,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.INVALID_GROUP_ID,
        MOVED,
    ],
)
@pytest.mark.parametrize("way", [out_of_its_lease, without_coordinator])
def test_another_late_answer_proves_nothing_and_moves_nothing(way: Way, code: ErrorCode) -> None:
    member, answer = given_up(way, lambda driven: heartbeat(driven, code))
    state, lease = member.state, member.member.lease
    member.on(answer)
    assert (member.state, member.member.lease, member.effects) == (state, lease, [])


def test_a_commit_that_is_refused_late_for_another_reason_moves_nothing() -> None:
    member, fence = given_up(out_of_its_lease, commit)
    assert isinstance(fence, CommitRejected)
    member.on(CommitRejected(Reaction.LOSE_MEMBER, fence.generation, ErrorCode.UNKNOWN_MEMBER_ID))
    member.expect(S.RELEASING)
    assert (member.effects, member.member.identity.member_id) == ([], "m-1")


# -- until when -----------------------------------------------------------------------------------


@BEFORE
def test_an_older_answer_does_not_fence_a_member_that_entered_a_generation_again(
    question: Question,
) -> None:
    """1. A coordinator fences a member, slowly; 2. it dies before any of that is in its log; 3. its
    successor has the member join; 4. the answer comes."""
    member = joined()
    answer = question(member)
    member.on(Tick(), after=SESSION)
    member.expect(S.JOINING)
    member.settle()
    member.round("t-0", generation=2)
    member.effects.clear()
    member.on(answer)
    member.expect(S.STABLE)
    assert member.effects == []


@BEFORE
def test_no_older_answer_fences_from_the_answer_to_the_join_on(question: Question) -> None:
    """It does not wait for SyncGroup: a member has its place once its JoinGroup is answered."""
    member = joined()
    answer = question(member)
    member.on(Tick(), after=SESSION)
    member.settle()
    member.joined(2)
    member.expect(S.SYNCING)
    member.effects.clear()
    member.on(answer)
    member.expect(S.SYNCING)
    assert member.effects == []


@BEFORE
def test_a_fence_for_an_id_that_was_dropped_is_its_own_joins_doing(
    question: Question,
) -> None:
    """1. A heartbeat, or a second commit, is out; 2. a commit is answered UNKNOWN_MEMBER_ID;
    3. the member joins without one, which ends the old id; 4. the other arrives after that."""
    member = joined()
    answer = question(member)
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.LOSE_MEMBER, generation, ErrorCode.UNKNOWN_MEMBER_ID))
    member.settle()
    member.expect(S.JOINING)
    assert member.sent(JoinGroupRequest)[-1].member_id == ""
    member.effects.clear()
    member.on(answer)
    member.expect(S.JOINING)
    assert member.effects == []


@BEFORE
def test_a_member_that_is_out_of_the_group_cannot_be_fenced(
    question: Question,
) -> None:
    member, answer = given_up(out_of_its_lease, question)
    member.settle()
    member.expect(S.UNSUBSCRIBED)
    member.effects.clear()
    member.on(answer)
    member.expect(S.UNSUBSCRIBED)
    assert member.effects == []


def test_a_member_that_is_back_under_another_id_waits_for_no_heartbeat_of_the_former_one() -> None:
    """1. A heartbeat is out; 2. it unsubscribes, and subscribes again; 3. its JoinGroup without an
    id is answered with another, in the generation that stands; 4. the next heartbeat is due."""
    member = joined()
    answer = heartbeat(member, ErrorCode.NONE)
    member.on(Unsubscribed())
    member.settle()
    member.subscribe()
    assert member.sent(JoinGroupRequest)[-1].member_id == ""
    member.joined(1, member_id="m-2")
    member.expect(S.SYNCING)
    member.effects.clear()
    member.on(Tick(), after=HEARTBEAT)
    (beat,) = member.sent(HeartbeatRequest)
    assert (beat.member_id, beat.generation_id) == ("m-2", 1)
    member.on(answer)
    member.on(Tick(), after=HEARTBEAT)
    assert len(member.sent(HeartbeatRequest)) == 1
    assert member.member.heartbeat == member.ticket(Errand.HEARTBEAT)
    assert member.member.lease.confirmed_at is None


def test_the_next_heartbeat_gets_the_answer_that_the_one_before_it_would_have_had() -> None:
    member = joined()
    before = heartbeat(member)
    member.on(EnforceRebalance("x"))
    member.joined(code=MOVED)
    member.on(Tick(), after=member.deadline - member.now)
    member.found()
    member.on(Tick())
    assert isinstance(before, Answered)
    assert member.ticket(Errand.HEARTBEAT) != before.ticket
    member.on(before)
    member.expect(S.JOINING)
    member.beat(FENCED)
    member.expect(S.FENCED)


def test_the_next_join_gets_the_answer_that_the_one_before_it_would_have_had() -> None:
    """The coordinator that was asked first is lost while JoinGroup is out."""
    member = joined()
    before = join(member)
    member.on(Tick(), after=HEARTBEAT)
    member.beat(MOVED)
    member.on(Tick(), after=member.deadline - member.now)
    member.found()
    member.expect(S.JOINING)
    member.on(before)
    member.expect(S.JOINING)
    member.joined(code=FENCED)
    member.expect(S.FENCED)


@BEFORE
def test_a_dormant_member_is_fenced_when_it_polls_again(question: Question) -> None:
    """1. It loses its lease; 2. it is not polled, and falls silent; 3. it is polled again."""
    silent = joined()
    answer = question(silent)
    silent.on(Tick(), after=SESSION)
    silent.on(Tick(), after=REBALANCE)
    silent.expect(S.DORMANT)
    unheard = step(silent.member, answer, Moment(silent.now))
    assert (unheard.member, unheard.effects, unheard.ignored) == (silent.member, (), ())
    silent.settle()
    silent.on(Polled())
    silent.on(answer)
    silent.expect(S.FENCED)


@pytest.mark.parametrize(
    ("way", "question"),
    [(out_of_its_lease, heartbeat), (out_of_its_lease, commit), (without_coordinator, heartbeat)],
)
def test_a_dynamic_member_has_no_twin_and_gives_everything_up(way: Way, question: Question) -> None:
    member, answer = given_up(way, question, instance=None)
    before = member.member
    member.on(answer)
    assert member.member == before

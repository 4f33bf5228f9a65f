"""What ends ownership, and what a member does when its coordinator moves."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, ConnectionLostError, FencedError
from kgroup.machine.claims import HoldingState
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    CallListener,
    CommitRejected,
    Disconnect,
    Drained,
    EnforceRebalance,
    ListenerDone,
    Note,
    Polled,
    Raise,
    RequestFailed,
    Tell,
    Tick,
    Unsubscribed,
)
from kgroup.types import Cause, ChangeKind, MemberState
from kgroup.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
)
from tests.membership.driver import (
    HEARTBEAT,
    NODE,
    REBALANCE,
    SESSION,
    Driven,
    generation_in_join,
    join_answer,
    owned_in_join,
    partitions,
    settings,
)

EAGER = ("range",)
LOST = ConnectionLostError("h:1", "reset")


# -- losing ------------------------------------------------------------------------------------


def test_illegal_generation_loses_everything_and_keeps_the_member_id() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.ILLEGAL_GENERATION)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.sent(JoinGroupRequest)[-1].member_id == "m-1"
    assert owned_in_join(member) == frozenset()
    assert generation_in_join(member) is None


def test_unknown_member_id_loses_everything_and_the_member_id() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.sent(JoinGroupRequest)[-1].member_id == ""


def test_an_id_that_died_while_joining_is_not_named_again_when_the_answer_is_lost() -> None:
    # 1. JoinGroup is on its way; 2. a heartbeat finds the member removed; 3. the answer to the
    # JoinGroup, which would say the same, never comes.
    member = Driven().join("t-0")
    member.on(EnforceRebalance("test"))
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)
    member.expect(MemberState.JOINING)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    member.on(RequestFailed(member.ticket(Errand.JOIN_GROUP), LOST))
    member.on(Tick(), after=1.0)
    member.found()
    assert member.sent(JoinGroupRequest)[-1].member_id == ""


def test_an_expired_lease_is_final_even_when_an_ok_comes_late() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    late = member.ticket(Errand.HEARTBEAT)
    claim = member.claim("t-0")
    member.on(Tick(), after=SESSION)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.member.changes[0].cause is Cause.SESSION_EXPIRED
    member.on(Answered(late, HeartbeatResponse()))
    assert not member.member.may_deliver(claim, member.now)


def test_a_process_that_slept_past_its_session_owns_nothing_when_it_wakes() -> None:
    member = Driven().join("t-0")
    claim = member.claim("t-0")
    member.now += 3600.0
    assert not member.member.may_deliver(claim, member.now)
    member.on(Polled())
    assert member.owned() == frozenset()


def test_a_late_heartbeat_answer_does_not_reset_the_new_generation() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    late = member.ticket(Errand.HEARTBEAT)
    member.on(EnforceRebalance("test"))
    member.joined(2)
    member.synced("t-0")
    before = member.member
    assert member.on(Answered(late, HeartbeatResponse(error_code=25))) == ()
    assert member.member == before


def test_a_late_join_answer_changes_nothing() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    late = member.ticket(Errand.JOIN_GROUP)
    member.on(RequestFailed(late, LOST))
    before = member.member
    member.on(Answered(late, join_answer(member.member)))
    assert member.member == before


def test_a_stale_heartbeat_answer_while_joining_is_no_loss() -> None:
    member = Driven().join("t-0")
    member.on(EnforceRebalance("test"))
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.ILLEGAL_GENERATION)
    member.expect(MemberState.JOINING)
    assert member.owned() == partitions("t-0")


def test_a_member_that_is_given_another_id_owns_nothing_under_it() -> None:
    member = Driven().join("t-0")
    member.on(EnforceRebalance("test"))
    member.joined(code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m-9")
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.sent(JoinGroupRequest)[-1].member_id == "m-9"
    assert owned_in_join(member) == frozenset()
    assert member.member.lease.expires_at() is None


def test_partitions_lost_while_on_revoked_runs_are_not_reported_lost_as_well() -> None:
    member = Driven(settings(assignors=EAGER)).join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.on(Drained(member.member.holdings.claims))
    revoked = member.member.changes[0]
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)
    assert [kind for kind, _ in member.calls()] == [ChangeKind.REVOKED]
    member.on(ListenerDone(revoked.serial))
    assert member.calls() == []


@pytest.mark.parametrize("begun", [False, True])
def test_a_call_of_on_revoked_that_has_not_begun_tells_of_the_loss_instead(begun: bool) -> None:
    # 1. a round takes t-0, and on_assigned runs for it; 2. t-0 is out of hand: on_revoked is to
    # follow; 3. the coordinator does not know the member. Nobody asks for t-0 any more, and no
    # commit of it would be accepted. Only a call that runs is waited for before the JoinGroup.
    member = Driven().join("t-0", "t-1")
    member.on(EnforceRebalance("x"))
    member.joined(2)
    member.synced("t-1")
    member.on(Drained(member.member.holdings.having(HoldingState.DRAINING)))
    if begun:
        member.on(ListenerDone(member.member.changes[0].serial))
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.calls() == (
        [(ChangeKind.REVOKED, partitions("t-0")), (ChangeKind.LOST, partitions("t-1"))]
        if begun
        else [(ChangeKind.ASSIGNED, frozenset()), (ChangeKind.LOST, partitions("t-0", "t-1"))]
    )
    member.expect(MemberState.PREPARING if begun else MemberState.JOINING)


def test_a_call_of_on_revoked_that_the_same_step_asked_for_tells_of_the_loss_instead() -> None:
    # 1. a batch is in hand when a round begins; 2. the process stands still beyond the time it had
    # for that, and its session; 3. it wakes: on_revoked is due, and all is lost.
    member = Driven(settings(assignors=EAGER)).join("t-0")
    for _ in range(9):
        member.on(Tick(), after=HEARTBEAT)
        member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.expect(MemberState.PREPARING)
    effects = member.on(Tick(), after=2 * SESSION)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    called = [each.change.kind for each in effects if isinstance(each, CallListener)]
    assert called == [ChangeKind.LOST]
    assert Note.DRAIN_CUT in [each.note for each in effects if isinstance(each, Tell)]


# -- the coordinator ---------------------------------------------------------------------------


def test_losing_the_coordinator_keeps_a_stable_member_stable_and_delivering() -> None:
    member = Driven().join("t-0")
    claim = member.claim("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.NOT_COORDINATOR)
    member.expect(MemberState.STABLE)
    assert member.member.may_deliver(claim, member.now)
    assert member.did(Disconnect) == [Disconnect(NODE, parked_only=False)]
    member.on(Tick(), after=1.0)
    member.found()
    assert member.sent(HeartbeatRequest)[-1].generation_id == 1
    assert member.member.identity.generation is not None


def test_searches_for_a_coordinator_that_does_not_serve_wait_longer_each_time() -> None:
    member = Driven()
    member.subscribe()
    pauses = []
    for _ in range(5):
        member.found()
        member.on(RequestFailed(member.ticket(Errand.JOIN_GROUP), LOST))
        pauses.append(member.deadline - member.now)
        member.on(Tick(), after=pauses[-1])
    assert pauses == sorted(pauses)
    assert pauses[-1] > 4 * pauses[0]


def refused_commits(member: Driven, *, served_for: float) -> list[float]:
    """Have commits refused while heartbeats are answered; return how long each search waited."""
    pauses = []
    for _ in range(5):
        generation = member.member.identity.generation
        assert generation is not None
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        member.on(CommitRejected(Reaction.FIND_COORDINATOR, generation, code))
        pauses.append(member.member.coordinator.search_at - member.now)
        member.on(Tick(), after=pauses[-1])
        member.found()
        member.on(Tick(), after=served_for)
        member.beat()
    return pauses


def test_a_coordinator_that_answers_heartbeats_and_takes_no_commit_is_not_searched_in_a_loop() -> (
    None
):
    """1. The log of offsets lacks replicas: commits get COORDINATOR_NOT_AVAILABLE, heartbeats
    are answered; 2. the coordinator is given up, and found again after the first pause; 3. a
    heartbeat goes out at once, and is served; 4. the commit is sent again, and refused: the next
    search waits longer."""
    pauses = refused_commits(Driven().join("t-0"), served_for=0.0)
    assert pauses == sorted(pauses)
    assert pauses[-1] > 4 * pauses[0]


def test_a_lost_coordinator_that_served_as_long_as_it_was_awaited_is_searched_for_soon() -> None:
    pauses = refused_commits(Driven().join("t-0"), served_for=HEARTBEAT)
    assert max(pauses) < 2 * min(pauses)


def test_a_rejoin_after_a_lost_coordinator_keeps_id_generation_and_claims() -> None:
    member = Driven().join("t-0")
    member.on(EnforceRebalance("test"))
    member.on(RequestFailed(member.ticket(Errand.JOIN_GROUP), LOST))
    member.expect(MemberState.FINDING)
    member.on(Tick(), after=1.0)
    member.found()
    assert member.sent(JoinGroupRequest)[-1].member_id == "m-1"
    assert owned_in_join(member) == partitions("t-0")


def test_a_parked_request_that_is_given_up_takes_its_connection_with_it() -> None:
    member = Driven().join("t-0")
    member.on(EnforceRebalance("test"))
    effects = member.on(Unsubscribed())
    assert Disconnect(NODE, parked_only=True) in effects


# -- fatal -------------------------------------------------------------------------------------


def test_a_fenced_member_reports_it_and_sends_nothing_more() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    effects = member.on(
        Answered(
            member.ticket(Errand.HEARTBEAT),
            HeartbeatResponse(error_code=ErrorCode.FENCED_INSTANCE_ID),
        )
    )
    (error,) = [each.error for each in effects if isinstance(each, Raise)]
    assert isinstance(error, FencedError)
    member.expect(MemberState.FENCED)
    assert member.owned() == frozenset()
    assert member.on(Tick(), after=1000.0) == ()


def test_a_refusal_names_the_group_and_the_code() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(code=ErrorCode.INVALID_SESSION_TIMEOUT)
    (raised,) = member.did(Raise)
    assert isinstance(raised.error, BrokerError)
    assert raised.error.code == ErrorCode.INVALID_SESSION_TIMEOUT
    member.expect(MemberState.FAILED)


def test_inexplicable_join_answers_are_retried_for_a_bounded_time() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    begun = member.now
    while not member.is_in(MemberState.FAILED):
        member.on(Polled())
        member.joined(code=ErrorCode.UNKNOWN_SERVER_ERROR)
        member.on(Tick(), after=1.5)
        assert member.now < begun + 4 * REBALANCE
    assert member.now > begun + 2.9 * REBALANCE
    assert [each.note for each in member.did(Tell)] == [Note.JOIN_FAILING]

"""Rounds that cannot be assigned: what the leader does, shows and says."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import AssignmentError, AssignorError, UnauthorizedError
from kgroup.machine.reactions import Reaction
from kgroup.membership.events import (
    CommitRejected,
    EnforceRebalance,
    Note,
    Polled,
    Raise,
    Tell,
    Tick,
    Unsubscribed,
)
from kgroup.types import Cause, ChangeKind, MemberState
from kgroup.wire.messages import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest
from tests.membership.driver import (
    HEARTBEAT,
    REBALANCE,
    SESSION,
    Driven,
    partitions,
    settings,
)

FAILURE = AssignorError("zone", ["gave t-0 twice"])
LATE = ErrorCode.REBALANCE_IN_PROGRESS


def failing(error: Exception = FAILURE) -> Driven:
    member = Driven().lead("t-0")
    member.lead_again(2)
    member.assignor_fails(error)
    return member


def fail_again(member: Driven, error: Exception = FAILURE) -> float:
    """Let the backoff pass and the next round fail too; return how long it was."""
    began = member.now
    wait_to_join(member)
    generation = member.member.identity.generation
    assert generation is not None
    member.joined(generation.generation_id + 1, leader="m-1")
    member.assignor_fails(error)
    return member.now - began


def wait_to_join(member: Driven) -> None:
    """Let the backoff pass; the application polls, and heartbeats are answered."""
    for _ in range(100):
        if member.is_in(MemberState.JOINING):
            return
        member.on(Polled())
        member.on(Tick(), after=max(member.deadline - member.now, 0.0))
        if member.member.heartbeat is not None:
            member.beat()
    raise AssertionError(f"it stays {member.state}")


# -- a round that fails -------------------------------------------------------------------------


def test_a_round_that_cannot_be_assigned_is_joined_again_by_the_same_member() -> None:
    member = failing()
    member.expect(MemberState.BACKING_OFF)
    assert member.owned() == partitions("t-0")
    assert member.calls() == []
    assert member.did(Raise) == []
    fail_again(member)
    request = member.sent(JoinGroupRequest)[-1]
    assert request.member_id == "m-1"
    assert request.reason == Cause.ASSIGNMENT_FAILED.value


def test_a_heartbeat_goes_out_with_every_failure_so_that_no_lease_runs_out() -> None:
    member = failing()
    for _ in range(30):
        beats = len(member.sent(HeartbeatRequest))
        member.beat()
        fail_again(member)
        assert len(member.sent(HeartbeatRequest)) > beats
    assert member.calls() == []
    assert member.owned() == partitions("t-0")


def test_pauses_grow_up_to_a_heartbeat_interval_and_begin_anew_after_success() -> None:
    member = failing()
    pauses = [fail_again(member) for _ in range(8)]
    assert pauses == sorted(pauses)
    assert pauses[-2:] == pytest.approx([HEARTBEAT, HEARTBEAT])
    succeed(member)
    member.lead_again(20)
    member.assignor_fails(FAILURE)
    assert fail_again(member) == pytest.approx(pauses[0])


def test_a_leader_that_cannot_assign_sends_no_heartbeat_while_one_is_out() -> None:
    # 1. A heartbeat falls due while the assignor works; 2. the assignor raises before the answer.
    member = Driven().lead("t-0")
    member.lead_again(2)
    member.on(Polled())
    member.on(Tick(), after=HEARTBEAT)
    assert member.member.heartbeat is not None
    before = len(member.sent(HeartbeatRequest))
    member.assignor_fails(FAILURE)
    assert len(member.sent(HeartbeatRequest)) == before


def test_a_leader_that_cannot_assign_sends_a_heartbeat_when_none_is_out() -> None:
    member = Driven().lead("t-0")
    member.lead_again(2)
    before = len(member.sent(HeartbeatRequest))
    member.assignor_fails(FAILURE)
    assert len(member.sent(HeartbeatRequest)) == before + 1


def succeed(member: Driven) -> None:
    wait_to_join(member)
    member.joined(19, leader="m-1")
    member.assigned()
    member.synced("t-0")
    member.settle()
    member.beat()


def test_the_pause_leaves_the_round_its_time() -> None:
    short = settings()
    assert short.round_backoff_max == HEARTBEAT
    slow = Driven(settings(backoff=REBALANCE))
    assert slow.member.settings.round_backoff_max == REBALANCE / 4


def test_a_cause_is_reported_once_and_another_one_again() -> None:
    member = failing()
    fail_again(member)
    fail_again(member, AssignorError("zone", ["gave t-0 twice"]))
    other = AssignmentError("the coordinator listed a member id twice: ['a']")
    fail_again(member, other)
    warnings = member.did(Tell)
    assert {each.note for each in warnings} == {Note.ROUND_FAILED}
    assert [each.detail for each in warnings] == [str(FAILURE), str(other)]


def test_only_foreign_code_that_raised_is_reported_with_its_place() -> None:
    assert [each.error for each in failing().did(Tell)] == [None]
    member = failing(ValueError("I cannot"))
    (warning,) = member.did(Tell)
    assert isinstance(warning.error, AssignorError)
    assert warning.error.offences == ("raised ValueError('I cannot')",)
    assert isinstance(warning.error.__cause__, ValueError)


def test_the_snapshot_shows_one_error_for_one_cause_until_a_round_is_assigned() -> None:
    member = failing()
    assert member.member.snapshot().trouble is FAILURE
    fail_again(member, AssignorError("zone", ["gave t-0 twice"]))
    assert member.member.snapshot().trouble is FAILURE
    succeed(member)
    assert member.member.snapshot().trouble is None


def test_heartbeats_that_are_answered_do_not_end_what_the_snapshot_shows() -> None:
    member = failing()
    member.beat()
    assert member.member.snapshot().trouble is FAILURE


def test_a_failure_that_lasts_as_long_as_a_round_may_is_raised_by_reads() -> None:
    member = failing()
    began = member.now
    for _ in range(60):
        if member.member.trouble is None:
            fail_again(member)
    assert REBALANCE <= member.now - began <= REBALANCE + HEARTBEAT
    assert member.member.trouble is FAILURE
    succeed(member)
    assert member.member.trouble is None


def raised_by_reads(member: Driven) -> object:
    return member.member.trouble


def lasting() -> Driven:
    member = failing()
    for _ in range(60):
        if member.member.trouble is None:
            fail_again(member)
    return member


def test_another_leader_ends_it() -> None:
    member = lasting()
    wait_to_join(member)
    member.joined(90)
    assert member.member.trouble is None
    assert member.member.snapshot().trouble is None


def test_unsubscribing_ends_it() -> None:
    member = lasting()
    member.on(Unsubscribed())
    assert member.member.trouble is None
    assert member.member.snapshot().trouble is None


def test_a_loss_does_not_end_it() -> None:
    """The next round will fail too; the count goes on."""
    member = lasting()
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.LOSE_GENERATION, generation, 22))
    assert [kind for kind, _ in member.calls()] == [ChangeKind.LOST]
    assert member.member.trouble is FAILURE


def test_a_loss_begins_no_new_count() -> None:
    member = failing()
    began = member.member.lead.failing_since
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.LOSE_GENERATION, generation, 22))
    assert member.member.snapshot().trouble is FAILURE
    assert member.member.lead.failing_since == began


def test_what_is_not_permitted_goes_before_what_fails() -> None:
    member = lasting()
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.UNAUTHORIZED, generation, 30))
    assert isinstance(raised_by_reads(member), UnauthorizedError)
    fail_again(member)  # a heartbeat is answered meanwhile: it is permitted again
    assert raised_by_reads(member) is FAILURE
    assert [each.note for each in member.did(Tell)] == [Note.ROUND_FAILED, Note.NOT_PERMITTED]


def test_a_failure_does_not_hide_what_was_not_permitted_while_the_assignor_worked() -> None:
    member = lasting()
    wait_to_join(member)
    member.joined(90, leader="m-1")
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.UNAUTHORIZED, generation, 30))
    member.assignor_fails(FAILURE)
    assert isinstance(raised_by_reads(member), UnauthorizedError)


def test_a_member_that_is_out_of_the_group_for_good_shows_no_trouble_that_is_tried_again() -> None:
    member = failing()
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.FENCE, generation, 82))
    member.expect(MemberState.FENCED)
    assert member.member.snapshot().trouble is None


def test_a_failing_leader_sends_no_leave() -> None:
    assert lasting().sent(LeaveGroupRequest) == []


# -- rounds that follow each other fast ---------------------------------------------------------


def test_a_follower_beats_although_rounds_begin_anew_again_and_again() -> None:
    """Another leader fails every two seconds: SyncGroup is parked, ended, and it joins again."""
    member = Driven().join("t-0")
    for generation in range(2, 12):
        member.on(Tick(), after=0.0)
        if member.is_in(MemberState.STABLE):
            member.on(EnforceRebalance("x"))
        if member.is_in(MemberState.BACKING_OFF):
            member.on(Tick(), after=member.deadline - member.now)
        member.joined(generation)
        member.on(Tick(), after=2.0)
        if member.member.heartbeat is not None:
            member.beat()
        member.synced(code=LATE)
    assert member.now > 1000.0 + SESSION
    assert member.calls() == []
    assert member.owned() == partitions("t-0")

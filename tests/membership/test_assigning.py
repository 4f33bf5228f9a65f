"""The leader's part in the machine: rounds that fail, rounds it begins, what it keeps of them."""

from types import MappingProxyType

import pytest

from kgroup.assignors import SentAssignment
from kgroup.codes import ErrorCode
from kgroup.errors import AssignmentError, AssignorError, ConnectionLostError, UnauthorizedError
from kgroup.machine.reactions import Reaction
from kgroup.machine.tickets import Errand
from kgroup.membership.events import (
    CommitRejected,
    EnforceRebalance,
    MetadataChanged,
    Note,
    Polled,
    Raise,
    RequestFailed,
    RunAssignor,
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


def again(member: Driven, generation: int) -> None:
    """Have a round begun, of which this member is the leader."""
    member.on(EnforceRebalance("x"))
    member.settle()
    if member.is_in(MemberState.BACKING_OFF):  # it keeps the pace
        member.on(Tick(), after=member.deadline - member.now)
    member.joined(generation, leader="m-1")


def failing(error: Exception = FAILURE) -> Driven:
    member = Driven().lead("t-0")
    again(member, 2)
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
    again(member, 20)
    member.assignor_fails(FAILURE)
    assert fail_again(member) == pytest.approx(pauses[0])


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


def test_a_cause_is_told_once_and_another_one_again() -> None:
    member = failing()
    fail_again(member)
    fail_again(member, AssignorError("zone", ["gave t-0 twice"]))
    other = AssignmentError("the coordinator listed a member id twice: ['a']")
    fail_again(member, other)
    told = member.did(Tell)
    assert {each.note for each in told} == {Note.ROUND_FAILED}
    assert [each.detail for each in told] == [str(FAILURE), str(other)]


def test_only_foreign_code_that_raised_is_told_with_its_place() -> None:
    assert [each.error for each in failing().did(Tell)] == [None]
    member = failing(ValueError("I cannot"))
    (told,) = member.did(Tell)
    assert isinstance(told.error, AssignorError)
    assert told.error.offences == ("raised ValueError('I cannot')",)
    assert isinstance(told.error.__cause__, ValueError)


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
    member.on(CommitRejected(Reaction.DROP_GENERATION, generation, 22))
    assert [kind for kind, _ in member.calls()] == [ChangeKind.LOST]
    assert member.member.trouble is FAILURE


def test_what_is_not_permitted_goes_before_what_fails() -> None:
    member = lasting()
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.UNAUTHORIZED, generation, 30))
    assert isinstance(raised_by_reads(member), UnauthorizedError)
    fail_again(member)  # a heartbeat is answered meanwhile: it is permitted again
    assert raised_by_reads(member) is FAILURE
    assert [each.note for each in member.did(Tell)] == [Note.ROUND_FAILED, Note.NOT_PERMITTED]


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


# -- rounds that an assignor asks for -----------------------------------------------------------


def asking(seconds: float) -> Driven:
    member = Driven().lead("t-0")
    again(member, 2)
    member.assigned(rejoin_after=seconds)
    member.on(Tick(), after=5.0)
    member.synced("t-0")
    member.settle()
    member.beat()
    return member


def pass_time(member: Driven, seconds: float) -> None:
    end = member.now + seconds
    while member.now < end:
        member.on(Polled())
        member.on(Tick(), after=min(member.deadline - member.now, end - member.now, 1.0))
        if member.member.heartbeat is not None:
            member.beat()


def test_the_time_counts_from_the_adoption_of_the_assignment() -> None:
    member = asking(20.0)
    pass_time(member, 19.5)
    member.expect(MemberState.STABLE)
    pass_time(member, 1.0)
    member.expect(MemberState.JOINING)
    assert member.member.round.cause is Cause.REJOIN_DUE
    assert member.sent(JoinGroupRequest)[-1].reason == Cause.REJOIN_DUE.value


@pytest.mark.parametrize("seconds", [1e-300, 0.5, 1.0])
def test_a_generation_stands_for_a_second_at_least(seconds: float) -> None:
    member = asking(seconds)
    assert member.member.lead.rejoin_at == member.now + 1.0


def test_a_round_that_begins_earlier_takes_its_place() -> None:
    member = asking(20.0)
    again(member, 3)
    member.assigned()
    member.synced("t-0")
    member.settle()
    pass_time(member, 50.0)
    member.expect(MemberState.STABLE)


def test_a_leader_that_becomes_a_follower_begins_nothing() -> None:
    member = asking(20.0)
    member.on(EnforceRebalance("x"))
    member.round("t-0", generation=3)
    pass_time(member, 50.0)
    member.expect(MemberState.STABLE)


def test_a_lost_generation_takes_the_round_with_it() -> None:
    member = asking(20.0)
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.DROP_GENERATION, generation, 22))
    assert member.member.lead.rejoin_at is None


def test_a_round_that_was_refused_asks_for_nothing() -> None:
    member = Driven().lead("t-0")
    again(member, 2)
    member.assigned(rejoin_after=20.0)
    member.synced(code=LATE)
    member.joined(3)
    member.synced("t-0")
    assert member.member.lead.rejoin_at is None


# -- what a leader keeps of what it sent --------------------------------------------------------


def sent(generation: int) -> SentAssignment:
    return SentAssignment(generation, MappingProxyType({}))


def asked_with(member: Driven) -> SentAssignment | None:
    return member.did(RunAssignor)[-1].sent


def led(generation: int = 2) -> Driven:
    """A leader whose assignment the coordinator took."""
    member = Driven().lead("t-0")
    again(member, generation)
    member.assigned(sent=sent(generation))
    member.synced("t-0")
    member.settle()
    member.beat()
    return member


def test_the_assignor_is_asked_with_what_the_coordinator_took_last() -> None:
    member = led()
    again(member, 3)
    assert asked_with(member) == sent(2)
    assert member.did(RunAssignor)[-1].generation_id == 3


def test_a_round_that_failed_changed_nothing() -> None:
    member = led()
    again(member, 3)
    member.assignor_fails(FAILURE)
    fail_again(member)
    assert asked_with(member) == sent(2)


def test_an_assignment_that_was_refused_was_given_to_nobody() -> None:
    member = led()
    again(member, 3)
    member.assigned(sent=sent(3))
    member.synced(code=LATE)
    member.joined(4, leader="m-1")
    assert asked_with(member) == sent(2)


def test_an_assignment_whose_fate_is_not_known_makes_the_leader_forget() -> None:
    member = led()
    again(member, 3)
    member.assigned(sent=sent(3))
    member.on(RequestFailed(member.ticket(Errand.SYNC_GROUP), ConnectionLostError("h:1", "reset")))
    member.on(Tick(), after=1.0)
    member.found()
    member.joined(4, leader="m-1")
    assert asked_with(member) is None


def test_another_leader_makes_it_forget() -> None:
    member = led()
    member.on(EnforceRebalance("x"))
    member.round("t-0", generation=3)
    again(member, 4)
    assert asked_with(member) is None


def test_a_lost_generation_makes_it_forget() -> None:
    member = led()
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.DROP_GENERATION, generation, 22))
    member.settle()
    member.joined(3, leader="m-1")
    assert asked_with(member) is None


def test_new_partitions_do_not() -> None:
    member = led()
    member.on(MetadataChanged({"t": 9}))
    member.joined(3, leader="m-1")
    assert asked_with(member) == sent(2)

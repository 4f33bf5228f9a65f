"""Leaving, falling silent, topics that change, answers that cannot be used."""

from dataclasses import replace

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError, FencedError
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    AssignorFailed,
    CallListener,
    CloseRequested,
    Done,
    Drained,
    EnforceRebalance,
    MetadataChanged,
    Note,
    Polled,
    Raise,
    Send,
    Tell,
    Tick,
    Unsubscribed,
)
from kgroup.types import Cause, ChangeKind, Leave, MemberState
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
)
from tests.membership.driver import (
    HEARTBEAT,
    REBALANCE,
    SESSION,
    Driven,
    join_answer,
    partitions,
    settings,
)

EAGER = ("range",)
LOST = ConnectionLostError("h:1", "reset")


# -- leaving -----------------------------------------------------------------------------------


def close(member: Driven, mode: Leave = Leave.DEFAULT) -> None:
    member.on(CloseRequested(mode, "closing", member.now + 4.0, member.now + 5.0))


def test_a_close_hands_back_then_leaves_then_ends() -> None:
    member = Driven().join("t-0")
    close(member)
    assert member.sent(LeaveGroupRequest) == []
    member.settle()
    (request,) = member.sent(LeaveGroupRequest)
    assert request.members[0].member_id == "m-1"
    member.left()
    member.expect(MemberState.LEFT)
    assert member.did(Done) == [Done()]


def test_what_is_revoked_for_a_close_says_so() -> None:
    member = Driven().join("t-0")
    close(member)
    member.on(Drained(member.member.holdings.claims))
    assert member.member.changes[0].cause is Cause.CLOSING


def test_a_static_member_does_not_leave_by_default() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    close(member)
    member.settle()
    assert member.sent(LeaveGroupRequest) == []
    member.expect(MemberState.LEFT)


def test_a_static_member_leaves_when_asked_to() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    close(member, Leave.LEAVE)
    member.settle()
    assert member.sent(LeaveGroupRequest)[0].members[0].group_instance_id == "i-1"


def test_a_twin_found_while_unsubscribing_is_reported() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    member.on(Unsubscribed())
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.FENCED_INSTANCE_ID)
    assert [type(each.error) for each in member.did(Raise)] == [FencedError]


def test_a_member_that_is_only_pending_leaves_too() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(0, code=ErrorCode.MEMBER_ID_REQUIRED)
    close(member)
    assert member.sent(LeaveGroupRequest)[0].members[0].member_id == "m-1"


def test_a_close_ends_in_time_though_the_listener_hangs_and_no_broker_answers() -> None:
    member = Driven().join("t-0")
    close(member)
    begun = member.now
    while not member.is_in(MemberState.LEFT):
        member.now = max(member.now, member.deadline)
        member.on(Tick())
        assert member.now <= begun + 5.0
    assert member.did(Done) == [Done()]


def test_a_close_waits_for_the_coordinator_that_is_being_looked_for_and_then_leaves() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.NOT_COORDINATOR)
    close(member)
    member.settle()
    member.expect(MemberState.LEAVING)
    member.on(Tick(), after=0.5)
    member.found()
    assert len(member.sent(LeaveGroupRequest)) == 1
    member.left()
    member.expect(MemberState.LEFT)


def test_a_close_ends_in_time_though_the_coordinator_is_never_found() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.NOT_COORDINATOR)
    close(member)
    member.settle()
    member.on(Tick(), after=5.0)
    member.expect(MemberState.LEFT)
    assert member.sent(LeaveGroupRequest) == []


def test_unsubscribing_and_subscribing_again_joins_after_having_left() -> None:
    member = Driven().join("t-0")
    member.on(Unsubscribed())
    member.settle()
    member.subscribe("u")
    member.expect(MemberState.LEAVING)
    member.left()
    member.expect(MemberState.JOINING)
    assert member.sent(JoinGroupRequest)[-1].member_id == ""


def test_what_is_cut_for_an_unsubscription_says_so() -> None:
    member = Driven().join("t-0")
    member.on(Unsubscribed())
    end = member.now + REBALANCE / 2
    keep_alive(member, REBALANCE / 2)
    assert member.now >= end
    (change,) = member.member.changes
    assert (change.kind, change.cause) == (ChangeKind.REVOKED, Cause.UNSUBSCRIBED)


# -- polling -----------------------------------------------------------------------------------


def keep_alive(member: Driven, seconds: float) -> None:
    end = member.now + seconds
    while member.now < end:
        member.on(Tick(), after=min(1.0, end - member.now))
        if member.member.heartbeat is not None:
            member.beat()


def test_a_dynamic_member_that_is_not_polled_leaves_and_comes_back() -> None:
    member = Driven().join("t-0")
    keep_alive(member, REBALANCE + 1)
    member.expect(MemberState.DORMANT)
    assert len(member.sent(LeaveGroupRequest)) == 1
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    member.on(Polled())
    member.expect(MemberState.JOINING)
    assert member.sent(JoinGroupRequest)[-1].member_id == ""


def test_a_round_that_waits_less_long_than_the_application_may_take_ends_no_membership() -> None:
    apart = replace(settings(), rebalance_timeout=10.0, max_poll_interval=REBALANCE)
    member = Driven(apart).join("t-0")
    assert member.sent(JoinGroupRequest)[-1].rebalance_timeout_ms == 10_000
    keep_alive(member, REBALANCE - 1)
    member.expect(MemberState.STABLE)
    keep_alive(member, 2)
    member.expect(MemberState.DORMANT)


def test_a_static_member_that_is_not_polled_falls_silent() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    keep_alive(member, REBALANCE + 1)
    member.expect(MemberState.DORMANT)
    assert member.sent(LeaveGroupRequest) == []
    beats = len(member.sent(HeartbeatRequest))
    member.on(Tick(), after=30.0)
    assert len(member.sent(HeartbeatRequest)) == beats


@pytest.mark.parametrize(
    ("instance", "expected"), [("i-1", []), (None, [LeaveGroupRequest])], ids=["static", "dynamic"]
)
def test_a_member_that_wakes_beyond_its_session_and_its_poll_interval_does_not_join(
    instance: str | None, expected: list[type]
) -> None:
    # 1. the process stands still beyond both; 2. it wakes, and its lease is over: it would join; 3.
    # nobody has polled for too long, so it is out of the group in the same step. A JoinGroup that
    # went out after all would have the group wait for it, and a heartbeat would keep its place.
    member = Driven(settings(instance=instance)).join("t-0")
    effects = member.on(Tick(), after=REBALANCE + 1)
    member.expect(MemberState.DORMANT)
    assert [type(each.request) for each in effects if isinstance(each, Send)] == expected


def test_a_member_that_wakes_to_join_and_is_unsubscribed_at_once_does_not_join() -> None:
    member = Driven().join("t-0")
    effects = member.on(Unsubscribed(), after=SESSION + 1)
    assert [type(each.request) for each in effects if isinstance(each, Send)] == [LeaveGroupRequest]


# -- topics ------------------------------------------------------------------------------------


def leading(*, counts: dict[str, int]) -> Driven:
    member = Driven()
    member.on(MetadataChanged(counts))
    member.subscribe()
    member.found()
    member.joined(1, leader="m-1")
    member.assigned()
    member.synced("t-0")
    member.settle()
    member.beat()
    return member


def test_the_leader_watches_partition_counts() -> None:
    member = leading(counts={"t": 4})
    member.on(MetadataChanged({"t": 4, "other": 3}))
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 5}))
    member.expect(MemberState.JOINING)


def test_a_follower_leaves_partition_counts_to_the_leader() -> None:
    member = Driven().join("t-0")
    member.on(MetadataChanged({"t": 9}))
    member.expect(MemberState.STABLE)


def test_counts_that_changed_during_the_round_lead_to_another_one() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(1, leader="m-1")
    member.on(MetadataChanged({"t": 5}))
    member.assigned()
    member.synced("t-0")
    member.expect(MemberState.JOINING)


def returned(*names: str) -> Driven:
    """A static member that subscribes to t and u and is given `names` at once."""
    member = Driven(settings(instance="i-1"))
    member.on(MetadataChanged({"t": 4, "u": 4}))
    member.subscribe("t", "u")
    member.found()
    member.joined(7)
    member.synced(*names)
    return member


def test_a_static_member_that_comes_back_with_one_topic_more_begins_a_round() -> None:
    member = returned("t-0")
    member.expect(MemberState.JOINING)
    first, second = member.sent(JoinGroupRequest)
    assert (first.member_id, second.member_id) == ("", "m-1")
    assert first.protocols[0].metadata != second.protocols[0].metadata
    member.round("t-0", generation=8)
    member.expect(MemberState.STABLE)


def test_a_static_member_that_comes_back_to_all_its_topics_asks_for_no_round() -> None:
    member = returned("t-0", "u-0")
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 1


def test_a_leader_that_has_no_assignment_in_time_joins_another_round() -> None:
    member = leading(counts={"t": 4})
    member.on(EnforceRebalance("test"))
    member.joined(2, leader="m-1")
    member.on(AssignorFailed(member.ticket(Errand.RUN_ASSIGNOR), TimeoutError("late")))
    member.expect(MemberState.BACKING_OFF)
    assert member.owned() == partitions("t-0")
    assert [each.note for each in member.did(Tell)] == [Note.ASSIGNING_LATE]
    member.on(Tick(), after=1.0)
    member.expect(MemberState.JOINING)


def test_a_returned_leader_that_cannot_learn_the_group_watches_its_own_topics() -> None:
    member = Driven(settings(instance="i-1"))
    member.on(MetadataChanged({"t": 4}))
    member.subscribe()
    member.found()
    answer = join_answer(member.member, 2, leader="m-1", skip=True)
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))
    member.on(AssignorFailed(member.ticket(Errand.RUN_ASSIGNOR), TimeoutError("metadata")))
    member.synced("t-0")
    member.on(MetadataChanged({"t": 4}))
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 5}))
    member.expect(MemberState.JOINING)


# -- answers that cannot be used ---------------------------------------------------------------


def test_an_unreadable_assignment_is_owned_by_nobody_and_joined_again_after_a_pause() -> None:
    member = Driven().join("t-0")
    member.on(EnforceRebalance("test"))
    member.joined(2)
    member.synced(data=b"\x00\x03\x00")
    member.expect(MemberState.BACKING_OFF)
    assert member.owned() == frozenset()
    member.on(Tick(), after=2.0)
    member.expect(MemberState.JOINING)


def test_an_empty_assignment_means_nothing() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(1)
    member.synced(data=b"")
    member.expect(MemberState.STABLE)
    assert member.owned() == frozenset()


def test_partitions_of_topics_not_asked_for_are_not_owned_and_begin_a_round() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(1)
    member.synced("t-0", "x-0")
    assert member.owned() == partitions("t-0")
    member.expect(MemberState.JOINING)


def test_an_answer_that_names_an_assignor_nobody_offered_is_not_believed() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    answer = JoinGroupResponse(
        generation_id=1, protocol_name="foreign", leader="x", member_id="m-1", members=()
    )
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))
    member.expect(MemberState.BACKING_OFF)


def test_every_ownership_change_is_reported_in_order() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)
    member.joined(1, member_id="m-2")
    member.synced("t-0")
    kinds = [each.change.kind for each in member.did(CallListener)]
    serials = [each.change.serial for each in member.did(CallListener)]
    assert kinds == [ChangeKind.ASSIGNED, ChangeKind.LOST, ChangeKind.ASSIGNED]
    assert serials == sorted(serials)

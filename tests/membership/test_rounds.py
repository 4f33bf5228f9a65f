"""Whole rounds, as the reader of the protocol meets them."""

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, ConnectionLostError, FencedError
from kgroup.machine.tickets import Errand
from kgroup.membership.events import (
    Answered,
    CallListener,
    CloseRequested,
    Disconnect,
    Done,
    Drained,
    EnforceRebalance,
    ListenerDone,
    MetadataChanged,
    Note,
    Polled,
    Raise,
    RequestFailed,
    RunAssignor,
    Subscribed,
    Tell,
    Tick,
    Unsubscribed,
)
from kgroup.types import Cause, ChangeKind, Leave, MemberState
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from tests.membership.driver import (
    HEARTBEAT,
    NODE,
    REBALANCE,
    SESSION,
    Driven,
    join_answer,
    partitions,
    settings,
)

EAGER = ("range",)
LOST = ConnectionLostError("h:1", "reset")


def owned_in_join(member: Driven) -> frozenset[object]:
    request = member.sent(JoinGroupRequest)[-1]
    return frozenset(decode_subscription(request.protocols[0].metadata).owned)


def generation_in_join(member: Driven) -> int | None:
    request = member.sent(JoinGroupRequest)[-1]
    return decode_subscription(request.protocols[0].metadata).generation_id


def test_one_round_as_follower() -> None:
    member = Driven()
    member.subscribe()
    assert len(member.sent(FindCoordinatorRequest)) == 1
    member.found()
    assert member.sent(JoinGroupRequest)[-1].member_id == ""
    member.joined(0, code=ErrorCode.MEMBER_ID_REQUIRED)
    assert member.sent(JoinGroupRequest)[-1].member_id == "m-1"
    member.joined(1)
    sync = member.sent(SyncGroupRequest)[-1]
    assert (sync.generation_id, sync.member_id, sync.assignments) == (1, "m-1", ())
    member.synced("t-0", "t-1")
    member.expect(MemberState.STABLE)
    assert member.calls() == [(ChangeKind.ASSIGNED, partitions("t-0", "t-1"))]


def test_one_round_as_leader() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(1, leader="m-1")
    member.expect(MemberState.ASSIGNING)
    (run,) = member.did(RunAssignor)
    assert [each.member_id for each in run.members] == ["m-1"]
    member.assigned()
    (given,) = member.sent(SyncGroupRequest)[-1].assignments
    assert given.member_id == "m-1"
    member.synced("t-0")
    assert member.member.round.leader


def test_a_heartbeat_is_sent_at_once_after_the_sync() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(1)
    member.synced("t-0")
    assert len(member.sent(HeartbeatRequest)) == 1


def test_nothing_is_delivered_before_the_first_heartbeat_is_answered() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(1)
    member.synced("t-0")
    member.settle()
    claim = member.claim("t-0")
    assert not member.member.may_deliver(claim, member.now)
    member.beat()
    assert member.member.may_deliver(claim, member.now)


def test_nothing_is_delivered_before_on_assigned_has_returned() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(1)
    member.synced("t-0")
    member.beat()
    claim = member.claim("t-0")
    assert not member.member.may_deliver(claim, member.now)
    member.settle()
    assert member.member.may_deliver(claim, member.now)


def test_all_assignors_are_offered_in_one_join_in_order_of_preference() -> None:
    member = Driven(settings(assignors=("sticky", "range", "roundrobin")))
    member.subscribe()
    member.found()
    (request,) = member.sent(JoinGroupRequest)
    assert [each.name for each in request.protocols] == ["sticky", "range", "roundrobin"]


# -- cooperative ----------------------------------------------------------------------------


def test_a_cooperative_member_rejoins_at_once_and_claims_what_it_holds() -> None:
    member = Driven().join("t-0", "t-1")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0", "t-1")
    assert generation_in_join(member) == 1
    assert member.sent(JoinGroupRequest)[-1].member_id == "m-1"
    assert member.calls() == []


def test_kept_partitions_keep_their_claim_and_stay_deliverable() -> None:
    member = Driven().join("t-0", "t-1")
    kept = member.claim("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    assert member.member.may_deliver(kept, member.now)
    member.joined(2)
    member.synced("t-0")
    assert member.claim("t-0") == kept
    assert member.member.may_deliver(kept, member.now)


def test_what_moves_is_drained_revoked_and_only_then_given_up_in_a_further_round() -> None:
    member = Driven().join("t-0", "t-1")
    moving = member.claim("t-1")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.joined(2)
    member.synced("t-0")
    member.on(ListenerDone(member.member.changes[0].serial))
    assert not member.member.may_deliver(moving, member.now)
    assert member.calls() == []
    member.on(Drained((moving,)))
    assert member.calls() == [(ChangeKind.REVOKED, partitions("t-1"))]
    member.expect(MemberState.STABLE)
    member.on(ListenerDone(member.member.changes[0].serial))
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0")


def test_a_round_during_a_batch_in_hand_still_claims_the_draining_partition() -> None:
    member = Driven().join("t-0", "t-1")
    moving = member.claim("t-1")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.joined(2)
    member.synced("t-0")
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    assert owned_in_join(member) == partitions("t-0", "t-1")
    member.joined(3)
    member.synced("t-0", "t-1")
    assert member.claim("t-1") == moving
    member.expect(MemberState.STABLE)


def test_a_partition_given_back_while_it_is_revoked_is_owned_again_in_a_new_period() -> None:
    member = Driven().join("t-0", "t-1")
    old = member.claim("t-1")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.joined(2)
    member.synced("t-0")
    member.on(ListenerDone(member.member.changes[0].serial))
    member.on(Drained((old,)))
    revoked = member.member.changes[0]
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.joined(3)
    member.synced("t-0", "t-1")
    member.on(ListenerDone(revoked.serial))
    member.expect(MemberState.STABLE)
    assert member.claim("t-1").serial > old.serial
    assert member.calls()[-1] == (ChangeKind.ASSIGNED, partitions("t-1"))


def test_partitions_of_a_dropped_topic_are_handed_back_before_the_join() -> None:
    member = Driven()
    member.subscribe("t", "u")
    member.found()
    member.joined(1)
    member.synced("t-0", "u-0")
    member.settle()
    joins = len(member.sent(JoinGroupRequest))
    member.on(Subscribed(frozenset({"t"})))
    member.expect(MemberState.PREPARING)
    assert len(member.sent(JoinGroupRequest)) == joins
    member.settle()
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0")


# -- eager ----------------------------------------------------------------------------------


def test_an_eager_member_hands_everything_back_before_it_joins() -> None:
    member = Driven(settings(assignors=EAGER)).join("t-0", "t-1")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.expect(MemberState.PREPARING)
    claims = member.member.holdings.claims
    member.on(Drained(claims[:1]))
    assert member.calls() == []
    member.on(Drained(claims))
    assert member.calls() == [(ChangeKind.REVOKED, partitions("t-0", "t-1"))]
    member.settle()
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == frozenset()
    assert member.owned() == frozenset()


def test_an_eager_batch_in_hand_is_cut_after_half_the_rebalance_timeout() -> None:
    member = Driven(settings(assignors=EAGER)).join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    begun = member.now
    while member.now < begun + REBALANCE / 2 - 2:
        member.on(Tick(), after=2.0)
        if member.member.heartbeat is not None:
            member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    assert member.calls() == []
    member.on(Tick(), after=2.1)
    assert member.calls() == [(ChangeKind.REVOKED, partitions("t-0"))]
    assert [each.note for each in member.did(Tell)] == [Note.DRAIN_CUT]


# -- losing ---------------------------------------------------------------------------------


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


def test_partitions_lost_while_on_revoked_runs_are_not_reported_lost_as_well() -> None:
    member = Driven(settings(assignors=EAGER)).join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.on(Drained(member.member.holdings.claims))
    revoked = member.member.changes[0]
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)
    assert [kind for kind, _ in member.calls()] == [ChangeKind.REVOKED]
    joins = len(member.sent(JoinGroupRequest))
    member.on(ListenerDone(revoked.serial))
    assert len(member.sent(JoinGroupRequest)) == joins


# -- the coordinator ------------------------------------------------------------------------


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


# -- fatal ----------------------------------------------------------------------------------


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


# -- leaving --------------------------------------------------------------------------------


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


def test_a_static_member_leaves_when_told_to() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    close(member, Leave.LEAVE)
    member.settle()
    assert member.sent(LeaveGroupRequest)[0].members[0].group_instance_id == "i-1"


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


def test_unsubscribing_and_subscribing_again_joins_after_having_left() -> None:
    member = Driven().join("t-0")
    member.on(Unsubscribed())
    member.settle()
    member.subscribe("u")
    member.expect(MemberState.LEAVING)
    member.left()
    member.expect(MemberState.JOINING)
    assert member.sent(JoinGroupRequest)[-1].member_id == ""


# -- polling --------------------------------------------------------------------------------


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


def test_a_static_member_that_is_not_polled_falls_silent() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    keep_alive(member, REBALANCE + 1)
    member.expect(MemberState.DORMANT)
    assert member.sent(LeaveGroupRequest) == []
    beats = len(member.sent(HeartbeatRequest))
    member.on(Tick(), after=30.0)
    assert len(member.sent(HeartbeatRequest)) == beats


# -- topics ---------------------------------------------------------------------------------


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


# -- answers that cannot be used --------------------------------------------------------------


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


def test_partitions_of_topics_not_asked_for_are_not_owned_and_the_group_is_told() -> None:
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


def test_every_ownership_change_is_told_in_order() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)
    member.joined(1, member_id="m-2")
    member.synced("t-0")
    kinds = [each.change.kind for each in member.did(CallListener)]
    serials = [each.change.serial for each in member.did(CallListener)]
    assert kinds == [ChangeKind.ASSIGNED, ChangeKind.LOST, ChangeKind.ASSIGNED]
    assert serials == sorted(serials)

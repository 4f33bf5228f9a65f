"""Whole rounds, as the reader of the protocol meets them."""

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Drained,
    EnforceRebalance,
    ListenerDone,
    Note,
    RequestFailed,
    RunAssignor,
    Subscribed,
    Tell,
    Tick,
)
from kgroup.types import Cause, ChangeKind, MemberState
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    SyncGroupRequest,
)
from tests.membership.driver import (
    HEARTBEAT,
    REBALANCE,
    Driven,
    generation_in_join,
    owned_in_join,
    partitions,
    settings,
)

EAGER = ("range",)
LOST = ConnectionLostError("h:1", "reset")
PAUSE = 0.1
"""Longest pause of a member between a round and the next that it asks for."""


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


def test_a_heartbeat_that_is_due_when_the_sync_is_answered_is_sent_once() -> None:
    """One heartbeat leaves, the one that proves the lease of the generation.

    1. the heartbeat after the first round is sent; 2. the group rejoins, and waits for SyncGroup;
    3. its answer arrives when the next heartbeat is due, neither before nor after: the timer fires
    in the step that hears the answer, and entering the generation asks for a heartbeat as well.
    """
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(1)
    member.synced("t-0")
    member.settle()
    member.beat()
    member.on(EnforceRebalance("now"))
    member.joined(2)
    before = len(member.sent(HeartbeatRequest))
    member.now += HEARTBEAT
    member.synced("t-0")
    heartbeats = member.sent(HeartbeatRequest)[before:]
    assert [each.generation_id for each in heartbeats] == [2]
    member.beat()
    assert member.member.may_deliver(member.claim("t-0"), member.now)


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


# -- cooperative -------------------------------------------------------------------------------


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
    member.expect(MemberState.STABLE)  # others may not have heard of their assignment yet
    member.on(Tick(), after=PAUSE)
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0")


def taken(*left: str) -> Driven:
    """Return a member of three partitions of which a round has taken all but some."""
    member = Driven().join("t-0", "t-1", "t-2")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.joined(2)
    member.synced(*left)
    member.on(ListenerDone(member.member.changes[0].serial))
    return member


def test_a_member_that_has_to_join_while_handing_over_joins_when_that_is_done() -> None:
    member = taken("t-0", "t-1")
    moving = member.claim("t-2")
    member.on(Drained((moving,)))
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.expect(MemberState.STABLE)
    member.on(Tick(), after=PAUSE)
    member.on(ListenerDone(member.member.changes[0].serial))
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0", "t-1")


def test_what_is_handed_over_first_waits_for_what_goes_with_it() -> None:
    member = taken("t-0")
    for name in ("t-1", "t-2"):
        member.expect(MemberState.STABLE)
        member.on(Drained((member.claim(name),)))
        member.on(ListenerDone(member.member.changes[0].serial))
        member.on(Tick(), after=PAUSE)
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0")


def test_a_round_begins_at_the_limit_though_not_all_is_handed_over() -> None:
    member = taken("t-0")
    member.on(Drained((member.claim("t-1"),)))
    member.on(ListenerDone(member.member.changes[0].serial))
    member.on(Tick(), after=PAUSE)
    member.expect(MemberState.STABLE)
    member.on(Tick(), after=HEARTBEAT)
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0", "t-2")


def test_a_round_during_a_batch_in_hand_still_claims_the_draining_partition() -> None:
    member = Driven().join("t-0", "t-1")
    moving = member.claim("t-1")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.joined(2)
    member.synced("t-0")
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.expect(MemberState.STABLE)
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.expect(MemberState.JOINING)
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
    member.beat()
    member.on(Tick(), after=HEARTBEAT)
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


def dropping_u_while_joining() -> Driven:
    member = Driven()
    member.subscribe("t", "u")
    member.found()
    member.joined(1)
    member.synced("t-0", "u-0")
    member.settle()
    member.beat()
    member.on(EnforceRebalance("test"))
    member.on(Subscribed(frozenset({"t"})))
    return member


def test_a_topic_dropped_during_a_round_is_handed_back_before_the_join_that_lacks_it() -> None:
    member = dropping_u_while_joining()
    member.on(RequestFailed(member.ticket(Errand.JOIN_GROUP), LOST))
    member.expect(MemberState.PREPARING)
    member.on(Tick(), after=0.5)
    member.found()
    member.expect(MemberState.PREPARING)
    member.settle()
    assert owned_in_join(member) == partitions("t-0")


def test_a_topic_dropped_during_a_round_is_handed_back_after_a_backoff_too() -> None:
    member = dropping_u_while_joining()
    member.joined(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    member.on(Tick(), after=1.0)
    member.expect(MemberState.PREPARING)
    member.settle()
    assert owned_in_join(member) == partitions("t-0")


def test_what_goes_with_a_dropped_topic_says_so_whatever_the_round_began_for() -> None:
    """1. The application asks for a round, and JoinGroup is refused for now; 2. it drops a topic
    meanwhile; 3. what that takes away has that cause, which the round has not."""
    member = dropping_u_while_joining()
    member.joined(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    member.on(Tick(), after=1.0)
    member.on(Drained((member.claim("u-0"),)))
    assert [change.cause for change in member.member.changes] == [Cause.TOPICS_CHANGED]


def test_what_goes_with_a_dropped_topic_says_so_also_when_a_batch_is_not_waited_for() -> None:
    member = dropping_u_while_joining()
    member.joined(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    member.on(Tick(), after=1.0)
    member.expect(MemberState.PREPARING)
    limit = member.now + REBALANCE / 2
    while member.now < limit:
        assert member.calls() == []
        member.on(Tick(), after=2.0)
        if member.member.heartbeat is not None:
            member.beat()
    assert [each.note for each in member.did(Tell)] == [Note.DRAIN_CUT]
    assert [change.cause for change in member.member.changes] == [Cause.TOPICS_CHANGED]


def test_what_goes_with_a_dropped_topic_and_with_another_has_the_cause_of_the_round() -> None:
    """Eager: all of it is handed back in one call, which a topic that stays is in."""
    member = Driven(settings(assignors=EAGER))
    member.subscribe("t", "u")
    member.found()
    member.joined(1)
    member.synced("t-0", "u-0")
    member.settle()
    member.on(EnforceRebalance("test"))
    member.on(Subscribed(frozenset({"t"})))
    member.on(Drained(member.member.holdings.claims))
    assert [change.cause for change in member.member.changes] == [Cause.ENFORCED]


def test_what_is_given_up_of_topics_that_are_still_wanted_has_the_cause_of_the_round() -> None:
    member = Driven(settings(assignors=EAGER)).join("t-0")
    member.on(EnforceRebalance("test"))
    member.on(Subscribed(frozenset({"t", "u"})))
    member.on(Drained(member.member.holdings.claims))
    assert [change.cause for change in member.member.changes] == [Cause.ENFORCED]


# -- eager -------------------------------------------------------------------------------------


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

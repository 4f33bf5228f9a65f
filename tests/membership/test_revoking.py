"""A member is lost, or leaves, while its listener still gives partitions back."""

from collections.abc import Callable

import pytest

from kgroup.codes import ErrorCode
from kgroup.machine.claims import HoldingState
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    CloseRequested,
    Drained,
    EnforceRebalance,
    ListenerDone,
    Note,
    Polled,
    Subscribed,
    Tell,
    Tick,
    Unsubscribed,
)
from kgroup.membership.settings import MembershipSettings
from kgroup.types import ChangeKind, Leave, MemberState
from kgroup.wire.messages import (
    JoinGroupRequest,
    LeaveGroupRequest,
)
from tests.membership.driver import (
    HEARTBEAT,
    REBALANCE,
    SESSION,
    Driven,
    generation_in_join,
    owned_in_join,
    partitions,
    settings,
)

EAGER = ("range",)


def revoking(chosen: MembershipSettings) -> tuple[Driven, int]:
    """A member that has to give t-0 back, and the call that has not returned."""
    member = Driven(chosen).join("t-0")
    member.on(Subscribed(frozenset("u")))
    member.on(Drained(member.member.holdings.having(HoldingState.DRAINING)))
    (change,) = member.member.changes
    assert change.kind is ChangeKind.REVOKED
    return member, change.serial


def lose_by_the_clock(member: Driven) -> None:
    member.on(Tick(), after=SESSION)


def be_expelled(member: Driven) -> None:
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)


def find_the_generation_stale(member: Driven) -> None:
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.ILLEGAL_GENERATION)


LOSSES = [lose_by_the_clock, be_expelled, find_the_generation_stale]


@pytest.mark.parametrize("assignors", [EAGER, ("cooperative-sticky",)])
@pytest.mark.parametrize("lose", LOSSES)
def test_a_member_that_is_lost_while_on_revoked_runs_joins_when_it_has_returned(
    assignors: tuple[str, ...], lose: Callable[[Driven], None]
) -> None:
    """1. on_revoked(t-0) runs; 2. the membership is lost, and nothing can be claimed by it;
    3. a JoinGroup now would end the round, and give t-0 to others while the listener works on it.
    """
    member, call = revoking(settings(assignors=assignors))
    joins = len(member.sent(JoinGroupRequest))
    lose(member)
    member.expect(MemberState.PREPARING)
    member.on(Polled(), after=REBALANCE / 2)
    assert len(member.sent(JoinGroupRequest)) == joins
    member.on(ListenerDone(call))
    assert len(member.sent(JoinGroupRequest)) == joins + 1
    assert owned_in_join(member) == frozenset()
    assert generation_in_join(member) is None


def test_what_is_lost_during_a_round_that_claims_it_is_waited_for_before_the_next() -> None:
    """1. JoinGroup claims t-0, whose listener gives it back; 2. the lease ends; 3. the round gives
    t-0 to nobody, for it was claimed; 4. the next one will not claim it."""
    member = Driven().join("t-0", "t-1")
    member.on(EnforceRebalance("x"))
    member.joined(2)
    member.synced("t-1")
    member.beat()
    (assigned,) = member.member.changes
    member.on(ListenerDone(assigned.serial))
    member.on(Drained(member.member.holdings.having(HoldingState.DRAINING)))
    (change,) = member.member.changes
    member.on(EnforceRebalance("y"))
    member.expect(MemberState.JOINING)
    member.on(Tick(), after=SESSION)
    member.expect(MemberState.JOINING)
    member.joined(3)
    member.synced("t-1")
    member.expect(MemberState.PREPARING)
    joins = len(member.sent(JoinGroupRequest))
    member.on(ListenerDone(change.serial))
    assert len(member.sent(JoinGroupRequest)) == joins + 1


def test_a_member_that_unsubscribes_and_is_lost_leaves_when_on_revoked_has_returned() -> None:
    member, call = revoking(settings())
    member.on(Unsubscribed())
    lose_by_the_clock(member)
    member.expect(MemberState.RELEASING)
    assert member.sent(LeaveGroupRequest) == []
    member.settle()
    assert call not in [change.serial for change in member.member.changes]
    assert len(member.sent(LeaveGroupRequest)) == 1


def pass_time(member: Driven, seconds: float) -> None:
    """Let time pass in which the application reads, and heartbeats are answered."""
    end = member.now + seconds
    while member.now < end:
        member.on(Polled(), after=1.0)
        if member.member.heartbeat is not None:
            member.beat()


@pytest.mark.parametrize("assignors", [EAGER, ("cooperative-sticky",)])
@pytest.mark.parametrize("lose", LOSSES)
def test_a_listener_that_hangs_after_a_loss_does_not_keep_its_member_out_for_good(
    assignors: tuple[str, ...], lose: Callable[[Driven], None]
) -> None:
    """It may shield itself, or block a thread: then nothing cuts it off, and POLL_EXPIRED says
    nothing, for the application reads. No round waits for longer either."""
    member, call = revoking(settings(assignors=assignors))
    joins = len(member.sent(JoinGroupRequest))
    member.on(Polled())
    lose(member)
    waits_since = member.now
    member.expect(MemberState.PREPARING)
    (warning,) = member.did(Tell)
    assert warning.note is Note.LISTENER_AWAITED
    assert warning.detail == "t-0; 60 s at most"
    pass_time(member, REBALANCE - 1)
    assert len(member.sent(JoinGroupRequest)) == joins
    pass_time(member, REBALANCE + 1)
    assert len(member.sent(JoinGroupRequest)) == joins + 1
    join = member.ticket(Errand.JOIN_GROUP)
    assert join.sent_at == waits_since + REBALANCE
    member.joined(7)
    member.synced("u-0")
    member.expect(MemberState.STABLE)
    assert member.did(Tell) == [warning]
    assert call in [change.serial for change in member.member.changes]


def test_the_wait_for_a_listener_does_not_begin_anew_when_the_application_reads_again() -> None:
    member, _ = revoking(settings())
    lose_by_the_clock(member)
    due = member.now + REBALANCE
    member.on(Tick(), after=REBALANCE - SESSION)
    member.expect(MemberState.DORMANT)
    member.on(Polled())
    member.expect(MemberState.PREPARING)
    assert member.deadline == due
    assert len(member.did(Tell)) == 1
    member.on(Tick(), after=due - member.now)
    member.expect(MemberState.JOINING)


def test_a_member_that_is_given_back_what_it_lost_while_on_revoked_runs_need_not_wait() -> None:
    """1. on_revoked(t-0) runs while JoinGroup is parked; 2. the lease ends; 3. the round gives t-0
    back; 4. the next one is signalled, and all wait for it: JoinGroup claims what there is."""
    member = Driven().join("t-0", "t-1")
    member.on(EnforceRebalance("x"))
    member.joined(2)
    member.synced("t-1")
    member.beat()
    member.on(Drained(member.member.holdings.having(HoldingState.DRAINING)))
    member.on(EnforceRebalance("y"))
    member.on(Tick(), after=SESSION)
    member.expect(MemberState.JOINING)
    member.joined(3)
    member.synced("t-0", "t-1")
    member.expect(MemberState.STABLE)
    joins = len(member.sent(JoinGroupRequest))
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    assert len(member.sent(JoinGroupRequest)) == joins + 1
    assert owned_in_join(member) == partitions("t-0", "t-1")


def test_a_leaving_member_does_not_wait_for_ever_for_a_listener_that_hangs() -> None:
    """Heartbeats keep its partitions from others; nothing else would end that."""
    member = Driven(settings(assignors=EAGER)).join("t-0")
    member.on(Unsubscribed())
    limit = member.now + REBALANCE
    member.on(Drained(member.member.holdings.having(HoldingState.DRAINING)))
    pass_time(member, REBALANCE - 1)
    member.expect(MemberState.RELEASING)
    assert member.sent(LeaveGroupRequest) == []
    pass_time(member, REBALANCE + 1)
    assert member.ticket(Errand.LEAVE_GROUP).sent_at == limit
    assert len(member.sent(LeaveGroupRequest)) == 1
    assert member.owned() == frozenset()
    assert [kind for kind, _ in member.calls()] == [ChangeKind.REVOKED]
    member.left()
    member.expect(MemberState.UNSUBSCRIBED)
    member.settle()
    assert member.calls() == []


def test_a_member_that_left_beside_a_hanging_listener_joins_when_it_subscribes_again() -> None:
    member, _ = revoking(settings())
    member.on(Unsubscribed())
    pass_time(member, REBALANCE)
    member.expect(MemberState.LEAVING)
    joins = len(member.sent(JoinGroupRequest))
    member.subscribe("u")
    member.left()
    assert len(member.sent(JoinGroupRequest)) == joins + 1


def test_a_closing_member_waits_for_its_listener_no_longer_than_its_limit() -> None:
    member, _ = revoking(settings())
    member.on(CloseRequested(Leave.LEAVE, "x", member.now + SESSION + 4, member.now + SESSION + 5))
    lose_by_the_clock(member)
    member.expect(MemberState.RELEASING)
    member.on(Tick(), after=4.0)
    assert len(member.sent(LeaveGroupRequest)) == 1


def test_an_application_that_does_not_read_is_not_waited_for_although_its_listener_runs() -> None:
    """KIP-62: whether it hangs in its listener or elsewhere, others take its place."""
    member, _ = revoking(settings(assignors=EAGER))
    while member.is_in(MemberState.PREPARING):
        member.on(Tick(), after=1.0)
        if member.member.heartbeat is not None:
            member.beat()
    member.expect(MemberState.DORMANT)
    assert len(member.sent(LeaveGroupRequest)) == 1

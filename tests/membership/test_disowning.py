"""What a member hears first when it wakes: that nobody knows it, though its lease is over, too.

1. It is removed from the group, and its process stands still beyond the lease. 2. It wakes, and an
answer is there that disowns it. 3. The lease would have it join under the id that it has, and then
the answer would mean nothing: one JoinGroup that is refused, or, of a static member whose place
another process has, one request more than none.
"""

from collections.abc import Callable

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import FencedError
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    CommitRejected,
    EnforceRebalance,
    Event,
    Polled,
    Raise,
    Send,
    Subscribed,
    Tick,
)
from kgroup.types import Cause, ChangeKind, Generation, MemberState
from kgroup.wire.messages import HeartbeatResponse, JoinGroupRequest, LeaveGroupRequest
from tests.membership.driver import (
    HEARTBEAT,
    REBALANCE,
    SESSION,
    Driven,
    join_answer,
    partitions,
    settings,
    sync_answer,
)

UNKNOWN, FENCED = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID


def of(member: Driven) -> Generation:
    generation = member.member.identity.generation
    assert generation is not None
    return generation


def commit(member: Driven, code: ErrorCode) -> Event:
    reaction = Reaction.LOSE_MEMBER if code is UNKNOWN else Reaction.FENCE
    return CommitRejected(reaction, of(member), code)


def heartbeat(member: Driven, code: ErrorCode) -> Event:
    member.on(Tick(), after=HEARTBEAT)
    return Answered(member.ticket(Errand.HEARTBEAT), HeartbeatResponse(error_code=code))


def join(member: Driven, code: ErrorCode) -> Event:
    member.on(EnforceRebalance("x"))
    answer = join_answer(member.member, code=code)
    return Answered(member.ticket(Errand.JOIN_GROUP), answer)


def sync(member: Driven, code: ErrorCode) -> Event:
    member.on(EnforceRebalance("x"))
    member.joined(2)
    return Answered(member.ticket(Errand.SYNC_GROUP), sync_answer(code=code))


ANSWERS = pytest.mark.parametrize("answer", [commit, heartbeat, join, sync])
Answer = Callable[[Driven, ErrorCode], Event]


def woken(answer: Answer, code: ErrorCode, *, instance: str | None = "i-1", after: float) -> Driven:
    """A member of "t-0" that stood still, and hears the answer as the first thing."""
    member = Driven(settings(instance=instance)).join("t-0")
    heard = answer(member, code)
    member.effects.clear()
    member.on(heard, after=after)
    return member


@ANSWERS
@pytest.mark.parametrize("instance", [None, "i-1"])
def test_an_unknown_member_that_wakes_beyond_its_lease_does_not_join_under_the_dead_id(
    answer: Answer, instance: str | None
) -> None:
    member = woken(answer, UNKNOWN, instance=instance, after=SESSION + 1)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.member.changes[0].cause is Cause.UNKNOWN_MEMBER
    assert [each.member_id for each in member.sent(JoinGroupRequest)] == [""]


@ANSWERS
def test_a_fenced_member_that_wakes_beyond_its_lease_asks_for_nothing_more(answer: Answer) -> None:
    member = woken(answer, FENCED, after=SESSION + 1)
    member.expect(MemberState.FENCED)
    (raised,) = member.did(Raise)
    assert isinstance(raised.error, FencedError)
    assert member.did(Send) == []
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]


@ANSWERS
@pytest.mark.parametrize("instance", [None, "i-1"])
def test_an_unknown_member_that_wakes_beyond_its_poll_interval_is_out_and_drops_the_dead_id(
    answer: Answer, instance: str | None
) -> None:
    """The JoinGroup that follows from the answer is given up by the poll interval, in one step."""
    member = woken(answer, UNKNOWN, instance=instance, after=REBALANCE + 1)
    member.expect(MemberState.DORMANT)
    assert member.sent(JoinGroupRequest) == []
    assert member.sent(LeaveGroupRequest) == [], "without an id nobody can leave"
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    member.settle()
    member.on(Polled())
    assert [each.member_id for each in member.sent(JoinGroupRequest)] == [""]


def test_an_answer_to_what_is_not_awaited_any_more_does_not_come_before_the_lease() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    late = member.ticket(Errand.HEARTBEAT)
    member.on(EnforceRebalance("x"))
    member.round("t-0", generation=2)
    member.now += SESSION + 1
    member.on(Answered(late, HeartbeatResponse(error_code=UNKNOWN)))
    assert member.member.changes[0].cause is Cause.SESSION_EXPIRED
    assert member.member.identity.member_id == "m-1"


def test_a_refusal_of_an_older_generation_does_not_come_before_the_lease() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    old = of(member)
    member.on(EnforceRebalance("x"))
    member.round("t-0", generation=2)
    member.on(CommitRejected(Reaction.LOSE_MEMBER, old, UNKNOWN), after=SESSION + 1)
    assert member.member.changes[0].cause is Cause.SESSION_EXPIRED
    assert member.member.identity.member_id == "m-1"


def test_a_member_that_hands_back_what_it_dropped_hears_once_that_it_is_unknown() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    refused = CommitRejected(Reaction.LOSE_MEMBER, of(member), UNKNOWN)
    member.on(Subscribed(frozenset("u")))
    member.expect(MemberState.PREPARING)
    member.on(refused, after=SESSION + 1)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert [each.member_id for each in member.sent(JoinGroupRequest)][1:] == [""]

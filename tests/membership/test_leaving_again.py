"""A LeaveGroup that no coordinator heard is sent to the next one, while `close()` may last."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError
from kgroup.machine.wishes import Errand
from kgroup.membership.events import CloseRequested, RequestFailed, Tick, Unsubscribed
from kgroup.types import Leave, MemberState
from kgroup.wire.messages import LeaveGroupRequest
from tests.membership.driver import Driven

LOST = ConnectionLostError("h:1", "reset")


def leaving() -> Driven:
    """Return a member that closes, and has sent its LeaveGroup."""
    member = Driven().join("t-0")
    member.on(CloseRequested(Leave.DEFAULT, "closing", member.now + 4.0, member.now + 5.0))
    member.settle()
    return member


def find_again(member: Driven) -> None:
    """Let the pause before the next search pass, and answer the search."""
    member.on(Tick(), after=member.deadline - member.now)
    member.found()


def test_a_leave_that_no_coordinator_hears_is_sent_again_to_the_next_one() -> None:
    member = leaving()
    member.on(RequestFailed(member.ticket(Errand.LEAVE_GROUP), LOST))
    member.expect(MemberState.LEAVING)
    find_again(member)
    first, second = member.sent(LeaveGroupRequest)
    assert first.members == second.members
    member.left()
    member.expect(MemberState.LEFT)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    ],
)
def test_a_leave_that_reaches_no_coordinator_is_sent_again(code: ErrorCode) -> None:
    member = leaving()
    member.left(code)
    find_again(member)
    assert len(member.sent(LeaveGroupRequest)) == 2


def test_a_leave_that_a_coordinator_refuses_is_not_sent_again() -> None:
    member = leaving()
    member.left(ErrorCode.UNKNOWN_MEMBER_ID)
    member.expect(MemberState.LEFT)


def test_leaving_anew_ends_with_the_limit_of_the_close() -> None:
    member = leaving()
    begun = member.now
    while not member.is_in(MemberState.LEFT):
        if member.sent(LeaveGroupRequest) and member.member.round.ticket is not None:
            member.on(RequestFailed(member.ticket(Errand.LEAVE_GROUP), LOST))
        find_again(member)
    assert member.now - begun == pytest.approx(5.0)


def test_a_member_that_unsubscribes_leaves_once() -> None:
    member = Driven().join("t-0")
    member.on(Unsubscribed())
    member.settle()
    member.on(RequestFailed(member.ticket(Errand.LEAVE_GROUP), LOST))
    member.expect(MemberState.UNSUBSCRIBED)

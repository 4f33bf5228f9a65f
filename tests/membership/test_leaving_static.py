"""Under which name a static member leaves: its own id, or none at all.

A coordinator takes a LeaveGroup that names an instance id alone, as administrators send it, and
removes whichever process has the instance (KIP-345). A member that has no id cannot know that it
is the one.
"""

from collections.abc import Callable

import pytest

from kgroup.codes import ErrorCode
from kgroup.machine.reactions import Reaction
from kgroup.membership.events import (
    CloseRequested,
    CommitRejected,
    Done,
    Polled,
    Raise,
    Tick,
    Unsubscribed,
)
from kgroup.types import Leave, MemberState
from kgroup.wire.messages import LeaveGroupRequest
from tests.membership.driver import HEARTBEAT, REBALANCE, SESSION, Driven, Writing, settings

S = MemberState


def static() -> Driven:
    return Driven(settings(instance="i-1"))


def close(member: Driven) -> None:
    limit = member.now + 2 * SESSION
    member.on(CloseRequested(Leave.LEAVE, "closing", limit, limit + 1.0))


def named(member: Driven) -> list[str]:
    """The member ids under which it left, "" for an instance id alone."""
    return [each.member_id for asked in member.sent(LeaveGroupRequest) for each in asked.members]


# -- disowned while closing -----------------------------------------------------------------------


def beaten(member: Driven, code: ErrorCode) -> None:
    member.on(Tick(), after=HEARTBEAT)
    member.beat(code)


def refused(member: Driven, code: ErrorCode) -> None:
    generation = member.member.identity.generation
    assert generation is not None
    fenced = code == ErrorCode.FENCED_INSTANCE_ID
    reaction = Reaction.FENCE if fenced else Reaction.LOSE_MEMBER
    member.on(CommitRejected(reaction, generation, code))


@pytest.mark.parametrize("hears", [beaten, refused])
@pytest.mark.parametrize("code", [ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_member_that_is_disowned_while_closing_sends_nothing(
    hears: Callable[[Driven, ErrorCode], None], code: ErrorCode
) -> None:
    """1. It closes, and is to leave; 2. while it hands back it hears that its id is not the
    instance's any more; 3. everything is handed back: a LeaveGroup would remove its twin."""
    member = static().join("t-0")
    close(member)
    hears(member, code)
    member.settle()
    assert named(member) == []
    member.expect(S.LEFT)
    assert (member.did(Done), member.did(Raise)) == ([Done()], [])


def test_a_member_that_is_refused_while_closing_sends_nothing() -> None:
    member = static().join("t-0")
    close(member)
    beaten(member, ErrorCode.INVALID_GROUP_ID)
    member.settle()
    assert named(member) == []
    member.expect(S.LEFT)


def test_a_disowned_member_sends_nothing_at_the_limit_of_closing() -> None:
    member = static().join("t-0")
    close(member)
    beaten(member, ErrorCode.FENCED_INSTANCE_ID)
    member.on(Tick(), after=2 * SESSION)
    assert named(member) == []
    member.expect(S.LEFT)


def test_a_disowned_member_without_a_coordinator_looks_for_none_to_leave() -> None:
    member = static().join("t-0")
    close(member)
    beaten(member, ErrorCode.NOT_COORDINATOR)
    refused(member, ErrorCode.FENCED_INSTANCE_ID)
    member.settle()
    member.expect(S.LEFT)


# -- without an id when it closes -----------------------------------------------------------------


def finding() -> Driven:
    member = static()
    member.subscribe()
    return member


def joining() -> Driven:
    member = finding()
    member.found()
    return member


def backing_off() -> Driven:
    member = joining()
    member.joined(0, code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, member_id="")
    member.expect(S.BACKING_OFF)
    return member


def expelled() -> Driven:
    member = static().join("t-0")
    beaten(member, ErrorCode.UNKNOWN_MEMBER_ID)
    return member


def back_again() -> Driven:
    member = static().join("t-0")
    member.on(Unsubscribed())
    member.settle()
    member.expect(S.UNSUBSCRIBED)
    member.subscribe()
    return member


@pytest.mark.parametrize("way", [finding, joining, backing_off, expelled, back_again])
def test_a_member_without_an_id_ends_without_leave_group(way: Callable[[], Driven]) -> None:
    member = way()
    assert member.member.identity.member_id is None
    close(member)
    member.settle()
    assert named(member) == []
    member.expect(S.LEFT)


def test_a_member_without_an_id_whose_subscription_cannot_be_written_sends_no_leave_group() -> None:
    member = Driven(settings(assignors=(Writing(made=ValueError("no")),), instance="i-1"))
    member.subscribe()
    member.found()
    member.expect(S.FAILED)
    assert named(member) == []


# -- with an id -----------------------------------------------------------------------------------


def stable() -> Driven:
    return static().join("t-0")


def stale() -> Driven:
    member = stable()
    beaten(member, ErrorCode.ILLEGAL_GENERATION)
    return member


def silent() -> Driven:
    member = stable()
    while not member.is_in(S.DORMANT):
        member.on(Tick(), after=HEARTBEAT)
        if member.now < 1000.0 + REBALANCE:
            member.beat()
    return member


def polling_again() -> Driven:
    member = silent()
    member.settle()
    member.on(Polled())
    return member


@pytest.mark.parametrize("way", [stable, stale, silent, polling_again])
def test_a_member_with_an_id_leaves_under_it_and_the_coordinator_judges(
    way: Callable[[], Driven],
) -> None:
    member = way()
    close(member)
    member.settle()
    assert named(member) == ["m-1"]
    assert member.sent(LeaveGroupRequest)[0].members[0].group_instance_id == "i-1"

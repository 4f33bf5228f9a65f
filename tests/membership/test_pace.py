"""A coordinator may ask for rounds without end; a member keeps a pace all the same."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.membership.events import EnforceRebalance, Tick
from kgroup.types import MemberState
from kgroup.wire.messages import JoinGroupRequest
from tests.membership.driver import Driven, partitions, settings

LONGEST = 1.0
AT_ONCE = 5


def joins(member: Driven) -> int:
    return len(member.sent(JoinGroupRequest))


def refuse(member: Driven, code: ErrorCode, seconds: float) -> None:
    """Refuse every JoinGroup at once, for so long."""
    end = member.now + seconds
    while member.now < end:
        if member.is_in(MemberState.JOINING):
            member.joined(code=code)
        else:
            member.on(Tick(), after=max(member.deadline - member.now, 0.0))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
    ],
)
def test_a_refused_join_is_repeated_a_few_times_at_once_and_then_at_a_pace(code: ErrorCode) -> None:
    member = Driven(settings(backoff=LONGEST))
    member.subscribe()
    member.found()
    refuse(member, code, 100.0)
    assert AT_ONCE < joins(member) <= AT_ONCE + 100.0 / (LONGEST / 2) + 1


def test_a_few_rounds_in_a_row_are_joined_without_a_pause() -> None:
    member = Driven().join("t-0")
    for generation in (2, 3, 4):
        member.on(EnforceRebalance("x"))
        member.expect(MemberState.JOINING)
        member.round("t-0", generation=generation)


def test_a_member_that_keeps_the_pace_keeps_its_partitions_and_its_generation() -> None:
    member = Driven().join("t-0")
    for generation in range(2, 2 + AT_ONCE):
        member.on(EnforceRebalance("x"))
        if member.is_in(MemberState.JOINING):
            member.round("t-0", generation=generation)
    member.expect(MemberState.BACKING_OFF)
    assert member.member.identity.generation is not None
    assert member.owned() == partitions("t-0")
    member.on(Tick(), after=member.deadline - member.now)
    member.expect(MemberState.JOINING)

"""A static member that dies while it hands a partition back, and comes back without a round.

1. The leader has t-1 move from this member to another, so nobody is given it in this round
(KIP-429). 2. The process is killed before the round in which it would have said that it let go.
3. The next process has its session's place, is given t-0 at once, and no round begins (KIP-345).
Nobody but this member knows of a round that is owed; without it nobody would ever own t-1.
"""

import pytest

from kgroup.codes import ErrorCode
from kgroup.machine.claims import HoldingState
from kgroup.membership.described import IN_DOUBT, Remembered
from kgroup.membership.events import MetadataChanged
from kgroup.membership.standing import remembered_of
from kgroup.types import MemberState
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    JoinGroupRequest,
)
from tests.membership.driver import Driven, settings


def came_back(counts: dict[str, int], divided: dict[str, int]) -> Driven:
    """A static member that is given t-0 again, in a group that has `divided` so many partitions."""
    member = Driven(settings(instance="i-1"))
    member.on(MetadataChanged(counts))
    member.subscribe("t")
    member.found(remembered=Remembered(frozenset("t"), frozenset(divided), divided))
    member.joined(7)
    member.synced("t-0")
    member.settle()
    return member


def test_a_partition_that_nobody_was_given_has_a_round_begun() -> None:
    member = came_back({"t": 2}, {"t": 1})
    member.expect(MemberState.JOINING)
    first, second = member.sent(JoinGroupRequest)
    assert first.protocols[0].metadata != second.protocols[0].metadata, (
        "else it is answered at once"
    )


def test_that_round_is_begun_once() -> None:
    member = came_back({"t": 2}, {"t": 1})
    member.round("t-0", generation=8)
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 2


def test_a_topic_that_was_given_out_whole_begins_no_round() -> None:
    member = came_back({"t": 2}, {"t": 2})
    member.expect(MemberState.STABLE)


def test_metadata_that_comes_after_the_old_assignment_has_the_round_begun() -> None:
    member = came_back({}, {"t": 1})
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 2}))
    member.expect(MemberState.JOINING)


def test_a_topic_that_grows_later_is_left_to_who_leads() -> None:
    member = came_back({"t": 2}, {"t": 2})
    member.on(MetadataChanged({"t": 3}))
    member.expect(MemberState.STABLE)


def test_what_it_was_given_again_is_not_handed_back_for_the_round() -> None:
    member = came_back({"t": 2}, {"t": 1})
    assert member.member.holdings.states[member.claim("t-0")] is HoldingState.HELD


# -- when nobody can tell -----------------------------------------------------------------------


def came_back_in_doubt(assignor: str = "cooperative-sticky") -> Driven:
    member = Driven(settings(assignors=(assignor,), instance="i-1"))
    member.on(MetadataChanged({"t": 4}))
    member.subscribe("t")
    member.found(remembered=IN_DOUBT)
    return member


def test_who_was_told_nothing_because_a_round_was_on_has_one_begun() -> None:
    """1. It is killed while it hands t-1 back; 2. the others' round goes on without it; 3. the next
    process asks meanwhile, and is told nothing; 4. its JoinGroup is answered when that round is
    over, with t-0 at once. Whether somebody has t-1 it cannot know."""
    member = came_back_in_doubt()
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.JOINING)
    assert member.member.holdings.states[member.claim("t-0")] is HoldingState.HELD
    member.round("t-0", "t-1", generation=8)
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 2


def test_an_eager_member_is_not_in_doubt_for_in_each_round_all_is_given_out() -> None:
    member = came_back_in_doubt("range")
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.STABLE)


@pytest.mark.parametrize(
    ("state", "instance", "protocol_type", "expected"),
    [
        ("CompletingRebalance", "i-1", "consumer", IN_DOUBT),
        ("PreparingRebalance", "i-1", "consumer", IN_DOUBT),
        ("PreparingRebalance", "i-2", "consumer", None),
        ("PreparingRebalance", "i-1", "connect", None),
        ("Stable", "i-2", "consumer", None),
    ],
)
def test_a_group_amid_a_round_leaves_who_is_in_it_in_doubt(
    state: str, instance: str, protocol_type: str, expected: Remembered | None
) -> None:
    described = DescribeGroupsDescribedGroup(
        group_id="g",
        group_state=state,
        protocol_type=protocol_type,
        protocol_data="",
        members=(
            DescribedGroupMember(
                member_id="m-1",
                group_instance_id=instance,
                client_id="c",
                client_host="/10.0.0.1",
                member_metadata=encode_subscription(MemberSubscription(topics=("t",))),
                member_assignment=encode_assignment(MemberAssignment()),
            ),
        ),
    )
    assert remembered_of(described, "i-1") == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.GROUP_ID_NOT_FOUND, None),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, IN_DOUBT),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, IN_DOUBT),
    ],
)
def test_a_group_that_is_not_there_remembers_nobody_and_any_other_error_leaves_doubt(
    code: ErrorCode, expected: Remembered | None
) -> None:
    described = DescribeGroupsDescribedGroup(
        error_code=code,
        group_id="g",
        group_state="",
        protocol_type="",
        protocol_data="",
        members=(),
    )
    assert remembered_of(described, "i-1") == expected

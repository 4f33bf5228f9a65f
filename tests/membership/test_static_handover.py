"""A static member that dies while it hands a partition back, and comes back without a round.

1. The leader has t-1 move from this member to another, so nobody is given it in this round
(KIP-429). 2. The process is killed before the round in which it would have said that it let go.
3. The next process has its session's place, is given t-0 at once, and no round begins (KIP-345).
Nobody but this member knows of a round that is owed; without it nobody would ever own t-1.
"""

from kgroup.machine.claims import HoldingState
from kgroup.membership.described import Remembered
from kgroup.membership.events import MetadataChanged
from kgroup.types import MemberState
from kgroup.wire.messages import JoinGroupRequest
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

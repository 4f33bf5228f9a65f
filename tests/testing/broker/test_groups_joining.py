"""Rules of joining a group, pending ids above all, that no recorded conversation holds."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Phase
from kgroup.testing.broker.releases import CoordinatorKind
from tests.testing.broker.members import NEW, OLD, Club

BOTH = pytest.mark.parametrize("kind", [OLD, NEW], ids=["old", "new"])


@BOTH
def test_a_pending_id_holds_up_a_round_of_a_group_with_members(
    kind: CoordinatorKind,
) -> None:
    club = Club(kind)
    a = club.member("A", rebalance=5.0)
    a.enter()
    a.sync()
    late = club.member("B", session=2.0)
    late.member_id = late.join_once().now.member_id
    again = a.join()
    club.raw.run(1.9)
    assert again.parked
    club.raw.run(0.1)
    assert again.answered_at == 2.0


@BOTH
def test_a_pending_id_holds_a_round_up_no_longer_than_its_timeout(
    kind: CoordinatorKind,
) -> None:
    club = Club(kind)
    a = club.member("A", rebalance=2.0)
    a.enter()
    a.sync()
    late = club.member("B", session=5.0, rebalance=2.0)
    late.member_id = late.join_once().now.member_id
    again = a.join()
    club.raw.run(2.0)
    assert again.answered_at == 2.0
    a.adopt(again)
    a.sync()
    late.join()
    assert club.phase is Phase.PREPARING


def test_a_pending_id_of_a_member_that_left_begins_a_round_under_the_new_rules_only() -> None:
    for kind, phase in ((NEW, Phase.PREPARING), (OLD, Phase.STABLE)):
        club = Club(kind)
        a = club.member("A")
        a.enter()
        a.sync()
        other = club.member("B")
        other.member_id = other.join_once().now.member_id
        assert other.leave() == ErrorCode.NONE
        assert club.phase is phase


@BOTH
def test_a_member_that_is_refused_for_group_size_loses_the_id_it_was_given(
    kind: CoordinatorKind,
) -> None:
    club = Club(kind, max_group_size=1)
    late = club.member("B")
    late.member_id = late.join_once().now.member_id
    a = club.member("A")
    a.enter()
    a.sync()
    assert late.join_once().now.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    a.leave()
    assert late.join_once().now.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_end_of_a_pending_id_cuts_the_initial_delay_under_the_new_rules() -> None:
    for kind, answered_at in ((NEW, 2.0), (OLD, 3.0)):
        club = Club(kind, initial_rebalance_delay=3.0)
        late = club.member("B", session=2.0)
        late.join_once()
        join = club.member("A").join()
        club.raw.run(4.0)
        assert join.answered_at == answered_at

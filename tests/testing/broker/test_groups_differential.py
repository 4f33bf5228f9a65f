"""What random scripts found (`tests/testing/differential`): where the core was not as real ones."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Phase
from tests.testing.broker.members import NEW, OLD, Club, Person


def test_time_goes_on_for_a_static_member_whose_rebalance_timeout_is_zero() -> None:
    club = Club()
    a, b = club.member("A"), club.member("B", instance="i", rebalance=0.0)
    a.enter()
    club.gather(b, a)
    a.leave()
    club.raw.run(0.5)
    assert (club.phase, club.raw.now) == (Phase.PREPARING, 0.5)


def parked_twice(club: Club) -> Person:
    """A static member joins a group that nobody ends the round of, and comes back meanwhile."""
    a = club.member("A", rebalance=3.0)
    club.gather(a)
    first = club.member("B", instance="i", session=1.0)
    fenced = first.join()
    again = club.member("B", instance="i", session=1.0)
    again.join()
    assert fenced.now.error_code == ErrorCode.FENCED_INSTANCE_ID
    return again


@pytest.mark.parametrize(("kind", "stays"), [(OLD, False), (NEW, True)])
def test_a_static_newcomer_that_came_back_outlives_its_session_under_the_new_rules(
    kind, stays
) -> None:
    club = Club(kind)
    parked_twice(club)
    club.raw.run(1.5)
    assert club.phase is Phase.PREPARING
    assert (club.group.static_member("i") is not None) is stays

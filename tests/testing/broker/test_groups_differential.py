"""What random scripts found (`tests/testing/differential`): where the core was not as real ones."""

from contextlib import nullcontext

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member, UnreadableMetadataError
from kgroup.testing.broker.groups.rounds import subscribed_topics
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


@pytest.mark.parametrize("kind", [OLD, NEW])
def test_a_member_too_late_to_lengthen_one_initial_delay_lengthens_the_next(kind) -> None:
    club = Club(kind, initial_rebalance_delay=1.0)
    a, b = club.member("A", session=2.0, rebalance=0.0), club.member("B", session=2.0)
    first = a.join()
    club.raw.run(0.5)
    b.join()
    club.raw.run(0.5)
    assert first.answered_at == 1.0
    club.raw.run(5.0)
    assert club.phase is Phase.EMPTY
    again = club.member("C").join()
    club.raw.run(5.0)
    assert again.answered_at == 6.0 + 2 * 1.0


@pytest.mark.parametrize("kind", [OLD, NEW])
@pytest.mark.parametrize("cut_first", [True, False])
def test_a_cut_subscription_hides_an_unreadable_one_that_is_read_after_it(kind, cut_first) -> None:
    group = Group("g", kind=kind, protocol_type="consumer", protocol_name="range")
    names = ("a", "b") if cut_first else ("b", "a")
    for name, data in zip(names, (b"", b"\0\1\x7f\xff\xff\xff"), strict=True):
        group.add(member_with(name, data), "consumer")
    assert [each.member_id for each in group.in_hash_order()] == ["a", "b"]
    with nullcontext() if cut_first else pytest.raises(UnreadableMetadataError):
        assert subscribed_topics(group) is None


def member_with(member_id: str, data: bytes) -> Member:
    return Member(
        member_id=member_id,
        instance_id=None,
        client_id="A",
        client_host="/127.0.0.1",
        session_timeout=10.0,
        rebalance_timeout=5.0,
        protocols=(("range", data),),
    )

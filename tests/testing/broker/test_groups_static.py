"""Rules of static members that no recorded conversation holds."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Phase
from kgroup.testing.broker.releases import CoordinatorKind
from tests.testing.broker.members import NEW, OLD, Club

BOTH = pytest.mark.parametrize("kind", [OLD, NEW], ids=["old", "new"])


@BOTH
def test_a_static_restart_while_syncs_wait_starts_a_round(kind: CoordinatorKind) -> None:
    club = Club(kind)
    people = [club.member(name, instance=name) for name in "ABC"]
    a, b, c = people
    a.enter()
    a.sync()
    joins = [b.join(), c.join()]
    a.adopt(a.join())
    b.adopt(joins[0])
    c.adopt(joins[1])
    waiting, fenced = c.sync(), b.sync()
    b.member_id = ""
    again = b.join()
    assert fenced.now.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert waiting.now.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert again.parked
    assert club.phase is Phase.PREPARING


@BOTH
def test_a_static_member_that_restarts_before_it_has_synced_costs_a_round(
    kind: CoordinatorKind,
) -> None:
    club = Club(kind)
    a, b = club.member("A", rebalance=2.0), club.member("B", instance="i", rebalance=2.0)
    a.enter()
    a.sync()
    join = b.join()
    a.adopt(a.join())
    b.adopt(join)
    a.sync()
    b.member_id = ""
    b.adopt(b.join())
    b.sync()
    club.raw.run(2.0)
    assert [a.beat(), b.beat()] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    club.gather(a, b)
    club.raw.run(2.0)
    assert [a.beat(), b.beat()] == [ErrorCode.NONE] * 2


@BOTH
def test_a_round_forgets_missing_syncs_of_the_one_before(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a, b = club.member("A", rebalance=2.0), club.member("B", instance="i", rebalance=2.0)
    a.enter()
    a.sync()
    join = b.join()
    a.adopt(a.join())
    b.adopt(join)
    a.sync()
    b.member_id = ""
    b.adopt(b.join())
    club.gather(a, b)
    club.raw.run(2.0)
    assert club.phase is Phase.STABLE


@BOTH
def test_a_member_that_restarted_waits_as_long_as_others_do(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a, b = club.member("A", session=30.0), club.member("B", instance="i", session=2.0)
    a.enter()
    a.sync()
    join = b.join()
    a.adopt(a.join())
    b.adopt(join)
    a.sync()
    b.member_id = ""
    b.adopt(b.join())
    club.member("C").join()
    waiting = b.join()
    club.raw.run(3.0)
    assert waiting.parked


@BOTH
def test_a_restart_that_changes_the_vote_starts_a_round(kind: CoordinatorKind) -> None:
    club = Club(kind)
    offers = ("range", "sticky"), ("range", "sticky"), ("sticky", "range")
    people = [
        club.member(name, instance=name, offers=offer)
        for name, offer in zip("ABC", offers, strict=True)
    ]
    a, b, c = people
    a.enter()
    a.sync()
    joins = b.join(), c.join()
    a.adopt(a.join())
    b.adopt(joins[0])
    c.adopt(joins[1])
    for person in people:
        person.sync()
    b.member_id, b.offers = "", ("sticky", "range")
    assert b.join().parked
    assert club.phase is Phase.PREPARING


def test_a_static_newcomer_that_restarts_has_a_session_under_the_old_rules() -> None:
    for kind, parked in ((OLD, False), (NEW, True)):
        club = Club(kind)
        a = club.member("A", rebalance=30.0, session=30.0)
        a.enter()
        a.sync()
        b = club.member("B", instance="i", session=3.0)
        b.join()
        club.raw.run(1.0)
        again = b.join()
        club.raw.run(3.0)
        assert again.parked is parked


@BOTH
def test_a_restart_survives_a_move(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a = club.member("A", instance="i")
    a.enter()
    a.sync()
    before = a.member_id
    a.member_id = ""
    a.adopt(a.join())
    club.move(1)
    assert a.beat() == ErrorCode.NONE
    a.member_id = before
    assert a.beat() == ErrorCode.FENCED_INSTANCE_ID

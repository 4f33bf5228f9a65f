"""Rules of the group coordinator that no recorded conversation holds."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Phase
from kgroup.testing.broker.releases import CoordinatorKind
from tests.testing.broker.members import NEW, OLD, Club, Person

BOTH = pytest.mark.parametrize("kind", [OLD, NEW], ids=["old", "new"])
MINUTES = 60.0


def two(club: Club, **habits: object) -> tuple[Person, Person]:
    """Bring a Stable group of A, which leads, and B."""
    a, b = club.member("A", **habits), club.member("B", **habits)
    a.enter()
    a.sync()
    joins = b.join(), a.join()
    for person, join in zip((b, a), joins, strict=True):
        person.adopt(join)
    a.sync()
    b.sync()
    assert club.phase is Phase.STABLE
    return a, b


# -- rounds ----------------------------------------------------------------------------------------


def test_the_old_rules_extend_the_initial_delay_of_brand_new_groups_only() -> None:
    for kind, answered_at in ((NEW, 6.0), (OLD, 5.0)):
        club = Club(kind, initial_rebalance_delay=1.0)
        first = club.member("A")
        join = first.join()
        club.raw.run(1.0)
        first.adopt(join)
        first.sync()
        first.leave()
        assert club.phase is Phase.EMPTY
        club.raw.until(4.0)
        a = club.member("A").join()
        club.raw.run(0.5)
        b = club.member("B").join()
        club.raw.run(5.0)
        assert a.answered_at == b.answered_at == answered_at


@BOTH
@pytest.mark.parametrize("leaves", [True, False], ids=["leaves", "expires"])
def test_the_loss_of_the_last_missing_member_ends_the_round(
    kind: CoordinatorKind, leaves: bool
) -> None:
    club = Club(kind)
    a, b = two(club, session=3.0)
    waiting = a.join()
    club.raw.run(1.0)
    if leaves:
        b.leave()
    club.raw.run(2.0)
    assert waiting.answered_at == (1.0 if leaves else 3.0)


@BOTH
def test_a_round_without_anybody_but_absent_static_members_goes_on(kind: CoordinatorKind) -> None:
    club = Club(kind)
    people = [club.member(name, instance=name, rebalance=2.0) for name in "AB"]
    a, b = people
    a.enter()
    a.sync()
    join = b.join()
    a.adopt(a.join())
    b.adopt(join)
    a.sync()
    b.sync()
    guest = club.member("C", rebalance=2.0)
    guest.join()
    guest.leave()
    for _ in range(5):
        club.raw.run(1.0)
        assert [a.beat(), b.beat()] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    back = a.join()
    club.raw.run(0.9)
    assert back.parked
    club.raw.run(0.1)
    assert back.answered_at == 6.0
    assert [each.group_instance_id for each in back.now.members] == ["A", "B"]


@BOTH
def test_a_member_that_never_syncs_loses_its_place(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a, b = two(club, rebalance=2.0)
    joins = a.join(), b.join()
    a.adopt(joins[0])
    b.generation = a.generation
    a.sync()
    club.raw.run(2.0)
    assert a.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert b.beat() == ErrorCode.UNKNOWN_MEMBER_ID


@BOTH
def test_a_newcomer_waits_no_longer_than_five_minutes(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a = club.member("A", session=30 * MINUTES, rebalance=20 * MINUTES)
    a.enter()
    a.sync()
    newcomer = club.member("B").join()
    club.raw.run(5 * MINUTES)
    assert newcomer.now.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert newcomer.answered_at == 5 * MINUTES


@BOTH
def test_a_rebalance_timeout_of_zero_does_not_spin(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a = club.member("A", instance="i", rebalance=0.0)
    a.enter()
    club.raw.run(1.0)
    assert club.phase in (Phase.EMPTY, Phase.PREPARING)


@BOTH
def test_of_assignors_in_one_bucket_the_first_member_in_hash_order_decides(
    kind: CoordinatorKind,
) -> None:
    ahead = set()
    for names in ("AB", "BA", "CD", "DC"):
        club = Club(kind)
        first = club.member(names[0], offers=("a", "q"))
        second = club.member(names[1], offers=("q", "a"))
        first.enter()
        first.sync()
        join = second.join()
        answer = first.adopt(first.join())
        second.adopt(join)
        leads = answer.members[0].member_id == first.member_id
        ahead.add(leads)
        assert answer.protocol_name == ("q" if kind is NEW and not leads else "a")
    assert ahead == {True, False}


# -- LeaveGroup ------------------------------------------------------------------------------------


def test_of_members_that_leave_together_the_old_rules_let_each_count_at_once() -> None:
    for kind in (OLD, NEW):
        club = Club(kind)
        a, b = two(club)
        guest = club.member("C")
        joins = guest.join(), a.join(), b.join()
        for person, join in zip((guest, a, b), joins, strict=True):
            person.adopt(join)
        waiting = b.sync()
        assert guest.leave(b) == ErrorCode.NONE
        assert waiting.parked == (kind is NEW)


# -- moves -----------------------------------------------------------------------------------------


@BOTH
def test_a_dead_coordinator_answers_no_parked_join(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a, _ = two(club)
    parked = a.join()
    club.move(None)
    club.raw.run(60.0)
    assert parked.parked


@BOTH
def test_while_nobody_coordinates_no_session_ends(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a = club.member("A", session=2.0)
    a.enter()
    a.sync()
    club.move(None)
    club.raw.run(60.0)
    club.move(1)
    club.raw.run(1.9)
    assert a.beat() == ErrorCode.NONE


@BOTH
def test_a_group_that_was_never_stored_is_known_to_the_new_coordinator_only(
    kind: CoordinatorKind,
) -> None:
    club = Club(kind)
    club.member("A").join_once()
    club.move(1)
    assert club.state == ("Dead" if kind is OLD else "Empty")


@BOTH
def test_a_member_that_left_does_not_come_back_with_a_move(kind: CoordinatorKind) -> None:
    club = Club(kind)
    a = club.member("A")
    a.enter()
    a.sync()
    a.leave()
    club.move(1)
    assert a.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert club.group.generation_id == 2

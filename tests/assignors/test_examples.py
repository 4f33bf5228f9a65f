"""What is peculiar to each example plug-in of the documentation; see `test_grace`, too.

`test_examples_conformance` holds them to everything that binds every assignor.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docs.examples.assignors.grace import GraceAssignor
from docs.examples.assignors.weighted import WeightedAssignor, from_environment
from docs.examples.assignors.zone import ZoneAssignor
from kgroup.assignors import (
    GroupSubscription,
    LastAssignment,
    RebalanceProtocol,
    divide,
)
from tests.assignors.groups import group, member, tps
from tests.assignors.playing import Played
from tests.typing.checkers import ROOT, mypy

EXAMPLES = pytest.mark.parametrize("make", [ZoneAssignor, WeightedAssignor, GraceAssignor])


@pytest.mark.slow
def test_the_examples_are_typed_for_the_strictest():
    assert not mypy((ROOT / "docs" / "examples" / "assignors").glob("*.py"))


@EXAMPLES
def test_a_member_that_stays_keeps_everything_when_another_leaves(make):
    played = Played(make, t=17)
    played.join("a", "b", "c")
    played.settle()
    before = played.held()
    played.leave("b")
    played.settle()
    assert all(set(before[name]) <= set(held) for name, held in played.held().items())


@EXAMPLES
def test_a_member_with_too_much_keeps_no_more_than_its_share(make):
    members = [
        member("a", owned="t-0 t-1 t-2", generation_id=1),
        member("b", owned="t-3 t-4 t-5", generation_id=1),
        member("c", owned="t-6", generation_id=1),
    ]
    assignment = make().assign(group(members, t=7))
    assert sorted(len(assignment.of(name)) for name in "abc") == [1, 2, 3]
    assert list(assignment.withheld.values()) == ["c"]


@EXAMPLES
def test_the_member_that_has_the_odd_partition_keeps_it(make):
    members = [
        member("a", owned="t-2", generation_id=1),
        member("b", owned="t-0 t-1", generation_id=1),
    ]
    assignment = make().assign(group(members, t=3))
    assert [len(assignment.of(name)) for name in "ab"] == [1, 2]


# -- zone


def test_sizes_in_a_zone_do_not_depend_on_what_members_have_elsewhere():
    played = Played(ZoneAssignor, own=5, t=["east"] * 4)
    played.join("e1", topics="own t", rack="east")
    played.join("e2", topics="t", rack="east")
    played.settle()
    assert played.sizes() == {"e1": 7, "e2": 2}


def test_partitions_stay_in_the_zone_of_their_leader():
    played = Played(ZoneAssignor, t=["east", "west", "east", "west", "east", "north"])
    played.join("e1", "e2", rack="east")
    played.join("w", rack="west")
    played.settle()
    held = played.held()
    assert set(held["w"]) >= set(tps("t-1 t-3"))
    assert set(held["e1"]) | set(held["e2"]) >= set(tps("t-0 t-2 t-4"))
    assert sorted(len(set(held[e]) & set(tps("t-0 t-2 t-4"))) for e in ("e1", "e2")) == [1, 2]


def test_a_partition_moves_to_its_zone_when_a_member_joins_there():
    played = Played(ZoneAssignor, t=["east", "west"] * 3)
    played.join("e", rack="east")
    played.settle()
    played.join("w", rack="west")
    assert played.settle() == 2
    assert played.held() == {"e": tps("t-0 t-2 t-4"), "w": tps("t-1 t-3 t-5")}


def test_without_racks_everybody_gets_the_same():
    played = Played(ZoneAssignor, t=7, u=3)
    played.join("a", "b", "c", topics="t u")
    played.settle()
    assert sorted(played.sizes().values()) == [3, 3, 4]


# -- weighted


@pytest.mark.parametrize(
    ("capacities", "count", "sizes"),
    [
        ((1, 1), 5, (3, 2)),
        ((1, 2), 9, (3, 6)),
        ((1, 2, 3), 12, (2, 4, 6)),
        ((1, 1_000_000), 9, (0, 9)),
        ((5, 5, 1), 0, (0, 0, 0)),
    ],
)
def test_sizes_are_proportional_to_capacities(capacities, count, sizes):
    played = Played(WeightedAssignor, t=count)
    for at, capacity in enumerate(capacities):
        played.join(f"m{at}", capacity=capacity)
    played.settle()
    assert tuple(played.sizes().values()) == sizes


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 40))
def test_no_move_would_make_the_largest_size_per_capacity_smaller(capacities, count):
    played = Played(WeightedAssignor, t=count)
    for at, capacity in enumerate(capacities):
        played.join(f"m{at}", capacity=capacity)
    played.settle()
    sizes = list(played.sizes().values())
    fullest = max(size / capacity for size, capacity in zip(sizes, capacities, strict=True))
    assert all(
        (size + 1) / capacity >= fullest for size, capacity in zip(sizes, capacities, strict=True)
    )


def test_the_leaders_own_capacity_counts_as_it_was_sent():
    played = Played(WeightedAssignor, t=6)
    played.join("small", capacity=1)
    played.join("large", capacity=2)
    described = played.described()
    assert WeightedAssignor(9).assign(described) == WeightedAssignor(1).assign(described)


@pytest.mark.parametrize(
    "user_data", [None, b"", b"\x01", b"\x02\x00\x00\x00\x09", b"junk", b"\x01\x00\x00\x00\x00"]
)
def test_a_capacity_that_cannot_be_read_is_one(user_data):
    two = WeightedAssignor(2).encode_user_data(LastAssignment(), None)
    members = (member("a"), member("b"))
    described = GroupSubscription(
        (replace(members[0], user_data=user_data), replace(members[1], user_data=two)),
        group(members, t=3).topics,
    )
    assignment = divide(WeightedAssignor(), described, RebalanceProtocol.EAGER)
    assert [len(assignment.of(name)) for name in "ab"] == [1, 2]


def test_a_later_format_may_append_and_a_capacity_beyond_the_bound_is_the_bound():
    most = WeightedAssignor(1_000_000).encode_user_data(LastAssignment(), None)
    members = (
        replace(member("a"), user_data=b"\x01\xff\xff\xff\xffmore"),
        replace(member("b"), user_data=most),
    )
    described = GroupSubscription(members, group(members, t=4).topics)
    assert len(WeightedAssignor().assign(described).of("a")) == 2


@pytest.mark.parametrize("capacity", [0, -1, 1_000_001])
def test_a_capacity_out_of_bounds_is_refused(capacity):
    with pytest.raises(ValueError, match="not between 1 and 1000000"):
        WeightedAssignor(capacity)


def test_an_entry_point_takes_the_capacity_from_the_environment(monkeypatch):
    monkeypatch.setenv("CONSUMER_CAPACITY", "7")
    seven = WeightedAssignor(7).encode_user_data(LastAssignment(), None)
    assert from_environment().encode_user_data(LastAssignment(), 3) == seven

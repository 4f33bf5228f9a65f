"""The example plug-ins of the documentation, as groups of them behave."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docs.examples.assignors.grace import BUDGET, GraceAssignor
from docs.examples.assignors.weighted import WeightedAssignor, from_environment
from docs.examples.assignors.zone import ZoneAssignor
from kgroup.assignors import (
    GroupSubscription,
    LastAssignment,
    RebalanceProtocol,
    divide,
    resolve,
    verify,
)
from tests.assignors.groups import group, groups, member, tps
from tests.assignors.playing import Played, all_partitions
from tests.typing.checkers import ROOT, mypy

EXAMPLES = pytest.mark.parametrize("make", [ZoneAssignor, WeightedAssignor, GraceAssignor])
PROTOCOLS = pytest.mark.parametrize("protocol", list(RebalanceProtocol))


@pytest.mark.slow
def test_the_examples_are_typed_for_the_strictest():
    assert not mypy((ROOT / "docs" / "examples" / "assignors").glob("*.py"))


@pytest.mark.slow
@EXAMPLES
@PROTOCOLS
@settings(max_examples=40, deadline=None)
@given(groups())
def test_whatever_members_claim_the_leader_may_send_the_answer(make, protocol, described):
    assert resolve([make()])
    assignment = divide(make(), described, protocol)
    turned = GroupSubscription(described.members[::-1], described.topics, described.now)
    assert make().assign(turned) == assignment


@pytest.mark.slow
@EXAMPLES
@PROTOCOLS
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=6))
def test_a_group_settles_in_two_rounds_and_stays(make, protocol, events):
    played = Played(make, protocol, t=["a", "b", "a", None, "c"], u=4)
    played.join("m0", "m1", topics="t u", rack="a")
    for at, (joins, which) in enumerate(events):
        if joins or len(played.players) == 1:
            played.join(f"n{at}", topics="t u", rack="abc"[which % 3])
        else:
            played.leave(sorted(played.players)[which % len(played.players)])
        assert played.settle() <= 2
        played.now += 1000  # the end of every wait
        played.settle()
        settled = played.held()
        played.round()
        assert played.held() == settled
        assert {tp for held in settled.values() for tp in held} == all_partitions(played)


@EXAMPLES
def test_who_stays_keeps_everything_when_another_leaves(make):
    played = Played(make, t=17)
    played.join("a", "b", "c")
    played.settle()
    before = played.held()
    played.leave("b")
    played.settle()
    assert all(set(before[name]) <= set(held) for name, held in played.held().items())


# -- zone


def test_partitions_stay_in_the_zone_of_their_leader():
    played = Played(ZoneAssignor, t=["east", "west", "east", "west", "east", "north"])
    played.join("e1", "e2", rack="east")
    played.join("w", rack="west")
    played.settle()
    held = played.held()
    assert set(held["w"]) >= set(tps("t-1 t-3"))
    assert set(held["e1"]) | set(held["e2"]) >= set(tps("t-0 t-2 t-4"))
    assert sorted(len(set(held[e]) & set(tps("t-0 t-2 t-4"))) for e in ("e1", "e2")) == [1, 2]


def test_a_partition_moves_to_its_zone_when_somebody_comes_there():
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


def test_the_leaders_own_capacity_counts_no_more_than_it_told():
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
    members = (replace(member("a"), user_data=b"\x01\xff\xff\xff\xffmore"), member("b"))
    described = GroupSubscription(members, group(members, t=4).topics)
    assert len(WeightedAssignor().assign(described).of("a")) == 4


@pytest.mark.parametrize("capacity", [0, -1, 1_000_001])
def test_a_capacity_out_of_bounds_is_refused(capacity):
    with pytest.raises(ValueError, match="not between 1 and 1000000"):
        WeightedAssignor(capacity)


def test_an_entry_point_takes_the_capacity_from_the_environment(monkeypatch):
    monkeypatch.setenv("CONSUMER_CAPACITY", "7")
    seven = WeightedAssignor(7).encode_user_data(LastAssignment(), None)
    assert from_environment().encode_user_data(LastAssignment(), 3) == seven


# -- grace


def grace_of(*names, protocol=RebalanceProtocol.COOPERATIVE, count=9, **more):
    played = Played(lambda: GraceAssignor(60.0), protocol, t=count)
    played.join(*names, **more)
    played.settle()
    return played


@PROTOCOLS
def test_what_a_member_leaves_is_held_back_for_a_while_and_then_divided(protocol):
    played = grace_of("a", "b", "c", protocol=protocol)
    before = played.held()
    played.leave("c")
    assignment = played.round()
    assert assignment.partitions == {name: before[name] for name in "ab"}
    assert dict(assignment.withheld) == dict.fromkeys(before["c"])
    assert assignment.rejoin_after == 60.0
    played.now += 20
    assert played.round().rejoin_after == 40.0
    played.now += 40
    assignment = played.round()
    assert (assignment.withheld, assignment.rejoin_after) == ({}, None)
    assert all(set(before[name]) <= set(played.held()[name]) for name in "ab")
    assert sorted(played.sizes().values()) == [4, 5]


@PROTOCOLS
def test_a_static_member_that_comes_back_gets_its_own_at_once(protocol):
    played = Played(lambda: GraceAssignor(60.0), protocol, t=9)
    for name in "abc":
        played.join(f"{name}1", instance=name)
    played.settle()
    before = played.held()
    played.leave("b1")
    played.settle()
    played.now += 30
    played.join("b2", instance="b")
    assignment = played.round()
    assert assignment.of("b2") == before["b1"]
    assert {name: assignment.of(name) for name in ("a1", "c1")} == {
        name: before[name] for name in ("a1", "c1")
    }
    assert not assignment.withheld


@PROTOCOLS
def test_any_newcomer_takes_the_place_of_who_is_waited_for(protocol):
    played = grace_of("a", "b", "c", protocol=protocol)
    before = played.held()
    played.leave("c")
    played.settle()
    played.join("d")
    assignment = played.round()
    assert assignment.partitions == {"a": before["a"], "b": before["b"], "d": before["c"]}
    assert assignment.rejoin_after is None


def test_a_second_newcomer_gets_a_share():
    played = grace_of("a", "b", "c")
    played.leave("c")
    played.settle()
    played.join("d", "e")
    assert played.settle() == 2
    assert sorted(played.sizes().values()) == [2, 2, 2, 3]


def test_who_is_waited_for_longest_is_succeeded_first():
    played = grace_of("a", "b", "c")
    before = played.held()
    played.leave("b")
    played.settle()
    played.now += 10
    played.leave("c")
    played.settle()
    played.join("d")
    assert played.round().of("d") == before["b"]
    assert played.last.rejoin_after == 60.0


def test_the_leader_may_leave_and_the_next_one_knows():
    played = grace_of("a", "b", "c")
    before = played.held()
    played.leave("c")
    played.settle()
    played.now += 15
    played.leave("a")
    assignment = played.round()
    assert set(assignment.withheld) == {*before["a"], *before["c"]}
    assert assignment.rejoin_after == 45.0


@pytest.mark.parametrize(("skew", "wait"), [(-500.0, 60.0), (-10.0, 60.0), (25.0, 35.0)])
def test_another_clock_shortens_or_lengthens_a_wait_but_never_beyond_the_grace(skew, wait):
    played = grace_of("a", "b", "c")
    played.leave("c")
    played.settle()
    played.now += skew
    assert played.round().rejoin_after == wait


def test_with_the_last_member_the_memory_goes():
    played = grace_of("a", "b")
    played.leave("a", "b")
    played.join("c")
    assignment = played.round()
    assert len(assignment.of("c")) == 9
    assert not assignment.withheld


def test_the_memory_of_the_newest_generation_counts():
    played = grace_of("a", "b", "c")
    played.leave("c")
    sleeper = played.players.pop("b")
    played.settle()
    played.now += 60
    played.settle()
    played.players["b"] = sleeper
    assert None not in played.round().withheld.values()


def test_new_partitions_are_waited_for_by_nobody():
    played = grace_of("a", "b", count=4)
    played.leave("b")
    played.settle()
    played.topics["t"] = 6
    assignment = played.round()
    assert set(assignment.of("a")) >= set(tps("t-4 t-5"))
    assert len(assignment.withheld) == 2


FALSE_MEMORIES = [
    b"",
    b"\xff\x00",
    b"[" * 20_000,
    b"null",
    b"[]",
    b'{"who":[],"had":{}}',
    b'{"who":[["x",null]],"had":{"t":"0000"}}',
    b'{"who":[["x",null]],"had":{"t":[0,1.5,"a",null]}}',
    b'{"who":[["x",null]],"had":{"t":[7,-3,0]}}',
    b'{"who":[["x",NaN]],"had":{"t":[0]}}',
    b'{"who":[["x",Infinity]],"had":{"t":[0]}}',
    b'{"who":[["x",1e999]],"had":{"t":[0]}}',
    b'{"who":[["x",' + b"9" * 400 + b']],"had":{"t":[0]}}',
    b'{"who":[["x",' + b"9" * 5000 + b']],"had":{"t":[0]}}',
    b'{"who":[["\\ud800",5],[["y"],5]],"had":{"t":[0,1],"gone":[0]}}',
    b'{"who":[["x",null]],"had":{"t":{"0":0}}}',
    json.dumps({"who": [["x", 1e300]], "had": {"t": [0] * 9}}).encode(),
    b" " * BUDGET + b"{}",
]


@pytest.mark.parametrize("echo", FALSE_MEMORIES, ids=lambda echo: repr(echo[:30]))
def test_a_false_memory_can_at_most_hold_back_what_nobody_has(echo):
    members = (replace(member("a", owned="t-0", generation_id=3), user_data=echo), member("b"))
    described = GroupSubscription(members, group(members, t=9).topics, now=5000.0)
    assignor = GraceAssignor(60.0)
    assignment = assignor.assign(described)
    verify(described, assignment, assignor="grace", protocol=RebalanceProtocol.COOPERATIVE)
    assert assignment.of("a")[0] == tps("t-0")[0]
    assert assignment.rejoin_after in {None, 60.0}


@pytest.mark.slow
@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["who", "had", "t", "x"]), inner, max_size=3)
        ),
    ).map(lambda told: json.dumps(told).encode())
)
def test_no_bytes_make_it_raise(echo):
    members = (replace(member("a"), user_data=echo), member("b"))
    described = GroupSubscription(members, group(members, t=5).topics, now=5000.0)
    divide(GraceAssignor(), described, RebalanceProtocol.COOPERATIVE)


@pytest.mark.slow
def test_the_memory_is_carried_by_as_many_as_fit():
    played = Played(lambda: GraceAssignor(60.0), t=12_000)
    played.join(*(f"m{at:02}" for at in range(40)))
    played.settle()
    carried = played.last.user_data
    size = max(map(len, carried.values()))
    assert 1 <= len(carried) < 40
    assert len(carried) == BUDGET // size
    played.leave("m39")
    assert played.round().withheld


@pytest.mark.parametrize("grace", [0.0, -1.0, float("nan"), float("inf")])
def test_a_grace_that_is_no_time_is_refused(grace):
    with pytest.raises(ValueError, match="not a positive number of seconds"):
        GraceAssignor(grace)

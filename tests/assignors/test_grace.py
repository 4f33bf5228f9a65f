"""The example plug-in with a grace period: how long it waits for absent members, and its memory."""

import json
from dataclasses import replace

import pytest

from docs.examples.assignors.grace import BUDGET, GraceAssignor
from kgroup.assignors import GroupSubscription, RebalanceProtocol, verify
from tests.assignors.groups import group, member, tps
from tests.assignors.playing import Played

PROTOCOLS = pytest.mark.parametrize("protocol", list(RebalanceProtocol))


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
def test_any_newcomer_takes_the_place_of_an_absent_member(protocol):
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


def test_the_member_that_is_absent_longest_is_succeeded_first():
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
    played = grace_of("a", "b", "c", protocol=RebalanceProtocol.EAGER)
    played.leave("c")
    sleeper = played.players.pop("b")
    played.settle()
    played.now += 60
    played.settle()
    played.players["b"] = sleeper
    assert not played.round().withheld


def test_a_member_that_had_nothing_is_no_newcomer():
    played = grace_of("a", "b", "c", count=2)
    (idle,) = [name for name, held in played.held().items() if not held]
    left = next(name for name, held in played.held().items() if held)
    played.leave(left)
    assignment = played.round()
    assert assignment.of(idle) == ()
    assert len(assignment.withheld) == 1


def remembering(rows, **others):
    """Return members a and b, the former with a memory of both and of somebody else."""
    memory = {"who": [["member a", None], ["member b", None], *others.items()], "had": {"t": rows}}
    members = (
        replace(member("a", owned="t-0", generation_id=3), user_data=json.dumps(memory).encode()),
        member("b"),
    )
    return GroupSubscription(members, group(members, t=9).topics, now=5000.0)


def test_what_a_member_holds_is_not_held_back_for_another():
    assignment = GraceAssignor().assign(remembering([2] * 9, gone=None))
    assert assignment.of("a") == tps("t-0")
    assert len(assignment.withheld) == 8


def test_a_place_before_the_first_has_no_owner():
    assert not GraceAssignor().assign(remembering([-1] * 9, gone=None)).withheld


def test_new_partitions_are_given_at_once():
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
def test_a_false_memory_holds_back_at_most_partitions_without_an_owner(echo):
    members = (replace(member("a", owned="t-0", generation_id=3), user_data=echo), member("b"))
    described = GroupSubscription(members, group(members, t=9).topics, now=5000.0)
    assignor = GraceAssignor(60.0)
    assignment = assignor.assign(described)
    verify(described, assignment, assignor="grace", protocol=RebalanceProtocol.COOPERATIVE)
    assert assignment.of("a")[0] == tps("t-0")[0]
    assert assignment.rejoin_after in {None, 60.0}


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

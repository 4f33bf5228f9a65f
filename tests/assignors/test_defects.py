"""Inputs on which Kafka's Java assignors (2024) give wrong or wasteful results; ours do not."""

from dataclasses import replace

import pytest

from kgroup.assignors import BUILT_IN, GroupSubscription, PartitionRacks, RebalanceProtocol, verify
from tests.assignors.groups import group, member, target, tp, tps

STICKY = BUILT_IN["sticky"]
COOPERATIVE = BUILT_IN["cooperative-sticky"]

each_sticky = pytest.mark.parametrize(
    "assignor", [STICKY, COOPERATIVE], ids=lambda assignor: assignor.name
)


def check(assignor, described):
    assignment = assignor.assign(described)
    verify(described, assignment, assignor=assignor.name, protocol=assignor.supported_protocols[0])
    return assignment


@each_sticky
def test_1_a_member_that_subscribes_to_nothing_gets_nothing(assignor):
    idle = member("a", topics="")
    busy = member("b")
    assignment = check(assignor, group([idle, busy], t=1))
    assert assignment.of("a") == ()
    assert assignment.of("b") == tps("t-0")


@each_sticky
@pytest.mark.parametrize("claim", ["t-0 t-7", "t-0 t--1", "t-0 t-0 t-1", "t-0 gone-0"])
def test_2_a_claim_for_what_does_not_exist_or_twice_is_ignored(assignor, claim):
    described = group([member("a", owned=claim, generation_id=3), member("b")], t=2)
    assignment = check(assignor, described)
    assert tp("t-0") in assignment.of("a")
    assert sorted(len(given) for given in target(assignment).values()) == [1, 1]


@each_sticky
def test_3_a_partition_never_returns_to_a_member_that_left_its_topic(assignor):
    left = member("a", topics="u", owned="t-0 t-1 t-2", generation_id=1)
    current = member("b", topics="t u", owned="u-0", generation_id=4)
    other = member("c", topics="t", generation_id=4)
    assignment = check(assignor, group([left, current, other], t=3, u=1))
    assert all(partition.topic == "u" for partition in target(assignment)["a"])


def test_4_the_generation_that_came_with_the_claim_counts():
    """Eager members of before KIP-792: the generation is in the user data only."""
    old = member("a", owned="t-0", generation_id=1)
    new = member("b", owned="t-0", generation_id=2)
    blind = [
        type(each)(member_id=each.member_id, topics=each.topics, user_data=each.user_data)
        for each in (old, new)
    ]
    assignment = check(STICKY, group(blind, t=2))
    assert assignment.of("b") == tps("t-0")
    assert assignment.of("a") == tps("t-1")


@pytest.mark.parametrize("stale", [None, 4])
@pytest.mark.parametrize("topics", ["t", "t u"])
def test_5_an_older_claim_does_not_let_a_partition_change_hands_at_once(stale, topics):
    owner = member("a", topics, owned="t-0 t-1", generation_id=5)
    rival = member("b", "t", owned="t-1", generation_id=stale)
    assignment = COOPERATIVE.assign(group([owner, rival], t=2, u=2))
    assert tp("t-1") not in assignment.of("b")
    assert tp("t-0") not in assignment.of("b")


def test_6_an_assignor_remembers_no_generation_of_an_earlier_group():
    before = group([member("a", owned="t-0 t-1", generation_id=900), member("b", "t u")], t=2, u=2)
    again = group(
        [member("a", owned="t-0", generation_id=1), member("b", "t u", "t-1 u-0", 1)], t=2, u=2
    )
    expected = COOPERATIVE.assign(again)
    COOPERATIVE.assign(before)
    assert COOPERATIVE.assign(again) == expected
    assert tp("t-0") in expected.of("a")


@each_sticky
def test_7_a_partition_far_from_all_members_stays_where_it_is(assignor):
    topics = {
        "t": {
            0: PartitionRacks("x", frozenset("x")),
            1: PartitionRacks("x", frozenset("x")),
            2: PartitionRacks("r", frozenset("r")),
            3: PartitionRacks("s", frozenset("s")),
        }
    }
    members = (
        member("a", owned="t-1 t-2", generation_id=1, rack="r"),
        member("b", owned="t-0 t-3", generation_id=1, rack="s"),
    )
    assignment = check(assignor, GroupSubscription(members, topics))
    assert target(assignment) == {"a": set(tps("t-1 t-2")), "b": set(tps("t-0 t-3"))}


@each_sticky
@pytest.mark.parametrize("untrue", [7, 8, 2**31 - 1])
def test_a_claim_of_the_generation_being_made_or_a_later_one_takes_nothing_from_its_owner(
    assignor, untrue
):
    honest = member("a", owned="t-0 t-1", generation_id=6)
    liar = member("b", owned="t-0 t-1", generation_id=untrue)
    described = replace(group([honest, liar], t=2), generation_id=7)
    assignment = check(assignor, described)
    held_by_honest = set(tps("t-0 t-1")) & set(assignment.of("a"))
    assert len(held_by_honest) == 1
    if assignor is COOPERATIVE:
        assert assignment.of("b") == ()
        assert len(assignment.withheld) == 1


def test_a_claim_that_cannot_be_true_still_counts_when_nobody_else_claims():
    """1. The log of offsets is lost; 2. the group begins anew at a lower generation."""
    members = [member("a", owned="t-1", generation_id=900), member("b")]
    described = replace(group(members, t=2), generation_id=1)
    assert check(COOPERATIVE, described).of("a") == tps("t-1")


def test_two_claims_of_one_generation_void_each_other():
    described = group(
        [
            member("a", owned="t-0 t-1", generation_id=3),
            member("b", owned="t-0 t-2", generation_id=3),
        ],
        t=3,
    )
    assignment = COOPERATIVE.assign(described)
    assert set(assignment.withheld) == {tp("t-0")}
    verify(described, assignment, assignor="x", protocol=RebalanceProtocol.COOPERATIVE)


def test_a_newer_claim_beats_two_equal_older_ones_in_any_order():
    claims = [("a", 3), ("b", 3), ("c", 4)]
    for order in (claims, claims[::-1], [claims[0], claims[2], claims[1]]):
        described = group([member(who, owned="t-0", generation_id=g) for who, g in order], t=3)
        assert tp("t-0") in COOPERATIVE.assign(described).of("c")

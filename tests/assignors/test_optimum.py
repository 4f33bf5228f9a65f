"""Unequal subscriptions: the sticky assignors against an exact solver written independently."""

from collections import Counter
from random import Random

import pytest

from kgroup.assignors import BUILT_IN, GroupSubscription, verify
from kgroup.assignors.claims import cooperative_claim, settle
from kgroup.assignors.sticky_equal import improve_racks
from kgroup.assignors.sticky_target import plan_unequal
from tests.assignors.eventful import EVENTS, Drawn, groups_after, grow, settled
from tests.assignors.exact import cost_of, least_cost, owners, racks_count
from tests.assignors.groups import group as made
from tests.assignors.groups import member, target

pytestmark = pytest.mark.slow

STICKY = BUILT_IN["sticky"], BUILT_IN["cooperative-sticky"]

each_event = pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
with_racks = pytest.mark.parametrize("racks", [False, True], ids=["no racks", "racks"])


def assigned(seed, group):
    """What everybody has in the end, by one of both sticky assignors, checked by the leader."""
    assignor = STICKY[seed % 2]
    assignment = assignor.assign(group)
    verify(group, assignment, assignor="x", protocol=assignor.supported_protocols[0])
    return target(assignment)


def check_best(groups):
    for seed, group in groups:
        assert cost_of(group, assigned(seed, group)) == least_cost(group), f"seed {seed}"


@each_event
@with_racks
def test_balance_moves_and_racks_are_those_of_the_exact_solver(event, racks):
    check_best(groups_after(event, 240, racks=racks, first=1_000))


@each_event
@with_racks
def test_larger_groups_get_the_best_assignment_too(event, racks):
    check_best(groups_after(event, 6, racks=racks, most=(30, 15, 10)))


@each_event
@with_racks
def test_a_group_that_has_what_it_should_have_keeps_it(event, racks):
    for seed, group in groups_after(event, 20, racks=racks):
        ends = assigned(seed, group)
        again = STICKY[1].assign(settled(group, ends))
        assert not again.withheld
        assert target(again) == ends, f"seed {seed}"


@each_event
@with_racks
def test_the_order_of_members_topics_and_claims_does_not_matter(event, racks):
    for seed, group in groups_after(event, 20, racks=racks):
        random, topics, members = Random(seed), list(group.topics.items()), list(group.members)
        random.shuffle(topics)
        random.shuffle(members)
        turned = [type(m)(**fields(m) | {"owned": shuffled(random, m.owned)}) for m in members]
        shuffled_group = GroupSubscription(tuple(turned), dict(topics))
        for assignor in STICKY:
            assert assignor.assign(shuffled_group) == assignor.assign(group), f"seed {seed}"


def fields(member):
    return {name: getattr(member, name) for name in type(member).__slots__}


def shuffled(random, claims):
    return tuple(random.sample(claims, len(claims)))


def planned(group, limit):
    """A target found with so much work, as partitions."""
    holdings = settle(group.members, cooperative_claim, group.partitions)
    walk = [each for each in group.members if not each.topics.isdisjoint(group.topics)]
    plan = plan_unequal(group, holdings, walk, limit=limit)
    return {each.member_id: set() for each in group.members} | {
        who: {group.partitions[index] for index in indices} for who, indices in plan.items()
    }


def check_valid(group, ends):
    topics = {each.member_id: each.topics for each in group.members}
    assert sorted(tp for given in ends.values() for tp in given) == sorted(group.partitions)
    for who, given in ends.items():
        assert {tp.topic for tp in given} <= topics[who]


@pytest.mark.parametrize("limit", [-1, 0, 100])
@with_racks
def test_a_search_cut_short_is_as_balanced_but_moves_more(limit, racks):
    moved_more = 0
    for event in EVENTS:
        for _, group in groups_after(event, 6, racks=racks, most=(20, 12, 8)):
            ends = planned(group, limit)
            check_valid(group, ends)
            short, best = cost_of(group, ends), cost_of(group, target(STICKY[1].assign(group)))
            assert short.squares == best.squares
            assert short >= best
            moved_more += short > best
    assert moved_more, "the limit was never reached"


def test_a_search_cut_short_exchanges_nothing_for_its_like():
    for seed, group in groups_after(grow, 20, racks=True, first=10, most=(40, 20, 10)):
        ends, owner = planned(group, limit=-1), owners(group)
        lost = {
            (who, tp.topic, group.racks_of(tp)) for tp, who in owner.items() if tp not in ends[who]
        }
        taken = {
            (who, tp.topic, group.racks_of(tp))
            for who, given in ends.items()
            for tp in given
            if owner.get(tp) != who
        }
        assert taken.isdisjoint(lost), f"seed {seed}"


def test_a_topic_is_spread_over_many_members_where_nothing_else_matters():
    names = [f"t{number}" for number in range(5)]
    members = [
        member(f"m{number}", " ".join(n for at, n in enumerate(names) if at != number % 5))
        for number in range(10)
    ]
    ends = target(STICKY[0].assign(made(members, **dict.fromkeys(names, 20))))
    assert {len(given) for given in ends.values()} == {10}
    for given in ends.values():  # eight members could have 20 partitions of each topic
        assert max(Counter(tp.topic for tp in given).values()) <= 4


def groups_with_racks(count, most=(8, 6, 6)):
    """Yield groups whose members subscribe to the same, with claims, true and false."""
    seed = 0
    while count:
        drawn = Drawn(seed, racks=True, most=most)
        everything = frozenset(drawn.topics)
        drawn.members = [type(m)(**fields(m) | {"topics": everything}) for m in drawn.members]
        drawn.assigned()
        drawn.lied()
        if racks_count(drawn.group()):
            yield drawn.group(), drawn.random
            count -= 1
        seed += 1


def dealt(group, random):
    """Partitions, as indices, in turn to the members in any order."""
    order = random.sample(range(len(group.partitions)), len(group.partitions))
    count = len(group.members)
    return {each.member_id: order[at::count] for at, each in enumerate(group.members)}


def as_partitions(group, plan):
    return {who: {group.partitions[index] for index in given} for who, given in plan.items()}


def improved(group, given, limit=1_000_000):
    """What becomes of a given assignment, as costs before and after; checked to be no worse."""
    holdings = settle(group.members, cooperative_claim, group.partitions)
    better = improve_racks(group, holdings, group.members, given, limit=limit)
    ends = as_partitions(group, better)
    check_valid(group, ends)
    now, was = cost_of(group, ends), cost_of(group, as_partitions(group, given))
    assert now.squares == was.squares
    assert (now.far, now.moves) <= (was.far, was.moves)
    assert (better is given) == (now == was), "touched without need"
    return now, ends


def test_racks_of_equal_subscriptions_are_those_of_the_exact_solver():
    for group, random in groups_with_racks(300):
        given = dealt(group, random)
        now, ends = improved(group, given)
        assert now == least_cost(group, "balance, racks, moves")
        best = {who: group.partitions.indices_of(sorted(mine)) for who, mine in ends.items()}
        assert improved(group, best)[1] == ends  # and was not touched
        assert improved(settled(group, ends), given)[1] == ends


def test_a_search_for_racks_cut_short_makes_nothing_worse():
    worse = False
    for group, random in groups_with_racks(20, most=(20, 12, 8)):
        given = dealt(group, random)
        short, best = improved(group, given, limit=-1)[0], improved(group, given)[0]
        assert (short.far, short.moves) >= (best.far, best.moves)
        worse |= short != best
    assert worse, "the limit was never reached"

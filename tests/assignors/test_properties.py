"""What holds for every group, drawn with false, stale and contradicting claims."""

from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgroup.assignors import BUILT_IN, GroupSubscription, RebalanceProtocol, verify
from kgroup.assignors.claims import cooperative_claim, settle
from tests.assignors.groups import after, every_assignment, groups, target

pytestmark = pytest.mark.slow

ASSIGNORS = list(BUILT_IN.values())
COOPERATIVE = BUILT_IN["cooperative-sticky"]
BOTH_STICKY = [BUILT_IN["sticky"], COOPERATIVE]

each_assignor = pytest.mark.parametrize("assignor", ASSIGNORS, ids=lambda each: each.name)


@each_assignor
@given(described=groups())
@settings(max_examples=50)
def test_every_partition_goes_to_exactly_one_subscriber(assignor, described):
    assignment = assignor.assign(described)
    assert set(assignment.partitions) == {member.member_id for member in described.members}
    verify(described, assignment, assignor=assignor.name, protocol=assignor.supported_protocols[0])


@each_assignor
@given(described=groups(), random=st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_the_order_of_members_topics_and_claims_changes_nothing(assignor, described, random):
    members = list(described.members)
    topics = list(described.topics.items())
    random.shuffle(members)
    random.shuffle(topics)
    shuffled = GroupSubscription(tuple(members), dict(topics))
    assert assignor.assign(shuffled) == assignor.assign(described)


@pytest.mark.parametrize("assignor", BOTH_STICKY, ids=lambda each: each.name)
@given(described=groups(equal=True))
@settings(max_examples=50)
def test_with_equal_subscriptions_sizes_differ_by_at_most_one(assignor, described):
    sizes = [len(given) for given in target(assignor.assign(described)).values()]
    assert max(sizes) - min(sizes) <= 1


def owners_of(described):
    held = settle(described.members, cooperative_claim, described.partitions).held
    return {described.partitions[at]: who for who, indices in held.items() for at in indices}


def moves(owners, ends, topics):
    return sum(
        ends[partition] != owner
        for partition, owner in owners.items()
        if partition.topic in topics[owner]
    )


@given(described=groups(racks=False))
@settings(max_examples=50)
def test_no_assignment_is_better_balanced_and_none_as_balanced_moves_less(described):
    topics = {member.member_id: member.topics for member in described.members}
    choices = 1
    for partition in described.partitions:
        choices *= len(described.subscribers(partition.topic))
    assume(choices <= 2000)

    def cost(ends):
        sizes = Counter(ends.values())
        return sum(size * size for size in sizes.values()), moves(
            owners_of(described), ends, topics
        )

    ours = {
        partition: who
        for who, given in target(COOPERATIVE.assign(described)).items()
        for partition in given
    }
    assert cost(ours) == min(map(cost, every_assignment(described)))


@given(described=groups())
@settings(max_examples=50)
def test_nothing_is_handed_over_while_anybody_else_may_hold_it(described):
    assignment = COOPERATIVE.assign(described)
    holdings = settle(described.members, cooperative_claim, described.partitions)
    disputed = {described.partitions[index] for index in holdings.disputed}
    owners = owners_of(described)
    for who, partitions in assignment.partitions.items():
        assert all(owners.get(partition, who) == who for partition in partitions)
        assert not disputed & set(partitions)


@given(described=groups(equal=False))
@settings(max_examples=50)
def test_what_was_withheld_is_given_in_the_second_round(described):
    first = COOPERATIVE.assign(described)
    second = COOPERATIVE.assign(after(described, first, generation_id=9))
    assert not second.withheld
    for who, partitions in first.partitions.items():
        assert set(partitions) <= set(second.of(who))


@given(described=groups(equal=True))
@settings(max_examples=50)
def test_rounds_end_also_where_racks_matter(described):
    for generation_id in range(9, 13):
        assignment = COOPERATIVE.assign(described)
        if not assignment.withheld:
            break
        described = after(described, assignment, generation_id)
    assert not assignment.withheld


@pytest.mark.parametrize("assignor", BOTH_STICKY, ids=lambda each: each.name)
@given(described=groups(racks=False))
@settings(max_examples=50)
def test_an_undisturbed_group_keeps_everything(assignor, described):
    assignment = BUILT_IN["sticky"].assign(described)
    again = assignor.assign(after(described, assignment, generation_id=9))
    assert again.partitions == assignment.partitions


def test_the_built_in_protocols_are_those_of_kafka():
    eager, cooperative = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
    assert {each.name: set(each.supported_protocols) for each in ASSIGNORS} == {
        "range": {eager},
        "roundrobin": {eager},
        "sticky": {eager},
        "cooperative-sticky": {eager, cooperative},
    }

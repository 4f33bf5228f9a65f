"""Rounds and moves in every group, drawn with false, stale and contradicting claims.

What holds for a single answer is proved by the conformance kit (`conformance/test_kept.py`).
"""

from collections import Counter

import pytest
from hypothesis import assume, given, settings

from kgroup.assignors import BUILT_IN, RebalanceProtocol
from kgroup.assignors.claims import cooperative_claim, settle
from tests.assignors.groups import after, every_assignment, groups, target

pytestmark = pytest.mark.slow

COOPERATIVE = BUILT_IN["cooperative-sticky"]


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


def test_the_built_in_protocols_are_those_of_kafka():
    eager, cooperative = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
    assert {each.name: set(each.supported_protocols) for each in BUILT_IN.values()} == {
        "range": {eager},
        "roundrobin": {eager},
        "sticky": {eager},
        "cooperative-sticky": {eager, cooperative},
    }

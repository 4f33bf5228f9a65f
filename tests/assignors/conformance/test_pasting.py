"""What the kit prints as code makes the group that it found."""

from typing import Any

import pytest
from hypothesis import given, settings

from kgroup.assignors import BUILT_IN, GroupSubscription, Member, PartitionRacks
from kgroup.assignors.conformance.drawing import groups
from kgroup.assignors.conformance.gallery import gallery
from kgroup.assignors.conformance.paste import group_as_code
from kgroup.assignors.conformance.subject import subject_of

DRAWN = groups(subject_of(BUILT_IN["sticky"]))


def pasted(group):
    names: dict[str, Any] = {}
    exec(group_as_code(group), names)
    return names["group"]


@pytest.mark.parametrize("name", gallery())
def test_an_odd_group_is_pasted_as_it_was(name):
    assert pasted(gallery()[name]) == gallery()[name]


@settings(max_examples=40, deadline=None)
@given(DRAWN.strategy)
def test_whatever_was_drawn_is_pasted_as_it_was(data):
    group = DRAWN.make(data)
    assert pasted(group) == group
    assert tuple(pasted(group).partitions) == tuple(group.partitions)


def test_a_simple_group_takes_few_lines():
    members = (Member(member_id="a", topics=frozenset({"t"})),)
    group = GroupSubscription(members, {"t": dict.fromkeys(range(2), PartitionRacks())})
    assert group_as_code(group, imports=False) == (
        "group = GroupSubscription(\n"
        "    members=(\n"
        "        Member(member_id='a', topics=frozenset({'t'})),\n"
        "    ),\n"
        "    topics={\n"
        "        't': dict.fromkeys(range(2), PartitionRacks()),\n"
        "    },\n"
        ")"
    )

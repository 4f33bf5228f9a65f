"""The plug-in interface, as an author outside this repository uses it."""

from typing import ClassVar

import pytest

from kgroup.assignors import (
    BUILT_IN,
    Assignor,
    GroupAssignment,
    GroupSubscription,
    Member,
    PartitionRacks,
    RebalanceProtocol,
    UserDataAssignor,
    verify,
)
from kgroup.errors import AssignmentError
from tests.assignors.groups import group, member, tp, tps


class ZoneAssignor:
    """Give each partition to the least loaded member in its leader's rack (KIP-881)."""

    name: ClassVar[str] = "zone"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        draft = group.draft()
        for partition in group.partitions:
            able = group.subscribers(partition.topic)
            near = [m for m in able if m.rack == group.rack_of(partition)]
            draft.give(partition, to=min(near or able, key=draft.load))
        return draft.freeze()


class CooperativeZoneAssignor(ZoneAssignor):
    name: ClassVar[str] = "cooperative-zone"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.COOPERATIVE,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        draft = group.draft()
        for partition in group.partitions:
            draft.give(partition, to=min(group.subscribers(partition.topic), key=draft.load))
        return draft.freeze(RebalanceProtocol.COOPERATIVE)


ZONE: Assignor = ZoneAssignor()
ZONES = {"t": {0: PartitionRacks("east"), 1: PartitionRacks("west"), 2: PartitionRacks("north")}}


def test_an_assignor_in_fifteen_lines_assigns_by_zone():
    members = (
        Member(member_id="e", topics=frozenset("t"), rack="east"),
        Member(member_id="w", topics=frozenset("t"), rack="west"),
    )
    described = GroupSubscription(members, ZONES)
    assignment = ZONE.assign(described)
    verify(described, assignment, assignor="zone", protocol=RebalanceProtocol.EAGER)
    assert assignment.partitions == {"e": tps("t-0 t-2"), "w": tps("t-1")}


def test_a_cooperative_plug_in_withholds_by_freezing():
    described = group([member("a", owned="t-0 t-1", generation_id=1), member("b")], t=2)
    assignment = CooperativeZoneAssignor().assign(described)
    verify(described, assignment, assignor="zone", protocol=RebalanceProtocol.COOPERATIVE)
    assert assignment.partitions == {"a": tps("t-0"), "b": ()}
    assert assignment.withheld == {tp("t-1"): "b"}


def test_only_assignors_with_user_data_are_taken_for_such():
    assert not isinstance(ZONE, UserDataAssignor)
    with_user_data = {name for name, a in BUILT_IN.items() if isinstance(a, UserDataAssignor)}
    assert with_user_data == {"sticky", "cooperative-sticky"}


# -- drafts


def test_a_draft_knows_what_it_has_given():
    described = group([member("a"), member("b")], t=2)
    a, b = described.members
    draft = described.draft()
    draft.give(tp("t-1"), to=b)
    assert (draft.load(a), draft.load(b)) == (0, 1)
    assert draft.owner(tp("t-1")) is b
    assert draft.owner(tp("t-0")) is None


@pytest.mark.parametrize(
    ("partition", "to", "message"),
    [
        ("t-9", "a", "t-9 is not a partition of a subscribed topic"),
        ("t-1", "stranger", "t-1 given to 'stranger', who is not a member"),
        ("t-1", "b", "t-1 given to 'b', which does not subscribe"),
        ("t-0", "a", "t-0 given to 'a', but 'a' has it already"),
    ],
)
def test_a_draft_refuses_what_cannot_be_part_of_an_assignment(partition, to, message):
    described = group([member("a"), member("b", topics="u")], t=2, u=1)
    draft = described.draft()
    draft.give(tp("t-0"), to=described.members[0])
    members = {each.member_id: each for each in described.members} | {
        "stranger": member("stranger")
    }
    with pytest.raises(AssignmentError, match=message):
        draft.give(tp(partition), to=members[to])


def test_an_incomplete_draft_cannot_be_frozen():
    draft = group([member("a")], t=3).draft()
    with pytest.raises(AssignmentError, match="3 partitions were given to nobody: t-0, t-1, t-2"):
        draft.freeze()

"""Assignors of aiokafka in a group: which are ours, and how others are called."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from hypothesis import given
from hypothesis import strategies as some

from kgroup.assignors import GroupSubscription, Member, PartitionRacks, resolve
from kgroup.compat.aiokafka.assignors import DEFAULT, adapted
from kgroup.types import RebalanceProtocol


class Everything(AbstractPartitionAssignor):
    """Gives everything to the member whose id comes first; counts its rounds on the class."""

    name = "everything"
    version = 0
    rounds = 0

    @classmethod
    def assign(
        cls, cluster: Any, members: Mapping[str, Any]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        cls.rounds += 1
        first = min(members)
        topics = sorted(members[first].subscription)
        rows = [(topic, sorted(cluster.partitions_for_topic(topic) or ())) for topic in topics]
        note = f"round {cls.rounds}".encode()
        found = {each: ConsumerProtocolMemberAssignment(cls.version, [], b"") for each in members}
        return {**found, first: ConsumerProtocolMemberAssignment(cls.version, rows, note)}

    @classmethod
    def metadata(cls, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        return ConsumerProtocolMemberMetadata(cls.version, list(topics), b"mine")

    @classmethod
    def on_assignment(cls, assignment: Any) -> None:
        pass


class Renamed(RoundRobinPartitionAssignor):
    """A subclass is not what it comes from."""

    name = "renamed"


def group(subscriptions: Mapping[str, Iterable[str]], **topics: int) -> GroupSubscription:
    members = [Member(member_id=each, topics=frozenset(t)) for each, t in subscriptions.items()]
    known = {t: {n: PartitionRacks() for n in range(count)} for t, count in topics.items()}
    return GroupSubscription(tuple(members), known)


def test_aiokafkas_own_are_the_native_ones_of_the_same_names() -> None:
    given = (StickyPartitionAssignor, RangePartitionAssignor, RoundRobinPartitionAssignor)
    assert adapted(given) == ("sticky", "range", "roundrobin")
    assert [each.name for each in given] == ["sticky", "range", "roundrobin"]


def test_an_instance_stands_for_its_class() -> None:
    assert adapted([RangePartitionAssignor()]) == ("range",)


def test_one_that_is_named_twice_is_offered_once() -> None:
    twice = [Everything, RangePartitionAssignor, Everything, RangePartitionAssignor]
    assert adapted(twice) == (Everything, "range")


def test_the_default_is_aiokafkas() -> None:
    assert adapted(DEFAULT) == ("roundrobin",)


def test_any_iterable_is_taken_in_its_order() -> None:
    assert adapted(iter((RangePartitionAssignor, Everything))) == ("range", Everything)


@pytest.mark.parametrize(
    "given",
    [RangePartitionAssignor, "roundrobin", ["roundrobin"], [object], [None], None, 7],
    ids=repr,
)
def test_what_is_no_list_of_aiokafkas_assignors_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match=r"partition_assignment_strategy: got .*kgroup\.Consumer"):
        adapted(given)


# -- others ------------------------------------------------------------------------------------


def test_another_class_of_its_kind_is_called_itself() -> None:
    (assignor,) = resolve(adapted([Everything]))
    assert assignor.name == "everything"
    assert assignor.supported_protocols == (RebalanceProtocol.EAGER,)
    done = assignor.assign(group({"b": ["t", "u"], "a": ["t"]}, t=2, u=1))
    assert {str(tp) for tp in done.partitions["a"]} == {"t-0", "t-1"}
    assert done.partitions["b"] == ()
    assert done.user_data == {"a": b"round 1"}


def test_what_a_class_keeps_on_itself_is_not_shared() -> None:
    (assignor,) = resolve(adapted([Everything]))
    for _ in range(2):
        done = assignor.assign(group({"a": ["t"]}, t=1))
        assert done.user_data == {"a": b"round 1"}
    assert Everything.rounds == 0


def test_a_subclass_of_a_built_in_is_called_itself() -> None:
    (assignor,) = resolve(adapted([Renamed]))
    assert assignor.name == "renamed"
    done = assignor.assign(group({"a": ["t"], "b": ["t"]}, t=3))
    assert [tp.partition for tp in done.partitions["a"]] == [0, 2]


SUBSCRIPTIONS = some.dictionaries(
    some.sampled_from(["m1", "m2", "m3", "m4"]),
    some.sets(some.sampled_from(["t", "u", "v"]), min_size=1),
    min_size=1,
)
COUNTS = some.dictionaries(some.sampled_from(["t", "u", "v"]), some.integers(1, 5))


@pytest.mark.parametrize("kind", [RangePartitionAssignor, RoundRobinPartitionAssignor])
def test_ours_divides_as_aiokafkas_does(kind: type[Any]) -> None:
    # A leader may change between the two clients, and nothing should move because of that.
    class Theirs(kind):
        name = "theirs"

    (ours, theirs) = resolve((*adapted([kind]), *adapted([Theirs])))

    @given(SUBSCRIPTIONS, COUNTS)
    def same(subscriptions: Mapping[str, set[str]], topics: Mapping[str, int]) -> None:
        asked = group(subscriptions, **topics)
        assert ours.assign(asked).partitions == theirs.assign(asked).partitions

    same()

"""OffsetFetch: what is read, and where errors stand in which version."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.offsets.store import Committed
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.testing.broker.committing import Cluster
from tests.testing.broker.offset_rows import offsets_of

BY_NAME = range(1, 10)
T0, T1 = ("t", 0), ("t", 1)
NONE = (-1, 0)


@pytest.mark.parametrize("version", BY_NAME)
def test_what_was_never_committed_is_minus_one_and_no_error(version: int) -> None:
    cluster = Cluster()
    answer = cluster.fetch(T0, ("t", 99), ("none", 0), version=version)
    assert offsets_of(answer) == {T0: NONE, ("t", 99): NONE, ("none", 0): NONE}


@pytest.mark.parametrize("version", BY_NAME)
def test_every_version_reads_what_was_committed(version: int) -> None:
    cluster = Cluster()
    cluster.commit({T0: 5})
    assert offsets_of(cluster.fetch(T0, T1, version=version)) == {T0: (5, 0), T1: NONE}


@pytest.mark.parametrize("version", range(2, 11))
def test_null_topics_read_every_partition_with_an_offset(version: int) -> None:
    cluster = Cluster()
    cluster.commit({T0: 5, ("u", 0): 6})
    offsets = offsets_of(cluster.fetch(version=version))
    assert sorted(offsets.values()) == [(5, 0), (6, 0)]


@pytest.mark.parametrize("version", [2, 9, 10])
def test_null_topics_of_an_unknown_group_are_an_empty_list(version: int) -> None:
    assert offsets_of(Cluster().fetch(version=version)) == {}


def test_one_request_reads_several_groups_from_version_8_on() -> None:
    cluster = Cluster()
    cluster.commit({T0: 5}, group_id="one")
    cluster.commit({T0: 6}, group_id="two")
    topics = (OffsetFetchRequestTopics(name="t", partition_indexes=(0,)),)
    groups = [
        OffsetFetchRequestGroup(group_id=each, topics=topics) for each in ("one", "none", "two")
    ]
    answer = cluster.raw.ask(1, OffsetFetchRequest(groups=tuple(groups)), version=8).now
    assert [
        (group.group_id, group.topics[0].partitions[0].committed_offset) for group in answer.groups
    ] == [("one", 5), ("none", -1), ("two", 6)]


def test_the_member_of_version_9_is_of_no_interest_to_a_classic_group() -> None:
    cluster = Cluster()
    cluster.commit({T0: 5}, cluster.stable())
    assert offsets_of(cluster.fetch(T0, member_id="ghost", member_epoch=9)) == {T0: (5, 0)}


def test_topics_are_named_by_id_from_version_10_on() -> None:
    cluster = Cluster()
    cluster.commit({T1: 5})
    (group,) = cluster.fetch(("none", 0), T1, ("t", 9), version=10).groups
    known, unknown = group.topics
    topic = cluster.topics.topic("t")
    assert topic is not None
    assert known.topic_id == topic.topic_id
    assert [each.committed_offset for each in known.partitions] == [5, -1]
    assert unknown.topic_id == b"\1" * 16
    assert [each.error_code for each in unknown.partitions] == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_what_has_no_topic_id_is_left_out_from_version_10_on() -> None:
    cluster = Cluster()
    cluster.commit({T0: 5})
    cluster.shard().offsets.commit("g", TopicPartition("gone", 0), Committed(offset=6))
    assert len(cluster.fetch(version=9).groups[0].topics) == 2
    assert len(cluster.fetch(version=10).groups[0].topics) == 1


# -- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", BY_NAME)
def test_a_broker_that_has_not_the_group_says_so_where_the_version_has_room(version: int) -> None:
    cluster = Cluster(nodes=2)
    answer = cluster.fetch(T0, version=version, node=3 - cluster.home())
    elsewhere = ErrorCode.NOT_COORDINATOR
    if version == 1:
        assert offsets_of(answer) == {T0: (-1, elsewhere)}
        return
    codes = [group.error_code for group in answer.groups] or [answer.error_code]
    assert codes == [elsewhere]
    assert offsets_of(answer) == {}


# -- transactions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [7, 8, 9])
def test_a_partition_of_an_open_transaction_is_unstable(version: int) -> None:
    cluster = Cluster()
    cluster.commit({T0: 5, T1: 5})
    cluster.txn_commit(cluster.producer())
    unstable = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    stable = cluster.fetch(T0, T1, version=version, require_stable=True)
    assert offsets_of(stable) == {T0: unstable, T1: (5, 0)}
    assert offsets_of(cluster.fetch(T0, version=version)) == {T0: (5, 0)}


def test_null_topics_show_unstable_partitions_that_had_an_offset() -> None:
    cluster = Cluster()
    cluster.commit({T0: 5})
    cluster.txn_commit(cluster.producer(), {T0: 6, T1: 6})
    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert offsets_of(cluster.fetch(require_stable=True)) == {T0: (-1, unstable)}

"""OffsetFetch: what is read, and where errors stand in which version."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.offsets.store import Committed
from kgroup.types import TopicPartition
from tests.testing.broker.committing import Cluster
from tests.testing.broker.offset_rows import offsets_of

BY_NAME = range(1, 10)
T0, T1 = ("t", 0), ("t", 1)


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

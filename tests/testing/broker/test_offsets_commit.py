"""OffsetCommit beyond the recordings: Java's text lengths, topic ids, several brokers."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from tests.testing.broker.committing import Cluster, Membership
from tests.testing.broker.offset_rows import offsets_of

UNKNOWN_MEMBER = ErrorCode.UNKNOWN_MEMBER_ID
GHOST = "ghost"


@pytest.mark.parametrize(("text", "code"), [("m" * 4096, 0), ("m" * 4097, 12), ("😀" * 2049, 12)])
def test_metadata_has_a_limit_that_counts_as_java_does(text: str, code: int) -> None:
    cluster = Cluster()
    member = cluster.stable()
    assert cluster.code(member, metadata=text) == code
    assert cluster.offset() == (-1 if code else 5)
    assert cluster.code(Membership(GHOST, 1), metadata=text) == UNKNOWN_MEMBER


def test_any_broker_refuses_an_unknown_topic_before_it_looks_at_the_member() -> None:
    cluster = Cluster(nodes=2)
    elsewhere = 3 - cluster.home()
    ghost = Membership(GHOST, 1)
    assert cluster.commit({("none", 0): 1}, ghost) == {("none", 0): 3}
    assert cluster.commit({("none", 0): 1}, ghost, node=elsewhere) == {("none", 0): 3}


def test_topics_are_named_by_id_from_version_10_on() -> None:
    cluster = Cluster()
    assert cluster.commit({("t", 1): 3, ("t", 9): 3}, version=10) == {("t", 9): 3, ("t", 1): 0}
    assert cluster.commit({("none", 0): 3}, version=10) == {("?", 0): ErrorCode.UNKNOWN_TOPIC_ID}
    assert offsets_of(cluster.fetch()) == {("t", 1): (3, 0)}


def test_while_loading_commits_are_refused_and_afterwards_offsets_are_there() -> None:
    settings = BrokerSettings(min_session_timeout=1.0, load_time=2.0)
    cluster = Cluster(nodes=2, settings=settings)
    cluster.raw.run(2.0)
    member = cluster.stable()
    cluster.commit({("t", 0): 11}, member)
    cluster.move(3 - cluster.home())
    assert cluster.code(member) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    cluster.raw.run(2.0)
    assert cluster.offset() == 11
    assert cluster.code(member) == 0


def test_a_simple_group_is_there_after_a_move() -> None:
    cluster = Cluster(nodes=2)
    cluster.commit({("t", 0): 11})
    cluster.move(3 - cluster.home())
    assert cluster.describe().group_state == "Empty"
    assert cluster.offset() == 11

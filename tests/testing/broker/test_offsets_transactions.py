"""TxnOffsetCommit, and what the end of a transaction does to offsets."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.cluster.cluster import TRANSACTIONS_TOPIC
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import TxnOffsetCommitRequest
from tests.testing.broker.committing import Cluster, Membership, Producer
from tests.testing.broker.offset_rows import offsets_of

T0, T1 = ("t", 0), ("t", 1)


def code(cluster: Cluster, producer: Producer, who: Membership, version: int = 3) -> int:
    (found,) = cluster.txn_commit(producer, None, who, version=version).values()
    return found


# -- the end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", TxnOffsetCommitRequest.VERSIONS)
def test_offsets_count_when_their_transaction_commits(version: int) -> None:
    cluster = Cluster()
    producer = cluster.producer()
    assert cluster.txn_commit(producer, version=version) == {T0: 0}
    assert cluster.offset() == -1
    cluster.end(producer, committed=True)
    assert cluster.offset() == 6


def test_the_last_offset_of_a_transaction_counts() -> None:
    cluster = Cluster()
    producer = cluster.producer()
    cluster.txn_commit(producer, {T0: 6})
    cluster.txn_commit(producer, {T0: 4})
    cluster.end(producer, committed=True)
    assert cluster.offset() == 4


def test_a_partition_is_unstable_until_the_last_of_its_transactions_ends() -> None:
    cluster = Cluster()
    one, two = cluster.producer("one"), cluster.producer("two")
    cluster.txn_commit(one, {T0: 6})
    cluster.txn_commit(two, {T0: 7})
    cluster.end(two, committed=True)
    assert offsets_of(cluster.fetch(T0, require_stable=True))[T0][1] == 88
    cluster.end(one, committed=True)
    assert offsets_of(cluster.fetch(T0, require_stable=True)) == {T0: (7, 0)}


def test_what_a_transaction_holds_outlives_a_move() -> None:
    cluster = Cluster(nodes=2)
    producer = cluster.producer()
    cluster.txn_commit(producer)
    cluster.move(3 - cluster.home())
    assert cluster.describe().group_state == "Empty"
    cluster.shard().offsets.end_transaction(producer.producer_id, committed=True)
    assert cluster.offset() == 6


# -- producers -------------------------------------------------------------------------------------


def test_a_transactional_commit_renews_no_session() -> None:
    cluster = Cluster()
    member = cluster.stable(session=2.0)
    producer = cluster.producer()
    cluster.raw.run(1.5)
    assert code(cluster, producer, member) == 0
    cluster.raw.run(1.0)
    assert cluster.describe().group_state == "Empty"


# -- what else is refused --------------------------------------------------------------------------


def test_unknown_partitions_and_long_metadata_are_refused_one_by_one() -> None:
    cluster = Cluster()
    producer = cluster.producer()
    wanted = {T0: 1, ("t", 9): 1, ("none", 0): 1}
    assert cluster.txn_commit(producer, wanted) == {("t", 9): 3, T0: 0, ("none", 0): 3}
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert cluster.txn_commit(producer, metadata="m" * 4097) == {T0: too_large}


def test_the_empty_group_id_has_no_transactions() -> None:
    cluster = Cluster()
    producer = cluster.producer()
    assert cluster.txn_commit(producer, group_id="") == {T0: ErrorCode.INVALID_GROUP_ID}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (3, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_old_producers_get_another_code_while_loading(version: int, expected: ErrorCode) -> None:
    cluster = Cluster(settings=BrokerSettings(load_time=5.0))
    cluster.raw.run(5.0)
    producer = cluster.producer()
    cluster.move(1)
    assert cluster.txn_commit(producer, version=version) == {T0: expected}


@pytest.mark.parametrize(
    ("version", "expected"),
    [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE), (5, 0)],
)
def test_offsets_must_belong_to_the_transaction_or_join_it(version: int, expected: int) -> None:
    cluster = Cluster()
    producer = cluster.producer(group_id="other")
    other = next(each for each in "abcdefgh" if cluster.shard(each) is not cluster.shard("other"))
    assert cluster.txn_commit(producer, group_id=other, version=version) == {T0: expected}
    if version == 5:
        cluster.end(producer, committed=True)
        assert cluster.offset(group_id=other) == 6


def test_a_producer_that_was_fenced_commits_nothing() -> None:
    cluster = Cluster()
    before = cluster.producer()
    cluster.end(before, committed=True)
    cluster.producer()
    assert cluster.txn_commit(before) == {T0: ErrorCode.INVALID_PRODUCER_EPOCH}


def test_an_unknown_transactional_id_commits_nothing() -> None:
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert Cluster().txn_commit(Producer("x", 1, 0)) == {T0: unknown}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (3, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (4, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (5, ErrorCode.CONCURRENT_TRANSACTIONS),
    ],
)
def test_while_the_last_transaction_is_being_marked_the_next_one_waits(
    version: int, expected: ErrorCode
) -> None:
    cluster = Cluster(settings=BrokerSettings(marker_delay=1.0))
    producer = cluster.producer()
    cluster.end(producer, committed=True)
    assert cluster.txn_commit(producer, version=version) == {T0: expected}


def test_without_a_transaction_coordinator_a_producer_commits_nothing() -> None:
    cluster = Cluster()
    producer = cluster.producer()
    for each in cluster.topics.topics[TRANSACTIONS_TOPIC].partitions:
        cluster.topics.elect(each.tp, None)
    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert cluster.txn_commit(producer) == {T0: unavailable}

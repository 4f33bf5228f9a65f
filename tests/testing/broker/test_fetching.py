"""What one fetch is answered that does not wait and has no session."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from tests.testing.broker.fetching import BY_ID, Asker, offsets_in, one, rows_of

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
FOLLOWERS = 11


# -- offsets ---------------------------------------------------------------------------------------


def test_nothing_beyond_the_high_watermark_is_handed_out() -> None:
    asker = Asker()
    asker.append(b"a")
    asker.append(b"b")
    asker.partition().log.hold_back(1)
    assert offsets_in(one(asker.fetch({T0: 0}))) == [0]
    beyond = one(asker.fetch({T0: 2}))
    assert (beyond.error_code, beyond.records, beyond.high_watermark) == (0, b"", 1)


# -- sizes -----------------------------------------------------------------------------------------


def test_the_first_batch_is_whole_however_small_the_limits_are() -> None:
    asker = Asker()
    size = asker.append(b"x" * 500)
    asker.append(b"y" * 500, number=1)
    rows = rows_of(
        asker.fetch(
            {T0: {"partition_max_bytes": 10}, T1: {"partition_max_bytes": 10}}, max_bytes=10
        ).now
    )
    assert [len(row.records or b"") for row in rows] == [size, 0]


def test_the_last_batch_is_cut_where_the_limit_of_its_partition_is() -> None:
    asker = Asker()
    size = asker.append(b"a" * 50)
    asker.append(b"b" * 50)
    row = one(asker.fetch({T0: {"partition_max_bytes": size + 20}}))
    assert len(row.records or b"") == size + 20
    assert offsets_in(row) == [0]


def test_a_negative_limit_is_an_unknown_server_error_where_there_are_records() -> None:
    asker = Asker()
    asker.append(b"a")
    row = {"partition_max_bytes": -1}
    codes = [each.error_code for each in rows_of(asker.fetch({T0: row, T1: row}).now)]
    assert codes == [ErrorCode.UNKNOWN_SERVER_ERROR, 0]


# -- transactions ----------------------------------------------------------------------------------


def transactional(asker: Asker, producer: int, value: bytes, sequence: int = 0) -> None:
    asker.append(
        value, producer_id=producer, producer_epoch=0, base_sequence=sequence, transactional=True
    )


def end(asker: Asker, producer: int, *, committed: bool) -> None:
    log = asker.partition().log
    assert not log.append_control(producer, 0, committed=committed, epoch=0, now_ms=0).code


def test_read_committed_ends_before_the_first_open_transaction() -> None:
    asker = Asker()
    asker.append(b"a")
    transactional(asker, 7, b"b")
    asker.append(b"c")
    row = one(asker.fetch({T0: 0}, isolation_level=1))
    assert (offsets_in(row), row.last_stable_offset, row.high_watermark) == ([0], 1, 3)
    assert row.aborted_transactions == ()
    assert offsets_in(one(asker.fetch({T0: 0}))) == [0, 1, 2]


def test_read_committed_lists_what_was_aborted_and_only_that() -> None:
    asker = Asker()
    transactional(asker, 7, b"a")
    transactional(asker, 8, b"b")
    end(asker, 8, committed=True)
    end(asker, 7, committed=False)
    row = one(asker.fetch({T0: 0}, isolation_level=1))
    assert [(each.producer_id, each.first_offset) for each in row.aborted_transactions or ()] == [
        (7, 0)
    ]
    assert one(asker.fetch({T0: 4}, isolation_level=1)).aborted_transactions == ()


# -- leaders and epochs ----------------------------------------------------------------------------


def moved(version: int = BY_ID) -> Asker:
    """A partition whose leader is broker 2, in epoch 1."""
    asker = Asker(nodes=3)
    asker.append(b"a")
    asker.cluster.elect(TopicPartition(*T0), 2)
    return asker


@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        (-1, ErrorCode.NONE),
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (1, ErrorCode.NONE),
        (2, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_fetch_under_another_leader_epoch_is_fenced(epoch: int, code: ErrorCode) -> None:
    row = one(moved().fetch({T0: {"current_leader_epoch": epoch}}, node=2))
    assert row.error_code == code


def test_up_to_version_10_only_the_leader_answers() -> None:
    asker = moved()
    codes = [
        one(asker.fetch({T0: 0}, node=1, version=version)).error_code
        for version in (FOLLOWERS - 1, FOLLOWERS)
    ]
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER, 0]


def test_a_replica_hands_out_what_all_replicas_have() -> None:
    asker = moved()
    asker.append(b"b")
    asker.partition().log.hold_back(1)
    row = one(asker.fetch({T0: 0}, node=3))
    assert (offsets_in(row), row.high_watermark) == ([0], 1)


@pytest.mark.parametrize("version", [15, 16])
def test_a_fenced_fetch_names_the_leader_from_version_16_on(version: int) -> None:
    answer = moved().fetch({T0: {"current_leader_epoch": 0}}, node=1, version=version).now
    (row,) = rows_of(answer)
    assert row.error_code == ErrorCode.FENCED_LEADER_EPOCH
    named = (row.current_leader.leader_id, row.current_leader.leader_epoch)
    hosts = [(one.node_id, one.host, one.port) for one in answer.node_endpoints]
    expected = ((2, 1), [(2, "broker-2", 9092)])
    assert (named, hosts) == (expected if version == 16 else ((-1, -1), []))


def test_a_broker_without_a_replica_names_the_leader() -> None:
    asker = Asker(nodes=2)
    asker.cluster.create_topic("far", placement=[(2,)])
    ids = {"far": asker.partition("far").topic_id}
    answer = asker.fetch({("far", 0): 0}, node=1, ids=ids).now
    (row,) = rows_of(answer)
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (row.current_leader.leader_id, row.current_leader.leader_epoch) == (2, 0)
    assert [one.node_id for one in answer.node_endpoints] == [2]


def test_a_partition_without_a_leader_names_none() -> None:
    asker = moved()
    asker.cluster.elect(TopicPartition(*T0), None)
    answer = asker.fetch({T0: {"current_leader_epoch": 1}}).now
    (row,) = rows_of(answer)
    assert (row.current_leader.leader_id, row.current_leader.leader_epoch) == (-1, 2)
    assert answer.node_endpoints == ()


# -- diverging epochs ------------------------------------------------------------------------------


def parted() -> Asker:
    """Epoch 0 wrote offsets 0 and 1, epoch 1 nothing, epoch 2 offset 2, all on broker 1."""
    asker = Asker(nodes=2)
    asker.append(b"a")
    asker.append(b"b")
    for leader in (2, 1):
        asker.cluster.elect(TopicPartition(*T0), leader)
    asker.append(b"c")
    return asker


@pytest.mark.parametrize(
    ("epoch", "offset", "parting"),
    [(0, 2, None), (0, 3, (0, 2)), (1, 2, (0, 2)), (2, 3, None), (2, 2, None)],
)
def test_a_fetcher_whose_log_parts_learns_where(
    epoch: int, offset: int, parting: tuple[int, int] | None
) -> None:
    row = one(parted().fetch({T0: {"fetch_offset": offset, "last_fetched_epoch": epoch}}))
    answered = row.diverging_epoch
    assert row.error_code == 0
    assert (answered.epoch, answered.end_offset) == (parting or (-1, -1))
    assert not (parting and row.records)


@pytest.mark.parametrize(("epoch", "offset"), [(3, 1), (0, -1), (1, -1)])
def test_an_epoch_from_the_future_or_an_offset_that_is_gone_is_out_of_range(
    epoch: int, offset: int
) -> None:
    row = one(parted().fetch({T0: {"fetch_offset": offset, "last_fetched_epoch": epoch}}))
    assert row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


# -- replicas close by -----------------------------------------------------------------------------


def racked(*, follower_reads: bool = True) -> Asker:
    asker = Asker(nodes=3, settings=BrokerSettings(follower_reads=follower_reads))
    for node_id, rack in ((1, "a"), (2, "b"), (3, "b")):
        asker.cluster.nodes[node_id].rack = rack
    asker.append(b"x")
    return asker


def test_the_leader_names_a_replica_in_the_rack_and_gives_no_records() -> None:
    row = one(racked().fetch({T0: 0}, rack_id="b", max_wait_ms=1000))
    assert (row.preferred_read_replica, row.records, row.high_watermark) == (2, b"", 1)
    assert row.aborted_transactions is None


@pytest.mark.parametrize(("rack", "version"), [("a", BY_ID), ("c", BY_ID), ("", 11), ("b", 10)])
def test_the_leader_answers_in_its_own_rack_and_where_no_replica_is_near(
    rack: str, version: int
) -> None:
    row = one(racked().fetch({T0: 0}, rack_id=rack, version=version))
    assert (row.preferred_read_replica, offsets_in(row)) == (-1, [0])


def test_only_leaders_name_replicas_and_only_replicas_in_sync() -> None:
    asker = racked()
    assert one(asker.fetch({T0: 0}, rack_id="b", node=3)).preferred_read_replica == -1
    asker.cluster.kill(2)
    assert one(asker.fetch({T0: 0}, rack_id="b")).preferred_read_replica == 3


def test_without_follower_reads_no_replica_is_named() -> None:
    row = one(racked(follower_reads=False).fetch({T0: 0}, rack_id="b"))
    assert row.preferred_read_replica == -1


def test_a_fenced_fetch_is_not_sent_to_a_replica() -> None:
    row = one(racked().fetch({T0: {"current_leader_epoch": 4}}, rack_id="b"))
    assert (row.error_code, row.preferred_read_replica) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1)


# -- brokers that fetch ----------------------------------------------------------------------------


def test_a_replica_may_read_to_the_end_and_only_from_the_leader() -> None:
    asker = moved()
    asker.append(b"b")
    asker.partition().log.hold_back(0)
    assert offsets_in(one(asker.fetch({T0: 0}, node=2, replica=3))) == [0, 1]
    refused = one(asker.fetch({T0: 0}, node=1, replica=3))
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_a_broker_that_has_no_replica_is_refused(epoch: int, code: ErrorCode) -> None:
    row = one(moved().fetch({T0: {"current_leader_epoch": epoch}}, node=2, replica=9))
    assert row.error_code == code

"""When a fetch that may wait is answered."""

from typing import Any

import pytest

from kgroup.codes import ErrorCode
from kgroup.types import TopicPartition
from kgroup.wire.messages import FetchResponse
from tests.testing.broker.driver import Call
from tests.testing.broker.fetching import Asker, Rows, offsets_in, one, rows_of

T0, T1 = ("t", 0), ("t", 1)


def waiting(asker: Asker, rows: Rows, **fields: Any) -> Call[FetchResponse]:
    call = asker.fetch(rows, **{"max_wait_ms": 500, **fields})
    assert call.parked
    return call


def test_a_fetch_without_records_is_answered_when_its_time_is_up() -> None:
    asker = Asker()
    call = waiting(asker, {T0: 0, T1: 0})
    asker.raw.run(0.499)
    assert call.parked
    asker.raw.run(0.001)
    assert call.answered_at == pytest.approx(0.5)
    assert [row.records for row in rows_of(call.now)] == [b"", b""]


def test_appended_records_end_the_waiting_as_soon_as_there_are_enough() -> None:
    asker = Asker()
    size = asker.append(b"a")
    call = waiting(asker, {T0: 0, T1: 0}, min_bytes=3 * size)
    asker.raw.run(0.1)
    asker.append(b"b", number=1)
    assert call.parked
    asker.append(b"c")
    asker.raw.run(0)
    assert call.answered_at == pytest.approx(0.1)
    assert [offsets_in(row) for row in rows_of(call.now)] == [[0, 1], [0]]


def test_a_partition_counts_with_no_more_than_its_own_limit() -> None:
    asker = Asker()
    size = asker.append(b"a")
    asker.append(b"b")
    call = waiting(asker, {T0: {"partition_max_bytes": size}, T1: 0}, min_bytes=size + 1)
    asker.append(b"c", number=1)
    asker.raw.run(0)
    assert not call.parked


def test_a_high_watermark_that_rises_ends_the_waiting() -> None:
    asker = Asker()
    asker.append(b"a")
    asker.partition().log.hold_back(0)
    call = waiting(asker, {T0: 0})
    asker.partition().log.hold_back(None)
    asker.raw.run(0)
    assert offsets_in(one(call)) == [0]


def test_an_offset_beyond_the_high_watermark_is_not_waited_for() -> None:
    asker = Asker()
    asker.append(b"a")
    asker.partition().log.hold_back(0)
    row = one(asker.fetch({T0: 1}, max_wait_ms=500))
    assert (row.error_code, row.records, row.high_watermark) == (0, b"", 0)


# -- what else ends the waiting --------------------------------------------------------------------


def test_a_new_leader_fences_only_fetches_under_the_old_epoch() -> None:
    asker = Asker(nodes=2)
    strict = waiting(asker, {T0: {"current_leader_epoch": 0}})
    loose = waiting(asker, {T0: 0})
    asker.cluster.elect(TopicPartition(*T0), 2)
    asker.raw.run(0)
    row = one(strict)
    assert (row.error_code, row.current_leader.leader_id) == (ErrorCode.FENCED_LEADER_EPOCH, 2)
    assert loose.parked  # the broker that was asked has a replica still


def test_before_version_11_a_new_leader_sends_everybody_away() -> None:
    asker = Asker(nodes=2)
    call = waiting(asker, {T0: 0}, version=10)
    asker.cluster.elect(TopicPartition(*T0), 2)
    asker.raw.run(0)
    assert one(call).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("version", [12, 18])
def test_a_topic_that_is_deleted_ends_the_waiting(version: int) -> None:
    asker = Asker()
    call = waiting(asker, {T0: 0}, version=version)
    asker.cluster.delete_topic("t")
    asker.raw.run(0)
    assert one(call).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_log_that_is_truncated_below_the_offset_ends_the_waiting() -> None:
    asker = Asker()
    asker.append(b"a")
    call = waiting(asker, {T0: 1})
    asker.partition().log.truncate(0)
    asker.raw.run(0)
    assert one(call).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_parting_of_logs_ends_the_waiting() -> None:
    asker = Asker(nodes=2)
    asker.append(b"a")
    asker.append(b"b")
    call = waiting(asker, {T0: {"fetch_offset": 2, "last_fetched_epoch": 0}})
    asker.cluster.elect(TopicPartition(*T0), 2)
    asker.raw.run(0)
    assert call.parked  # epoch 0 ends at 2, where the fetcher is
    asker.partition().log.truncate(1)
    asker.raw.run(0)
    assert one(call).diverging_epoch.end_offset == 1


def test_an_epoch_that_proves_empty_ends_the_waiting_of_its_readers() -> None:
    asker = Asker(nodes=2)
    asker.append(b"a")
    asker.cluster.elect(TopicPartition(*T0), 2)
    call = waiting(asker, {T0: {"fetch_offset": 1, "last_fetched_epoch": 1}})
    asker.cluster.elect(TopicPartition(*T0), 1)
    asker.raw.run(0)
    diverging = one(call).diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (0, 1)


# -- connections and brokers -----------------------------------------------------------------------


def test_what_a_closed_connection_waits_for_is_forgotten() -> None:
    asker = Asker()
    gone = waiting(asker, {T0: 0}, connection=1)
    stays = waiting(asker, {T0: 0}, connection=2)
    asker.raw.core.disconnected(1)
    asker.append(b"a")
    asker.raw.run(1)
    assert (gone.parked, stays.parked) == (True, False)
    assert not asker.raw.core.fetches.waiting


def test_a_broker_that_dies_answers_no_waiting_fetch() -> None:
    asker = Asker(nodes=2)
    call = waiting(asker, {T0: {"current_leader_epoch": 0}})
    asker.cluster.kill(1)
    asker.raw.run(1)
    assert call.parked

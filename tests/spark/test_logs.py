"""A log is asked which offsets it hands out, and read no further than needed."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import confluent_kafka
import pytest

from kgroup.cli.connecting import Common, perform
from kgroup.config import ConsumerConfig
from kgroup.spark.counting import Sight, Span
from kgroup.spark.logs import ReadLog, bounds_of, positions_of
from kgroup.types import IsolationLevel
from kgroup.wire.messages import FetchRequest
from kgroup.wire.records import BatchHeader, NewRecord
from kgroup.wire.records.encode import encode_record, seal
from tests.sync.ground import PATIENCE, A, Ground, grounded

FAR = 60_000
"""Further than a log is read on without being sought."""


@contextmanager
def log_of(ground: Ground, **options: Any) -> Iterator[ReadLog]:
    config = ConsumerConfig.of(
        {"bootstrap_servers": ground.servers, "fetch_max_wait": 0.02, **options}
    )
    with ReadLog("t", config) as log:
        yield log


def seen(log: ReadLog, first: int, end: int, *, partition: int = 0) -> list[int]:
    """Return the offsets that are handed out; the log must speak of all that it does not."""
    sights = list(log.look(partition, Span(first, end)))
    assert all(sight.held for sight in sights)
    return [offset for sight in sights for offset in range(*sight.span)]


def compact(ground: Ground, kept: list[int], taken: int) -> int:
    """Append a batch of which compaction has left some records; return its first offset."""
    base = ground.broker.partition("t").end
    body = b"".join(
        encode_record(NewRecord(None, b"x"), offset_delta=delta, timestamp_delta=0)
        for delta in kept
    )
    header = BatchHeader(
        base_offset=base, last_offset_delta=taken - 1, record_count=len(kept), base_timestamp=0
    )
    assert ground.broker.partition("t").append_raw(seal(header, body), offsets=taken) == base
    return base


def test_all_that_is_there_is_handed_out() -> None:
    with grounded(30) as ground, log_of(ground) as log:
        assert seen(log, 4, 9) == [4, 5, 6, 7, 8]
        assert seen(log, 9, 11) == [9, 10]
        assert seen(log, 20, 30) == [*range(20, 30)]


def test_each_partition_is_read_for_itself() -> None:
    with grounded(5, partitions=2) as ground, log_of(ground) as log:
        assert seen(log, 3, 5, partition=0) == [3, 4]
        assert seen(log, 1, 2, partition=1) == [1]
        assert seen(log, 0, 1, partition=0) == [0]


def test_holes_of_compaction_are_handed_out_to_nobody() -> None:
    with grounded(3) as ground, log_of(ground) as log:
        compact(ground, [0, 3], 6)
        ground.write(A, 2)
        assert seen(log, 1, 11) == [1, 2, 3, 6, 9, 10]


def test_a_log_that_ends_in_a_hole_ends_all_the_same() -> None:
    with grounded(3) as ground, log_of(ground) as log:
        compact(ground, [0], 40)
        assert seen(log, 4, 43) == []


def test_what_a_log_has_dropped_it_cannot_speak_of() -> None:
    with grounded(10) as ground, log_of(ground) as log:
        ground.broker.partition("t").delete_before(4)
        assert list(log.look(0, Span(2, 6))) == [
            Sight(Span(2, 4), held=False),
            Sight(Span(4, 6), held=True),
        ]
        assert list(log.look(0, Span(8, 12)))[-1] == Sight(Span(10, 12), held=False)


def write_far(ground: Ground) -> None:
    for _ in range(2 * FAR // 10_000 + 1):
        ground.write(A, 10_000)


def test_what_is_dropped_while_it_is_read_the_log_cannot_speak_of() -> None:
    with grounded() as ground, log_of(ground, max_partition_fetch_bytes=2000) as log:
        write_far(ground)
        assert seen(log, 0, 1) == [0]
        ground.broker.partition("t").delete_before(2 * FAR + 5)
        told = list(log.look(0, Span(2 * FAR, 2 * FAR + 7)))
        assert told[0] == Sight(Span(2 * FAR, 2 * FAR + 5), held=False)
        assert told[1:] == [Sight(Span(2 * FAR + 5, 2 * FAR + 7), held=True)]


def test_a_far_place_is_sought() -> None:
    with grounded() as ground, log_of(ground, max_partition_fetch_bytes=2000) as log:
        write_far(ground)
        assert seen(log, 0, 1) == [0]
        assert seen(log, 2 * FAR, 2 * FAR + 1) == [2 * FAR]
        asked = [
            row.fetch_offset
            for request in ground.broker.requests_of(FetchRequest)
            for topic in request.topics
            for row in topic.partitions
        ]
        assert 2 * FAR in asked


def transact(ground: Ground) -> None:
    """Write three records of a transaction that is aborted, and three of one that is not."""
    settings = {"bootstrap.servers": ground.servers, "transactional.id": "x"}
    with closing(confluent_kafka.Producer(settings)) as producer:
        producer.init_transactions(PATIENCE)
        for end in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            for _ in range(3):
                producer.produce("t", b"in doubt", partition=0)
            producer.flush(PATIENCE)
            end(PATIENCE)


@pytest.mark.slow
def test_records_of_aborted_transactions_are_seen_as_the_isolation_says() -> None:
    with grounded(2) as ground:
        transact(ground)
        with log_of(ground, isolation_level="read_committed") as log:
            assert seen(log, 0, 10) == [0, 1, 6, 7, 8]
        with log_of(ground) as log:
            assert seen(log, 0, 10) == [0, 1, 2, 3, 4, 6, 7, 8]


def test_bounds_and_positions_are_asked_for() -> None:
    with grounded(7, partitions=2) as ground:
        ground.broker.partition("t").delete_before(2)
        with ground.by_hand(A, group_id="g", enable_auto_commit=False) as consumer:
            consumer.commit({A: 5})
        common = Common(bootstrap=ground.servers)
        level = IsolationLevel.READ_UNCOMMITTED
        bounds = perform(common, lambda c: bounds_of(c, "t", isolation=level, timeout=10))
        assert bounds == {0: Span(2, 7), 1: Span(0, 7)}
        assert perform(common, lambda c: positions_of(c, "g", "t", timeout=10)) == {0: 5}
        assert perform(common, lambda c: positions_of(c, "g", "u", timeout=10)) == {}

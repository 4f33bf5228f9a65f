"""A blocking consumer hands out what the native one does, and counts only what it handed out."""

from collections.abc import Iterator
from itertools import islice

import pytest

from kgroup.config import ConsumerConfig
from kgroup.errors import (
    ClosedError,
    ConfigError,
    DeserializationError,
    IllegalStateError,
    NotOwnedError,
)
from kgroup.sync import Consumer
from tests.sync.ground import A, B, grounded


def number(data: bytes | None) -> int:
    return int(data or b"")


def test_a_loop_gets_every_record_once_and_in_order() -> None:
    with grounded(1200) as ground, ground.by_hand(A) as consumer:
        assert [record.offset for record in islice(consumer, 1200)] == list(range(1200))


def test_a_loop_that_timed_out_goes_on_later() -> None:
    with grounded(3) as ground, ground.by_hand(A) as consumer:
        assert [record.offset for record in islice(consumer, 3)] == [0, 1, 2]
        records = consumer.records(timeout=0.05)
        assert not list(records)
        ground.write(A, 1)
        while not (came := [record.offset for record in records]):
            pass
        assert came == [3]


def test_a_read_without_records_ends_in_time() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer:
        with pytest.raises(TimeoutError):
            consumer.getone(timeout=0.05)
        assert consumer.getmany(timeout=0.05) == {}


def test_batches_are_done_when_the_next_is_asked_for() -> None:
    with grounded(10) as ground, ground.by_hand(A, group_id="g", max_poll_records=4) as consumer:
        batches = consumer.batches()
        assert [len(next(batches)), len(next(batches))] == [4, 4]
        assert consumer.commit_done().partitions[A].offset.offset == 4


def test_a_batch_is_done_when_its_with_block_ends() -> None:
    with grounded(4) as ground, ground.by_hand(A, group_id="g") as consumer:
        with consumer.getmany(timeout=1)[A] as batch:
            assert batch.values() == [b"0", b"1", b"2", b"3"]
        assert not batch.in_hand
        assert consumer.commit_done().partitions[A].offset.offset == 4


def test_the_record_a_loop_has_in_hand_is_not_done() -> None:
    with grounded(10) as ground, ground.by_hand(A, group_id="g") as consumer:
        for record in consumer:
            if record.offset == 5:
                break
        assert consumer.commit_done().partitions[A].offset.offset == 5


def test_closing_in_a_loop_commits_only_records_that_are_done() -> None:
    with grounded(10) as ground:
        with ground.by_hand(A, group_id="g") as consumer:
            assert len(list(islice(consumer, 6))) == 6
        assert ground.broker.group("g").offsets[A].offset == 5


def test_a_commit_in_a_loop_covers_exactly_the_records_the_loop_was_given() -> None:
    with grounded(10, partitions=2) as ground, ground.by_hand(A, B, group_id="g") as consumer:
        seen = dict.fromkeys((A, B), 0)
        for record in consumer:
            seen[record.tp] = record.offset + 1
            if sum(seen.values()) == 13:
                break
        outcome = consumer.commit()
        assert {tp: each.offset.offset for tp, each in outcome.partitions.items()} == seen


def test_commit_soon_in_a_loop_covers_exactly_the_records_the_loop_was_given() -> None:
    with grounded(10) as ground, ground.by_hand(A, group_id="g") as consumer:
        next(iter(consumer))
        outcomes: list[int] = []
        consumer.commit_soon(callback=lambda out: outcomes.append(out.partitions[A].offset.offset))
        consumer.commit({A: 1})
        assert outcomes == [1]


def test_position_and_lag_are_those_of_the_loop() -> None:
    with grounded(10) as ground, ground.by_hand(A) as consumer:
        records = iter(consumer)
        next(records), next(records)
        assert (consumer.position(A), consumer.lag(A)) == (2, 8)


def test_a_loop_goes_on_where_a_seek_in_it_leads() -> None:
    with grounded(10) as ground, ground.by_hand(A) as consumer:
        records = iter(consumer)
        assert next(records).offset == 0
        consumer.seek(A, 7)
        assert next(records).offset == 7


def test_a_partition_paused_in_a_loop_goes_on_where_the_loop_was() -> None:
    with grounded(10, partitions=2) as ground, ground.by_hand(A, B) as consumer:
        records = iter(consumer)
        first = next(records)
        consumer.pause(first.tp)
        (other,) = {A, B} - {first.tp}
        assert {next(records).tp for _ in range(10)} == {other}
        consumer.resume(first.tp)
        found = next(records)
        assert (found.tp, found.offset) == (first.tp, first.offset + 1)


def test_a_single_read_in_a_loop_takes_the_next_record() -> None:
    with grounded(10) as ground, ground.by_hand(A) as consumer:
        records = iter(consumer)
        assert [next(records).offset, consumer.getone().offset, next(records).offset] == [0, 1, 2]


def test_ranges_are_assigned_and_read_to_their_ends() -> None:
    with grounded(9) as ground, ground.by_hand(A) as consumer:
        consumer.assign_ranges({A: (2, 5)})
        assert [record.offset for record in consumer] == [2, 3, 4]


def test_a_refused_record_is_raised_again_until_a_seek() -> None:
    with grounded(2) as ground:
        ground.broker.partition(*A).append("no number", "3")
        config = ConsumerConfig(
            bootstrap_servers=ground.servers, auto_offset_reset="earliest", fetch_max_wait=0.02
        )
        with Consumer(config=config, value=number) as consumer:
            consumer.assign([A])
            records = iter(consumer)
            assert [next(records).value, next(records).value] == [0, 1]
            refused(records)
            refused(records)
            consumer.seek(A, 3)
            assert next(records).value == 3


def refused(records: Iterator[object]) -> None:
    with pytest.raises(DeserializationError) as caught:
        next(records)
    assert caught.value.offset == 2


def test_done_at_delivery_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"batch\.done"):
        Consumer(done_at="delivery")


def test_a_read_before_the_consumer_is_entered_is_refused() -> None:
    with grounded() as ground:
        consumer = ground.consumer()
        with pytest.raises(IllegalStateError, match="with consumer"):
            consumer.getone()
        consumer.close()


def test_a_closed_consumer_hands_out_nothing() -> None:
    with grounded(3) as ground:
        with ground.by_hand(A) as consumer:
            records = consumer.records()
            next(records)
        assert list(records) == []
        with pytest.raises(ClosedError):
            consumer.getmany()
        assert consumer.assignment() == frozenset()


def test_a_partition_that_is_not_owned_is_refused() -> None:
    with grounded(3, partitions=2) as ground, ground.by_hand(A) as consumer:
        with pytest.raises(NotOwnedError):
            consumer.getone(B)
        with pytest.raises(NotOwnedError):
            consumer.seek(B, 0)


def test_topics_are_followed_without_a_group() -> None:
    with grounded(3, partitions=2) as ground, ground.consumer() as consumer:
        consumer.follow("t")
        assert {consumer.getone(timeout=5).partition for _ in range(6)} == {0, 1}
        assert consumer.assignment() == {A, B}
        assert consumer.subscribed_topics() == {"t"}


def test_questions_about_logs_are_answered() -> None:
    with grounded(3, partitions=2) as ground, ground.by_hand(A) as consumer:
        assert consumer.beginning_offsets(A, B) == {A: 0, B: 0}
        assert consumer.end_offsets(A) == {A: 3}
        assert consumer.topics(internal=False) == {"t"}
        assert consumer.find_partitions("t") == {"t": frozenset({0, 1})}
        consumer.getone()
        assert consumer.highwater(A) == 3
        assert consumer.seek_to_end(A) == {A: 3}
        assert consumer.offsets_for_times({A: 2**53}) == {A: None}


def test_a_loop_ends_where_a_seek_says_that_reading_ends() -> None:
    with grounded(20) as ground, ground.by_hand(A) as consumer:
        consumer.seek(A, 2, until=7)
        assert [record.offset for record in consumer] == [2, 3, 4, 5, 6]
        with pytest.raises(TimeoutError, match="where reading ends"):
            consumer.getone()

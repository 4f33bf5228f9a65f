"""The facade as a member: commits, what closing commits, listeners, what the group shows."""

import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import pytest
from kafka import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import (
    CommitFailedError,
    IllegalStateError,
    InvalidSessionTimeoutError,
    KafkaConfigurationError,
    KafkaError,
    KafkaTimeoutError,
)
from kafka.structs import ConsumerGroupMetadata, MemberState, OffsetAndMetadata, TopicPartition

from kgroup.compat.kafka_python import KafkaConsumer
from tests.compat.kafka_python.ground import A, B, Ground, Heard, grounded
from tests.sync.ground import in_thread, until


def committed(ground: Ground) -> dict[tuple[str, int], int]:
    return dict(ground.broker.group("g").committed)


def joined(consumer: KafkaConsumer) -> KafkaConsumer:
    end = time.monotonic() + 10
    while not consumer.assignment() and time.monotonic() < end:
        consumer.poll(timeout_ms=20, max_records=1)
    return consumer


def test_leaving_a_block_commits_what_was_delivered() -> None:
    with grounded(100) as ground:
        with ground.consumer("t", group_id="g") as first:
            seen = {(record.partition, record.offset) for record in take(first, 180)}
        with ground.consumer("t", group_id="g", consumer_timeout_ms=3000) as second:
            rest = {(record.partition, record.offset) for record in take(second, 20)}
        assert len(seen | rest) == 200
        assert committed(ground) == {("t", 0): 100, ("t", 1): 100}


def keep_polling(consumer: KafkaConsumer) -> None:
    for _ in range(500):
        consumer.poll(timeout_ms=20)


def take(consumer: KafkaConsumer, count: int) -> list[Any]:
    return [next(consumer) for _ in range(count)]


def test_leaving_a_block_by_an_exception_commits_nothing_more() -> None:
    with grounded(10) as ground:
        with (
            suppress(LookupError),
            ground.consumer("t", group_id="g", max_poll_records=2) as consumer,
        ):
            take(consumer, 5)
            raise LookupError
        assert committed(ground) == {}


@pytest.mark.parametrize("autocommit", [False, True])
def test_closing_commits_what_was_delivered_unless_autocommit_is_off(autocommit: bool) -> None:
    with grounded(10) as ground:
        with ground.consumer("t", group_id="g", max_poll_records=4) as consumer:
            for _ in range(3):
                assert consumer.poll(timeout_ms=5000)
            consumer.close(autocommit=autocommit)
        assert sum(committed(ground).values()) == (12 if autocommit else 0)


@pytest.mark.slow
def test_closing_takes_no_longer_than_it_may_though_nobody_answers_the_commit() -> None:
    with grounded(4) as ground, ground.consumer("t", group_id="g") as consumer, ExitStack() as end:
        end.callback(ground.broker.node(1).slow, 0)
        assert consumer.poll(timeout_ms=5000)
        ground.broker.node(1).slow(60.0)
        began = time.monotonic()
        consumer.close(timeout_ms=3000)
        assert time.monotonic() - began < 3.2


def test_what_one_poll_returned_is_committed_after_the_next() -> None:
    """The commit that covers what was before is the one that would have covered it."""
    with grounded(4) as ground:
        configs = {"group_id": "g", "auto_commit_interval_ms": 20, "max_poll_records": 4}
        with ground.by_hand(A, B, **configs) as consumer:
            first, second = (whole(consumer.poll(timeout_ms=5000)) for _ in range(2))
            until(lambda: committed(ground).get(first) == 4)
            assert committed(ground).get(second, 0) == 0
            assert consumer.poll() == {}
            until(lambda: committed(ground).get(second) == 4)
            consumer.close(autocommit=False)


def whole(found: dict[TopicPartition, list[Any]]) -> tuple[str, int]:
    """Return the partition of a poll that returned all of it."""
    ((tp, records),) = found.items()
    assert [record.offset for record in records] == [0, 1, 2, 3]
    return tuple(tp)


def test_a_commit_is_of_positions_or_of_what_is_given() -> None:
    with grounded(10) as ground, ground.by_hand(A, group_id="g") as consumer:
        take(consumer, 3)
        consumer.commit()
        assert (consumer.committed(A), consumer.position(A)) == (3, 3)
        consumer.commit({A: OffsetAndMetadata(7, "note", -1)})
        found: Any = consumer.committed(A, metadata=True)
        assert (found.offset, found.metadata) == (7, "note")
        assert consumer.committed(TopicPartition("t", 1)) is None
        consumer.commit({})


def test_a_commit_without_waiting_has_a_future_and_a_callback() -> None:
    calls: list[object] = []
    with grounded(10) as ground, ground.by_hand(A, group_id="g") as consumer:
        offsets = {A: OffsetAndMetadata(3, "", -1)}
        future = consumer.commit_async(offsets, lambda *args: calls.append(args))
        done = threading.Event()
        future.add_both(lambda _: done.set())
        assert done.wait(10)
        assert (future.succeeded(), future.value, calls) == (True, True, [])
        consumer.poll()
        assert calls == [(offsets, True)]


def test_a_commit_of_what_is_not_owned_fails() -> None:
    with grounded(10) as ground, ground.by_hand(A, group_id="g") as consumer:
        future = consumer.commit_async({B: OffsetAndMetadata(3, "", -1)})
        assert future.failed()
        with pytest.raises(KafkaError):
            consumer.commit({B: OffsetAndMetadata(3, "", -1)})


def test_commits_are_refused_in_the_words_of_kafka_python() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer:
        for call in (consumer.commit, consumer.commit_async, lambda: consumer.committed(A)):
            with pytest.raises(IllegalStateError, match="Requires group_id"):
                call()
    with grounded() as ground, ground.by_hand(A, group_id="g") as consumer:
        for wrong in ({A: 5}, {"t": OffsetAndMetadata(5, "", -1)}):
            with pytest.raises(TypeError, match="dict"):
                consumer.commit(wrong)
        with pytest.raises(TypeError, match="TopicPartition"):
            consumer.committed("t")


def test_a_member_whose_membership_is_over_may_not_commit() -> None:
    with grounded(10) as ground, ground.consumer("t", group_id="g") as consumer:
        joined(consumer)
        (member,) = ground.broker.group("g").members
        ground.broker.group("g").expire(member.member_id)
        with pytest.raises(CommitFailedError):
            consumer.commit({A: OffsetAndMetadata(1, "", -1)})


def test_positions_and_seeks_are_refused_in_the_words_of_kafka_python() -> None:
    with grounded(5) as ground, ground.by_hand(A) as consumer:
        with pytest.raises(IllegalStateError, match="not assigned"):
            consumer.position(B)
        with pytest.raises(IllegalStateError, match="not assigned"):
            consumer.highwater(B)
        with pytest.raises(ValueError, match="Offset must be int"):
            consumer.seek(A, -1)
        with pytest.raises(ValueError, match="Unassigned"):
            consumer.seek(B, 0)
        with pytest.raises(ValueError, match="Unassigned"):
            consumer.seek_to_end(B)
        for call in (consumer.position, consumer.highwater, consumer.pause, consumer.seek_to_end):
            with pytest.raises(TypeError):
                call("t-0")
        consumer.unsubscribe()
        with pytest.raises(ValueError, match="No partitions"):
            consumer.seek_to_beginning()


def test_positions_follow_seeks_without_a_poll() -> None:
    with grounded(5) as ground, ground.by_hand(A) as consumer:
        consumer.seek_to_end(A)
        assert consumer.position(A, timeout_ms=1000) == 5
        consumer.seek_to_beginning()
        assert consumer.position(A) == 0
        consumer.seek(A, 3)
        assert consumer.position(A) == 3
        assert next(consumer).offset == 3
        assert consumer.highwater(A) == 5


def test_logs_are_asked() -> None:
    with grounded(5) as ground, ground.consumer(request_timeout_ms=300) as consumer:
        assert consumer.beginning_offsets([A, B]) == {A: 0, B: 0}
        assert consumer.end_offsets([A]) == {A: 5}
        assert (consumer.end_offsets([]), consumer.offsets_for_times({})) == ({}, {})
        found: Any = consumer.offsets_for_times({A: 0, B: 9999999999999})
        assert (found[A].offset, found[B]) == (0, None)
        with pytest.raises(ValueError, match="negative"):
            consumer.offsets_for_times({A: -1})
        with pytest.raises(KafkaTimeoutError):
            consumer.offsets_for_times({TopicPartition("t", 100): 0})
        assert consumer.topics() == {"t"}
        assert consumer.partitions_for_topic("t") == {0, 1}
        assert consumer.partitions_for_topic("unknown") == set()
        consumer.bootstrap(timeout_ms=500)
        assert consumer.bootstrap_connected()


# -- subscriptions ---------------------------------------------------------------------------


def test_subscriptions_are_refused_in_the_words_of_kafka_python() -> None:
    with grounded() as ground, ground.consumer(group_id="g") as consumer:
        with pytest.raises(ValueError, match="Must provide"):
            consumer.subscribe()
        with pytest.raises(IllegalStateError):
            consumer.subscribe(["t"], pattern="t")
        with pytest.raises(TypeError, match="non-str"):
            consumer.subscribe("t")
        with pytest.raises(TypeError, match="strings"):
            consumer.subscribe([5])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="illegal"):
            consumer.subscribe(["a b"])
        with pytest.raises(TypeError, match="listener must be"):
            consumer.subscribe(["t"], listener=object())
        assert consumer.subscription() is None
        consumer.assign([A])
        with pytest.raises(IllegalStateError):
            consumer.subscribe(["t"])
        consumer.unsubscribe()
        consumer.subscribe(pattern="t.*")
        with pytest.raises(IllegalStateError):
            consumer.assign([A])
        consumer.assign([])
        assert consumer.subscription() is None


def test_a_pattern_shows_the_topics_it_takes() -> None:
    with grounded(1) as ground, ground.consumer(group_id="g") as consumer:
        consumer.subscribe(pattern="^t$")
        joined(consumer)
        assert (consumer.subscription(), consumer.assignment()) == ({"t"}, {A, B})


def test_a_listener_hears_sets_also_when_closing() -> None:
    heard = Heard()
    with grounded(1) as ground, ground.consumer(group_id="g") as consumer:
        consumer.subscribe(["t"], listener=heard)
        joined(consumer)
        consumer.close()
    assert heard.heard == [("revoked", set()), ("assigned", {A, B}), ("revoked", {A, B})]


@pytest.mark.slow
def test_a_cooperative_listener_hears_what_moves() -> None:
    heard = Heard()
    configs = {"group_id": "g", "partition_assignment_strategy": [CooperativeStickyAssignor]}
    with grounded(1) as ground, ground.consumer(**configs) as consumer:
        consumer.subscribe(["t"], listener=heard)
        joined(consumer)
        with ground.consumer("t", **configs) as other:
            end = time.monotonic() + 10
            while not other.assignment() and time.monotonic() < end:
                other.poll(timeout_ms=20)
                consumer.poll(timeout_ms=20)
            (moved,) = other.assignment()
    assert heard.heard[:2] == [("assigned", {A, B}), ("revoked", {moved})]


def test_a_listener_that_raises_is_an_error_of_poll() -> None:
    class Failing(Heard):
        def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            raise LookupError("no such thing")

    with grounded(1) as ground, ground.consumer(group_id="g") as consumer:
        consumer.subscribe(["t"], listener=Failing())
        with pytest.raises(KafkaError, match="User rebalance callback") as caught:
            keep_polling(consumer)
        assert isinstance(caught.value.__cause__, LookupError)


def test_an_asynchronous_listener_is_refused() -> None:
    class Listener(AsyncConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked: object) -> None: ...

        async def on_partitions_assigned(self, assigned: object) -> None: ...

    with (
        grounded() as ground,
        ground.consumer(group_id="g") as consumer,
        pytest.raises(KafkaConfigurationError, match="cannot be honoured"),
    ):
        consumer.subscribe(["t"], listener=Listener())


# -- the group -------------------------------------------------------------------------------


def test_the_group_shows_how_the_member_stands() -> None:
    with grounded(1) as ground:
        with ground.consumer() as consumer:
            assert consumer.group_metadata() == ConsumerGroupMetadata(group_id=None)
        with ground.consumer(group_id="g") as consumer:
            assert consumer.group_metadata().state == MemberState.UNJOINED
            consumer.subscribe(["t"])
            joined(consumer)
            shown = consumer.group_metadata()
            assert (shown.state, shown.generation_id) == (MemberState.STABLE, 1)
            assert shown.group_id == "g"
            metrics = consumer.metrics() or {}
            assert metrics["consumer-coordinator-metrics"]["assigned-partitions"] == 2.0
        with ground.consumer(metrics_enabled=False) as consumer:
            assert consumer.metrics() is None


def test_a_session_that_brokers_do_not_take_is_an_error_of_poll() -> None:
    session = {"session_timeout_ms": 200, "heartbeat_interval_ms": 50}
    with (
        grounded(1) as ground,
        ground.consumer("t", group_id="g", **session) as consumer,
        pytest.raises(InvalidSessionTimeoutError),
    ):
        consumer.poll(timeout_ms=5000)


def test_members_in_threads_share_and_end() -> None:
    over = threading.Event()

    def run(consumer: KafkaConsumer) -> None:
        with consumer:
            while not over.is_set():
                consumer.poll(timeout_ms=50)

    def stands(consumer: KafkaConsumer) -> tuple[int, object]:
        return len(consumer.assignment()), consumer.group_metadata().state

    with grounded(20) as ground, ExitStack() as stack:
        members = [stack.enter_context(ground.consumer("t", group_id="g")) for _ in range(2)]
        came = []
        for each in members:
            came.append(stack.enter_context(in_thread(partial(run, each))))
            stack.callback(over.set)
        until(lambda: [stands(each) for each in members] == [(1, MemberState.STABLE)] * 2)
    assert came == [[None], [None]]


def test_what_an_eager_round_leaves_keeps_its_position_and_its_pause() -> None:
    """Nothing is committed: a position that somebody keeps elsewhere, or that only stands here."""
    configs, heard = {"group_id": "g", "enable_auto_commit": False}, Heard()
    with grounded(5) as ground, ground.consumer(**configs) as first:
        first.subscribe(["t"], listener=heard)
        take(first, 10)
        for tp in (A, B):
            first.seek(tp, 3)
            first.pause(tp)
        with ground.consumer("t", **configs) as second:
            second.poll(timeout_ms=0)
            until(lambda: first.poll(timeout_ms=20) == {} and len(heard.heard[-1][1]) == 1)
            (kept,) = heard.heard[-1][1]
            assert (first.paused(), first.position(kept)) == ({kept}, 3)
            first.resume(kept)
            assert [record.offset for record in take(first, 2)] == [3, 4]


def test_what_was_held_in_a_membership_that_ended_is_read_from_the_last_commit_on() -> None:
    """It ends in mid-round, when nothing is held any more: somebody else may have read on."""

    class Ends(Heard):
        def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            for member in group.members if revoked else ():
                group.expire(member.member_id)
                group.commit({A: 3, B: 4})

    configs = {"group_id": "g", "enable_auto_commit": False, "consumer_timeout_ms": 9000}
    with grounded(5) as ground, ground.consumer(**configs) as it:
        group = ground.broker.group("g")
        it.subscribe(["t"], listener=Ends())
        for tp in {TopicPartition(each.topic, each.partition) for each in take(it, 10)}:
            it.seek(tp, 1)
            it.pause(tp)
        group.rebalance()
        again = sorted((each.partition, each.offset) for each in take(it, 3))
        assert (again, it.paused()) == ([(0, 3), (0, 4), (1, 4)], set())


def test_a_consumer_that_never_polls_is_no_member() -> None:
    with grounded(2) as ground, ground.consumer("t", group_id="g") as watcher:
        assert watcher.subscription() == {"t"}
        assert watcher.end_offsets([A]) == {A: 2}
        with ground.consumer("t", group_id="g") as reader:
            assert len(take(reader, 4)) == 4
            assert reader.assignment() == {A, B}
        assert watcher.assignment() == set()

"""Commits, positions and the ends of logs, with aiokafka's checks in its order."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import (
    CommitFailedError,
    IllegalOperation,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
)
from aiokafka.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

from kgroup.codes import ErrorCode
from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.testing.virtual_time import virtual_wall
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
)
from tests.compat.aiokafka.ground import (
    A,
    B,
    broker_with,
    fill,
    made,
    offsets,
    started,
    until,
)

pytestmark = pytest.mark.anyio

OTHER = TopicPartition("other", 0)


# -- commits -------------------------------------------------------------------------------


async def test_a_commit_covers_what_was_delivered() -> None:
    broker = broker_with()
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        for _ in range(3):
            await consumer.getone(A)
        await consumer.commit()
        assert await consumer.committed(A) == 3
        assert broker.group("g").committed[A] == 3


@pytest.mark.parametrize(
    ("given", "offset", "text"),
    [(4, 4, ""), ((5, "why"), 5, "why"), (OffsetAndMetadata(6, "what"), 6, "what")],
)
async def test_an_offset_may_have_three_shapes(given: Any, offset: int, text: str) -> None:
    broker = broker_with()
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        await consumer.commit({A: given})
    ((committed_at, metadata, _),) = broker.group("g").offsets.values()
    assert (committed_at, metadata) == (offset, text)


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({}, ValueError, "{}"),
        ("offsets", ValueError, "offsets"),
        ([A], ValueError, "partition=0"),
        ({A: (1, "text", 2)}, ValueError, "text"),
        ({A: "1"}, ValueError, "'1'"),
        ({A: None}, ValueError, "None"),
        ({"t-0": 1}, TypeError, "Key should be TopicPartition instance"),
        ({("t", 0): 1}, TypeError, "Key should be TopicPartition instance"),
        ({A: (1, 2)}, TypeError, "Metadata should be a string"),
        ({A: (1, b"2")}, TypeError, "Metadata should be a string"),
        ({OTHER: 1}, IllegalStateError, "is not assigned"),
    ],
)
async def test_what_is_no_offset_is_refused(given: Any, kind: type[Exception], text: str) -> None:
    broker = broker_with()
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        with pytest.raises(kind, match=text):
            await consumer.commit(given)
    assert broker.group("g").committed == {}


async def test_a_commit_needs_a_group_a_subscription_and_an_assignment() -> None:
    broker = broker_with()
    async with started(broker, "t", group_id=None) as consumer:
        for call in (consumer.commit(), consumer.committed(A), consumer.seek_to_committed(A)):
            with pytest.raises(IllegalOperation):
                await call
    async with started(broker) as consumer:
        with pytest.raises(IllegalStateError, match="Not subscribed to any topics"):
            await consumer.commit({A: 1})
        consumer.subscribe(["t"])
        with pytest.raises(IllegalStateError, match="No partitions assigned"):
            await consumer.commit({A: 1})


async def test_a_commit_of_what_was_given_back_for_a_round_says_that_it_failed() -> None:
    broker = broker_with()
    async with started(broker, "t", enable_auto_commit=False, heartbeat_interval_ms=200) as it:
        await it.getone(A)
        joins = broker.answers.hold(JoinGroupRequest)
        broker.group("g").rebalance()
        await until(lambda: joins.asked)
        for what in (None, {A: 1}):
            with pytest.raises(CommitFailedError):
                await it.commit(what)
        with pytest.raises(IllegalStateError, match="not assigned"):
            await it.commit({OTHER: 1})
        joins.release()
        await until(lambda: len(it.assignment()) == 2)
        await it.commit({A: 1})
    assert broker.group("g").committed == {A: 1}


async def test_a_commit_that_the_coordinator_refuses_has_its_error() -> None:
    broker = broker_with()
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        for code, kind in (
            (ErrorCode.UNKNOWN_MEMBER_ID, CommitFailedError),
            (ErrorCode.OFFSET_METADATA_TOO_LARGE, KafkaError),
        ):
            await until(lambda: len(consumer.assignment()) == 2)
            broker.answers.error(OffsetCommitRequest, code)
            with pytest.raises(kind):
                await consumer.commit({A: 1})


async def test_a_commit_outlives_a_coordinator_that_answers_nothing_for_a_while() -> None:
    broker = broker_with()
    options = {"enable_auto_commit": False, "session_timeout_ms": 10_000}
    async with started(broker, "t", **options) as consumer:
        await consumer.commit({A: 1})
        held = [broker.answers.hold(kind) for kind in (OffsetCommitRequest, HeartbeatRequest)]
        async with asyncio.TaskGroup() as tasks:
            commit = tasks.create_task(consumer.commit({A: 2}))
            await asyncio.sleep(6.0)
            assert not commit.done()
            for each in held:
                each.release()
        assert await consumer.committed(A) == 2


async def test_a_commit_is_sent_again_when_its_answer_is_lost() -> None:
    broker = broker_with()
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        await consumer.commit({A: 1})
        held = broker.answers.hold(OffsetCommitRequest)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(consumer.commit({A: 2}))
            await until(lambda: held.asked)
            broker.node(1).disconnect()
            held.release()
        assert await consumer.committed(A) == 2


async def test_a_commit_that_nobody_answers_fails_when_nothing_was_read_for_too_long() -> None:
    broker = broker_with()
    options = {"enable_auto_commit": False, "max_poll_interval_ms": 60_000}
    async with started(broker, "t", **options) as consumer:
        await consumer.commit({A: 1})
        await consumer.getone(A)
        broker.node(1).slow(100.0)
        with pytest.raises(CommitFailedError, match="max_poll_interval"):
            async with asyncio.timeout(70.0):
                await consumer.commit({A: 2})


async def test_a_commit_during_a_round_of_an_eager_group_fails() -> None:
    broker = broker_with()
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        broker.answers.error(OffsetCommitRequest, ErrorCode.REBALANCE_IN_PROGRESS)
        with pytest.raises(CommitFailedError):
            await consumer.commit({A: 1})


async def test_leaving_assigning_and_committing_may_follow_each_other() -> None:
    broker = broker_with()
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        consumer.unsubscribe()
        consumer.assign([A])
        await asyncio.wait_for(consumer.commit({A: 7}), 10)
        assert await consumer.committed(A) == 7


async def test_what_is_committed_may_be_asked_of_any_partition() -> None:
    broker = broker_with()
    broker.group("g").commit({A: 0})
    async with started(broker) as consumer:
        assert await consumer.committed(A) == 0
        assert await consumer.committed(B) is None
        assert await consumer.committed(OTHER) is None


# -- positions -----------------------------------------------------------------------------


async def test_a_position_is_known_after_start_and_follows_reads_and_seeks() -> None:
    async with started(broker_with(), "t") as consumer:
        assert await consumer.position(A) == 0
        await consumer.getone(A)
        assert await consumer.position(A) == 1
        consumer.seek(A, 7)
        assert await consumer.position(A) == 7
        assert (await consumer.getone(A)).offset == 7


async def test_a_seek_takes_effect_right_after_start_and_drops_what_was_fetched() -> None:
    async with started(broker_with(), "t") as consumer:
        consumer.seek(A, 5)
        assert (await consumer.getone(A)).offset == 5
        await asyncio.sleep(1)
        consumer.seek(A, 2)
        assert (await consumer.getone(A)).offset == 2


async def test_a_position_is_waited_for_during_a_round() -> None:
    broker = broker_with()
    async with started(broker, "t", heartbeat_interval_ms=200) as consumer:
        await consumer.getone(A)
        joins = broker.answers.hold(JoinGroupRequest)
        broker.group("g").rebalance()
        await until(lambda: joins.asked)
        asking = asyncio.ensure_future(consumer.position(A))
        await asyncio.sleep(2)
        assert not asking.done()
        joins.release()
        assert await asyncio.wait_for(asking, 5) == 1


@pytest.mark.parametrize("offset", [-1, "", "1", 1.0, None])
async def test_an_offset_that_is_none_is_refused_before_anything_else(offset: Any) -> None:
    async with started(broker_with(), "t") as consumer:
        with pytest.raises(ValueError, match="positive integer"):
            consumer.seek(OTHER, offset)


async def test_partitions_that_are_not_assigned_have_no_position() -> None:
    async with started(broker_with(), "t") as consumer:
        with pytest.raises(IllegalStateError, match="not assigned"):
            consumer.seek(OTHER, 1)
        with pytest.raises(IllegalStateError, match="not assigned"):
            await consumer.position(OTHER)


Call = Callable[[AIOKafkaConsumer, Any], Any]
SEEKS: list[Call] = [
    lambda consumer, tp: consumer.seek_to_beginning(tp),
    lambda consumer, tp: consumer.seek_to_end(tp),
    lambda consumer, tp: consumer.seek_to_committed(tp),
]


@pytest.mark.parametrize("seek", SEEKS, ids=["beginning", "end", "committed"])
async def test_a_seek_to_a_place_checks_its_partitions(seek: Call) -> None:
    for group in ("g", None):
        async with started(broker_with(), "t", group_id=group) as consumer:
            with pytest.raises(TypeError, match="TopicPartition"):
                await seek(consumer, "t")
            with pytest.raises(IllegalStateError, match="not assigned"):
                await seek(consumer, OTHER)


async def test_seeks_to_places_move_all_that_is_assigned_unless_partitions_are_named() -> None:
    async with started(broker_with(10), "t", auto_offset_reset="latest") as consumer:
        assert await consumer.seek_to_beginning(A) is True
        assert [await consumer.position(tp) for tp in (A, B)] == [0, 10]
        assert await consumer.seek_to_end() is True
        assert [await consumer.position(tp) for tp in (A, B)] == [10, 10]
        await consumer.commit({A: 3})
        assert await consumer.seek_to_committed() == {A: 3, B: None}
        assert [await consumer.position(tp) for tp in (A, B)] == [3, 10]


async def test_a_seek_to_a_place_is_done_though_a_partition_rests() -> None:
    async with asyncio.timeout(10), started(broker_with(3), "t") as consumer:
        await consumer.getmany(timeout_ms=1000)
        consumer.pause(A)
        assert await consumer.seek_to_beginning() is True
        found = await consumer.getmany(timeout_ms=1000)
        assert (offsets(found), consumer.paused()) == ({B: [0, 1, 2]}, {A})
        consumer.resume(A)
        assert (await consumer.getone(A)).offset == 0


async def test_without_an_assignment_there_is_nothing_to_seek() -> None:
    async with started(broker_with()) as consumer:
        for seek in (consumer.seek_to_beginning, consumer.seek_to_end, consumer.seek_to_committed):
            with pytest.raises(AssertionError, match="No partitions"):
                await seek()


async def test_nothing_committed_leaves_the_policy_in_force() -> None:
    async with started(broker_with(), "t") as consumer:
        assert await consumer.seek_to_committed() == {A: None, B: None}
        assert (await consumer.getone(A)).offset == 0


# -- what the logs hold --------------------------------------------------------------------


async def test_the_ends_of_logs_and_times_are_asked_of_any_partition() -> None:
    broker = broker_with(10)
    async with started(broker, group_id=None) as consumer:
        assert await consumer.beginning_offsets([A, B]) == {A: 0, B: 0}
        assert await consumer.end_offsets([A]) == {A: 10}
        (record,) = broker.partition(*A).records()[:1]
        at = record.timestamp or 0
        found = await consumer.offsets_for_times({A: at, B: at + 10**9})
        assert found == {A: OffsetAndTimestamp(0, at), B: None}
        assert {type(tp) for tp in found} == {TopicPartition}
        for answer in (
            await consumer.offsets_for_times({}),
            await consumer.beginning_offsets([]),
            await consumer.end_offsets([]),
        ):
            assert answer == {}


async def test_a_time_below_zero_is_refused() -> None:
    async with started(broker_with()) as consumer:
        with pytest.raises(ValueError, match="cannot be negative"):
            await consumer.offsets_for_times({A: -1})


async def test_a_partition_that_nobody_knows_takes_the_request_timeout() -> None:
    async with started(broker_with(), request_timeout_ms=3000) as consumer:
        for call in (
            consumer.offsets_for_times({OTHER: 0}),
            consumer.beginning_offsets([OTHER]),
            consumer.end_offsets([OTHER]),
        ):
            with pytest.raises(KafkaTimeoutError):
                await call


async def test_topics_leave_out_those_of_the_brokers() -> None:
    async with started(broker_with(1, t=2, u=1), "t") as consumer:
        assert await consumer.topics() == {"t", "u"}
        assert consumer.partitions_for_topic("t") == {0, 1}
        assert consumer.partitions_for_topic("nobody") is None


async def test_what_the_last_fetch_said_is_there_without_waiting() -> None:
    broker = broker_with(10, t=1)
    async with started(broker, "t") as consumer:
        await consumer.getone()
        assert consumer.highwater(A) == 10
        assert consumer.last_stable_offset(A) == -1
        at = consumer.last_poll_timestamp(A)
        assert isinstance(at, int)
        assert virtual_wall() * 1000 - 1000 < at <= virtual_wall() * 1000
        for ask in (consumer.highwater, consumer.last_stable_offset, consumer.last_poll_timestamp):
            with pytest.raises(AssertionError, match="not assigned"):
                ask(OTHER)
    async with started(broker, "t", isolation_level="read_committed") as consumer:
        await consumer.getmany(timeout_ms=1000)
        assert consumer.last_stable_offset(A) == 10


# -- within the listener -------------------------------------------------------------------


async def test_calls_about_offsets_work_inside_a_listener_and_in_its_tasks() -> None:
    broker = broker_with()
    found: list[Any] = []

    class Asks(ConsumerRebalanceListener):
        async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            await asyncio.create_task(self.ask(assigned))

        async def ask(self, assigned: set[TopicPartition]) -> None:
            for tp in assigned:
                found.append((await consumer.committed(tp), await consumer.position(tp)))
                await consumer.seek_to_end(tp)
                found.append(await consumer.position(tp))

        async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            if revoked:
                await consumer.commit({A: 4})

    consumer = made(broker, enable_auto_commit=False, heartbeat_interval_ms=200)
    consumer.subscribe(["t"], listener=Asks())
    await asyncio.wait_for(consumer.start(), 5)
    await until(lambda: len(found) == 4)
    assert found == [(None, 0), 10] * 2
    fill(broker, A, 1)
    assert (await asyncio.wait_for(consumer.getone(), 5)).offset == 10
    broker.group("g").rebalance()
    await until(lambda: broker.group("g").committed == {A: 4})
    await consumer.stop()

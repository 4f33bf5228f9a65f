"""A call of the facade that is refused at once lets other tasks run, as the native consumer's."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.compat.aiokafka.errors import FencedInstanceIdError
from tests.compat.aiokafka.ground import A, B, broker_with, made, started, until
from tests.consumer.busy_loops import alone

pytestmark = pytest.mark.anyio

Call = Callable[[AIOKafkaConsumer], Awaitable[object]]
Calls = Mapping[str, Call]

READS: Calls = {
    "getone": lambda consumer: consumer.getone(),
    "getone of a partition": lambda consumer: consumer.getone(A),
    "getmany": lambda consumer: consumer.getmany(),
    "getmany of a partition": lambda consumer: consumer.getmany(A),
    "the next record": lambda consumer: anext(consumer),
}
COMMITS: Calls = {
    "commit": lambda consumer: consumer.commit(),
    "commit of an offset": lambda consumer: consumer.commit({A: 1}),
}
OTHERS: Calls = {
    "committed": lambda consumer: consumer.committed(A),
    "position": lambda consumer: consumer.position(A),
    "seek_to_beginning": lambda consumer: consumer.seek_to_beginning(A),
    "seek_to_end": lambda consumer: consumer.seek_to_end(A),
    "seek_to_committed": lambda consumer: consumer.seek_to_committed(A),
    "beginning_offsets": lambda consumer: consumer.beginning_offsets([A]),
    "end_offsets": lambda consumer: consumer.end_offsets([A]),
    "offsets_for_times": lambda consumer: consumer.offsets_for_times({A: 1}),
    "topics": lambda consumer: consumer.topics(),
}
OF_NO_SENSE: Calls = {
    "getone": lambda consumer: consumer.getone("t"),
    "getmany": lambda consumer: consumer.getmany(max_records=0),
    "commit": lambda consumer: consumer.commit({}),
    "commit of another partition": lambda consumer: consumer.commit({B._replace(partition=9): 1}),
    "position": lambda consumer: consumer.position(B._replace(partition=9)),
    "seek_to_end": lambda consumer: consumer.seek_to_end(B._replace(partition=9)),
    "offsets_for_times": lambda consumer: consumer.offsets_for_times({A: -1}),
    "offsets_for_times of no partition": lambda consumer: consumer.offsets_for_times({7: 1}),
    "position of no partition": lambda consumer: consumer.position(7),
    "committed of no partition": lambda consumer: consumer.committed(7),
    "end_offsets of no partition": lambda consumer: consumer.end_offsets([7]),
    "beginning_offsets of nothing": lambda consumer: consumer.beginning_offsets([]),
    "end_offsets of nothing": lambda consumer: consumer.end_offsets([]),
}


async def read_on(consumer: AIOKafkaConsumer) -> None:
    async with asyncio.timeout(60):
        while True:
            await consumer.getmany(timeout_ms=500)


async def test_a_loop_over_a_consumer_that_has_failed_lets_others_run() -> None:
    broker = broker_with()
    twins = {"group_instance_id": "one"}
    async with started(broker, "t", **twins) as consumer, started(broker, "t", **twins):
        with pytest.raises(FencedInstanceIdError):
            await read_on(consumer)
        assert await alone(consumer, {**READS, **COMMITS, **OTHERS}) == []


async def test_a_loop_over_a_stopped_consumer_lets_others_run() -> None:
    async with started(broker_with(), "t") as consumer:
        await consumer.stop()
        assert await alone(consumer, {**READS, **COMMITS, **OTHERS}) == []


async def test_a_loop_over_a_consumer_that_is_not_started_lets_others_run() -> None:
    consumer = made(broker_with(), "t")
    assert await alone(consumer, {**READS, **COMMITS, **OTHERS}) == []
    await consumer.stop()


async def test_a_loop_that_commits_before_the_first_assignment_lets_it_come() -> None:
    async with started(broker_with()) as consumer:
        consumer.subscribe(["t"])
        assert await alone(consumer, COMMITS) == []
        await until(consumer.assignment)


async def test_a_loop_of_calls_that_make_no_sense_lets_others_run() -> None:
    async with started(broker_with(), "t") as consumer:
        assert await alone(consumer, OF_NO_SENSE) == []

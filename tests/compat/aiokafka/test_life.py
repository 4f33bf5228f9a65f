"""Starting and stopping: in any task, in separate runs of the loop, in bounded time."""

import asyncio
from typing import Any

import pytest
from aiokafka.errors import (
    ConsumerStoppedError,
    GroupAuthorizationFailedError,
    IllegalStateError,
    InvalidSessionTimeoutError,
    KafkaConnectionError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from aiokafka.structs import TopicPartition

from kgroup.codes import ErrorCode
from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.testing.virtual_time import VirtualLoop
from kgroup.wire.messages import FindCoordinatorRequest, JoinGroupRequest, MetadataRequest
from tests.compat.aiokafka.ground import A, B, Heard, broker_with, fill, made, started, until
from tests.consumer.ground import hidden

pytestmark = pytest.mark.anyio


# -- starting ------------------------------------------------------------------------------


async def test_start_waits_for_the_first_assignment() -> None:
    async with started(broker_with(), "t") as consumer:
        assert consumer.assignment() == {A, B}


async def test_start_without_topics_waits_for_no_assignment() -> None:
    async with started(broker_with()) as consumer:
        assert consumer.assignment() == set()
        assert consumer.subscription() == set()


async def test_two_members_with_a_pattern_that_takes_nothing_start_all_the_same() -> None:
    broker = broker_with()
    first, second = made(broker), made(broker)
    for consumer in (first, second):
        consumer.subscribe(pattern="nothing")
        await asyncio.wait_for(consumer.start(), 20)
        assert consumer.assignment() == set()
    await asyncio.gather(first.stop(), second.stop())


async def test_start_waits_for_a_topic_that_is_named_until_it_exists() -> None:
    broker = broker_with()
    consumer = made(broker, "u")
    starting = asyncio.ensure_future(consumer.start())
    await asyncio.sleep(3)
    assert not starting.done()
    broker.create_topic("u", 1)
    await starting
    assert [tp.topic for tp in consumer.assignment()] == ["u"]
    await consumer.stop()


@pytest.mark.parametrize("group", ["g", None])
async def test_a_topic_that_never_comes_ends_start_after_the_request_timeout(
    group: str | None,
) -> None:
    consumer = made(broker_with(), "u", group_id=group, request_timeout_ms=3000)
    before = asyncio.get_running_loop().time()
    with pytest.raises(UnknownTopicOrPartitionError, match="'u'"):
        await consumer.start()
    assert 2.9 < asyncio.get_running_loop().time() - before < 4.0
    await consumer.stop()


async def test_start_raises_for_a_topic_that_may_not_be_seen() -> None:
    broker, code = broker_with(), ErrorCode.TOPIC_AUTHORIZATION_FAILED
    broker.answers.rewrite(MetadataRequest, lambda _, answer: hidden("t", code, answer), times=None)
    consumer = made(broker, "t")
    with pytest.raises(TopicAuthorizationFailedError):
        await consumer.start()
    await consumer.stop()


async def test_start_raises_when_a_group_may_not_be_joined() -> None:
    broker = broker_with()
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    broker.answers.error(FindCoordinatorRequest, code, times=None)
    consumer = made(broker, "t")
    with pytest.raises(GroupAuthorizationFailedError):
        await consumer.start()
    await consumer.stop()


async def test_start_raises_a_session_that_no_coordinator_takes_as_itself() -> None:
    consumer = made(broker_with(), "t", session_timeout_ms=200, heartbeat_interval_ms=100)
    with pytest.raises(InvalidSessionTimeoutError):
        await consumer.start()
    await consumer.stop()


async def test_brokers_that_refuse_are_a_connection_error_at_once() -> None:
    broker = broker_with(nodes=2)
    for number in (1, 2):
        broker.node(number).kill()
    consumer = made(broker, "t")
    before = asyncio.get_running_loop().time()
    with pytest.raises(KafkaConnectionError, match="Unable to bootstrap"):
        await consumer.start()
    assert asyncio.get_running_loop().time() - before < 1
    await consumer.stop()


async def test_brokers_that_are_silent_are_waited_for_as_long_as_an_answer() -> None:
    broker = broker_with()
    broker.answers.ignore(MetadataRequest, times=None)
    consumer = made(broker, "t", request_timeout_ms=2000)
    before = asyncio.get_running_loop().time()
    with pytest.raises(KafkaConnectionError, match="Unable to bootstrap"):
        await consumer.start()
    assert 1.9 < asyncio.get_running_loop().time() - before < 3
    await consumer.stop()


async def test_a_consumer_that_could_not_start_may_try_again() -> None:
    broker = broker_with()
    broker.node(1).kill()
    consumer = made(broker, "t", request_timeout_ms=2000)
    for _ in range(2):
        with pytest.raises(KafkaConnectionError, match="Unable to bootstrap"):
            await consumer.start()
    broker.node(1).start()
    await consumer.start()
    assert consumer.assignment()
    await consumer.stop()


async def test_a_consumer_without_its_topic_may_try_again_when_the_topic_exists() -> None:
    broker = broker_with()
    consumer = made(broker, "u", request_timeout_ms=2000)
    with pytest.raises(UnknownTopicOrPartitionError, match="'u'"):
        await consumer.start()
    broker.create_topic("u", 1)
    await consumer.start()
    assert len(consumer.assignment()) == 1
    await consumer.stop()


async def test_a_consumer_that_was_read_too_early_can_be_read_after_a_later_start() -> None:
    broker = broker_with()
    consumer = made(broker, "u", request_timeout_ms=2000)
    starting = asyncio.ensure_future(consumer.start())
    await asyncio.sleep(0.5)
    with pytest.raises(IllegalStateError, match="not started"):
        await consumer.getone()
    with pytest.raises(UnknownTopicOrPartitionError, match="'u'"):
        await starting
    broker.create_topic("u", 1)
    fill(broker, TopicPartition("u", 0), 1)
    await consumer.start()
    assert (await consumer.getone()).value == b"0"
    await consumer.stop()


async def test_a_consumer_is_started_once_and_on_its_loop() -> None:
    broker = broker_with()
    async with started(broker, "t") as consumer:
        with pytest.raises(AssertionError, match="twice"):
            await consumer.start()
    with pytest.raises(AssertionError, match="twice"):
        await consumer.start()


async def test_a_consumer_that_was_stopped_before_its_start_stays_stopped() -> None:
    consumer = made(broker_with(), "t")
    await consumer.stop()
    with pytest.raises(IllegalStateError, match="stopped"):
        await consumer.start()


def test_a_consumer_belongs_to_a_loop_that_runs_or_is_given() -> None:
    with pytest.raises(RuntimeError, match="within an async function"):
        AIOKafkaConsumer("t")


async def test_a_cancelled_start_leaves_nothing_that_runs() -> None:
    broker = broker_with()
    broker.answers.ignore(JoinGroupRequest, times=None)
    before = asyncio.all_tasks()
    consumer = made(broker, "t")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(consumer.start(), 5)
    await asyncio.wait_for(consumer.stop(), 20)
    assert asyncio.all_tasks() == before


async def test_a_start_that_is_cancelled_while_it_connects_leaves_nothing_that_runs() -> None:
    broker = broker_with()
    broker.answers.ignore(MetadataRequest, times=None)
    before = asyncio.all_tasks()
    consumer = made(broker, "t")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(consumer.start(), 5)
    await consumer.stop()
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("topic", ["t", "u"], ids=["joining", "looking"])
async def test_a_start_that_waits_is_ended_by_stop(topic: str) -> None:
    broker = broker_with()
    broker.answers.ignore(JoinGroupRequest, times=None)
    before = asyncio.all_tasks()
    consumer = made(broker, topic)
    starting = asyncio.ensure_future(consumer.start())
    await asyncio.sleep(2)
    await asyncio.wait_for(consumer.stop(), 15)
    await asyncio.wait((starting,), timeout=1)
    assert starting.done()
    assert isinstance(starting.exception(), ConsumerStoppedError | None)
    assert asyncio.all_tasks() == before


# -- tasks and loops -----------------------------------------------------------------------


async def test_starting_reading_and_stopping_may_happen_in_tasks_of_their_own() -> None:
    consumer = made(broker_with(), "t")
    await asyncio.create_task(consumer.start())
    record = await asyncio.create_task(consumer.getone())
    assert record.offset == 0
    await asyncio.create_task(consumer.commit())
    await asyncio.create_task(consumer.stop())


def test_starting_reading_and_stopping_may_happen_in_separate_runs_of_the_loop() -> None:
    broker, loop = broker_with(), VirtualLoop()

    async def make() -> AIOKafkaConsumer:
        return made(broker, "t")

    consumer = loop.run_until_complete(make())
    loop.run_until_complete(consumer.start())
    read = [loop.run_until_complete(consumer.getone()).offset for _ in range(3)]
    loop.run_until_complete(consumer.stop())
    loop.close()
    assert read == [0, 1, 2]
    assert sum(broker.group("g").committed.values()) == 3


def test_a_loop_may_be_given_while_none_runs() -> None:
    broker, loop = broker_with(), VirtualLoop()
    with pytest.warns(DeprecationWarning, match="loop"):
        consumer = made(broker, "t", loop=loop)
    loop.run_until_complete(consumer.start())
    assert loop.run_until_complete(consumer.getone()).offset == 0
    loop.run_until_complete(consumer.stop())
    loop.close()


async def _raising_in(consumer: AIOKafkaConsumer) -> None:
    async with consumer:
        raise ZeroDivisionError


async def test_the_block_gives_the_consumer_itself_and_stops_it_also_after_an_error() -> None:
    broker = broker_with()
    consumer = made(broker, "t")
    async with consumer as entered:
        assert entered is consumer
        await consumer.getone()
    with pytest.raises(ConsumerStoppedError):
        await consumer.getone()
    consumer = made(broker, "t")
    with pytest.raises(ZeroDivisionError):
        await _raising_in(consumer)
    with pytest.raises(ConsumerStoppedError):
        await consumer.getone()
    assert broker.group("g").members == ()


# -- stopping ------------------------------------------------------------------------------


async def test_stopping_commits_what_was_delivered_and_no_more() -> None:
    broker = broker_with(100, t=1)
    async with started(broker, "t") as consumer:
        found = await consumer.getmany(timeout_ms=1000, max_records=7)
        assert len(found[A]) == 7
        for _ in range(3):
            await consumer.getone()
    assert broker.group("g").committed == {("t", 0): 10}
    async with started(broker, "t") as consumer:
        assert (await consumer.getone()).offset == 10


async def test_stopping_commits_nothing_where_that_is_switched_off() -> None:
    broker = broker_with(10, t=1)
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        await consumer.getone()
    assert broker.group("g").committed == {}


async def test_a_second_stop_and_one_without_a_start_do_nothing() -> None:
    broker = broker_with()
    async with started(broker, "t") as consumer:
        await consumer.stop()
        await consumer.stop()
    await made(broker, "t").stop()


async def test_stopping_takes_ten_seconds_at_most_when_nobody_answers() -> None:
    broker = broker_with()
    async with started(broker, "t") as consumer:
        await consumer.getone()
        broker.node(1).kill()
        before = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - before < 12


async def test_a_cancelled_stop_goes_on_without_its_caller() -> None:
    broker = broker_with()
    consumer = made(broker, "t")
    await consumer.start()
    broker.node(1).slow(1.0)
    stopping = asyncio.ensure_future(consumer.stop())
    await asyncio.sleep(0.1)
    stopping.cancel()
    await asyncio.wait((stopping,))
    await until(lambda: not broker.group("g").members)


async def test_a_cancelled_stop_goes_on_also_while_a_former_start_still_ends() -> None:
    broker = broker_with()
    consumer = made(broker, "t")
    broker.answers.ignore(JoinGroupRequest, times=1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(consumer.start(), 0.5)
    await consumer.start()
    stopping = asyncio.ensure_future(consumer.stop())
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.wait((stopping,))
    await until(lambda: not broker.group("g").members)


async def test_the_listener_hears_nothing_of_stopping() -> None:
    heard = Heard()
    consumer = made(broker_with())
    consumer.subscribe(["t"], listener=heard)
    await consumer.start()
    await consumer.stop()
    assert heard.calls == [("revoked", set()), ("assigned", {A, B})]


async def test_a_listener_may_stop_its_consumer() -> None:
    broker = broker_with()

    class Stops(Heard):
        async def on_partitions_assigned(self, assigned: Any) -> None:
            await consumer.stop()
            self.calls.append(("stopped", set()))

    heard = Stops()
    consumer = made(broker)
    consumer.subscribe(["t"], listener=heard)
    await asyncio.wait_for(consumer.start(), 5)
    await until(lambda: heard.calls[-1][0] == "stopped", within=1)
    await until(lambda: not broker.group("g").members, within=5)


async def test_a_static_member_is_silent_when_it_stops() -> None:
    broker = broker_with()
    async with started(broker, "t", group_instance_id="one"):
        pass
    assert len(broker.group("g").members) == 1


async def test_a_static_member_is_silent_when_it_unsubscribes() -> None:
    broker = broker_with()
    async with started(broker, "t", group_instance_id="one") as consumer:
        consumer.unsubscribe()
        await asyncio.sleep(2)
        assert len(broker.group("g").members) == 1
        assert consumer.assignment() == set()

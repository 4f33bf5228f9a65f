"""A whole consumer without a group that reads every partition of topics, also those added later."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import ArgumentError, ConfigError, IllegalStateError, UnauthorizedError
from kgroup.testing import InProcessBroker
from kgroup.types import Subscription, TopicPartition
from kgroup.wire.messages import MetadataRequest
from tests.consumer.entered import A, B, Bytes, C, config_for
from tests.consumer.ground import fill, ground, hidden
from tests.consumer.listening import Heard
from tests.contracts.application import until

pytestmark = pytest.mark.anyio

U = TopicPartition("u", 0)


@asynccontextmanager
async def following(
    broker: InProcessBroker, *topics: str, pattern: str | None = None, **options: object
) -> AsyncIterator[Consumer[Bytes, Bytes]]:
    """Enter a consumer without a group that follows topics."""
    wanted = {"group_id": None, "metadata_max_age": 1.0, **options}
    consumer = Consumer(config=config_for(broker, **wanted))
    consumer.follow(*topics, pattern=pattern)
    async with consumer:
        yield consumer


async def owns(consumer: Consumer[Bytes, Bytes], *tps: TopicPartition) -> None:
    await until(lambda: consumer.assignment() == {*tps}, 10.0, f"owns {tps}")


async def test_every_partition_of_a_topic_is_read_without_a_group() -> None:
    async with following(ground(3, t=2), "t") as consumer:
        read = [await consumer.getone(timeout=5.0) for _ in range(6)]
        assert {(record.tp, record.offset) for record in read} == {
            (tp, offset) for tp in (A, B) for offset in range(3)
        }


async def test_a_partition_that_is_added_is_read_too_and_the_others_go_on() -> None:
    broker = ground(1, t=2)
    async with following(broker, "t", auto_offset_reset="latest") as consumer:
        await owns(consumer, A, B)
        claims = consumer.membership.claims
        broker.add_partitions("t", 3)
        fill(broker, C, 1)
        record = await consumer.getone(timeout=10.0)
        assert (record.tp, record.offset) == (C, 0)
        assert consumer.membership.claims[:2] == claims


async def test_a_topic_that_does_not_exist_yet_is_waited_for() -> None:
    broker = ground(1, t=1)
    async with following(broker, "t", "u") as consumer:
        await owns(consumer, A)
        broker.create_topic("u")
        await owns(consumer, A, U)


async def test_a_topic_that_is_deleted_is_owned_no_more() -> None:
    broker = ground(1, t=1, u=1)
    async with following(broker, "t", "u") as consumer:
        await owns(consumer, A, U)
        broker.delete_topic("u")
        await owns(consumer, A)


async def test_a_pattern_takes_topics_as_they_appear() -> None:
    broker = ground(1, t=1, other=1)
    async with following(broker, pattern="[tu]") as consumer:
        await owns(consumer, A)
        assert consumer.subscribed_topics() == {"t"}
        broker.create_topic("u")
        await owns(consumer, A, U)
        assert consumer.subscribed_topics() == {"t", "u"}
        assert consumer.subscription() == Subscription(pattern="[tu]")


async def test_another_topic_replaces_the_one_before() -> None:
    async with following(ground(1, t=1, u=1), "t") as consumer:
        await owns(consumer, A)
        consumer.follow("u")
        await owns(consumer, U)


async def test_unsubscribing_ends_it_for_good() -> None:
    broker = ground(1, t=1)
    async with following(broker, "t") as consumer:
        await owns(consumer, A)
        consumer.unsubscribe()
        assert consumer.assignment() == frozenset()
        broker.add_partitions("t", 2)
        await anyio.sleep(5.0)
        assert consumer.assignment() == frozenset()
        consumer.assign([B])
        assert consumer.assignment() == {B}


async def test_no_listener_hears_of_it() -> None:
    heard = Heard()
    config = config_for(ground(1, t=1), group_id=None)
    async with Consumer(config=config, listener=heard) as consumer:
        consumer.follow("t")
        await owns(consumer, A)
    assert heard.changes == []


def test_a_member_of_a_group_does_not_follow() -> None:
    consumer = Consumer(group_id="g")
    with pytest.raises(ConfigError, match="subscribe"):
        consumer.follow("t")


def test_following_is_refused_while_partitions_are_assigned_by_hand() -> None:
    consumer = Consumer()
    consumer.assign([A])
    with pytest.raises(IllegalStateError, match="unsubscribe"):
        consumer.follow("t")


def test_following_takes_topics_or_a_pattern() -> None:
    with pytest.raises(ArgumentError, match="one of the two"):
        Consumer().follow()
    with pytest.raises(ArgumentError, match="one of the two"):
        Consumer().follow("t", pattern="t")


# -- subscribed topics -------------------------------------------------------------------------


def test_topics_and_partitions_that_are_asked_for_are_known_without_a_broker() -> None:
    consumer = Consumer()
    assert consumer.subscribed_topics() == frozenset()
    consumer.assign([A, U])
    assert consumer.subscribed_topics() == {"t", "u"}
    consumer.unsubscribe()
    consumer.follow("v")
    assert consumer.subscribed_topics() == {"v"}
    consumer.follow(pattern="v")
    assert consumer.subscribed_topics() == frozenset()


async def test_a_members_pattern_is_known_as_the_topics_it_takes() -> None:
    broker = ground(1, t=1, u=1, other=1)
    async with Consumer(config=config_for(broker)) as consumer:
        consumer.subscribe(pattern="[tu]")
        await until(lambda: bool(consumer.subscribed_topics()), 10.0, "the topics are known")
        assert consumer.subscribed_topics() == {"t", "u"}


# -- subscribed partitions ---------------------------------------------------------------------


async def test_followed_topics_are_owned_once_their_partitions_are_known() -> None:
    broker = ground(1, t=2, u=1, other=1)
    async with following(broker, "t", "u") as consumer:
        assert await consumer.subscribed_partitions() == {A, B, U}
        assert consumer.assignment() == {A, B, U}
    async with following(broker, pattern="[tu]") as consumer:
        assert await consumer.subscribed_partitions() == {A, B, U}
        assert consumer.assignment() == {A, B, U}


async def test_a_pattern_that_takes_nothing_comes_to_nothing() -> None:
    async with following(ground(1, t=1), pattern="nothing") as consumer:
        assert await consumer.subscribed_partitions(timeout=5.0) == frozenset()


async def test_subscribed_partitions_of_a_member_are_those_of_its_topics() -> None:
    async with Consumer("t", config=config_for(ground(1, t=2))) as consumer:
        assert await consumer.subscribed_partitions() == {A, B}
        consumer.unsubscribe()
        assert await consumer.subscribed_partitions() == frozenset()
        consumer.assign([A])
        assert await consumer.subscribed_partitions() == {A}


async def test_a_topic_without_partitions_is_named_when_the_time_is_up() -> None:
    async with following(ground(1, t=1), "t", "u") as consumer:
        with pytest.raises(TimeoutError, match="topic 'u' was not found within 2 s"):
            await consumer.subscribed_partitions(timeout=2.0)


async def test_the_refusal_of_a_topic_is_raised_instead_of_waiting() -> None:
    broker, code = ground(1, t=1), ErrorCode.TOPIC_AUTHORIZATION_FAILED
    broker.answers.rewrite(MetadataRequest, lambda _, answer: hidden("t", code, answer), times=None)
    async with following(broker, "t") as consumer:
        with pytest.raises(UnauthorizedError, match="t"):
            await consumer.subscribed_partitions()

"""What is asked for, what listeners hear, and what is held."""

import asyncio
import re
from typing import Any

import pytest
from aiokafka.errors import IllegalStateError
from aiokafka.structs import TopicPartition

from kgroup.wire.messages import JoinGroupRequest
from tests.compat.aiokafka.ground import A, B, Heard, broker_with, fill, made, started, until

pytestmark = pytest.mark.anyio

U = TopicPartition("u", 0)


# -- checks --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({}, TypeError, "either `topics` or `pattern`"),
        ({"topics": (), "pattern": None}, TypeError, "either `topics` or `pattern`"),
        ({"topics": ["t"], "pattern": "t"}, TypeError, "both `topics` and `pattern`"),
        ({"topics": "t"}, TypeError, "list of strings"),
        ({"topics": ["t"], "listener": object()}, TypeError, "ConsumerRebalanceListener"),
        ({"pattern": "t("}, ValueError, "not a valid pattern"),
    ],
)
async def test_what_cannot_be_subscribed_is_refused(
    given: Any, kind: type[Exception], text: str
) -> None:
    async with started(broker_with()) as consumer:
        with pytest.raises(kind, match=text):
            consumer.subscribe(**given)
        assert consumer.subscription() == set()


@pytest.mark.parametrize("topics", [["t"], ("t",), {"t"}])
async def test_topics_come_in_a_list_a_tuple_or_a_set(topics: Any) -> None:
    async with started(broker_with()) as consumer:
        consumer.subscribe(topics)
        assert consumer.subscription() == {"t"}


async def test_topics_a_pattern_and_partitions_exclude_each_other() -> None:
    async with started(broker_with()) as consumer:
        consumer.assign([A])
        for call in (lambda: consumer.subscribe(["t"]), lambda: consumer.subscribe(pattern="t")):
            with pytest.raises(IllegalStateError, match="mutually exclusive"):
                call()
        consumer.unsubscribe()
        consumer.subscribe(["t"])
        for call in (lambda: consumer.assign([A]), lambda: consumer.subscribe(pattern="t")):
            with pytest.raises(IllegalStateError, match="mutually exclusive"):
                call()


async def test_pauses_are_of_partitions_that_are_held() -> None:
    async with started(broker_with()) as consumer:
        consumer.assign([A])
        for change in (consumer.pause, consumer.resume):
            with pytest.raises(TypeError, match="TopicPartition"):
                change("t")
            with pytest.raises(IllegalStateError, match="not assigned"):
                change(B)
        consumer.pause(A)
        assert consumer.paused() == {A}
        consumer.unsubscribe()
        assert consumer.paused() == set()


async def test_what_needs_a_started_consumer_says_so() -> None:
    consumer = made(broker_with(), "t")
    with pytest.raises(IllegalStateError, match="start"):
        consumer.seek(A, 1)
    with pytest.raises(IllegalStateError, match="not assigned"):
        consumer.pause(A)
    with pytest.raises(IllegalStateError, match="start"):
        await consumer.getone()
    await consumer.stop()


# -- before the start ----------------------------------------------------------------------


async def test_what_was_asked_for_before_the_start_is_read_after_it() -> None:
    consumer = made(broker_with())
    consumer.assign([B])
    assert consumer.assignment() == {B}
    assert consumer.subscription() == {"t"}
    await consumer.start()
    assert consumer.assignment() == {B}
    assert (await consumer.getone()).partition == 1
    await consumer.stop()


async def test_what_was_paused_before_the_start_is_paused_after_it() -> None:
    consumer = made(broker_with())
    consumer.assign([A, B])
    consumer.pause(A, B)
    consumer.resume(B)
    assert consumer.paused() == {A}
    known = (
        consumer.partitions_for_topic("t"),
        consumer.highwater(A),
        consumer.last_poll_timestamp(A),
    )
    assert known == (None, None, None)
    await consumer.start()
    assert consumer.paused() == {A}
    assert {tp.partition for tp in await consumer.getmany(timeout_ms=1000)} == {1}
    await consumer.stop()


async def test_subscribing_and_giving_up_at_once_after_the_start_does_no_harm() -> None:
    async with started(broker_with()) as consumer:
        consumer.subscribe(["t"])
        await asyncio.sleep(0.01)
        consumer.unsubscribe()
        await asyncio.sleep(1)
        assert consumer.assignment() == set()
        consumer.subscribe(["t"])
        assert (await asyncio.wait_for(consumer.getone(), 10)).offset == 0


# -- what is held --------------------------------------------------------------------------


async def test_what_is_held_and_subscribed_is_returned_as_aiokafkas_partitions() -> None:
    async with started(broker_with(), "t") as consumer:
        assert consumer.assignment() == {A, B}
        assert {type(tp) for tp in consumer.assignment()} == {TopicPartition}
        assert consumer.subscription() == {"t"}


async def test_a_new_assignment_by_hand_replaces_the_one_before() -> None:
    async with started(broker_with()) as consumer:
        consumer.assign([A])
        assert (await consumer.getone()).partition == 0
        consumer.assign((B,))
        assert consumer.assignment() == {B}
        assert (await consumer.getone()).partition == 1
        consumer.unsubscribe()
        assert consumer.assignment() == set()
        assert consumer.subscription() == set()


async def test_a_pattern_is_matched_from_the_start_of_a_name() -> None:
    broker = broker_with(1, topic=1, topical=1, tropic=1, untopical=1)
    consumer = made(broker)
    consumer.subscribe(pattern="topica*")
    assert consumer.subscription() == set()
    await consumer.start()
    assert consumer.subscription() == {"topic", "topical"}
    assert {tp.topic for tp in consumer.assignment()} == {"topic", "topical"}
    await consumer.stop()


async def test_the_flags_of_a_compiled_pattern_count() -> None:
    consumer = made(broker_with(1, Topic=1, other=1))
    consumer.subscribe(pattern=re.compile("TOPIC", re.IGNORECASE))
    await consumer.start()
    assert consumer.subscription() == {"Topic"}
    await consumer.stop()


async def test_topics_of_the_brokers_are_taken_where_they_are_wanted() -> None:
    for excludes, taken in ((True, set()), (False, {"__consumer_offsets"})):
        consumer = made(broker_with(), exclude_internal_topics=excludes)
        consumer.subscribe(pattern="__consumer.*")
        await consumer.start()
        assert consumer.subscription() == taken
        await consumer.stop()


# -- listeners -----------------------------------------------------------------------------


async def test_the_first_assignment_is_announced_after_an_empty_revocation() -> None:
    heard = Heard()
    consumer = made(broker_with(), heartbeat_interval_ms=200)
    consumer.subscribe(["t"], listener=heard)
    await consumer.start()
    assert heard.calls == [("revoked", set()), ("assigned", {A, B})]
    assert {type(tp) for tp in heard.calls[1][1]} == {TopicPartition}
    await consumer.stop()


async def test_a_new_topic_of_a_pattern_is_reported_with_all_that_is_held() -> None:
    broker, heard = broker_with(1, t=2), Heard()
    consumer = made(broker, metadata_max_age_ms=200, heartbeat_interval_ms=200)
    consumer.subscribe(pattern="[tu]", listener=heard)
    await consumer.start()
    broker.create_topic("u", 1)
    await until(lambda: consumer.assignment() == {A, B, U})
    assert heard.calls[2:] == [("revoked", {A, B}), ("assigned", {A, B, U})]
    await consumer.stop()


async def test_subscribing_to_the_same_again_joins_anew_and_tells_the_new_listener() -> None:
    broker, first, second = broker_with(), Heard(), Heard()
    consumer = made(broker, heartbeat_interval_ms=200)
    consumer.subscribe(["t"], listener=first)
    await consumer.start()
    generation = broker.group("g").generation
    consumer.subscribe(["t"], listener=second)
    assert consumer.assignment() == set()
    await until(lambda: len(second.calls) == 2)
    assert second.calls == [("revoked", {A, B}), ("assigned", {A, B})]
    assert len(first.calls) == 2
    assert broker.group("g").generation == generation + 1
    assert consumer.assignment() == {A, B}
    await consumer.stop()


async def test_a_subscription_without_a_listener_takes_the_former_one_away() -> None:
    heard = Heard()
    consumer = made(broker_with(1, t=2, u=1))
    consumer.subscribe(["t"], listener=heard)
    await consumer.start()
    consumer.subscribe(["u"])
    await until(lambda: consumer.assignment() == {U})
    assert len(heard.calls) == 2
    await consumer.stop()


async def test_a_listener_that_raises_or_takes_its_time_stops_nobody() -> None:
    class Raises(Heard):
        def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            raise ZeroDivisionError

        async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            await asyncio.sleep(5)
            raise ZeroDivisionError

    consumer = made(broker_with())
    consumer.subscribe(["t"], listener=Raises())
    await asyncio.wait_for(consumer.start(), 2)
    assert consumer.assignment() == {A, B}
    assert (await asyncio.wait_for(consumer.getone(), 10)).offset == 0
    await consumer.stop()


async def test_a_listener_that_knows_of_losses_hears_them_apart() -> None:
    class Loses(Heard):
        def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
            self.calls.append(("lost", lost))

    broker, heard = broker_with(), Loses()
    consumer = made(broker, heartbeat_interval_ms=200)
    consumer.subscribe(["t"], listener=heard)
    await consumer.start()
    broker.group("g").expire(broker.group("g").members[0].member_id)
    await until(lambda: len(heard.calls) == 4)
    assert heard.calls[2:] == [("lost", {A, B}), ("assigned", {A, B})]
    await consumer.stop()


async def test_unsubscribing_leaves_the_group_without_a_word_to_the_listener() -> None:
    broker, heard = broker_with(), Heard()
    consumer = made(broker)
    consumer.subscribe(["t"], listener=heard)
    await consumer.start()
    consumer.unsubscribe()
    assert consumer.assignment() == set()
    await until(lambda: not broker.group("g").members)
    assert len(heard.calls) == 2
    await consumer.stop()


# -- without a group -----------------------------------------------------------------------


async def test_without_a_group_every_partition_is_held_and_new_ones_are_found() -> None:
    broker = broker_with(1, t=1)
    async with started(broker, "t", group_id=None, metadata_max_age_ms=500) as consumer:
        assert consumer.assignment() == {A}
        broker.add_partitions("t", 2)
        await until(lambda: consumer.assignment() == {A, B})
    assert not [each for each in broker.requests if isinstance(each.request, JoinGroupRequest)]


async def test_a_pattern_without_a_group_is_known_after_the_start() -> None:
    consumer = made(broker_with(1, t=2, u=1, other=1), group_id=None)
    consumer.subscribe(pattern="[tu]")
    await consumer.start()
    assert consumer.assignment() == {A, B, U}
    assert consumer.subscription() == {"t", "u"}
    await consumer.stop()


async def test_the_latest_position_is_fixed_soon_after_the_start() -> None:
    broker = broker_with(5, t=1)
    async with started(broker, "t", group_id=None, auto_offset_reset="latest") as consumer:
        await asyncio.sleep(0.5)
        fill(broker, A, 1)
        assert (await asyncio.wait_for(consumer.getone(), 5)).offset == 5

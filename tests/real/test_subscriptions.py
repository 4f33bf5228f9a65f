"""Subscriptions on a real Kafka: patterns, topics that come late, grow, go and come back."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from confluent_kafka.admin import AdminClient

from kgroup import Consumer
from kgroup.errors import KGroupError
from kgroup.testing.kafka import RealKafka
from kgroup.types import MemberState, TopicPartition
from tests.real.ground import (
    Ground,
    committed,
    coordinator_of,
    describe,
    eventually,
    fresh,
    lay_ground,
)
from tests.real.members import FAST, LASTING

pytestmark = pytest.mark.real

AGE = 0.5
"""Metadata's age in these tests, seconds."""


class Reader:
    """A consumer that reads all the time, and what came of it.

    Args:
        kafka: the brokers.
        options: on top of the fast profile.
    """

    def __init__(self, kafka: RealKafka, **options: Any) -> None:
        fixed = {"bootstrap_servers": kafka.bootstrap, "metadata_max_age": AGE}
        settings = {**FAST, **fixed, "group_id": fresh("group"), **options}
        self.consumer: Consumer[bytes | None, bytes | None] = Consumer(**settings)
        self.places: list[tuple[TopicPartition, int]] = []
        self.errors: list[Exception] = []

    async def read(self) -> None:
        """Read until cancelled; what a read raises is kept, and reading goes on."""
        while True:
            try:
                for tp, batch in (await self.consumer.getmany(timeout=0.2)).items():
                    self.places += [(tp, record.offset) for record in batch]
            except KGroupError as error:
                self.errors.append(error)
                await anyio.sleep(0.05)

    async def owns(self, *expected: TopicPartition, timeout: float = 20.0) -> float:
        """Wait until exactly these are owned; return the seconds it took."""
        wanted = frozenset(expected)
        what = f"{sorted(wanted)} are owned"
        return await eventually(lambda: self.consumer.assignment() == wanted, what, timeout=timeout)

    async def has_gone_through(self, rounds: int) -> None:
        """Wait until so many rounds are completed.

        To own less is not the end of a change: what was given up is followed by a round more
        (KIP-429), in which nothing changes here.
        """
        what = f"{rounds} rounds are completed"
        await eventually(lambda: self.consumer.membership.rebalances >= rounds, what)

    async def has_read(self, *grounds: Ground) -> None:
        """Wait until everything that was written has been read, each record once."""
        wanted = frozenset().union(*(ground.expected() for ground in grounds))
        await eventually(lambda: wanted <= set(self.places), "everything is read")
        assert len(self.places) == len(set(self.places))


@asynccontextmanager
async def reading(kafka: RealKafka, **options: Any) -> AsyncIterator[Reader]:
    """Have a reader for one block."""
    reader = Reader(kafka, **options)
    async with reader.consumer, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.read)
        yield reader
        tasks.cancel_scope.cancel()


async def delete(ground: Ground) -> None:
    """Delete a topic, and wait until the broker has done so."""
    admin = AdminClient({"bootstrap.servers": ground.kafka.bootstrap})
    await anyio.to_thread.run_sync(admin.delete_topics([ground.topic])[ground.topic].result, 10.0)


async def make(kafka: RealKafka, topic: str, partitions: int) -> Ground:
    """Make a topic of a given name, with a record in each partition."""
    ground = await lay_ground(kafka, partitions, topic=topic)
    await ground.fill(1)
    return ground


# -- patterns ------------------------------------------------------------------------------


@pytest.fixture(params=["kafka_391", "kafka"])
def broker(request: pytest.FixtureRequest) -> RealKafka:
    """One node of each version: the old and the new group coordinator."""
    found: RealKafka = request.getfixturevalue(request.param)
    return found


async def test_a_pattern_finds_new_topics_and_leaves_out_what_it_shall_not_take(
    broker: RealKafka,
) -> None:
    name, kafka = fresh("wild"), broker
    async with reading(kafka) as reader:
        reader.consumer.subscribe(pattern=f"{name}-", exclude=f"{name}-.*dlq")
        await eventually(
            lambda: reader.consumer.membership.state is MemberState.STABLE, "it has joined"
        )
        assert reader.consumer.assignment() == frozenset()
        first = await make(kafka, f"{name}-a", 2)
        await make(kafka, f"{name}-a.dlq", 1)
        await make(kafka, f"not-{name}-a", 1)
        await reader.owns(first.tp(0), first.tp(1))
        second = await make(kafka, f"{name}-b", 1)
        await reader.owns(first.tp(0), first.tp(1), second.tp(0))
        await reader.has_read(first, second)
        assert reader.errors == []


async def test_two_members_share_the_topics_a_pattern_takes(kafka: RealKafka) -> None:
    name, group = fresh("wild"), fresh("group")
    topics = [await make(kafka, f"{name}-{number}", 2) for number in range(2)]
    async with reading(kafka, group_id=group) as one, reading(kafka, group_id=group) as two:
        for reader in (one, two):
            reader.consumer.subscribe(pattern=name)
        expected = topics[0].all_partitions | topics[1].all_partitions
        await eventually(lambda: shared(one, two) == (2, 2, expected), "both have two")
        late = await make(kafka, f"{name}-late", 2)
        expected |= late.all_partitions
        await eventually(lambda: shared(one, two) == (3, 3, expected), "both have three")


def shared(one: Reader, two: Reader) -> tuple[int, int, frozenset[TopicPartition]]:
    mine, others = one.consumer.assignment(), two.consumer.assignment()
    return len(mine), len(others), mine | others


async def test_internal_topics_are_taken_only_when_they_are_wanted(kafka: RealKafka) -> None:
    async with reading(kafka) as reader:  # its join makes the brokers' topic of offsets
        reader.consumer.subscribe(pattern="__consumer_offsets$")
        await eventually(
            lambda: reader.consumer.membership.state is MemberState.STABLE, "it has joined"
        )
        assert reader.consumer.assignment() == frozenset()
    async with reading(kafka, exclude_internal_topics=False) as reader:
        reader.consumer.subscribe(pattern="__consumer_offsets$")
        await eventually(reader.consumer.assignment, "it is owned")
        assert {tp.topic for tp in reader.consumer.assignment()} == {"__consumer_offsets"}


# -- topics that come and go ---------------------------------------------------------------


async def test_a_topic_that_is_made_later_is_picked_up(kafka: RealKafka) -> None:
    topic = fresh("late")
    # The age of metadata is out of the way: a topic that is missing is asked for by itself.
    async with reading(kafka, metadata_max_age=300.0) as reader:
        reader.consumer.subscribe(topic)
        await eventually(
            lambda: reader.consumer.membership.state is MemberState.STABLE, "it has joined"
        )
        ground = await make(kafka, topic, 2)
        took = await reader.owns(ground.tp(0), ground.tp(1), timeout=10.0)
        await reader.has_read(ground)
        assert took < 7.0
        assert reader.errors == []


async def test_a_topic_that_is_deleted_is_given_up_and_taken_again_when_it_is_back(
    kafka: RealKafka,
) -> None:
    kept, gone = await lay_ground(kafka, 1), await lay_ground(kafka, 2)
    for ground in (kept, gone):
        await ground.fill(5)
    async with reading(kafka) as reader:
        reader.consumer.subscribe(kept.topic, gone.topic)
        await reader.has_read(kept, gone)
        before = reader.consumer.membership.rebalances
        await delete(gone)
        await reader.owns(kept.tp(0))
        await reader.has_gone_through(before + 2)
        await kept.fill(5)
        await reader.has_read(kept)
        await anyio.sleep(6 * AGE)
        assert reader.consumer.membership.rebalances == before + 2
        again = await make(kafka, gone.topic, 3)
        await reader.owns(kept.tp(0), *again.all_partitions)
        await eventually(
            lambda: again.expected() <= set(reader.places[-3:]), "it is read from its beginning"
        )
        assert reader.errors == []


async def test_new_partitions_are_owned_and_read_by_everybody(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("group")
    async with reading(kafka, group_id=group) as one, reading(kafka, group_id=group) as two:
        for reader in (one, two):
            reader.consumer.subscribe(ground.topic)
        await eventually(lambda: sum(shared(one, two)[:2]) == 1, "one of them owns it")
        await ground.widen(4)
        took = await eventually(
            lambda: shared(one, two) == (2, 2, ground.all_partitions), "both have two"
        )
        assert took < 10.0
        await ground.fill(3)
        wanted = ground.expected()
        await eventually(lambda: wanted <= {*one.places, *two.places}, "everything is read")


# -- changes of mind -----------------------------------------------------------------------


async def test_quick_changes_of_mind_end_with_the_last_one(kafka: RealKafka) -> None:
    one, two = await lay_ground(kafka, 2), await lay_ground(kafka, 2)
    for ground in (one, two):
        await ground.fill(5)
    async with reading(kafka) as reader:
        for number in range(20):
            reader.consumer.subscribe(one.topic if number % 2 else two.topic)
            await anyio.sleep(0.01 * (number % 4))
            if number % 5 == 0:
                reader.consumer.unsubscribe()
        reader.consumer.subscribe(one.topic)
        await reader.owns(*one.all_partitions)
        reader.consumer.subscribe(pattern=f"{two.topic}$")
        await reader.owns(*two.all_partitions)
        await eventually(lambda: two.expected() <= set(reader.places), "it is read")
        assert reader.errors == []


async def test_partitions_by_hand_after_a_group_commit_at_once(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("group")
    await ground.fill(5)
    consumer = Consumer(
        ground.topic, **{**FAST, "bootstrap_servers": kafka.bootstrap, "group_id": group}
    )
    async with consumer:
        await consumer.getone(timeout=20.0)
        consumer.unsubscribe()
        consumer.assign(ground.all_partitions)
        assert (await consumer.commit({ground.tp(0): 4})).ok
        assert (await anyio.to_thread.run_sync(describe, kafka, group)).members == ()
        assert await anyio.to_thread.run_sync(committed, kafka, group) == {0: 4}


async def test_partitions_by_hand_are_waited_for(kafka: RealKafka) -> None:
    topic = fresh("late")
    async with reading(kafka, group_id=None) as reader:
        reader.consumer.assign([TopicPartition(topic, number) for number in range(3)])
        ground = await make(kafka, topic, 2)
        await reader.has_read(ground)
        await ground.widen(3)
        await ground.fill(1)
        await reader.has_read(ground)


async def test_what_is_committed_is_known_before_anything_is_subscribed(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 1)
    async with reading(kafka) as reader:
        found = await reader.consumer.committed(ground.tp(0), timeout=5.0)
        assert found == {ground.tp(0): None}


# -- brokers that come back ----------------------------------------------------------------

Bounce = Callable[[RealKafka, int], None]


def coordinator_politely(kafka: RealKafka, coordinator: int) -> None:
    kafka.stop(coordinator)
    kafka.restart(coordinator)


def all_at_once(kafka: RealKafka, coordinator: int) -> None:
    for node in kafka.nodes:
        kafka.kill(node)
    kafka.heal()


@pytest.mark.faults
@pytest.mark.parametrize("bounce", [coordinator_politely, all_at_once])
async def test_a_pattern_goes_on_after_its_brokers_were_away(
    kafka_cluster: RealKafka, bounce: Bounce
) -> None:
    """aiokafka#1154 (PR#1156): a consumer stays idle after a broker restart, and shows nothing.

    aiokafka#703: no recovery after the whole cluster was down. Required: membership is public and
    STABLE again, nothing is given up for want of metadata, and reading resumes by itself.
    """
    name, group = fresh("bounced"), fresh("group")
    ground = await make(kafka_cluster, f"{name}-a", 3)
    coordinator = await anyio.to_thread.run_sync(coordinator_of, kafka_cluster, group)
    async with reading(kafka_cluster, group_id=group, **LASTING) as reader:
        reader.consumer.subscribe(pattern=name)
        await reader.has_read(ground)
        before = reader.consumer.membership.claims
        await anyio.to_thread.run_sync(bounce, kafka_cluster, coordinator)
        await eventually(
            lambda: reader.consumer.membership.state is MemberState.STABLE, "it is stable again"
        )
        await ground.fill(3)
        await reader.has_read(ground)
        assert reader.consumer.membership.claims == before
        late = await make(kafka_cluster, f"{name}-b", 1)
        await reader.owns(*ground.all_partitions, late.tp(0))
        assert reader.errors == []

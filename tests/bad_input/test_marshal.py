"""What does not belong into a log of claims, as a consumer that claims meets it: it is skipped
and counted, or it ends the consumer with its cause; nobody hangs, and nobody owns wrongly."""

import anyio
import pytest

from kgroup.errors import ConfigError, CoordinationTopicError
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.settings import BrokerSettings
from tests.consumer.ground import fill
from tests.consumer.marshal.claiming import (
    LEASE,
    A,
    claiming,
    foreign,
    gives,
    kafka,
    owns,
    said,
)
from tests.consumer.marshal.stage import LOG
from tests.contracts.application import until

pytestmark = pytest.mark.anyio

NOW = 1_700_000_000

GARBAGE = {
    "nothing": b"",
    "null": None,
    "bytes": b"\xff\x00\xfe",
    "a word": b"banana",
    "a megabyte": b"x" * 1_000_000,
    "an unknown type": b"Stealing/1/1700000000/i/c/g/t/0/7",
    "too few fields": b"Heartbeat/1/1700000000/i/c/g/t/0",
    "too many fields": b"Heartbeat/1/1700000000/i/c/g/t/0/7/8",
    "partition -1": b"Heartbeat/1/1700000000/i/c/g/t/-1/7",
    "partition 2**31-1": b"Heartbeat/1/1700000000/i/c/g/t/2147483647/7",
    "a position below zero": b"Heartbeat/1/1700000000/i/c/g/t/0/-5",
    "a position beyond 64 bits": b"Heartbeat/1/1700000000/i/c/g/t/0/99999999999999999999",
    "no number": b"Heartbeat/1/now/i/c/g/t/0/7",
    "another group": b"Heartbeat/1/1700000000/i/c/other/t/0/7",
    "another topic": b"Heartbeat/1/1700000000/i/c/g/elsewhere/0/7",
}


def lay(broker: InProcessBroker, value: bytes | None) -> None:
    broker.partition(LOG).append((None, value))


@pytest.mark.slow
@pytest.mark.parametrize("value", GARBAGE.values(), ids=GARBAGE)
async def test_n30_garbage_first_amid_and_last_is_skipped(value: bytes | None) -> None:
    broker = kafka()
    lay(broker, value)
    async with claiming(broker) as consumer:
        assert await gives(consumer, 2) == [0, 1]
        lay(broker, value)
        assert (await consumer.commit()).ok
        await anyio.sleep(LEASE)
        assert consumer.owns(A)
        lay(broker, value)
    lay(broker, value)
    async with claiming(broker, name="two") as consumer:
        assert await gives(consumer, 1) == [2]


async def test_n30_nothing_but_garbage_holds_nobody_up() -> None:
    broker = kafka()
    for value in GARBAGE.values():
        lay(broker, value)
    async with claiming(broker) as consumer:
        await owns(consumer, A, within=5.0)


@pytest.mark.parametrize("name", ["a/b", "a\nb", "\x00"])
async def test_n30_an_id_that_would_make_messages_unreadable_is_refused_at_once(name: str) -> None:
    with pytest.raises(ConfigError, match="group_instance_id"):
        async with claiming(kafka(), name=name):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("time", [NOW - 86_400, NOW + 86_400])
async def test_n30_the_time_of_a_sender_gives_nobody_a_longer_claim_or_takes_one(
    time: int,
) -> None:
    """With timestamps of the broker the sender's own time counts for nothing."""
    broker = kafka()
    epoch = said_by_other(broker, time)
    async with claiming(broker) as consumer:
        await anyio.sleep(LEASE)
        assert not consumer.owns(A), "the other's claim lasts"
        await owns(consumer, A, within=130.0)
        assert said(broker, A, Kind.CLAIMING_PARTITION)[-1].offset > epoch
        assert await gives(consumer, 1) == [3]


def said_by_other(broker: InProcessBroker, time: int) -> int:
    other = foreign(broker)
    other.now = lambda: float(time)
    epoch = other.claim()
    other.beat(3, epoch)
    return epoch


@pytest.mark.parametrize("time", [0, 1, 2**40])
async def test_n30_a_message_of_another_age_is_not_believed(time: int) -> None:
    broker = kafka()
    said_by_other(broker, time)
    async with claiming(broker) as consumer:
        assert await gives(consumer, 1) == [0]


async def test_n30_a_compacted_log_is_refused_with_its_cause() -> None:
    broker = InProcessBroker(topics={"t": 1}, settings=BrokerSettings(auto_create_topics=False))
    broker.create_topic(LOG, 1, configs={"cleanup.policy": "compact"})
    async with claiming(broker) as consumer:
        with pytest.raises(CoordinationTopicError, match="compact"):
            await consumer.getone(timeout=30)


async def test_n30_a_missing_log_is_refused_with_its_cause() -> None:
    broker = InProcessBroker(topics={"t": 1}, settings=BrokerSettings(auto_create_topics=False))
    async with claiming(broker) as consumer:
        with pytest.raises(CoordinationTopicError, match=LOG):
            await consumer.getone(timeout=60)


@pytest.mark.slow
async def test_n30_another_partition_count_ends_the_consumer_before_it_claims_anything_new() -> (
    None
):
    """Scenario 20."""
    broker = kafka()
    async with claiming(broker, metadata_max_age=2.0) as consumer:
        await gives(consumer, 1)
        broker.add_partitions(LOG, 2)
        await until(lambda: consumer.failure, 2 * LEASE, "the consumer is ended")
        with pytest.raises(CoordinationTopicError, match="partition"):
            await consumer.getone(timeout=5)
        assert broker.partition(LOG, 1).end == 0


@pytest.mark.slow
async def test_n30_a_log_that_is_deleted_and_made_anew_ends_the_consumer() -> None:
    """Scenario 20."""
    broker = kafka()
    async with claiming(broker, metadata_max_age=2.0) as consumer:
        await gives(consumer, 1)
        broker.delete_topic(LOG)
        broker.create_topic(LOG, 1, configs={"message.timestamp.type": "LogAppendTime"})
        await until(lambda: consumer.failure, 3 * LEASE, "the consumer is ended")
        with pytest.raises(CoordinationTopicError):
            await consumer.getone(timeout=5)


@pytest.mark.slow
async def test_n30_a_log_without_its_tail_costs_the_claims_in_it_and_they_are_made_anew() -> None:
    """Scenario 13: an unclean election takes the last heartbeats away."""
    broker = kafka(nodes=2)
    log = broker.partition(LOG)
    async with claiming(broker, metadata_max_age=2.0) as consumer:
        await gives(consumer, 3)
        await consumer.commit()
        claim = said(broker, A, Kind.CLAIMING_PARTITION)[-1].offset
        log.truncate(claim)
        log.move_to(2 if log.leader == 1 else 1, resigned=False)
        fresh = lambda: said(broker, A, Kind.CLAIMING_PARTITION)  # noqa: E731
        await until(fresh, 200.0, "it is claimed anew")
        fill(broker, A, 1)
        assert await gives(consumer, 1, timeout=200) in ([3], [0])

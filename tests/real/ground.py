"""What a test on a real Kafka stands on: a topic of its own, known records, and the truth.

Decides: that records are written by another client than ours (librdkafka, idempotent), so that
what kgroup reads was not written by kgroup; and that a record's value names its place.
Never: takes part in a group.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from kgroup.errors import ConnectionLostError
from kgroup.testing.kafka import RealKafka, create_topic, read_bounds
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
)

PATIENCE = 20.0
_LOOK_AGAIN = 0.02
_ADMIN_TIMEOUT = 10.0


def fresh(what: str) -> str:
    """Return a name that is new on this broker."""
    return f"{what}-{secrets.token_hex(4)}"


async def eventually(is_so: Callable[[], object], what: str, *, timeout: float = PATIENCE) -> float:
    """Wait until something holds; return the seconds it took.

    Other libraries do not report their changes, so this looks again and again.
    """
    began = time.monotonic()
    with anyio.move_on_after(timeout):
        while not is_so():  # noqa: ASYNC110 - see above
            await anyio.sleep(_LOOK_AGAIN)
        return time.monotonic() - began
    raise TimeoutError(f"waited {timeout:g} s in vain until {what}")


@dataclass
class Ground:
    """One topic, and everything that was written to it.

    Args:
        kafka: the brokers.
        topic: its name.
        partitions: how many it has.
        producer: writes to it.
        sent: partition -> how many records were asked to be written.
    """

    kafka: RealKafka
    topic: str
    partitions: int
    producer: Producer
    sent: dict[int, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    @property
    def all_partitions(self) -> frozenset[TopicPartition]:
        return frozenset(self.tp(number) for number in range(self.partitions))

    def tp(self, number: int) -> TopicPartition:
        return TopicPartition(self.topic, number)

    def write(self, count: int, *, partitions: Sequence[int] | None = None) -> None:
        """Ask for `count` records in each partition; returns before they are stored."""
        numbers = range(self.partitions) if partitions is None else partitions
        for _ in range(count):
            for number in numbers:
                place = self.sent.get(number, 0)
                value = value_at(self.tp(number), place)
                self.producer.produce(
                    self.topic, value, partition=number, on_delivery=self._delivered
                )
                self.sent[number] = place + 1
            self.producer.poll(0)

    async def stored(self, timeout: float = PATIENCE) -> None:
        """Wait until everything asked for is stored, in the order it was asked for."""
        left = await anyio.to_thread.run_sync(self.producer.flush, timeout)
        assert (left, self.refused) == (0, [])

    async def fill(self, count: int, *, partitions: Sequence[int] | None = None) -> None:
        """Store `count` more records in each partition."""
        self.write(count, partitions=partitions)
        await self.stored()

    async def fill_in_one_batch(self, count: int) -> None:
        """Store `count` more records in each partition, those of each in one record batch.

        A consumer hands out no batch across the border of two that are stored, so a test that
        counts batches must know them. A writer that lingers for 2 ms sends four records and then
        26, where its thread is kept from the processor in between.
        """
        quick, self.producer = self.producer, _new_producer(self.kafka, linger=PATIENCE)
        await self.fill(count)  # what flushes does not linger
        self.producer = quick

    async def stream(self, interval: float = 0.05) -> None:
        """Write a record to each partition at every interval, until cancelled."""
        while True:
            self.write(1)
            await anyio.sleep(interval)

    def expected(self) -> set[tuple[TopicPartition, int]]:
        """Return the place of every record asked for."""
        return {(self.tp(p), offset) for p, sent in self.sent.items() for offset in range(sent)}

    async def bounds(self) -> Mapping[TopicPartition, tuple[int, int]]:
        """Ask the brokers where each partition begins and ends; it must be what was written."""
        found = await anyio.to_thread.run_sync(read_bounds, self.kafka.bootstrap, [self.topic])
        assert found == {self.tp(p): (0, self.sent.get(p, 0)) for p in range(self.partitions)}
        return found

    async def widen(self, total: int) -> None:
        """Give the topic more partitions."""
        admin = AdminClient({"bootstrap.servers": self.kafka.bootstrap})
        asked = admin.create_partitions([NewPartitions(self.topic, total)])
        await anyio.to_thread.run_sync(asked[self.topic].result, _ADMIN_TIMEOUT)
        self.partitions = total
        # The old one would not hear of them for as long as its metadata is fresh.
        self.producer = _new_producer(self.kafka)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refused.append(f"{message.topic()}-{message.partition()}: {error}")


def value_at(tp: TopicPartition, offset: int) -> bytes:
    """Return the value of the record at a place."""
    return f"{tp}@{offset}".encode()


async def lay_ground(
    kafka: RealKafka,
    partitions: int,
    *,
    topic: str | None = None,
    replicas: Sequence[Sequence[int]] | None = None,
) -> Ground:
    """Make a topic.

    Args:
        kafka: the brokers.
        partitions: how many.
        topic: its name, None for one that nobody has used.
        replicas: per partition the brokers that keep it, its leader first; None for their choice.
    """
    topic = topic or fresh("orders")
    if replicas is None:
        await anyio.to_thread.run_sync(create_topic, kafka.bootstrap, topic, partitions)
    else:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        config = {"min.insync.replicas": "1"}
        rows = [list(row) for row in replicas]
        placed = NewTopic(topic, partitions, replica_assignment=rows, config=config)
        await anyio.to_thread.run_sync(admin.create_topics([placed])[topic].result, _ADMIN_TIMEOUT)
    return Ground(kafka, topic, partitions, _new_producer(kafka))


def _new_producer(kafka: RealKafka, *, linger: float = 0.002) -> Producer:
    return Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "enable.idempotence": True,
            "linger.ms": round(linger * 1000),
            "log_level": 0,
            "reconnect.backoff.max.ms": 500,
        }
    )


def coordinator_of(kafka: RealKafka, group: str) -> int:
    """Return the node that coordinates a group."""
    return _coordinator(kafka, group)[0]


def committed(kafka: RealKafka, group: str) -> dict[int, int]:
    """Return partition -> the offset committed for it, as another client reads it."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    found = asked[group].result(_ADMIN_TIMEOUT).topic_partitions
    return {row.partition: row.offset for row in found}


def describe(kafka: RealKafka, group: str) -> DescribeGroupsDescribedGroup:
    """Return what the coordinator says about a group."""
    _, address = _coordinator(kafka, group)
    with Probe(address) as probe:
        return probe.ask(DescribeGroupsRequest(groups=(group,))).groups[0]


def _coordinator(kafka: RealKafka, group: str) -> tuple[int, tuple[str, int]]:
    request = FindCoordinatorRequest(coordinator_keys=(group,))
    for address in parse_bootstrap(kafka.bootstrap):
        with suppress(ConnectionLostError), Probe(address) as probe:
            (found,) = probe.ask(request).coordinators
            assert found.error_code == 0
            return found.node_id, (found.host, found.port)
    raise AssertionError(f"no broker of {kafka.bootstrap} answers")

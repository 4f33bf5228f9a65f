"""Members of other libraries, as they come: aiokafka, kafka-python and librdkafka.

Decides: how each is driven (a task, a thread) so that a test can see what it owns and has read.
Never: helps them; what they do in a group is theirs. But they look at the topics every second, not
every five minutes: a leader that does not know the partitions yet divides nothing, and divides
again only when it looks again. kafka-python is asked for the partitions before it joins.
"""

import threading
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import anyio
from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from anyio.abc import TaskStatus
from confluent_kafka import Consumer, Message

from kgroup.types import TopicPartition
from tests.real.ground import Ground

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kafka-python reads its schemas in a deprecated way
    from kafka import KafkaConsumer

_NAP = 0.1
_METADATA_MAX_AGE_MS = 1000
_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class Peer(Protocol):
    """What a test sees of a member of another library."""

    owned: frozenset[TopicPartition]
    seen: list[tuple[TopicPartition, int]]

    async def run(self, *, task_status: TaskStatus[None]) -> None: ...
    def stop(self) -> None: ...


class AiokafkaPeer:
    """An aiokafka consumer in a task of its own; asyncio only.

    Args:
        ground: what it reads.
        group: its group.
        assignor: "range", "roundrobin" or "sticky".
        kind: the class of its consumer; the drop-in is another.
        instance_id: of a static member, None for a dynamic one.
    """

    def __init__(
        self,
        ground: Ground,
        group: str,
        assignor: str,
        kind: type[Any] = AIOKafkaConsumer,
        instance_id: str | None = None,
    ) -> None:
        self.owned: frozenset[TopicPartition] = frozenset()
        self.seen: list[tuple[TopicPartition, int]] = []
        self._ground = ground
        self._group = group
        self._assignor = _ASSIGNORS[assignor]
        self._kind = kind
        self._instance_id = instance_id
        self._stopping = False

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Read until stopped."""
        consumer = self._kind(
            self._ground.topic,
            bootstrap_servers=self._ground.kafka.bootstrap,
            group_id=self._group,
            partition_assignment_strategy=[self._assignor],
            group_instance_id=self._instance_id,
            auto_offset_reset="earliest",
            session_timeout_ms=6000,
            heartbeat_interval_ms=300,
            fetch_max_wait_ms=100,
            metadata_max_age_ms=_METADATA_MAX_AGE_MS,
        )
        try:
            await consumer.start()
            task_status.started()
            while not self._stopping:
                found = await consumer.getmany(timeout_ms=int(_NAP * 1000))
                self.seen += [
                    (TopicPartition(*tp), r.offset) for tp, rows in found.items() for r in rows
                ]
                self.owned = frozenset(TopicPartition(*tp) for tp in consumer.assignment())
        finally:
            self.owned = frozenset()
            with anyio.CancelScope(shield=True):
                await consumer.stop()

    def stop(self) -> None:
        """Have it leave; `run` returns when it has."""
        self._stopping = True


class ConfluentPeer:
    """A confluent-kafka consumer in a thread of its own.

    Args:
        ground: what it reads.
        group: its group.
        assignor: a name librdkafka knows, "cooperative-sticky"; None for the protocol of KIP-848,
            whose groups have a session and an interval of their own.
    """

    def __init__(self, ground: Ground, group: str, assignor: str | None) -> None:
        self.owned: frozenset[TopicPartition] = frozenset()
        self.seen: list[tuple[TopicPartition, int]] = []
        self._ground = ground
        self._options: dict[str, Any] = {
            "bootstrap.servers": ground.kafka.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "topic.metadata.refresh.interval.ms": _METADATA_MAX_AGE_MS,
            "log_level": 0,
        }
        if assignor is None:
            self._options["group.protocol"] = "consumer"
        else:
            self._options["partition.assignment.strategy"] = assignor
            self._options["session.timeout.ms"] = 6000
            self._options["heartbeat.interval.ms"] = 300
        self._stopping = threading.Event()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Read until stopped."""
        task_status.started()
        try:
            await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)
        finally:
            self._stopping.set()

    def stop(self) -> None:
        """Have it leave; `run` returns when it has."""
        self._stopping.set()

    def _read(self) -> None:
        consumer = Consumer(self._options)
        try:
            consumer.subscribe([self._ground.topic])
            while not self._stopping.is_set():
                self._take(consumer.consume(500, _NAP))
                held = consumer.assignment()
                self.owned = frozenset(TopicPartition(tp.topic, tp.partition) for tp in held)
        finally:
            self.owned = frozenset()
            consumer.close()

    def _take(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if message.error() is not None:
                raise RuntimeError(str(message.error()))
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            self.seen.append((TopicPartition(topic, partition), offset))


class KafkaPythonPeer:
    """A kafka-python consumer in a thread of its own.

    Args:
        ground: what it reads.
        group: its group.
        assignor: a class of kafka-python's.
        kind: the class of its consumer; the drop-in is another.
    """

    def __init__(
        self, ground: Ground, group: str, assignor: type, kind: type[Any] = KafkaConsumer
    ) -> None:
        self.owned: frozenset[TopicPartition] = frozenset()
        self.seen: list[tuple[TopicPartition, int]] = []
        self._ground = ground
        self._kind = kind
        self._options: dict[str, Any] = {
            "bootstrap_servers": ground.kafka.bootstrap,
            "group_id": group,
            "partition_assignment_strategy": [assignor],
            "auto_offset_reset": "earliest",
            "session_timeout_ms": 6000,
            "heartbeat_interval_ms": 300,
            "fetch_max_wait_ms": 100,
            "metadata_max_age_ms": _METADATA_MAX_AGE_MS,
        }
        self._stopping = threading.Event()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Read until stopped."""
        task_status.started()
        try:
            await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)
        finally:
            self._stopping.set()

    def stop(self) -> None:
        """Have it leave; `run` returns when it has."""
        self._stopping.set()

    def _read(self) -> None:
        consumer = self._kind(**self._options)
        try:
            consumer.subscribe([self._ground.topic])
            # A leader that knows no partition yet divides nothing, and joins again when it does.
            # Then kafka-python 3.0.12 may stay without any for good: 1. In that second round a
            # `poll` runs out of time after SyncGroup was sent. 2. The round was for a difference
            # between two snapshots of the metadata, which is gone since the leader divided; so
            # `need_rejoin` is false, and no `poll` takes the answer. 3. Heartbeats, stopped for
            # the round, stay so, and the coordinator removes a member that does not notice it.
            assert consumer.partitions_for_topic(self._ground.topic)
            while not self._stopping.is_set():
                found = consumer.poll(timeout_ms=int(_NAP * 1000))
                self.seen += [
                    (TopicPartition(*tp), r.offset) for tp, rows in found.items() for r in rows
                ]
                self.owned = frozenset(TopicPartition(*tp) for tp in consumer.assignment())
        finally:
            self.owned = frozenset()
            consumer.close()

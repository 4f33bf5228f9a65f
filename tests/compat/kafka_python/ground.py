"""What the tests of the facade stand on: an in-process Kafka with sockets, real time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import ConsumerRebalanceListener
from kafka.structs import TopicPartition

from kgroup.compat.kafka_python import KafkaConsumer
from kgroup.testing import InProcessBroker

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Ground:
    """A cluster with topic `t` of two partitions, and consumers of it."""

    def __init__(self, broker: InProcessBroker, servers: str) -> None:
        self.broker = broker
        self.servers = servers

    def consumer(self, *topics: str, **configs: Any) -> KafkaConsumer:
        """Make a consumer that reads from the beginning."""
        chosen = {
            "auto_offset_reset": "earliest",
            "fetch_max_wait_ms": 20,
            "retry_backoff_ms": 10,
            "heartbeat_interval_ms": 200,
            "api_version": (4, 3),
            **configs,
        }
        return KafkaConsumer(*topics, bootstrap_servers=self.servers, **chosen)

    @contextmanager
    def by_hand(self, *tps: TopicPartition, **configs: Any) -> Iterator[KafkaConsumer]:
        """Lend a consumer that has partitions by hand."""
        with self.consumer(**configs) as consumer:
            consumer.assign(list(tps))
            yield consumer


class Heard(ConsumerRebalanceListener):
    """A listener that notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, set[TopicPartition]]] = []

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.heard.append(("revoked", revoked))

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.heard.append(("assigned", assigned))


@contextmanager
def grounded(count: int = 0) -> Iterator[Ground]:
    """Serve a cluster with so many records in each partition of topic `t`."""
    broker = InProcessBroker(topics={"t": 2})
    for number in (0, 1) if count else ():
        broker.partition("t", number).append(*(str(offset) for offset in range(count)))
    with broker.serve() as served:
        yield Ground(broker, served.bootstrap)

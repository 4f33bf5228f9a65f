"""Several scripted brokers behind one `Dial`, which agree on topics, leaders and a coordinator.

Decides: the answers to Metadata and FindCoordinator, from plain attributes a test may change at
any time. A broker's own `on` or `once` for these APIs wins.
Never: keeps logs or groups.

    cluster = ScriptedCluster(3, topics={"orders": 6})
    settings = NetSettings(bootstrap=cluster.bootstrap)
    ports = virtual_ports(cluster)
    cluster.broker(2).go_down()
    cluster.move_leader(TopicPartition("orders", 0), 3)
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from kgroup.codes import ErrorCode
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kgroup.wire.vocabulary import ZERO_UUID
from tests.search.scripted.broker import ScriptedBroker
from tests.search.scripted.stream import ScriptedStream

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(slots=True)
class ScriptedPartition:
    """One partition; change it and the next Metadata answer shows it.

    Args:
        leader: node id, -1 without one.
        epoch: leader epoch.
        replicas: node ids.
        error: error code of the partition.
    """

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    error: int = 0


@dataclass(slots=True)
class ScriptedTopic:
    """One topic; change it and the next Metadata answer shows it.

    Args:
        topic_id: 16 bytes.
        partitions: in order of their numbers.
        error: error code of the topic.
        internal: whether it belongs to the brokers.
    """

    topic_id: bytes
    partitions: list[ScriptedPartition] = field(default_factory=list)
    error: int = 0
    internal: bool = False


class ScriptedCluster:
    """A `Dial` port with brokers 1 to n at `broker-1:9092` to `broker-n:9092`.

    Args:
        brokers: how many.
        topics: name -> number of partitions; leaders go round the brokers.

    `controller` is the node id Metadata names, `metadata_error` its error code; `listed` are the
    node ids it lists; `coordinator` is the node id FindCoordinator names, `coordinator_error` its
    error code.
    """

    def __init__(self, brokers: int = 1, *, topics: Mapping[str, int] = _NOTHING) -> None:
        self.brokers = [ScriptedBroker(n, f"broker-{n}") for n in range(1, brokers + 1)]
        self.topics: dict[str, ScriptedTopic] = {}
        self.cluster_id = "scripted"
        self.controller = 1
        self.coordinator = 1
        self.coordinator_error = 0
        self.metadata_error = 0
        self.listed = {broker.node_id for broker in self.brokers}
        self._topics_made = 0
        for name, partitions in topics.items():
            self.add_topic(name, partitions)
        for broker in self.brokers:
            broker.on(MetadataRequest, self.metadata)
            broker.on(FindCoordinatorRequest, self.find_coordinator)

    async def __call__(self, host: str, port: int) -> ScriptedStream:
        """Connect a client to the broker at an address.

        Raises:
            OSError: nothing is there.
        """
        for broker in self.brokers:
            if (broker.host, broker.port) == (host, port):
                return await broker(host, port)
        raise socket.gaierror(f"{host}: name or service not known")

    # -- the script ------------------------------------------------------------------------

    @property
    def bootstrap(self) -> tuple[tuple[str, int], ...]:
        """Addresses of all brokers, as `NetSettings` takes them."""
        return tuple((broker.host, broker.port) for broker in self.brokers)

    def broker(self, node_id: int) -> ScriptedBroker:
        """Return a broker by its id."""
        return self.brokers[node_id - 1]

    def add_topic(self, name: str, partitions: int) -> ScriptedTopic:
        """Make a topic, or make it anew: its id is one that no topic had before."""
        self._topics_made += 1
        topic = ScriptedTopic(self._topics_made.to_bytes(16, "big"))
        self.topics[name] = topic
        self.add_partitions(name, partitions)
        return topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        del self.topics[name]

    def add_partitions(self, name: str, count: int) -> None:
        """Make a topic wider."""
        known = self.topics[name].partitions
        for _ in range(count):
            leader = len(known) % len(self.brokers) + 1
            known.append(ScriptedPartition(leader, 0, (leader,)))

    def move_leader(self, tp: TopicPartition, node_id: int) -> None:
        """Elect another leader; the epoch rises."""
        partition = self.topics[tp.topic].partitions[tp.partition]
        partition.leader = node_id
        partition.epoch += 1
        if node_id not in partition.replicas:
            partition.replicas = (*partition.replicas, node_id)

    # -- the rules -------------------------------------------------------------------------

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        """Answer Metadata."""
        if request.topics is None:
            names = sorted(self.topics)
        else:
            names = [topic.name for topic in request.topics if topic.name is not None]
        return MetadataResponse(
            brokers=tuple(
                MetadataResponseBroker(
                    node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack
                )
                for broker in self.brokers
                if broker.node_id in self.listed
            ),
            cluster_id=self.cluster_id,
            controller_id=self.controller,
            topics=tuple(self._described(name) for name in names),
            error_code=self.metadata_error,
        )

    def _described(self, name: str) -> MetadataResponseTopic:
        topic = self.topics.get(name)
        if topic is None:
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return MetadataResponseTopic(
                error_code=missing, name=name, topic_id=ZERO_UUID, partitions=()
            )
        return MetadataResponseTopic(
            error_code=topic.error,
            name=name,
            topic_id=topic.topic_id,
            is_internal=topic.internal,
            partitions=tuple(
                MetadataResponsePartition(
                    error_code=partition.error,
                    partition_index=index,
                    leader_id=partition.leader,
                    leader_epoch=partition.epoch,
                    replica_nodes=partition.replicas,
                    isr_nodes=partition.replicas,
                )
                for index, partition in enumerate(topic.partitions)
            ),
        )

    def find_coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        """Answer FindCoordinator in the layout of the question."""
        broker = self.broker(self.coordinator)
        node_id, host, port = broker.node_id, broker.host, broker.port
        if self.coordinator_error:
            node_id, host, port = -1, "", -1
        if not request.coordinator_keys:
            return FindCoordinatorResponse(
                error_code=self.coordinator_error, node_id=node_id, host=host, port=port
            )
        return FindCoordinatorResponse(
            coordinators=tuple(
                Coordinator(
                    key=key,
                    node_id=node_id,
                    host=host,
                    port=port,
                    error_code=self.coordinator_error,
                )
                for key in request.coordinator_keys
            )
        )

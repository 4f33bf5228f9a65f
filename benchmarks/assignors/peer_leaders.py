"""The leaders of aiokafka and of kafka-python, part by part, with their own codecs.

Decides: nothing; each part calls what that client's coordinator calls.
Never: gives either less than its members send: eager sticky has user data, cooperative sticky
(kafka-python, version 1 of the subscription) the list of what it owns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from aiokafka.cluster import ClusterMetadata as AiokafkaCluster
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AiokafkaRound
from aiokafka.coordinator.assignors.sticky.sticky_assignor import (
    StickyPartitionAssignor as AiokafkaSticky,
)
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from aiokafka.protocol.metadata import MetadataResponse_v1
from kafka.cluster import ClusterMetadata as KafkaCluster
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka.protocol.metadata import MetadataResponse as KafkaMetadata

from benchmarks.assignors.judging import Event, Result
from benchmarks.assignors.scenarios import Scenario
from kgroup.wire.messages import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kgroup.wire.schema import encode

METADATA_VERSION = 1


@dataclass(slots=True)
class Joined:
    """A row of JoinGroup's answer: what kafka-python's coordinator hands to its assignors."""

    member_id: str
    metadata: Any
    group_instance_id: str | None = None


class AiokafkaLeader:
    """Assigns with aiokafka's assignors."""

    def __init__(self) -> None:
        self.versions = {"aiokafka": version("aiokafka")}
        self._assignors: dict[str, Any] = {
            "range": AiokafkaRange,
            "roundrobin": AiokafkaRound,
            "sticky": AiokafkaSticky,
        }
        self.assignors: Sequence[str] = tuple(self._assignors)
        self._scenario: Scenario
        self._generation_id: int
        self._topics: tuple[tuple[str, int], ...] = ()
        self._cluster: Any
        self._assignor: Any
        self._joined: list[tuple[str, bytes]]
        self._members: dict[str, Any]
        self._assignment: Mapping[str, Any]

    def load(self, scenario: Scenario, generation_id: int) -> None:
        """Fill a cluster's metadata from a broker's answer, unless the topics are the same."""
        self._scenario, self._generation_id = scenario, generation_id
        if scenario.topics != self._topics:
            self._topics = scenario.topics
            self._cluster = AiokafkaCluster()
            self._cluster.update_metadata(MetadataResponse_v1.decode(metadata(scenario)))

    def begin(self, assignor: str, event: Event) -> None:
        """Write the members' subscriptions; an assignor is a class that remembers for a member."""
        self._assignor = self._assignors[assignor]
        self._joined = []
        for place, (member_id, _) in enumerate(self._scenario.members):
            if place == event.leaver:
                continue
            if assignor == "sticky":
                self._remember(event, place)
            topics = topic_names(self._scenario, place)
            self._joined.append((member_id, self._assignor.metadata(topics).encode()))

    def read(self) -> None:
        """Read the members' subscriptions."""
        decode = ConsumerProtocolMemberMetadata.decode
        self._members = {member_id: decode(data) for member_id, data in self._joined}

    def assign(self) -> None:
        """Divide the partitions."""
        self._assignment = self._assignor.assign(self._cluster, self._members)

    def encode(self) -> Sequence[bytes]:
        """Write the assignment."""
        return tuple(each.encode() for each in self._assignment.values())

    def result(self) -> Result:
        """Return it as numbers."""
        return numbered(self._scenario, self._assignment, "assignment")

    def _remember(self, event: Event, place: int) -> None:
        self._assignor.member_assignment = None
        self._assignor.generation = self._assignor.DEFAULT_GENERATION_ID
        if event.previous is not None:
            held = by_topic(self._scenario, event.previous[place])
            assignment = ConsumerProtocolMemberAssignment(0, held, b"")
            self._assignor.on_assignment(assignment)
            self._assignor.on_generation_assignment(self._generation_id)


class KafkaPythonLeader:
    """Assigns with kafka-python's assignors."""

    def __init__(self) -> None:
        self.versions = {"kafka-python": version("kafka-python")}
        self._assignors: dict[str, Any] = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            "sticky": StickyPartitionAssignor,
            "cooperative-sticky": CooperativeStickyAssignor,
        }
        self.assignors: Sequence[str] = tuple(self._assignors)
        self._scenario: Scenario
        self._generation_id: int
        self._topics: tuple[tuple[str, int], ...] = ()
        self._cluster: Any
        self._assignor: Any
        self._cooperative: bool
        self._joined: list[tuple[str, bytes]]
        self._members: list[Joined]
        self._assignment: Mapping[str, Any]

    def load(self, scenario: Scenario, generation_id: int) -> None:
        """Fill a cluster's metadata from a broker's answer, unless the topics are the same."""
        self._scenario, self._generation_id = scenario, generation_id
        if scenario.topics != self._topics:
            self._topics = scenario.topics
            self._cluster = KafkaCluster()
            answer = KafkaMetadata.decode(metadata(scenario), version=METADATA_VERSION)
            self._cluster.update_metadata(answer)

    def begin(self, assignor: str, event: Event) -> None:
        """Write the members' subscriptions; each member has an assignor that remembers."""
        self._assignor = self._assignors[assignor]()
        self._cooperative = assignor == "cooperative-sticky"
        self._joined = []
        for place, (member_id, _) in enumerate(self._scenario.members):
            if place == event.leaver:
                continue
            own = self._assignors[assignor]()
            if event.previous is not None:
                held = by_topic(self._scenario, event.previous[place])
                own.on_assignment(ConsumerProtocolAssignment(0, held, b""), self._generation_id)
            topics = topic_names(self._scenario, place)
            self._joined.append((member_id, own.metadata(topics).encode()))

    def read(self) -> None:
        """Read the members' subscriptions."""
        decode = ConsumerProtocolSubscription.decode
        self._members = [Joined(member_id, decode(data)) for member_id, data in self._joined]

    def assign(self) -> None:
        """Divide the partitions."""
        self._assignment = self._assignor.assign(self._cluster, self._members)

    def encode(self) -> Sequence[bytes]:
        """Write the assignment."""
        return tuple(each.encode() for each in self._assignment.values())

    def result(self) -> Result:
        """Return it as numbers; what its cooperative assignor holds back it does not tell."""
        found = numbered(self._scenario, self._assignment, "assigned_partitions")
        return Result(found.given, None) if self._cooperative else found


def metadata(scenario: Scenario) -> bytes:
    """Return a broker's answer about the topics, as both clients read it."""
    broker = MetadataResponseBroker(node_id=1, host="broker.example", port=9092)
    topics = tuple(
        MetadataResponseTopic(
            name=name,
            partitions=tuple(
                MetadataResponsePartition(
                    partition_index=number, leader_id=1, replica_nodes=(1,), isr_nodes=(1,)
                )
                for number in range(count)
            ),
        )
        for name, count in scenario.topics
    )
    answer = MetadataResponse(brokers=(broker,), controller_id=1, topics=topics)
    return encode(answer, METADATA_VERSION)


def topic_names(scenario: Scenario, place: int) -> list[str]:
    """Return the names a member subscribes to."""
    return [scenario.topics[topic][0] for topic in scenario.topics_of(place)]


def by_topic(scenario: Scenario, numbers: Sequence[int]) -> list[tuple[str, list[int]]]:
    """Return a member's partitions as they travel."""
    found: dict[str, list[int]] = {}
    for name, number in scenario.named(numbers):
        found.setdefault(name, []).append(number)
    return [*found.items()]


def numbered(scenario: Scenario, assignment: Mapping[str, Any], field: str) -> Result:
    """Return an assignment as numbers.

    Args:
        scenario: the group.
        assignment: member id -> an object of the client.
        field: the attribute with (topic, partition numbers).
    """
    names = (name for name, _ in scenario.topics)
    starts = dict(zip(names, scenario.starts[:-1], strict=True))
    given: list[list[int]] = []
    for member_id, _ in scenario.members:
        mine = assignment.get(member_id)
        runs = [] if mine is None else getattr(mine, field)
        given.append([starts[topic] + number for topic, found in runs for number in found])
    return Result(given)

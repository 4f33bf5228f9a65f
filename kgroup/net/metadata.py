"""What is known of the cluster, and how an answer changes it.

Decides: which entries of a metadata answer are believed. An older leader epoch never replaces a
newer one (KIP-320) unless the topic was made anew (its id changed, KIP-516). Entries that cannot
be true (N12) are skipped, and what was known before stays in their place.
Never: asks; `kgroup.net.cluster` does. A view is never changed, only replaced.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sized
from dataclasses import field, replace
from enum import Enum
from types import MappingProxyType
from typing import Final

from kgroup.codes import ApiKey
from kgroup.errors import DecodeError
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.settings import Endpoint
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kgroup.wire.vocabulary import ZERO_UUID

MAX_BROKERS: Final = 100_000
"""More brokers than this in one answer are not believed at all."""

_MAX_PORT: Final = 65_535
_NO_LEADER: Final = -1

_NOT_THERE: Final = frozenset({Reaction.MISSING, Reaction.UNAUTHORIZED})
"""Reactions to a topic that is not there, or may not be seen: both may pass."""

_REFUSED: Final = frozenset({Reaction.UNAUTHORIZED, Reaction.REFUSE})
"""Reactions to a topic that is there for others, or can never be."""

_PASSING: Final = frozenset({Reaction.RETRY, Reaction.REBOOTSTRAP})
"""Reactions to a topic of which a broker cannot say for now which partitions it has. That all begin
anew, only an answer as a whole can ask."""


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """One broker: its endpoint, and its rack, None when it has none."""

    endpoint: Endpoint
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition.

    Args:
        leader: node id, None while there is no leader.
        leader_epoch: epoch of the leadership, None when the broker did not say (KIP-320).
        replicas: node ids, the preferred leader first.
        in_sync: node ids of the replicas in sync.
        offline: node ids of the replicas that are down.
        error: error code of the partition, 0 without one.
    """

    leader: int | None
    leader_epoch: int | None = None
    replicas: tuple[int, ...] = ()
    in_sync: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    error: int = 0


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic.

    Args:
        topic_id: 16 bytes, None when the broker did not say (KIP-516).
        partitions: number -> partition, in order; what was known before while `error` is
            temporary, nothing when the topic is not there or may not be seen.
        error: error code of the topic, 0 without one.
        is_internal: whether it belongs to the brokers.
    """

    topic_id: bytes | None
    partitions: Mapping[int, PartitionInfo]
    error: int = 0
    is_internal: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether the brokers said that there is no such topic."""
        return reaction(ApiKey.METADATA, self.error) is Reaction.MISSING

    @property
    def is_uncertain(self) -> bool:
        """Whether the brokers could not say for now which partitions it has."""
        passing = reaction(ApiKey.METADATA, self.error) in _PASSING
        return passing and not self.partitions

    @property
    def is_refused(self) -> bool:
        """Whether the brokers refuse it: to this client, or because no topic can be called so."""
        return reaction(ApiKey.METADATA, self.error) in _REFUSED


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Everything known of the cluster at one moment.

    Args:
        cluster_id: None when the broker did not say.
        controller: node id of the controller, or of a broker that passes requests on to it.
        brokers: node id -> broker.
        topics: name -> topic; those that were asked for.
        asked: the topics that were asked for, None for all there are.
    """

    cluster_id: str | None = None
    controller: int | None = None
    brokers: Mapping[int, BrokerInfo] = field(default_factory=dict)
    topics: Mapping[str, TopicInfo] = field(default_factory=dict)
    asked: frozenset[str] | None = frozenset()

    def partition(self, tp: TopicPartition) -> PartitionInfo | None:
        """Return what is known of a partition; None when nothing is."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.partitions.get(tp.partition)

    def is_gone(self, tp: TopicPartition) -> bool:
        """Tell whether the brokers said that there is no such partition."""
        topic = self.topics.get(tp.topic)
        if topic is None:
            return self.asked is None
        known = topic.partitions
        return topic.is_gone or (bool(known) and tp.partition not in known)

    def leader(self, tp: TopicPartition) -> int | None:
        """Return the node id of a partition's leader; None while no reachable broker leads it."""
        known = self.partition(tp)
        leader = None if known is None else known.leader
        return leader if leader in self.brokers else None

    def serves(self, tp: TopicPartition, node_id: int) -> bool:
        """Tell whether a reachable broker holds a replica of a partition that is not down."""
        known = self.partition(tp)
        if known is None or node_id not in self.brokers:
            return False
        return node_id in known.replicas and node_id not in known.offline

    def leader_epoch(self, tp: TopicPartition) -> int | None:
        """Return the epoch of a partition's leadership; None when it is not known (KIP-320)."""
        known = self.partition(tp)
        return None if known is None else known.leader_epoch

    def partitions_of(self, topic: str) -> tuple[TopicPartition, ...]:
        """Return the partitions of a topic in order, none when it is not known."""
        known = self.topics.get(topic)
        return () if known is None else tuple(TopicPartition(topic, p) for p in known.partitions)

    def replica_racks(self, tp: TopicPartition) -> frozenset[str]:
        """Return the racks that hold a replica of a partition (KIP-881)."""
        known = self.partition(tp)
        replicas = () if known is None else known.replicas
        racks = (self.brokers[node].rack for node in replicas if node in self.brokers)
        return frozenset(rack for rack in racks if rack is not None)

    def topic_id(self, topic: str) -> bytes | None:
        """Return the id of a topic; None when it is not known."""
        known = self.topics.get(topic)
        return None if known is None else known.topic_id

    def topic_named(self, topic_id: bytes) -> str | None:
        """Return the name that goes with a topic id; None when it is not known."""
        found = (name for name, topic in self.topics.items() if topic.topic_id == topic_id)
        return next(found, None)


EMPTY_VIEW: Final = ClusterView()
"""What is known before the first answer: nothing."""


def address_fault(host: str, port: int) -> str | None:
    """Say what makes an address unusable; None when nothing does."""
    if not host:
        return "the host is empty"
    return None if 1 <= port <= _MAX_PORT else f"port {port} is not one"


class Lack(Enum):
    """What an answer leaves to be desired, the more urgent one where there are two."""

    NOTHING = "nothing"
    ENTRY = "an entry could not be believed"
    TOPIC = "a topic is not there, or may not be seen"
    LEADER = "a partition has no leader, or the brokers cannot say for now"


def lacking(view: ClusterView, watched: frozenset[str] | None, rejected: Sized = ()) -> Lack:
    """Tell what asking again soon may show.

    Args:
        view: what is known.
        watched: topics of interest, None for all.
        rejected: entries of the latest answer that were not believed.
    """
    found = Lack.ENTRY if rejected else Lack.NOTHING
    for name in view.topics.keys() if watched is None else watched:
        topic = view.topics.get(name)
        asks_for = Reaction.MISSING if topic is None else reaction(ApiKey.METADATA, topic.error)
        if topic is None or asks_for in _NOT_THERE:
            found = Lack.TOPIC
        elif asks_for in _PASSING or any(p.leader is None for p in topic.partitions.values()):
            return Lack.LEADER
    return found


def merge_metadata(
    old: ClusterView, answer: MetadataResponse, asked: frozenset[str] | None = frozenset()
) -> tuple[ClusterView, tuple[str, ...]]:
    """Return the view after an answer, and the entries that were not believed.

    Topics that are not in the answer are forgotten. When nothing changed the old view itself is
    returned.

    Args:
        old: what was known.
        answer: of a broker.
        asked: the topics it was asked about, None for all.

    Raises:
        DecodeError: the answer as a whole cannot be believed; the old view stays.
    """
    if old.cluster_id and answer.cluster_id and old.cluster_id != answer.cluster_id:
        old = EMPTY_VIEW
    rejected: list[str] = []
    brokers = _merged_brokers(old, answer.brokers, rejected)
    topics: dict[str, TopicInfo] = {}
    doubled = _doubled(row.name for row in answer.topics)
    for row in answer.topics:
        name = row.name
        if name is None or name in doubled:
            rejected.append(f"topic {name!r}: named {'twice' if name else 'not at all'}")
            if name is not None and name in old.topics:
                topics[name] = old.topics[name]
            continue
        topics[name] = _merged_topic(name, old.topics.get(name), row, rejected)
    merged = ClusterView(
        cluster_id=answer.cluster_id or old.cluster_id,
        controller=answer.controller_id if answer.controller_id >= 0 else None,
        brokers=brokers,
        topics=MappingProxyType(topics),
        asked=asked,
    )
    return (old if merged == old else merged), tuple(rejected)


def merge_brokers(old: ClusterView, other: ClusterView) -> ClusterView:
    """Return the old view with the brokers of a newer one, whose topics do not matter here."""
    if old.brokers == other.brokers:
        return old
    return replace(old, brokers=other.brokers, cluster_id=other.cluster_id or old.cluster_id)


def _merged_brokers(
    old: ClusterView, rows: tuple[MetadataResponseBroker, ...], rejected: list[str]
) -> Mapping[int, BrokerInfo]:
    if not 1 <= len(rows) <= MAX_BROKERS:
        raise DecodeError("metadata answer", f"{len(rows)} brokers")
    brokers: dict[int, BrokerInfo] = {}
    doubled = _doubled(row.node_id for row in rows)
    for row in rows:
        fault = address_fault(row.host, row.port)
        if row.node_id < 0:
            fault = "the node id is negative"
        elif row.node_id in doubled:
            fault = "the node id is given twice"
        if fault is None:
            endpoint = Endpoint(row.node_id, row.host, row.port)
            brokers[row.node_id] = BrokerInfo(endpoint, row.rack)
            continue
        rejected.append(f"broker {row.node_id} at {row.host!r}:{row.port}: {fault}")
        if row.node_id in old.brokers:
            brokers[row.node_id] = old.brokers[row.node_id]
    if not brokers:
        raise DecodeError("metadata answer", f"no usable broker: {'; '.join(rejected[:3])}")
    return MappingProxyType(brokers)


def _merged_topic(
    name: str, old: TopicInfo | None, row: MetadataResponseTopic, rejected: list[str]
) -> TopicInfo:
    topic_id = None if row.topic_id == ZERO_UUID else row.topic_id
    known: Mapping[int, PartitionInfo] = {} if old is None else old.partitions
    if old is not None and topic_id and old.topic_id and topic_id != old.topic_id:
        known = {}
    asks_for = reaction(ApiKey.METADATA, row.error_code)
    if asks_for not in (Reaction.SUCCEED, Reaction.IGNORE):
        kept = known if asks_for in _PASSING else {}
        topic_id = topic_id or (old.topic_id if old is not None and kept else None)
        return TopicInfo(topic_id, MappingProxyType(dict(kept)), row.error_code, row.is_internal)
    partitions: dict[int, PartitionInfo] = {}
    doubled = _doubled(entry.partition_index for entry in row.partitions)
    for entry in row.partitions:
        number = entry.partition_index
        fault = _partition_fault(entry, doubled)
        before = known.get(number)
        if fault is not None:
            rejected.append(f"partition {name}-{number}: {fault}")
            if before is not None:
                partitions[number] = before
            continue
        partitions[number] = _newer(before, _read_partition(entry))
    in_order = {number: partitions[number] for number in sorted(partitions)}
    return TopicInfo(topic_id, MappingProxyType(in_order), 0, row.is_internal)


def _partition_fault(entry: MetadataResponsePartition, doubled: frozenset[object]) -> str | None:
    if entry.partition_index < 0:
        return "the number is negative"
    if entry.partition_index in doubled:
        return "it is given twice"
    if entry.leader_id < _NO_LEADER:
        return f"node {entry.leader_id} cannot lead it"
    return None


def _read_partition(entry: MetadataResponsePartition) -> PartitionInfo:
    return PartitionInfo(
        leader=entry.leader_id if entry.leader_id >= 0 else None,
        leader_epoch=entry.leader_epoch if entry.leader_epoch >= 0 else None,
        replicas=entry.replica_nodes,
        in_sync=entry.isr_nodes,
        offline=entry.offline_replicas,
        error=entry.error_code,
    )


def _newer(before: PartitionInfo | None, now: PartitionInfo) -> PartitionInfo:
    """Keep what was known when the broker that answered is behind (KIP-320).

    Without an epoch on either side the later answer is believed.
    """
    if before is None or before.leader_epoch is None or now.leader_epoch is None:
        return now
    return before if now.leader_epoch < before.leader_epoch else now


def _doubled(keys: Iterable[object]) -> frozenset[object]:
    return frozenset(key for key, times in Counter(keys).items() if times > 1)

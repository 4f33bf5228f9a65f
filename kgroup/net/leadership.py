"""A leader that a broker names in an answer, taken in at once instead of asking for metadata.

Decides: when such a word is believed: only about a partition that is known, only under a newer
leader epoch than the known one, only when there is an address for the leader.
Never: takes the place of metadata: replicas stay as they were until the next answer.
KIPs: 320, 951.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from kgroup.net.cluster import Cluster
from kgroup.net.metadata import BrokerInfo, ClusterView, address_fault
from kgroup.net.settings import Endpoint
from kgroup.types import TopicPartition

__all__ = ["Leadership", "learn_leader", "named_broker", "with_leader"]

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Leadership:
    """What a broker says about who leads a partition.

    Args:
        node_id: the leader.
        leader_epoch: of its leadership.
        broker: its endpoint and rack, None when the broker did not say.
    """

    node_id: int
    leader_epoch: int
    broker: BrokerInfo | None = None


def named_broker(node_id: int, host: str, port: int, rack: str | None) -> BrokerInfo | None:
    """Return a broker as an answer names it; None when there can be none at such an address."""
    if address_fault(host, port) is not None or node_id < 0:
        return None
    return BrokerInfo(Endpoint(node_id, host, port), rack)


def learn_leader(cluster: Cluster, tp: TopicPartition, told: Leadership) -> bool:
    """Take a leader in; tell whether it was news."""
    return cluster.publish(with_leader(cluster.view, tp, told))


def with_leader(view: ClusterView, tp: TopicPartition, told: Leadership) -> ClusterView:
    """Return the view with another leader; the view itself when that is not believed."""
    topic, known = view.topics.get(tp.topic), view.partition(tp)
    if topic is None or known is None or told.node_id < 0:
        return view
    newer = known.leader_epoch is not None and told.leader_epoch > known.leader_epoch
    brokers = view.brokers
    if told.broker is not None:
        brokers = MappingProxyType({**brokers, told.node_id: told.broker})
    if not newer or told.node_id not in brokers:
        return view
    moved = replace(known, leader=told.node_id, leader_epoch=told.leader_epoch, error=0)
    partitions = _with(topic.partitions, tp.partition, moved)
    topics = _with(view.topics, tp.topic, replace(topic, partitions=partitions))
    return replace(view, brokers=brokers, topics=topics)


def _with(values: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    return MappingProxyType({**values, key: value})

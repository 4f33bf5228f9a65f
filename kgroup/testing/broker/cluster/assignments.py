"""Replicas that a request asks for, by hand or by number.

Decides: which wishes real controllers refuse, with their codes and words (37, 38, 39, 42).
Never: makes a topic.
Source: `ReplicationControlManager` and `StripedReplicaPlacer` of Apache Kafka.
"""

from collections.abc import Sequence
from typing import Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.cluster.topics import Refusal
from kgroup.wire.messages import CreatableTopic, CreatePartitionsTopic

Placement = list[tuple[int, ...]]
"""Replicas of partitions in the order of their numbers."""

_DEFAULT: Final = -1


def placement_of_new(cluster: Cluster, topic: CreatableTopic) -> Placement | Refusal:
    """Place the partitions of a topic that shall be made.

    Args:
        cluster: where.
        topic: as asked for; counts of -1 stand for the brokers' defaults.
    """
    if topic.assignments:
        return _by_hand(cluster, topic)
    replication, count = topic.replication_factor, topic.num_partitions
    if replication != _DEFAULT and replication < 1:
        text = "Replication factor must be larger than 0, or -1 to use the default value."
        return Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, text)
    if count != _DEFAULT and count < 1:
        text = "Number of partitions was set to an invalid non-positive value."
        return Refusal(ErrorCode.INVALID_PARTITIONS, text)
    if count == _DEFAULT:
        count = cluster.context.settings.default_partitions
    return _chosen(cluster, 0, count, None if replication == _DEFAULT else replication)


def placement_of_wider(cluster: Cluster, topic: CreatePartitionsTopic) -> Placement | Refusal:
    """Place the partitions by which a topic shall grow.

    Args:
        cluster: where.
        topic: as asked for; unknown ones are refused.
    """
    existing = cluster.topic(topic.name)
    if existing is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    present = len(existing.partitions)
    if topic.count == present:
        return Refusal(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if topic.count < present:
        text = f"The topic {topic.name} currently has {present} partition(s); {topic.count} would"
        return Refusal(ErrorCode.INVALID_PARTITIONS, f"{text} not be an increase.")
    additional = topic.count - present
    replication = len(existing.partitions[0].replicas)
    if topic.assignments is None:
        return _chosen(cluster, present, additional, replication)
    if len(topic.assignments) != additional:
        text = f"Attempted to add {additional} additional partition(s), but only"
        given = len(topic.assignments)
        return _unfit(f"{text} {given} assignment(s) were specified.")
    rows = [each.broker_ids for each in topic.assignments]
    return _checked(cluster, rows, present, replication)


def _chosen(cluster: Cluster, first: int, count: int, replicas: int | None) -> Placement | Refusal:
    wanted = cluster.default_replication if replicas is None else replicas
    problem = None
    if not cluster.usable:
        problem = "All brokers are currently fenced."
    elif wanted > len(cluster.nodes):
        problem = (
            f"The target replication factor of {wanted} cannot be reached because only "
            f"{len(cluster.nodes)} broker(s) are registered."
        )
    if problem is not None:
        text = f"Unable to replicate the partition {wanted} time(s): {problem}"
        return Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, text)
    return cluster.placed(first, count, wanted)


def _by_hand(cluster: Cluster, topic: CreatableTopic) -> Placement | Refusal:
    given = "A manual partition assignment was specified, but"
    if topic.replication_factor != _DEFAULT:
        text = f"{given} replication factor was not set to -1."
        return Refusal(ErrorCode.INVALID_REQUEST, text)
    if topic.num_partitions != _DEFAULT:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{given} numPartitions was not set to -1.")
    rows: dict[int, tuple[int, ...]] = {}
    for each in topic.assignments:
        if each.partition_index in rows:
            text = "Found multiple manual partition assignments for partition"
            return _unfit(f"{text} {each.partition_index}")
        rows[each.partition_index] = each.broker_ids
    checked = _checked(cluster, list(rows.values()), 0, None)
    if isinstance(checked, Refusal):
        return checked
    if sorted(rows) != list(range(len(rows))):
        return _unfit("partitions should be a consecutive 0-based integer sequence")
    return [rows[number] for number in range(len(rows))]


def _checked(
    cluster: Cluster, rows: Sequence[tuple[int, ...]], first: int, replication: int | None
) -> Placement | Refusal:
    for number, replicas in enumerate(rows, first):
        fault = _fault(cluster, replicas, number, replication)
        if fault is not None:
            return _unfit(fault)
        replication = len(replicas)
    return list(rows)


def _fault(
    cluster: Cluster, replicas: tuple[int, ...], number: int, replication: int | None
) -> str | None:
    given = "The manual partition assignment includes"
    if not replicas:
        return f"{given} an empty replica list."
    for before, node_id in zip((None, *sorted(replicas)), sorted(replicas), strict=False):
        if node_id not in cluster.nodes:
            return f"{given} broker {node_id}, but no such broker is registered."
        if node_id == before:
            return f"{given} the broker {node_id} more than once."
    if replication is not None and len(replicas) != replication:
        return (
            f"{given} a partition with {len(replicas)} replica(s), but this is not consistent with "
            f"previous partitions, which have {replication} replica(s)."
        )
    if all(cluster.nodes[each].fenced for each in replicas):
        text = f"All brokers specified in the manual partition assignment for partition {number}"
        return f"{text} are fenced or in controlled shutdown."
    return None


def _unfit(text: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)

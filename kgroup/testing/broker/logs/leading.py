"""Whether a broker may answer for a partition (KIP-320).

Decides: unknown partition, leader epochs that differ, no leader: in this order.
Never: answers.
"""

from kgroup.codes import ErrorCode
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.cluster.topics import Partition
from kgroup.types import TopicPartition


def led(
    cluster: Cluster,
    node_id: int,
    tp: TopicPartition,
    *,
    epoch: int = -1,
    by_leader: bool = True,
) -> Partition | ErrorCode:
    """Return a partition if a broker may answer for it.

    Args:
        cluster: its metadata.
        node_id: the broker.
        tp: the partition.
        epoch: leader epoch of the request, -1 for any.
        by_leader: whether a follower will not do.

    Returns:
        The partition; 3 without one, 74 or 75 for another epoch, 6 for another broker.
    """
    partition = cluster.partition(tp)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if node_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if 0 <= epoch < partition.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > partition.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if by_leader and partition.leader != node_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return partition

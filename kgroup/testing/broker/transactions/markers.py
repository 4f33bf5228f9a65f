"""The marks that end a transaction in each of its partitions (KIP-98).

Decides: what is done where; a partition without a leader that is up has to wait.
Never: decides how a transaction ends.
"""

from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC, Cluster
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.transactions.transaction import Identity
from kgroup.types import TopicPartition

__all__ = ["Markers"]


class Markers:
    """Writes the marks of one cluster.

    Args:
        context: its clock.
        cluster: its partitions.
        coordinators: hold the offsets that wait for the end of a transaction.
    """

    def __init__(self, context: Context, cluster: Cluster, coordinators: Coordinators) -> None:
        self._context = context
        self._cluster = cluster
        self._coordinators = coordinators

    def write(self, tp: TopicPartition, identity: Identity, *, committed: bool) -> bool:
        """End a transaction in one partition.

        Args:
            tp: partition of the transaction; one of the offsets topic stands for its groups.
            identity: id and epoch of the mark.
            committed: or aborted.

        Returns:
            Whether it is done, or there is nothing to do any more; False = try again later.
        """
        partition = self._cluster.partition(tp)
        if partition is None:
            return True  # deleted meanwhile
        leader = None if partition.leader is None else self._cluster.nodes[partition.leader]
        if leader is None or not leader.alive:
            return False
        if tp.topic == OFFSETS_TOPIC:
            offsets = self._coordinators.shards[tp.partition].offsets
            offsets.end_transaction(identity.producer_id, committed=committed)
            return True
        partition.log.append_control(
            identity.producer_id,
            identity.epoch,
            committed=committed,
            epoch=partition.epoch,
            now_ms=self._context.milliseconds(leader.skew),
        )
        return True

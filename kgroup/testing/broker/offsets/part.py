"""Committed offsets and the administration of groups, as a part of the broker's core.

Decides: which handler answers which request.
Never: holds state of its own; offsets and groups are in the shards of the coordinators.
"""

from typing import Any

from kgroup.testing.broker.asked import Handler
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.offsets.administration import Deleting, Describing
from kgroup.testing.broker.offsets.commits import Commits
from kgroup.testing.broker.offsets.reading import Reading
from kgroup.testing.broker.transactions.coordinator import TransactionCoordinators
from kgroup.wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from kgroup.wire.schema import Request


class Offsets:
    """What answers for committed offsets, and for groups as a whole.

    Args:
        context: of the cluster.
        coordinators: the groups.
        cluster: the topics; offsets of one that is deleted go with it.
        transactions: the producers of transactions.
    """

    def __init__(
        self,
        context: Context,
        coordinators: Coordinators,
        cluster: Cluster,
        transactions: TransactionCoordinators,
    ) -> None:
        self._commits = Commits(context, coordinators, cluster, transactions)
        self._reading = Reading(coordinators, cluster)
        self._deleting = Deleting(context, coordinators, cluster)
        self._describing = Describing(context, coordinators)
        cluster.on_topic_deleted.append(self._deleting.topic_deleted)

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {
            OffsetCommitRequest: self._commits.offset_commit,
            OffsetFetchRequest: self._reading.offset_fetch,
            TxnOffsetCommitRequest: self._commits.txn_offset_commit,
            OffsetDeleteRequest: self._deleting.offset_delete,
            DeleteGroupsRequest: self._deleting.delete_groups,
            DescribeGroupsRequest: self._describing.describe_groups,
            ListGroupsRequest: self._describing.list_groups,
        }

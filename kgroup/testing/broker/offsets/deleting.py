"""DeleteGroups and OffsetDelete, and what the deletion of a topic does to offsets.

Decides: that only a group without members goes (KIP-229), and only offsets of topics that nobody
in it reads (KIP-496); `broker_facts.md` B2, G3. The old coordinator drops a group without members
as soon as its last offset is deleted, the new one leaves that to the next check of `retention`.
Never: looks at the age of anything; `retention` does.
"""

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.cluster.cluster import Cluster, Topic
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.shard import Shard
from kgroup.testing.broker.offsets.retention import is_subscribed
from kgroup.testing.broker.offsets.rows import Outcome, Row, by_topic, sort_out
from kgroup.wire.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

__all__ = ["Deleting"]


class Deleting:
    """What deletes groups and offsets of one cluster.

    Args:
        context: which rules hold.
        coordinators: the groups.
        cluster: the topics.
    """

    def __init__(self, context: Context, coordinators: Coordinators, cluster: Cluster) -> None:
        self._context = context
        self._coordinators = coordinators
        self._cluster = cluster

    # -- DeleteGroups ----------------------------------------------------------------------------

    def delete_groups(self, asked: Asked, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
        """Answer DeleteGroups; a group named twice is deleted once."""
        results = tuple(
            DeletableGroupResult(group_id=group_id, error_code=self._delete(asked, group_id))
            for group_id in dict.fromkeys(request.groups_names)
        )
        return DeleteGroupsResponse(results=results)

    def _delete(self, asked: Asked, group_id: str) -> ErrorCode:
        code = self._coordinators.refusal(asked.node_id, group_id)
        if code:
            return code
        shard = self._coordinators.shard_of(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group.phase is not Phase.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        shard.forget(group_id)
        return ErrorCode.NONE

    # -- OffsetDelete ----------------------------------------------------------------------------

    def offset_delete(self, asked: Asked, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
        """Answer OffsetDelete; a partition without an offset is as good as deleted."""
        if not request.group_id:
            return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID, topics=())
        code = self._coordinators.refusal(asked.node_id, request.group_id)
        shard = self._coordinators.shard_of(request.group_id)
        group = shard.groups.get(request.group_id)
        code = code or _refusal(group)
        if code or group is None:
            return OffsetDeleteResponse(error_code=code, topics=())
        rows = [
            Row(topic.name, b"", each.partition_index)
            for topic in request.topics
            for each in topic.partitions
        ]
        outcomes, known = sort_out(rows, self._cluster)
        outcomes += self._removed(shard, group, known)
        return OffsetDeleteResponse(
            topics=tuple(
                OffsetDeleteResponseTopic(
                    name=name,
                    partitions=tuple(
                        OffsetDeleteResponsePartition(partition_index=index, error_code=code)
                        for index, code in codes
                    ),
                )
                for (name, _), codes in by_topic(outcomes)
            )
        )

    def _removed(self, shard: Shard, group: Group, rows: list[Row]) -> list[Outcome]:
        free = {row.topic: not is_subscribed(group, row.topic) for row in rows}
        shard.offsets.remove(group.group_id, [row.tp for row in rows if free[row.topic]])
        if self._context.is_old and any(free.values()):
            _drop_idle(shard, group)
        kept = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        return [(row, ErrorCode.NONE if free[row.topic] else kept) for row in rows]

    # -- topics ----------------------------------------------------------------------------------

    def topic_deleted(self, topic: Topic) -> None:
        """Remove every group's offsets of a topic that is not there any more."""
        for shard in self._coordinators.shards:
            shard.offsets.remove_topic(topic.name)
            if self._context.is_old:
                for group in [*shard.groups.values()]:
                    _drop_idle(shard, group)


def _refusal(group: Group | None) -> ErrorCode:
    """Judge the group as a whole; one with members that are no consumers keeps its offsets."""
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.phase is not Phase.EMPTY and group.protocol_type != "consumer":
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def _drop_idle(shard: Shard, group: Group) -> None:
    """Delete a group that has neither members nor offsets."""
    offsets = shard.offsets
    used = offsets.of(group.group_id) or offsets.has_open_transaction(group.group_id)
    if group.phase is Phase.EMPTY and not used:
        shard.forget(group.group_id)

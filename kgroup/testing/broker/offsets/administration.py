"""DeleteGroups and OffsetDelete, and what the deletion of a topic does to offsets.

Decides: that only a group without members goes (KIP-229), and only offsets of topics that no member
in it reads (KIP-496); `broker_facts.md` B2, G3. The old coordinator drops a group without members
as soon as its last offset is deleted, the new one leaves that to the next check of `retention`.
Never: looks at the age of anything; `retention` does.

Describing: DescribeGroups and ListGroups: what administrators see of classic groups. Decides: what
is shown in which phase. The assignor and the members' subscriptions show in Stable only;
assignments too with the old coordinator, while the new one goes on showing the last ones
(`commit_states` of the golden traces). Members come in hash order (`broker_facts.md` B6), and what
is unknown is Dead (KIP-1043: an error from version 6 on). Never: changes anything.
"""

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.cluster.cluster import Cluster, Topic
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member
from kgroup.testing.broker.groups.shard import Shard
from kgroup.testing.broker.offsets.reading import Outcome, Row, by_topic, sort_out
from kgroup.testing.broker.offsets.store import is_subscribed
from kgroup.wire.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


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
        consumers = shard.consumer_groups.get(group_id)
        if group is None and consumers is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        there = consumers is not None and consumers.members
        if there or (group is not None and group.phase is not Phase.EMPTY):
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
        consumers = shard.consumer_groups.get(request.group_id)
        code = code or (_refusal(group) if consumers is None else ErrorCode.NONE)
        if code:
            return OffsetDeleteResponse(error_code=code, topics=())
        rows = [
            Row(topic.name, b"", each.partition_index)
            for topic in request.topics
            for each in topic.partitions
        ]
        outcomes, known = sort_out(rows, self._cluster)
        if consumers is not None:
            outcomes += _removed_unread(shard, consumers, known)
        elif group is not None:
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


def _removed_unread(shard: Shard, group: ConsumerGroup, rows: list[Row]) -> list[Outcome]:
    """Remove offsets of topics that no member of a KIP-848 group has asked for by name."""
    read = frozenset[str]().union(*(member.topics for member in group.members.values()))
    shard.offsets.remove(group.group_id, [row.tp for row in rows if row.topic not in read])
    kept = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    return [(row, kept if row.topic in read else ErrorCode.NONE) for row in rows]


def _drop_idle(shard: Shard, group: Group) -> None:
    """Delete a group that has neither members nor offsets."""
    offsets = shard.offsets
    used = offsets.of(group.group_id) or offsets.has_open_transaction(group.group_id)
    if group.phase is Phase.EMPTY and not used:
        shard.forget(group.group_id)


# -- describing ------------------------------------------------------------------------------------


_NOT_FOUND_SINCE = 6
_TYPE = "classic"
_CONSUMER = "consumer"
_NOT_ASKED_FOR = -(1 << 31)
# Bits of AclOperation: read 3, delete 6, describe 8, describe_configs 10, alter_configs 11; all
# that a group knows, because without an authorizer everything is allowed (KIP-430).
_ALL_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


class Describing:
    """What shows the groups of one cluster.

    Args:
        context: which rules hold.
        coordinators: the groups.
    """

    def __init__(self, context: Context, coordinators: Coordinators) -> None:
        self._context = context
        self._coordinators = coordinators

    # -- DescribeGroups --------------------------------------------------------------------------

    def describe_groups(
        self, asked: Asked, request: DescribeGroupsRequest
    ) -> DescribeGroupsResponse:
        """Answer DescribeGroups, each group by itself."""
        operations = _ALL_OPERATIONS if request.include_authorized_operations else _NOT_ASKED_FOR
        groups = tuple(self._described(asked, each, operations) for each in request.groups)
        return DescribeGroupsResponse(groups=groups)

    def _described(
        self, asked: Asked, group_id: str, operations: int
    ) -> DescribeGroupsDescribedGroup:
        code = self._coordinators.refusal(asked.node_id, group_id)
        if code:
            return DescribeGroupsDescribedGroup(
                error_code=code,
                group_id=group_id,
                group_state="",
                protocol_type="",
                protocol_data="",
                members=(),
            )
        group = self._coordinators.shard_of(group_id).groups.get(group_id)
        if group is None:
            return _unknown(asked, group_id, operations)
        stable = group.phase is Phase.STABLE
        return DescribeGroupsDescribedGroup(
            group_id=group_id,
            group_state=group.phase.value,
            protocol_type=group.protocol_type or "",
            protocol_data=(group.protocol_name or "") if stable else "",
            members=tuple(self._member(group, each) for each in group.in_hash_order()),
            authorized_operations=operations,
        )

    def _member(self, group: Group, member: Member) -> DescribedGroupMember:
        stable = group.phase is Phase.STABLE
        hides = self._context.is_old and not stable
        return DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata(group.protocol_name or "") if stable else b"",
            member_assignment=b"" if hides else member.assignment,
        )

    # -- ListGroups ------------------------------------------------------------------------------

    def list_groups(self, asked: Asked, request: ListGroupsRequest) -> ListGroupsResponse:
        """Answer ListGroups: the groups that this broker coordinates.

        While it loads some of them, the new coordinator lists none, the old one the others.
        """
        homes = zip(self._coordinators.shards, self._coordinators.homes, strict=True)
        here = [shard for shard, home in homes if home == asked.node_id]
        code = ErrorCode.NONE
        if any(shard.loading for shard in here):
            code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            here = here if self._context.is_old else []
        return ListGroupsResponse(error_code=code, groups=_listed(here, request))


def _unknown(asked: Asked, group_id: str, operations: int) -> DescribeGroupsDescribedGroup:
    tells = asked.version >= _NOT_FOUND_SINCE
    return DescribeGroupsDescribedGroup(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND if tells else ErrorCode.NONE,
        error_message=f"Group {group_id} not found." if tells else None,
        group_id=group_id,
        group_state=Phase.DEAD.value,
        protocol_type="",
        protocol_data="",
        members=(),
        authorized_operations=_NOT_ASKED_FOR if tells else operations,
    )


def _listed(shards: list[Shard], request: ListGroupsRequest) -> tuple[ListedGroup, ...]:
    """List groups; filters are case-insensitive, and an empty one lets all pass."""
    states = {each.strip().lower() for each in request.states_filter}
    types = {each.strip().lower() for each in request.types_filter}
    classic = (
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.phase.value,
            group_type=_TYPE,
        )
        for shard in shards
        for group in shard.groups.values()
    )
    consumers = (
        ListedGroup(
            group_id=group.group_id,
            protocol_type=_CONSUMER,
            group_state=group.phase.value,
            group_type=_CONSUMER,
        )
        for shard in shards
        for group in shard.consumer_groups.values()
    )
    return tuple(
        each
        for each in (*classic, *consumers)
        if (not types or each.group_type in types)
        and (not states or each.group_state.lower() in states)
    )

"""DescribeGroups and ListGroups: what administrators see of classic groups.

Decides: what is shown in which phase. The assignor and the members' subscriptions show in Stable
only; assignments too with the old coordinator, while the new one goes on showing the last ones
(`commit_states` of the golden traces). Members come in hash order (`broker_facts.md` B6), and what
is unknown is Dead (KIP-1043: an error from version 6 on).
Never: changes anything.
"""

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member
from kgroup.testing.broker.groups.shard import Shard
from kgroup.wire.messages import (
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

__all__ = ["Describing"]

_NOT_FOUND_SINCE = 6
_TYPE = "classic"
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
    if types and _TYPE not in types:
        return ()
    return tuple(
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.phase.value,
            group_type=_TYPE,
        )
        for shard in shards
        for group in shard.groups.values()
        if not states or group.phase.value.lower() in states
    )

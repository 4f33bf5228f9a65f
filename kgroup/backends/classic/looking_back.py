"""What the group's present generation was made from, as far as its coordinator still knows.

Decides: which topics the members ask for, and how many partitions of each were assigned; what the
process before this one asked for.
Never: assigns; judges whether that is still right. A round that is on answers by itself.
KIPs: 345, 814 (a static leader that comes back in Stable is not asked to assign).

1. A static leader ends. 2. A topic is given more partitions. 3. The leader comes back within its
session; its generation goes on, and no leader assigns. 4. The cluster's counts are the new ones
already, so they say nothing. The members' assignments do: the coordinator keeps them until the next
round.

A static member's subscription is kept until its next JoinGroup, so it must be asked for before.
"""

import logging
from collections.abc import Mapping

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, DecodeError, KGroupError
from kgroup.membership.group_description import (
    DEAD,
    IN_DOUBT,
    OTHER_PROTOCOL,
    GroupInUse,
    Remembered,
    divided_topics,
    remembered_of,
    stable_members,
)
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster, Lane
from kgroup.wire.messages import (
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
)

log = logging.getLogger(__name__)


async def assigned_counts(
    cluster: Cluster, node_id: int, group_id: str, *, timeout: float
) -> Mapping[str, int] | None:
    """Return topic -> partitions assigned, for every topic a member asks for.

    Args:
        cluster: connections.
        node_id: the coordinator.
        group_id: name of the group.
        timeout: seconds.

    Returns:
        None when no generation stands: a round is on, and its leader assigns anew.

    Raises:
        BrokerError, DecodeError: the coordinator, or what it keeps, says nothing of use.
        TransportError, TimeoutError: see `Cluster.send`.
    """
    members = await _standing(cluster, node_id, group_id, timeout=timeout)
    return None if members is None else divided_topics(members)


async def remembered(cluster: Cluster, node_id: int, settings: MembershipSettings) -> Remembered:
    """Return what the group knows of a static member whose process has not joined yet.

    Args:
        cluster: connections.
        node_id: the coordinator.
        settings: of the member; they bound the time.

    Returns:
        See `remembered_of`. In doubt when nothing can be known, for whatever reason: the group may
        be closed to us, or be in a round.
    """
    group_id, timeout = settings.group_id, settings.recall_timeout
    try:
        described = await _answered(cluster, node_id, group_id, timeout=timeout)
        return remembered_of(described, settings.group_instance_id)
    except (KGroupError, TimeoutError) as error:
        log.debug("group=%s cannot look back: %s", group_id, error)
        return IN_DOUBT


async def in_use(cluster: Cluster, node_id: int, settings: MembershipSettings) -> GroupInUse | None:
    """Return the members of a group that has no assignor in common with this member.

    Args:
        cluster: connections.
        node_id: the coordinator.
        settings: of the member; they bound the time.

    Returns:
        None when that cannot be known, for whatever reason: the error is reported without it.
    """
    group_id, timeout = settings.group_id, settings.recall_timeout
    try:
        found = await _answered(cluster, node_id, group_id, timeout=timeout)
    except (KGroupError, TimeoutError) as error:
        log.debug("group=%s cannot be described: %s", group_id, error)
        return None
    if _is_no_classic_group(found):
        return OTHER_PROTOCOL
    if found.error_code or not found.members:
        return None
    names = tuple(sorted(each.client_id for each in found.members))
    return GroupInUse(found.protocol_type, found.protocol_data or None, names)


def _is_no_classic_group(described: DescribeGroupsDescribedGroup) -> bool:
    """Tell whether a group that has just refused a member is no classic one (KIP-1043)."""
    gone = described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    return gone or described.group_state == DEAD


async def _standing(
    cluster: Cluster, node_id: int, group_id: str, *, timeout: float
) -> tuple[DescribedGroupMember, ...] | None:
    """Return the members of a generation that stands, None when none does."""
    return stable_members(await _described(cluster, node_id, group_id, timeout=timeout))


async def _described(
    cluster: Cluster, node_id: int, group_id: str, *, timeout: float
) -> DescribeGroupsDescribedGroup:
    described = await _answered(cluster, node_id, group_id, timeout=timeout)
    if described.error_code:
        raise BrokerError(ApiKey.DESCRIBE_GROUPS.name, described.error_code, group_id)
    return described


async def _answered(
    cluster: Cluster, node_id: int, group_id: str, *, timeout: float
) -> DescribeGroupsDescribedGroup:
    """Return what the coordinator says of the group, an error included."""
    request = DescribeGroupsRequest(groups=(group_id,))
    answer = await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)
    described = next((each for each in answer.groups if each.group_id == group_id), None)
    if described is None:
        raise DecodeError("DescribeGroups answer", f"nothing about group {group_id!r}")
    return described

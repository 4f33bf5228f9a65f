"""What the group's present generation was made from, as far as its coordinator still knows.

Decides: which topics the members ask for, and how many partitions of each were assigned.
Never: assigns; judges whether that is still right. A round that is on answers by itself.
KIPs: 345, 814 (a static leader that comes back in Stable is not asked to assign).

1. A static leader ends. 2. A topic is given more partitions. 3. The leader comes back within its
session; the generation stands, nobody is asked to assign. 4. The cluster's counts are the new ones
already, so they say nothing. What was assigned does: the members' assignments are kept by the
coordinator until the next round.
"""

from collections import Counter
from collections.abc import Mapping

from kgroup.codes import ApiKey
from kgroup.errors import BrokerError, DecodeError
from kgroup.net.cluster import Cluster, Lane
from kgroup.wire.consumer_protocol import decode_assignment, decode_subscription
from kgroup.wire.messages import DescribeGroupsDescribedGroup, DescribeGroupsRequest

__all__ = ["assigned_counts"]

_STABLE = "Stable"


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
        None when no generation stands: a round is on, and whoever leads it assigns anew.

    Raises:
        BrokerError, DecodeError: the coordinator, or what it keeps, says nothing of use.
        TransportError, TimeoutError: see `Cluster.send`.
    """
    request = DescribeGroupsRequest(groups=(group_id,))
    answer = await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)
    described = next((each for each in answer.groups if each.group_id == group_id), None)
    if described is None:
        raise DecodeError("DescribeGroups answer", f"nothing about group {group_id!r}")
    if described.error_code:
        raise BrokerError(ApiKey.DESCRIBE_GROUPS.name, described.error_code, group_id)
    return _counts(described) if described.group_state == _STABLE else None


def _counts(described: DescribeGroupsDescribedGroup) -> dict[str, int]:
    assigned: Counter[str] = Counter()
    wanted: set[str] = set()
    for member in described.members:
        wanted.update(decode_subscription(member.member_metadata).topics)
        given = decode_assignment(member.member_assignment).partitions
        assigned.update(tp.topic for tp in set(given))
    return {topic: assigned[topic] for topic in wanted}

"""What groups there are, and what their coordinators say about each.

Decides: that a group is asked about in the words of its protocol, classic or KIP-848, and that a
broker which cannot answer hides no group of another.
Never: asks for offsets; trusts the bytes a member sent: what cannot be read is None.
KIPs: 518 (states), 848 (ConsumerGroupDescribe), 1043 (an unknown group is an error).
"""

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Final, TypeVar

import anyio

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, DecodeError, KGroupError, UnsupportedVersionError
from kgroup.net.admin import nearest_name
from kgroup.net.cluster import Cluster
from kgroup.net.coordinator import ask_node, with_coordinator
from kgroup.net.retrying import retry
from kgroup.net.verdict import refusal
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_assignment,
    decode_subscription,
)
from kgroup.wire.messages import (
    ConsumerGroupDescribeAssignment,
    ConsumerGroupDescribeDescribedGroup,
    ConsumerGroupDescribeRequest,
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    ListedGroup,
    ListGroupsRequest,
)

Row = TypeVar("Row", DescribeGroupsDescribedGroup, ConsumerGroupDescribeDescribedGroup)

_CONSUMERS: Final = "consumer"
"""Protocol type of groups of consumers, whichever protocol they speak."""
_SPEAKS_CLASSIC: Final = 0
"""The type of a member of the classic protocol (KIP-1099)."""


class GroupType(Enum):
    """Which protocol a group's members speak."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member of a group as its coordinator sees it.

    Args:
        member_id: id given by the coordinator.
        group_instance_id: static identity, None for a dynamic member.
        client_id: how its client calls itself.
        client_host: where it comes from.
        topics: names it subscribes to, None when that cannot be known (a pattern of KIP-848, a
            classic group that is not Stable, bytes nobody can read).
        partitions: what it is assigned, None when that cannot be known.
        rack: where it runs, None when that is not known (KIP-881).
        user_data: what the assignor sent along with the assignment, None without.
        subscription: what it sent with its last JoinGroup for the assignor in use, None when that
            cannot be known, as with `topics`.
        is_classic: whether it speaks the classic protocol, None when that was not said (KIP-1099).
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    topics: tuple[str, ...] | None = None
    partitions: tuple[TopicPartition, ...] | None = None
    rack: str | None = None
    user_data: bytes | None = None
    subscription: MemberSubscription | None = None
    is_classic: bool | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """One group as its coordinator sees it.

    Args:
        group_id: its name.
        group_type: the protocol of its members.
        state: Kafka's word, such as Empty, PreparingRebalance or Stable; Dead: no such group.
        protocol_type: "consumer" for groups of consumers, None when nobody has joined.
        assignor: the assignor in use, None while there is none.
        members: in order of their ids; None when the coordinator could not be asked.
        coordinator: node id.
    """

    group_id: str
    group_type: GroupType
    state: str
    protocol_type: str | None
    assignor: str | None
    members: tuple[GroupMember, ...] | None
    coordinator: int

    @property
    def is_known(self) -> bool:
        """Whether there is such a group."""
        return self.state != "Dead"


@dataclass(frozen=True, slots=True)
class GroupListing:
    """The groups of a cluster.

    Args:
        groups: in order of their names.
        errors: node id -> why that broker's groups are missing, or lack their members.
    """

    groups: tuple[GroupDescription, ...]
    errors: dict[int, Exception]


# -- one group -----------------------------------------------------------------------------


async def describe_group(cluster: Cluster, group_id: str, *, timeout: float) -> GroupDescription:
    """Return what a coordinator says about a group; a group nobody knows is Dead.

    Raises:
        BrokerError: refused (UnauthorizedError).
        TimeoutError: no answer in time.
    """

    async def attempt(node_id: int) -> GroupDescription:
        (classic,) = await _describe_classic(cluster, node_id, (group_id,))
        if classic.is_known:
            return classic
        (newer,) = await _describe_newer(cluster, node_id, (group_id,))
        return newer

    return await with_coordinator(cluster, group_id, attempt, timeout=timeout)


async def describe_known_group(
    cluster: Cluster, group_id: str, *, timeout: float
) -> GroupDescription:
    """Return what a coordinator says about a group that must exist.

    Raises:
        BrokerError: GROUP_ID_NOT_FOUND, with the group most like it; or refused.
        TimeoutError: no answer in time.
    """
    group = await describe_group(cluster, group_id, timeout=timeout)
    if group.is_known:
        return group
    listing = await list_groups(cluster, timeout=timeout)
    near = nearest_name(group_id, (one.group_id for one in listing.groups))
    text = f"there is no group {group_id!r}{near}"
    raise BrokerError(ApiKey.DESCRIBE_GROUPS.name, ErrorCode.GROUP_ID_NOT_FOUND, text)


async def _describe_classic(
    cluster: Cluster, node_id: int, names: tuple[str, ...]
) -> list[GroupDescription]:
    answer = await ask_node(cluster, node_id, DescribeGroupsRequest(groups=names))
    return [_classic(row, node_id) for row in _matched(names, answer.groups)]


async def _describe_newer(
    cluster: Cluster, node_id: int, names: tuple[str, ...]
) -> list[GroupDescription]:
    """Ask in the words of KIP-848; a broker that has none knows no such group.

    Kafka 3.9 has the words, and refuses each group with UNSUPPORTED_VERSION while they are off.
    """
    request = ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False)
    try:
        answer = await ask_node(cluster, node_id, request)
    except UnsupportedVersionError:
        return [_dead(name, node_id) for name in names]
    return [_newer(row, node_id) for row in _matched(names, answer.groups)]


def _matched(names: tuple[str, ...], rows: Iterable[Row]) -> list[Row]:
    """Return one row for each name, in order of names."""
    given = list(rows)
    found = {row.group_id: row for row in given}
    if len(given) != len(names) or found.keys() != set(names):
        reason = f"{len(given)} rows for {len(names)} groups"
        raise DecodeError("answer about groups", f"{reason}: {', '.join(names[:3])}")
    return [found[name] for name in names]


def _classic(row: DescribeGroupsDescribedGroup, node_id: int) -> GroupDescription:
    if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return _dead(row.group_id, node_id)
    if row.error_code:
        api = ApiKey.DESCRIBE_GROUPS
        raise refusal(api, row.error_code, (row.group_id,), row.error_message)
    readable = row.protocol_type == _CONSUMERS
    return GroupDescription(
        group_id=row.group_id,
        group_type=GroupType.CLASSIC,
        state=row.group_state,
        protocol_type=row.protocol_type or None,
        assignor=row.protocol_data or None,
        members=_sorted(_classic_member(member, readable=readable) for member in row.members),
        coordinator=node_id,
    )


def _classic_member(row: DescribedGroupMember, *, readable: bool) -> GroupMember:
    member = GroupMember(
        row.member_id, row.group_instance_id, row.client_id, row.client_host, is_classic=True
    )
    try:
        if readable and row.member_metadata:
            said = decode_subscription(row.member_metadata)
            topics = tuple(sorted(set(said.topics)))
            member = replace(member, topics=topics, rack=said.rack, subscription=said)
        if readable and row.member_assignment:
            given = decode_assignment(row.member_assignment)
            partitions = tuple(sorted(given.partitions))
            member = replace(member, partitions=partitions, user_data=given.user_data)
    except DecodeError:
        pass  # somebody else's bytes: the member is shown without them
    return member


def _newer(row: ConsumerGroupDescribeDescribedGroup, node_id: int) -> GroupDescription:
    if row.error_code in {ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION}:
        return _dead(row.group_id, node_id)
    if row.error_code:
        api = ApiKey.CONSUMER_GROUP_DESCRIBE
        raise refusal(api, row.error_code, (row.group_id,), row.error_message)
    members = (
        GroupMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            topics=tuple(sorted(member.subscribed_topic_names)) or None,
            partitions=_assigned(member.assignment),
            rack=member.rack_id or None,
            is_classic=None if member.member_type < 0 else member.member_type == _SPEAKS_CLASSIC,
        )
        for member in row.members
    )
    return GroupDescription(
        group_id=row.group_id,
        group_type=GroupType.CONSUMER,
        state=row.group_state,
        protocol_type=_CONSUMERS,
        assignor=row.assignor_name or None,
        members=_sorted(members),
        coordinator=node_id,
    )


def _assigned(assignment: ConsumerGroupDescribeAssignment) -> tuple[TopicPartition, ...]:
    rows = assignment.topic_partitions
    return tuple(sorted(TopicPartition(row.topic_name, n) for row in rows for n in row.partitions))


def _sorted(members: Iterable[GroupMember]) -> tuple[GroupMember, ...]:
    return tuple(sorted(members, key=lambda member: member.member_id))


def _dead(group_id: str, node_id: int) -> GroupDescription:
    return GroupDescription(group_id, GroupType.CLASSIC, "Dead", None, None, (), node_id)


# -- all groups ----------------------------------------------------------------------------


async def list_groups(cluster: Cluster, *, timeout: float) -> GroupListing:
    """Return all groups: every broker is asked for those it coordinates, and about them.

    Args:
        cluster: running.
        timeout: seconds for each broker; all are asked at once.
    """
    found: dict[str, GroupDescription] = {}
    errors: dict[int, Exception] = {}

    async def ask(node_id: int) -> None:
        try:
            what = f"list groups of node {node_id}"
            listed = partial(_list_at, cluster, node_id)
            rows = await retry(cluster, listed, timeout=timeout, what=what)
        except (KGroupError, TimeoutError) as error:
            errors[node_id] = error
            return
        found.update({row.group_id: _listed(row, node_id) for row in rows})
        try:
            found.update(await _describe_all(cluster, node_id, rows))
        except (KGroupError, TimeoutError) as error:
            errors[node_id] = error

    async with anyio.create_task_group() as tasks:
        for node_id in cluster.view.brokers:
            tasks.start_soon(ask, node_id)
    return GroupListing(tuple(found[name] for name in sorted(found)), errors)


async def _list_at(cluster: Cluster, node_id: int) -> tuple[ListedGroup, ...]:
    answer = await ask_node(cluster, node_id, ListGroupsRequest())
    if answer.error_code:
        raise refusal(ApiKey.LIST_GROUPS, answer.error_code, (f"node {node_id}",))
    return answer.groups


async def _describe_all(
    cluster: Cluster, node_id: int, rows: tuple[ListedGroup, ...]
) -> dict[str, GroupDescription]:
    by_type: dict[GroupType, list[str]] = {}
    for row in rows:
        by_type.setdefault(_type_of(row), []).append(row.group_id)
    found: list[GroupDescription] = []
    if classic := by_type.get(GroupType.CLASSIC):
        found += await _describe_classic(cluster, node_id, tuple(classic))
    if newer := by_type.get(GroupType.CONSUMER):
        found += await _describe_newer(cluster, node_id, tuple(newer))
    # One that has died since it was listed stays as it was listed.
    return {one.group_id: one for one in found if one.is_known}


def _listed(row: ListedGroup, node_id: int) -> GroupDescription:
    state, protocol = row.group_state or "unknown", row.protocol_type or None
    return GroupDescription(row.group_id, _type_of(row), state, protocol, None, None, node_id)


def _type_of(row: ListedGroup) -> GroupType:
    match row.group_type.lower():
        case "" | "classic":
            return GroupType.CLASSIC
        case "consumer":
            return GroupType.CONSUMER
        case _:
            return GroupType.OTHER

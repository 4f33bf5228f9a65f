"""ListGroups, DescribeGroups and DeleteGroups: classic groups, seen from outside.

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Bytes, Int16, Int32, String, Text, array, nullable, rows

__all__ = [
    "DeletableGroupResult",
    "DeleteGroupsRequest",
    "DeleteGroupsResponse",
    "DescribeGroupsDescribedGroup",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "DescribedGroupMember",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "ListedGroup",
]

_VERSIONS: Final = range(6)


@message()
class ListedGroup(Message):
    """One group; group_state 4+, group_type 5+ (classic, consumer, share)."""

    group_id: str = wire(String)
    protocol_type: str = wire(String)
    group_state: str = wire(String, since=4, default="", ignorable=True)
    group_type: str = wire(String, since=5, default="", ignorable=True)


@message(versions=_VERSIONS, flexible=3)
class ListGroupsResponse(Message):
    """The groups; 1 throttle_time_ms, 2 the client waits it out itself, 3 flexible."""

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    groups: tuple[ListedGroup, ...] = wire(rows(ListedGroup))


@message(versions=_VERSIONS, flexible=3, api=ApiKey.LIST_GROUPS)
class ListGroupsRequest(Request[ListGroupsResponse]):
    """Ask for groups.

    3 flexible; 4 states_filter (KIP-518); 5 types_filter (KIP-848); an empty filter lets all pass.
    """

    states_filter: tuple[str, ...] = wire(array(String), since=4, default=())
    types_filter: tuple[str, ...] = wire(array(String), since=5, default=())


_DESCRIBE_GROUPS_VERSIONS: Final = range(7)


@message()
class DescribedGroupMember(Message):
    """One member; its subscription and its assignment are empty unless the group is Stable."""

    member_id: str = wire(String)
    group_instance_id: str | None = wire(nullable(String), since=4, default=None, ignorable=True)
    client_id: str = wire(String)
    client_host: str = wire(String)
    member_metadata: bytes = wire(Bytes)
    member_assignment: bytes = wire(Bytes)


@message()
class DescribeGroupsDescribedGroup(Message):
    """One group; group_state is Empty, PreparingRebalance, CompletingRebalance, Stable or Dead.

    protocol_data is the assignor in use. error_message 6+ (KIP-1043). authorized_operations (3+)
    is -2147483648 unless asked for.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), since=6, default=None, ignorable=True)
    group_id: str = wire(String)
    group_state: str = wire(String)
    protocol_type: str = wire(String)
    protocol_data: str = wire(String)
    members: tuple[DescribedGroupMember, ...] = wire(rows(DescribedGroupMember))
    authorized_operations: int = wire(Int32, since=3, default=-2147483648)


@message(versions=_DESCRIBE_GROUPS_VERSIONS, flexible=5)
class DescribeGroupsResponse(Message):
    """The groups; 1 throttle_time_ms, 2 the client waits it out itself, 5 flexible."""

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    groups: tuple[DescribeGroupsDescribedGroup, ...] = wire(rows(DescribeGroupsDescribedGroup))


@message(versions=_DESCRIBE_GROUPS_VERSIONS, flexible=5, api=ApiKey.DESCRIBE_GROUPS)
class DescribeGroupsRequest(Request[DescribeGroupsResponse]):
    """Ask about groups.

    3 authorized operations (KIP-430); 5 flexible; 6 an unknown group is an error (KIP-1043).
    """

    groups: tuple[str, ...] = wire(array(String))
    include_authorized_operations: bool = wire(Boolean, since=3, default=False)


_DELETE_GROUPS_VERSIONS: Final = range(3)


@message()
class DeletableGroupResult(Message):
    """What became of one group."""

    group_id: str = wire(String)
    error_code: int = wire(Int16, default=0)


@message(versions=_DELETE_GROUPS_VERSIONS, flexible=2)
class DeleteGroupsResponse(Message):
    """The outcome per group; 1 the client waits throttle_time_ms out itself, 2 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    results: tuple[DeletableGroupResult, ...] = wire(rows(DeletableGroupResult))


@message(versions=_DELETE_GROUPS_VERSIONS, flexible=2, api=ApiKey.DELETE_GROUPS)
class DeleteGroupsRequest(Request[DeleteGroupsResponse]):
    """Delete groups; a group with members answers NON_EMPTY_GROUP; 2 flexible."""

    groups_names: tuple[str, ...] = wire(array(String))

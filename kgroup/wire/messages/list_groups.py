"""ListGroups: the groups a broker coordinates (KIP-518, 848)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, String, array, rows

__all__ = ["ListGroupsRequest", "ListGroupsResponse", "ListedGroup"]

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

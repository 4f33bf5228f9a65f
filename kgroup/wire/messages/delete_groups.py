"""DeleteGroups: remove empty groups and their offsets (KIP-229)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, String, array, rows

__all__ = ["DeletableGroupResult", "DeleteGroupsRequest", "DeleteGroupsResponse"]

_VERSIONS: Final = range(3)


@message()
class DeletableGroupResult(Message):
    """What became of one group."""

    group_id: str = wire(String)
    error_code: int = wire(Int16, default=0)


@message(versions=_VERSIONS, flexible=2)
class DeleteGroupsResponse(Message):
    """The outcome per group; 1 the client waits throttle_time_ms out itself, 2 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    results: tuple[DeletableGroupResult, ...] = wire(rows(DeletableGroupResult))


@message(versions=_VERSIONS, flexible=2, api=ApiKey.DELETE_GROUPS)
class DeleteGroupsRequest(Request[DeleteGroupsResponse]):
    """Delete groups; a group with members answers NON_EMPTY_GROUP; 2 flexible."""

    groups_names: tuple[str, ...] = wire(array(String))

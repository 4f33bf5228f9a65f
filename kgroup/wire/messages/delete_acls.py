"""DeleteAcls: take back what CreateAcls said (KIP-11, 140, 290)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int8, Int16, Int32, String, Text, nullable, rows

__all__ = [
    "DeleteAclsFilter",
    "DeleteAclsFilterResult",
    "DeleteAclsMatchingAcl",
    "DeleteAclsRequest",
    "DeleteAclsResponse",
]

_VERSIONS: Final = range(1, 4)


@message()
class DeleteAclsMatchingAcl(Message):
    """One rule that matched, and what became of it; numbers as in CreateAcls."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    pattern_type: int = wire(Int8, since=1, default=3)
    principal: str = wire(String)
    host: str = wire(String)
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@message()
class DeleteAclsFilterResult(Message):
    """What one filter matched."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    matching_acls: tuple[DeleteAclsMatchingAcl, ...] = wire(rows(DeleteAclsMatchingAcl))


@message(versions=_VERSIONS, flexible=2)
class DeleteAclsResponse(Message):
    """The outcome per filter; 1 the client waits throttle_time_ms out itself, 2 flexible, 3 user
    resource type (KIP-373).
    """

    throttle_time_ms: int = wire(Int32, default=0)
    filter_results: tuple[DeleteAclsFilterResult, ...] = wire(rows(DeleteAclsFilterResult))


@message()
class DeleteAclsFilter(Message):
    """Which rules to delete; None and the number 1 match anything."""

    resource_type_filter: int = wire(Int8)
    resource_name_filter: str | None = wire(nullable(String))
    pattern_type_filter: int = wire(Int8, since=1, default=3)
    principal_filter: str | None = wire(nullable(String))
    host_filter: str | None = wire(nullable(String))
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@message(versions=_VERSIONS, flexible=2, api=ApiKey.DELETE_ACLS)
class DeleteAclsRequest(Request[DeleteAclsResponse]):
    """Delete rules; 2 flexible, 3 user resource type (KIP-373)."""

    filters: tuple[DeleteAclsFilter, ...] = wire(rows(DeleteAclsFilter))

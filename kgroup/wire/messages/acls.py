"""CreateAcls, DescribeAcls and DeleteAcls.

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int8, Int16, Int32, String, Text, nullable, rows

__all__ = [
    "AclCreation",
    "AclCreationResult",
    "AclDescription",
    "CreateAclsRequest",
    "CreateAclsResponse",
    "DeleteAclsFilter",
    "DeleteAclsFilterResult",
    "DeleteAclsMatchingAcl",
    "DeleteAclsRequest",
    "DeleteAclsResponse",
    "DescribeAclsRequest",
    "DescribeAclsResource",
    "DescribeAclsResponse",
]

_VERSIONS: Final = range(1, 4)


@message()
class AclCreationResult(Message):
    """What became of one rule."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)


@message(versions=_VERSIONS, flexible=2)
class CreateAclsResponse(Message):
    """The outcome per rule, in the order of the request; 1 the client waits throttle_time_ms out
    itself, 2 flexible, 3 user resource type (KIP-373).
    """

    throttle_time_ms: int = wire(Int32, default=0)
    results: tuple[AclCreationResult, ...] = wire(rows(AclCreationResult))


@message()
class AclCreation(Message):
    """One rule.

    resource_type: 2 topic, 3 group, 4 cluster; resource_pattern_type: 3 literal, 4 prefixed;
    principal: "User:name"; permission_type: 2 deny, 3 allow; operation: 2 all, 3 read, ...
    """

    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    resource_pattern_type: int = wire(Int8, since=1, default=3)
    principal: str = wire(String)
    host: str = wire(String)
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@message(versions=_VERSIONS, flexible=2, api=ApiKey.CREATE_ACLS)
class CreateAclsRequest(Request[CreateAclsResponse]):
    """Add rules; 2 flexible, 3 user resource type (KIP-373)."""

    creations: tuple[AclCreation, ...] = wire(rows(AclCreation))


@message()
class AclDescription(Message):
    """One rule: principal, host, operation, allowed or denied; numbers as in CreateAcls."""

    principal: str = wire(String)
    host: str = wire(String)
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@message()
class DescribeAclsResource(Message):
    """What some rules are about."""

    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    pattern_type: int = wire(Int8, since=1, default=3)
    acls: tuple[AclDescription, ...] = wire(rows(AclDescription))


@message(versions=_VERSIONS, flexible=2)
class DescribeAclsResponse(Message):
    """The rules that match; 1 the client waits throttle_time_ms out itself, 2 flexible, 3 user
    resource type (KIP-373).
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    resources: tuple[DescribeAclsResource, ...] = wire(rows(DescribeAclsResource))


@message(versions=_VERSIONS, flexible=2, api=ApiKey.DESCRIBE_ACLS)
class DescribeAclsRequest(Request[DescribeAclsResponse]):
    """Ask which rules there are; None and the number 1 match anything, 2 flexible, 3 user resource
    type (KIP-373).
    """

    resource_type_filter: int = wire(Int8)
    resource_name_filter: str | None = wire(nullable(String))
    pattern_type_filter: int = wire(Int8, since=1, default=3)
    principal_filter: str | None = wire(nullable(String))
    host_filter: str | None = wire(nullable(String))
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


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

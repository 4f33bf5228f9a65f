"""DescribeAcls: who is allowed or denied what (KIP-11, 140, 290)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int8, Int16, Int32, String, Text, nullable, rows

__all__ = [
    "AclDescription",
    "DescribeAclsRequest",
    "DescribeAclsResource",
    "DescribeAclsResponse",
]

_VERSIONS: Final = range(1, 4)


@message()
class AclDescription(Message):
    """Who is allowed or denied what, from where; numbers as in CreateAcls."""

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

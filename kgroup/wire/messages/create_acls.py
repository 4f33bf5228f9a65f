"""CreateAcls: allow or deny somebody something (KIP-11, 140, 290)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int8, Int16, Int32, String, Text, nullable, rows

__all__ = ["AclCreation", "AclCreationResult", "CreateAclsRequest", "CreateAclsResponse"]

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

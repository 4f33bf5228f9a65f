"""IncrementalAlterConfigs: change single settings (KIP-339)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int8, Int16, Int32, String, Text, nullable, rows

__all__ = [
    "AlterConfigsResource",
    "AlterConfigsResourceResponse",
    "AlterableConfig",
    "IncrementalAlterConfigsRequest",
    "IncrementalAlterConfigsResponse",
]

_VERSIONS: Final = range(2)


@message()
class AlterConfigsResourceResponse(Message):
    """What became of one resource."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    resource_type: int = wire(Int8)
    resource_name: str = wire(String)


@message(versions=_VERSIONS, flexible=1)
class IncrementalAlterConfigsResponse(Message):
    """The outcome per resource; 1 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    responses: tuple[AlterConfigsResourceResponse, ...] = wire(rows(AlterConfigsResourceResponse))


@message()
class AlterableConfig(Message):
    """One change: config_operation 0 set, 1 delete, 2 append, 3 subtract."""

    name: str = wire(String)
    config_operation: int = wire(Int8)
    value: str | None = wire(nullable(String))


@message()
class AlterConfigsResource(Message):
    """One resource: resource_type 2 = topic, 4 = broker, 32 = group."""

    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    configs: tuple[AlterableConfig, ...] = wire(rows(AlterableConfig))


@message(versions=_VERSIONS, flexible=1, api=ApiKey.INCREMENTAL_ALTER_CONFIGS)
class IncrementalAlterConfigsRequest(Request[IncrementalAlterConfigsResponse]):
    """Change settings; 1 flexible."""

    resources: tuple[AlterConfigsResource, ...] = wire(rows(AlterConfigsResource))
    validate_only: bool = wire(Boolean)

"""DescribeConfigs and IncrementalAlterConfigs.

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int8, Int16, Int32, String, Text, array, nullable, rows

__all__ = [
    "AlterConfigsResource",
    "AlterConfigsResourceResponse",
    "AlterableConfig",
    "DescribeConfigsRequest",
    "DescribeConfigsResource",
    "DescribeConfigsResourceResult",
    "DescribeConfigsResponse",
    "DescribeConfigsResult",
    "DescribeConfigsSynonym",
    "IncrementalAlterConfigsRequest",
    "IncrementalAlterConfigsResponse",
]

_VERSIONS: Final = range(1, 5)


@message()
class DescribeConfigsSynonym(Message):
    """A place the setting can come from, strongest first (1+, KIP-226)."""

    name: str = wire(String, since=1)
    value: str | None = wire(nullable(String), since=1)
    source: int = wire(Int8, since=1)


@message()
class DescribeConfigsResourceResult(Message):
    """One setting; value is None when unset or sensitive.

    config_source (1+) tells where the value comes from, -1 = unknown; synonyms (1+) lists all
    places.
    """

    name: str = wire(String)
    value: str | None = wire(nullable(String))
    read_only: bool = wire(Boolean)
    config_source: int = wire(Int8, since=1, default=-1, ignorable=True)
    is_sensitive: bool = wire(Boolean)
    synonyms: tuple[DescribeConfigsSynonym, ...] = wire(
        rows(DescribeConfigsSynonym), since=1, ignorable=True
    )
    config_type: int = wire(Int8, since=3, default=0, ignorable=True)
    documentation: str | None = wire(nullable(Text), since=3, default=None, ignorable=True)


@message()
class DescribeConfigsResult(Message):
    """The settings of one resource, or its error."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    configs: tuple[DescribeConfigsResourceResult, ...] = wire(rows(DescribeConfigsResourceResult))


@message(versions=_VERSIONS, flexible=4)
class DescribeConfigsResponse(Message):
    """The settings.

    2 the client waits throttle_time_ms out itself; 3 types and documentation (KIP-569); 4
    flexible.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    results: tuple[DescribeConfigsResult, ...] = wire(rows(DescribeConfigsResult))


@message()
class DescribeConfigsResource(Message):
    """One resource: resource_type 2 = topic, 4 = broker, 32 = group.

    configuration_keys None = all of its settings.
    """

    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    configuration_keys: tuple[str, ...] | None = wire(nullable(array(String)))


@message(versions=_VERSIONS, flexible=4, api=ApiKey.DESCRIBE_CONFIGS)
class DescribeConfigsRequest(Request[DescribeConfigsResponse]):
    """Ask for settings.

    1 include_synonyms (KIP-226); 3 include_documentation (KIP-569); 4 flexible.
    """

    resources: tuple[DescribeConfigsResource, ...] = wire(rows(DescribeConfigsResource))
    include_synonyms: bool = wire(Boolean, since=1, default=False)
    include_documentation: bool = wire(Boolean, since=3, default=False)


_INCREMENTAL_ALTER_CONFIGS_VERSIONS: Final = range(2)


@message()
class AlterConfigsResourceResponse(Message):
    """What became of one resource."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    resource_type: int = wire(Int8)
    resource_name: str = wire(String)


@message(versions=_INCREMENTAL_ALTER_CONFIGS_VERSIONS, flexible=1)
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


@message(
    versions=_INCREMENTAL_ALTER_CONFIGS_VERSIONS, flexible=1, api=ApiKey.INCREMENTAL_ALTER_CONFIGS
)
class IncrementalAlterConfigsRequest(Request[IncrementalAlterConfigsResponse]):
    """Change settings; 1 flexible."""

    resources: tuple[AlterConfigsResource, ...] = wire(rows(AlterConfigsResource))
    validate_only: bool = wire(Boolean)

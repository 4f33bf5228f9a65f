"""CreateTopics: make topics (KIP-4, 464, 525, 599)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Boolean,
    Int8,
    Int16,
    Int32,
    String,
    Text,
    Uuid,
    array,
    nullable,
    rows,
)

__all__ = [
    "CreatableReplicaAssignment",
    "CreatableTopic",
    "CreatableTopicConfig",
    "CreatableTopicConfigs",
    "CreatableTopicResult",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
]

_VERSIONS: Final = range(2, 8)


@message()
class CreatableTopicConfigs(Message):
    """One setting as it took effect (5+)."""

    name: str = wire(String, since=5)
    value: str | None = wire(nullable(String), since=5)
    read_only: bool = wire(Boolean, since=5)
    config_source: int = wire(Int8, since=5, default=-1, ignorable=True)
    is_sensitive: bool = wire(Boolean, since=5)


@message()
class CreatableTopicResult(Message):
    """What became of one topic.

    5+: num_partitions and replication_factor (-1 unknown), configs (None when not permitted, with
    topic_config_error_code telling why).
    """

    name: str = wire(String)
    topic_id: bytes = wire(Uuid, since=7, default=ZERO_UUID, ignorable=True)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), since=1, default=None, ignorable=True)
    topic_config_error_code: int = wire(Int16, since=5, default=0, ignorable=True, tag=0)
    num_partitions: int = wire(Int32, since=5, default=-1, ignorable=True)
    replication_factor: int = wire(Int16, since=5, default=-1, ignorable=True)
    configs: tuple[CreatableTopicConfigs, ...] | None = wire(
        nullable(rows(CreatableTopicConfigs)), since=5, default=(), ignorable=True
    )


@message(versions=_VERSIONS, flexible=5)
class CreateTopicsResponse(Message):
    """The outcome per topic.

    3 the client waits throttle_time_ms out itself; 5 flexible, and what was created (KIP-525); 6
    THROTTLING_QUOTA_EXCEEDED (KIP-599); 7 topic_id (KIP-516).
    """

    throttle_time_ms: int = wire(Int32, since=2, default=0, ignorable=True)
    topics: tuple[CreatableTopicResult, ...] = wire(rows(CreatableTopicResult))


@message()
class CreatableReplicaAssignment(Message):
    """The brokers that shall hold one partition, the preferred leader first."""

    partition_index: int = wire(Int32)
    broker_ids: tuple[int, ...] = wire(array(Int32))


@message()
class CreatableTopicConfig(Message):
    """One setting of the new topic; value None = the default."""

    name: str = wire(String)
    value: str | None = wire(nullable(String))


@message()
class CreatableTopic(Message):
    """One topic; with assignments given, num_partitions and replication_factor are -1."""

    name: str = wire(String)
    num_partitions: int = wire(Int32)
    replication_factor: int = wire(Int16)
    assignments: tuple[CreatableReplicaAssignment, ...] = wire(rows(CreatableReplicaAssignment))
    configs: tuple[CreatableTopicConfig, ...] = wire(rows(CreatableTopicConfig))


@message(versions=_VERSIONS, flexible=5, api=ApiKey.CREATE_TOPICS)
class CreateTopicsRequest(Request[CreateTopicsResponse]):
    """Create topics; timeout_ms is how long the broker waits for them to be there.

    4 num_partitions and replication_factor -1 = the broker's default (KIP-464); 5 flexible.
    """

    topics: tuple[CreatableTopic, ...] = wire(rows(CreatableTopic))
    timeout_ms: int = wire(Int32, default=60000)
    validate_only: bool = wire(Boolean, since=1, default=False)

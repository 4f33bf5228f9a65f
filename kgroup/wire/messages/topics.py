"""Topics and their partitions: create, grow, delete, and delete records.

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Text,
    Uuid,
    array,
    nullable,
    nullable_from,
    rows,
)

__all__ = [
    "CreatableReplicaAssignment",
    "CreatableTopic",
    "CreatableTopicConfig",
    "CreatableTopicConfigs",
    "CreatableTopicResult",
    "CreatePartitionsAssignment",
    "CreatePartitionsRequest",
    "CreatePartitionsResponse",
    "CreatePartitionsTopic",
    "CreatePartitionsTopicResult",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
    "DeletableTopicResult",
    "DeleteRecordsPartition",
    "DeleteRecordsPartitionResult",
    "DeleteRecordsRequest",
    "DeleteRecordsResponse",
    "DeleteRecordsTopic",
    "DeleteRecordsTopicResult",
    "DeleteTopicState",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
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


_CREATE_PARTITIONS_VERSIONS: Final = range(4)


@message()
class CreatePartitionsTopicResult(Message):
    """What became of one topic."""

    name: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)


@message(versions=_CREATE_PARTITIONS_VERSIONS, flexible=2)
class CreatePartitionsResponse(Message):
    """The outcome per topic; 1 the client waits throttle_time_ms out itself, 2 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    results: tuple[CreatePartitionsTopicResult, ...] = wire(rows(CreatePartitionsTopicResult))


@message()
class CreatePartitionsAssignment(Message):
    """The brokers that shall hold one new partition."""

    broker_ids: tuple[int, ...] = wire(array(Int32))


@message()
class CreatePartitionsTopic(Message):
    """One topic and the count it shall have in all; assignments None = the broker chooses."""

    name: str = wire(String)
    count: int = wire(Int32)
    assignments: tuple[CreatePartitionsAssignment, ...] | None = wire(
        nullable(rows(CreatePartitionsAssignment))
    )


@message(versions=_CREATE_PARTITIONS_VERSIONS, flexible=2, api=ApiKey.CREATE_PARTITIONS)
class CreatePartitionsRequest(Request[CreatePartitionsResponse]):
    """Grow topics; 2 flexible, 3 THROTTLING_QUOTA_EXCEEDED may come (KIP-599)."""

    topics: tuple[CreatePartitionsTopic, ...] = wire(rows(CreatePartitionsTopic))
    timeout_ms: int = wire(Int32)
    validate_only: bool = wire(Boolean)


_DELETE_TOPICS_VERSIONS: Final = range(1, 7)


@message()
class DeletableTopicResult(Message):
    """What became of one topic; name is None when an unknown id was given (6+)."""

    name: str | None = wire(nullable_from(6, String))
    topic_id: bytes = wire(Uuid, since=6, default=ZERO_UUID, ignorable=True)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), since=5, default=None, ignorable=True)


@message(versions=_DELETE_TOPICS_VERSIONS, flexible=4)
class DeleteTopicsResponse(Message):
    """The outcome per topic.

    2 the client waits throttle_time_ms out itself; 4 flexible; 5 error_message (KIP-599); 6
    topic_id.
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    responses: tuple[DeletableTopicResult, ...] = wire(rows(DeletableTopicResult))


@message()
class DeleteTopicState(Message):
    """One topic (6+): name, or topic_id with name None."""

    name: str | None = wire(nullable(String), since=6, default=None)
    topic_id: bytes = wire(Uuid, since=6)


@message(versions=_DELETE_TOPICS_VERSIONS, flexible=4, api=ApiKey.DELETE_TOPICS)
class DeleteTopicsRequest(Request[DeleteTopicsResponse]):
    """Delete by topic_names up to version 5, by name or id (topics) in 6 (KIP-516); 4 flexible."""

    topics: tuple[DeleteTopicState, ...] = wire(rows(DeleteTopicState), since=6, default=())
    topic_names: tuple[str, ...] = wire(array(String), until=5, default=(), ignorable=True)
    timeout_ms: int = wire(Int32)


_DELETE_RECORDS_VERSIONS: Final = range(3)


@message()
class DeleteRecordsPartitionResult(Message):
    """The lowest offset that is left, -1 on an error."""

    partition_index: int = wire(Int32)
    low_watermark: int = wire(Int64)
    error_code: int = wire(Int16, default=0)


@message()
class DeleteRecordsTopicResult(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[DeleteRecordsPartitionResult, ...] = wire(rows(DeleteRecordsPartitionResult))


@message(versions=_DELETE_RECORDS_VERSIONS, flexible=2)
class DeleteRecordsResponse(Message):
    """The new starts; 1 the client waits throttle_time_ms out itself, 2 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    topics: tuple[DeleteRecordsTopicResult, ...] = wire(rows(DeleteRecordsTopicResult))


@message()
class DeleteRecordsPartition(Message):
    """One partition; offset -1 = up to the high watermark."""

    partition_index: int = wire(Int32)
    offset: int = wire(Int64)


@message()
class DeleteRecordsTopic(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[DeleteRecordsPartition, ...] = wire(rows(DeleteRecordsPartition))


@message(versions=_DELETE_RECORDS_VERSIONS, flexible=2, api=ApiKey.DELETE_RECORDS)
class DeleteRecordsRequest(Request[DeleteRecordsResponse]):
    """Delete records below an offset; 2 flexible."""

    topics: tuple[DeleteRecordsTopic, ...] = wire(rows(DeleteRecordsTopic))
    timeout_ms: int = wire(Int32)

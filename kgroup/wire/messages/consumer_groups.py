"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: the group protocol of KIP-848.

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    Boolean,
    Int8,
    Int16,
    Int32,
    String,
    Text,
    Uuid,
    array,
    nullable,
    row,
    rows,
)

__all__ = [
    "ConsumerGroupDescribeAssignment",
    "ConsumerGroupDescribeDescribedGroup",
    "ConsumerGroupDescribeMember",
    "ConsumerGroupDescribeRequest",
    "ConsumerGroupDescribeResponse",
    "ConsumerGroupDescribeTopicPartitions",
    "ConsumerGroupHeartbeatAssignment",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "ConsumerGroupHeartbeatTopicPartitions",
]

_VERSIONS: Final = range(2)


@message()
class ConsumerGroupHeartbeatTopicPartitions(Message):
    """Partitions of one topic, by id."""

    topic_id: bytes = wire(Uuid)
    partitions: tuple[int, ...] = wire(array(Int32))


@message()
class ConsumerGroupHeartbeatAssignment(Message):
    """All partitions the member may own now."""

    topic_partitions: tuple[ConsumerGroupHeartbeatTopicPartitions, ...] = wire(
        rows(ConsumerGroupHeartbeatTopicPartitions)
    )


@message(versions=_VERSIONS, flexible=0)
class ConsumerGroupHeartbeatResponse(Message):
    """The member's epoch, and a new assignment, None = as before.

    heartbeat_interval_ms is to be obeyed.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    member_id: str | None = wire(nullable(String), default=None)
    member_epoch: int = wire(Int32)
    heartbeat_interval_ms: int = wire(Int32)
    assignment: ConsumerGroupHeartbeatAssignment | None = wire(
        nullable(row(ConsumerGroupHeartbeatAssignment)), default=None
    )


@message(versions=_VERSIONS, flexible=0, api=ApiKey.CONSUMER_GROUP_HEARTBEAT)
class ConsumerGroupHeartbeatRequest(Request[ConsumerGroupHeartbeatResponse]):
    """Join, live, confirm and leave.

    member_epoch 0 joins, -1 leaves, -2 is a static member that will come back.

    In 1 the client makes member_id up, a uuid (KIP-1082); in 0 the broker gives it, empty at
    first. None and -1 = as before; everything is given when joining and after an error.
    topic_partitions is what the member owns. subscribed_topic_regex 1+.
    """

    group_id: str = wire(String)
    member_id: str = wire(String)
    member_epoch: int = wire(Int32)
    instance_id: str | None = wire(nullable(String), default=None)
    rack_id: str | None = wire(nullable(String), default=None)
    rebalance_timeout_ms: int = wire(Int32, default=-1)
    subscribed_topic_names: tuple[str, ...] | None = wire(nullable(array(String)), default=None)
    subscribed_topic_regex: str | None = wire(nullable(String), since=1, default=None)
    server_assignor: str | None = wire(nullable(String), default=None)
    topic_partitions: tuple[ConsumerGroupHeartbeatTopicPartitions, ...] | None = wire(
        nullable(rows(ConsumerGroupHeartbeatTopicPartitions)), default=None
    )


@message()
class ConsumerGroupDescribeTopicPartitions(Message):
    """Partitions of one topic."""

    topic_id: bytes = wire(Uuid)
    topic_name: str = wire(String)
    partitions: tuple[int, ...] = wire(array(Int32))


@message()
class ConsumerGroupDescribeAssignment(Message):
    """Partitions of a member."""

    topic_partitions: tuple[ConsumerGroupDescribeTopicPartitions, ...] = wire(
        rows(ConsumerGroupDescribeTopicPartitions)
    )


@message()
class ConsumerGroupDescribeMember(Message):
    """One member: what it has, and what it shall have.

    member_type (1+, KIP-1099) is 0 classic, 1 consumer, -1 unknown.
    """

    member_id: str = wire(String)
    instance_id: str | None = wire(nullable(String), default=None)
    rack_id: str | None = wire(nullable(String), default=None)
    member_epoch: int = wire(Int32)
    client_id: str = wire(String)
    client_host: str = wire(String)
    subscribed_topic_names: tuple[str, ...] = wire(array(String))
    subscribed_topic_regex: str | None = wire(nullable(String), default=None)
    assignment: ConsumerGroupDescribeAssignment = wire(row(ConsumerGroupDescribeAssignment))
    target_assignment: ConsumerGroupDescribeAssignment = wire(row(ConsumerGroupDescribeAssignment))
    member_type: int = wire(Int8, since=1, default=-1, ignorable=True)


@message()
class ConsumerGroupDescribeDescribedGroup(Message):
    """One group; group_epoch is that of its subscriptions, assignment_epoch that of the target.

    authorized_operations is -2147483648 unless asked for.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    group_id: str = wire(String)
    group_state: str = wire(String)
    group_epoch: int = wire(Int32)
    assignment_epoch: int = wire(Int32)
    assignor_name: str = wire(String)
    members: tuple[ConsumerGroupDescribeMember, ...] = wire(rows(ConsumerGroupDescribeMember))
    authorized_operations: int = wire(Int32, default=-2147483648)


@message(versions=_VERSIONS, flexible=0)
class ConsumerGroupDescribeResponse(Message):
    """The groups."""

    throttle_time_ms: int = wire(Int32, default=0)
    groups: tuple[ConsumerGroupDescribeDescribedGroup, ...] = wire(
        rows(ConsumerGroupDescribeDescribedGroup)
    )


@message(versions=_VERSIONS, flexible=0, api=ApiKey.CONSUMER_GROUP_DESCRIBE)
class ConsumerGroupDescribeRequest(Request[ConsumerGroupDescribeResponse]):
    """Ask about groups."""

    group_ids: tuple[str, ...] = wire(array(String))
    include_authorized_operations: bool = wire(Boolean)

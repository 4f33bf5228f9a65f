"""ConsumerGroupDescribe: state and members of groups of the new protocol (KIP-848, 1099)."""

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
]

_VERSIONS: Final = range(2)


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

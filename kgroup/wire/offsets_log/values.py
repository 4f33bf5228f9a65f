"""What a record of `__consumer_offsets` says: the values that Kafka's coordinators write.

Decides: the fields and the versions of each value; a value opens with an int16, its version.
Never: names a topic: a coordinator of KIP-848 writes ids.
KIPs: 345 (group v3), 848, 915 (commit v4 and group v4: tagged fields).
Sources: what Kafka 4.3.1 wrote, and its declarations.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgroup.wire.offsets_log.keys import RecordType
from kgroup.wire.schema import Message, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Bytes,
    Int8,
    Int32,
    Int64,
    String,
    Text,
    Uuid,
    array,
    nullable,
    row,
    rows,
)

_FIRST: Final = range(1)


@message(versions=range(5), flexible=4)
class CommitValue(Message):
    """A committed offset, types 0 and 1.

    Args:
        offset: next to read.
        leader_epoch: of the record before it, -1 when not known.
        metadata: as the client wrote it; librdkafka ends it with a NUL.
        commit_timestamp: milliseconds since the epoch.
        expire_timestamp: after which it may go, -1 for the broker's own retention.
        topic_id: 16 bytes, zeros when not known.
    """

    offset: int = wire(Int64)
    leader_epoch: int = wire(Int32, since=3, default=-1, ignorable=True)
    metadata: str = wire(Text)
    commit_timestamp: int = wire(Int64)
    expire_timestamp: int = wire(Int64, since=1, until=1, default=-1, ignorable=True)
    topic_id: bytes = wire(Uuid, since=4, default=ZERO_UUID, ignorable=True, tag=0)


@message()
class GroupMember(Message):
    """A member of a classic group; times in milliseconds."""

    member_id: str = wire(String)
    group_instance_id: str | None = wire(nullable(String), since=3, default=None, ignorable=True)
    client_id: str = wire(Text)
    client_host: str = wire(Text)
    rebalance_timeout: int = wire(Int32, since=1, default=-1, ignorable=True)
    session_timeout: int = wire(Int32)
    subscription: bytes = wire(Bytes)
    assignment: bytes = wire(Bytes)


@message(versions=range(5), flexible=4)
class GroupValue(Message):
    """A generation of a classic group, type 2; it is complete.

    Args:
        protocol_type: "consumer" for consumers, empty before the first member.
        generation: its number.
        protocol: the assignor, None without members.
        leader: member id, None without members.
        current_state_timestamp: of its last change of state, milliseconds, -1 when not known.
        members: all of them.
    """

    protocol_type: str = wire(Text)
    generation: int = wire(Int32)
    protocol: str | None = wire(nullable(Text))
    leader: str | None = wire(nullable(String))
    current_state_timestamp: int = wire(Int64, since=2, default=-1, ignorable=True)
    members: tuple[GroupMember, ...] = wire(rows(GroupMember))


@message(versions=_FIRST, flexible=0)
class EpochValue(Message):
    """The epoch of a group, type 3, and a hash of what is known of its topics."""

    epoch: int = wire(Int32)
    metadata_hash: int = wire(Int64, default=0, tag=0)


@message()
class PartitionRacks(Message):
    """The racks of a partition's replicas."""

    partition: int = wire(Int32)
    racks: tuple[str, ...] = wire(array(String))


@message()
class TopicFacts(Message):
    """A topic as a group knows it."""

    topic_id: bytes = wire(Uuid)
    topic_name: str = wire(String)
    num_partitions: int = wire(Int32)
    partition_metadata: tuple[PartitionRacks, ...] = wire(rows(PartitionRacks))


@message(versions=_FIRST, flexible=0)
class TopicsValue(Message):
    """The topics of a group, type 4; brokers before 4.1 write it."""

    topics: tuple[TopicFacts, ...] = wire(rows(TopicFacts))


@message()
class ClassicProtocol(Message):
    """An assignor that a member of a group in migration lists, and its subscription."""

    name: str = wire(Text)
    metadata: bytes = wire(Bytes)


@message()
class ClassicMember(Message):
    """What a member that speaks the classic protocol listed; its session in milliseconds."""

    session_timeout_ms: int = wire(Int32)
    supported_protocols: tuple[ClassicProtocol, ...] = wire(rows(ClassicProtocol))


_NOT_WRITTEN: Final = ClassicMember(session_timeout_ms=0, supported_protocols=())


@message(versions=_FIRST, flexible=0)
class MemberValue(Message):
    """A member, type 5: who it is, and what it subscribes to; None is written as such."""

    instance_id: str | None = wire(nullable(String))
    rack_id: str | None = wire(nullable(Text))
    client_id: str = wire(Text)
    client_host: str = wire(Text)
    subscribed_topic_names: tuple[str, ...] = wire(array(String))
    subscribed_topic_regex: str | None = wire(nullable(Text))
    rebalance_timeout_ms: int = wire(Int32, default=-1)
    server_assignor: str | None = wire(nullable(Text))
    classic_member_metadata: ClassicMember | None = wire(
        nullable(row(ClassicMember)), default=_NOT_WRITTEN, tag=0
    )


@message(versions=_FIRST, flexible=0)
class TargetEpochValue(Message):
    """The epoch for which the targets before it were made, type 6, and when, milliseconds."""

    assignment_epoch: int = wire(Int32)
    assignment_timestamp: int = wire(Int64, default=0, tag=0)


@message()
class TargetPartitions(Message):
    """Partitions of one topic that a member is to have."""

    topic_id: bytes = wire(Uuid)
    partitions: tuple[int, ...] = wire(array(Int32))


@message(versions=_FIRST, flexible=0)
class TargetValue(Message):
    """All that a member is to have, type 7."""

    topic_partitions: tuple[TargetPartitions, ...] = wire(rows(TargetPartitions))


@message()
class AssignedPartitions(Message):
    """Partitions of one topic that a member has, and the epochs in which it was given them."""

    topic_id: bytes = wire(Uuid)
    partitions: tuple[int, ...] = wire(array(Int32))
    assignment_epochs: tuple[int, ...] = wire(array(Int32), default=(), tag=0)


@message(versions=_FIRST, flexible=0)
class CurrentAssignmentValue(Message):
    """All that a member has, type 8.

    Args:
        member_epoch: -2 for a static member that is away.
        previous_member_epoch: the one before.
        state: 0 stable, 1 handing back, 2 waiting for others.
        assigned_partitions: what it has.
        partitions_pending_revocation: what it is handing back.
    """

    member_epoch: int = wire(Int32)
    previous_member_epoch: int = wire(Int32)
    state: int = wire(Int8)
    assigned_partitions: tuple[AssignedPartitions, ...] = wire(rows(AssignedPartitions))
    partitions_pending_revocation: tuple[AssignedPartitions, ...] = wire(rows(AssignedPartitions))


@message(versions=_FIRST, flexible=0)
class PatternValue(Message):
    """The topics that match a pattern, type 16, and when that was found, milliseconds."""

    topics: tuple[str, ...] = wire(array(String))
    version: int = wire(Int64)
    timestamp: int = wire(Int64)


VALUES: Final[Mapping[RecordType, type[Message]]] = MappingProxyType(
    {
        RecordType.OLD_COMMIT: CommitValue,
        RecordType.COMMIT: CommitValue,
        RecordType.GROUP: GroupValue,
        RecordType.EPOCH: EpochValue,
        RecordType.TOPICS: TopicsValue,
        RecordType.MEMBER: MemberValue,
        RecordType.TARGET_EPOCH: TargetEpochValue,
        RecordType.TARGET: TargetValue,
        RecordType.CURRENT: CurrentAssignmentValue,
        RecordType.PATTERN: PatternValue,
    }
)
"""The value of each type."""

"""Records of `__consumer_offsets`, where a group coordinator keeps what groups did.

- `keys`: Whom a record is about: its type, its group, and what else stands in its key
- `reading`: A key and a value to one record; and what members wrote into it
- `values`: What a record says: the values that Kafka's coordinators write, in all versions

Who reads the log decides what of a transaction is seen: a record does not say it.
"""

from kgroup.wire.offsets_log.keys import (
    CommitKey,
    GroupKey,
    Key,
    MemberKey,
    OtherKey,
    PatternKey,
    RecordType,
    read_key,
)
from kgroup.wire.offsets_log.reading import (
    OffsetsRecord,
    Unreadable,
    assignment_of,
    read_record,
    read_value,
    subscription_of,
)
from kgroup.wire.offsets_log.values import (
    VALUES,
    AssignedPartitions,
    ClassicMember,
    ClassicProtocol,
    CommitValue,
    CurrentAssignmentValue,
    EpochValue,
    GroupMember,
    GroupValue,
    MemberValue,
    PartitionRacks,
    PatternValue,
    TargetEpochValue,
    TargetPartitions,
    TargetValue,
    TopicFacts,
    TopicsValue,
)

__all__ = [
    "VALUES",
    "AssignedPartitions",
    "ClassicMember",
    "ClassicProtocol",
    "CommitKey",
    "CommitValue",
    "CurrentAssignmentValue",
    "EpochValue",
    "GroupKey",
    "GroupMember",
    "GroupValue",
    "Key",
    "MemberKey",
    "MemberValue",
    "OffsetsRecord",
    "OtherKey",
    "PartitionRacks",
    "PatternKey",
    "PatternValue",
    "RecordType",
    "TargetEpochValue",
    "TargetPartitions",
    "TargetValue",
    "TopicFacts",
    "TopicsValue",
    "Unreadable",
    "assignment_of",
    "read_key",
    "read_record",
    "read_value",
    "subscription_of",
]

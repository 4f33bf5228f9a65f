"""Fetch: records of partitions from their leader or a close replica (KIP-227, 320, 392, 516)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    Uuid,
    array,
    nullable,
    row,
    rows,
)

__all__ = [
    "AbortedTransaction",
    "FetchEpochEndOffset",
    "FetchLeaderIdAndEpoch",
    "FetchNodeEndpoint",
    "FetchPartition",
    "FetchRequest",
    "FetchResponse",
    "FetchTopic",
    "FetchableTopicResponse",
    "ForgottenTopic",
    "PartitionData",
    "ReplicaState",
    "SnapshotId",
]

_VERSIONS: Final = range(4, 19)


@message()
class FetchEpochEndOffset(Message):
    """Where the logs of fetcher and leader part (12+): the largest common epoch and its end."""

    epoch: int = wire(Int32, since=12, default=-1)
    end_offset: int = wire(Int64, since=12, default=-1)


@message()
class FetchLeaderIdAndEpoch(Message):
    """The leader a fetcher should turn to (12+); -1, -1 = not said."""

    leader_id: int = wire(Int32, since=12, default=-1)
    leader_epoch: int = wire(Int32, since=12, default=-1)


@message()
class SnapshotId(Message):
    """The snapshot a follower must read first (12+); -1, -1 = none."""

    end_offset: int = wire(Int64, default=-1)
    epoch: int = wire(Int32, default=-1)


@message()
class AbortedTransaction(Message):
    """A transaction whose records must be skipped, from first_offset up to its abort marker."""

    producer_id: int = wire(Int64, since=4)
    first_offset: int = wire(Int64, since=4)


@message()
class PartitionData(Message):
    """The records of one partition, as stored; the last batch may be cut off.

    last_stable_offset, log_start_offset (5+) and preferred_read_replica (11+) are -1 when unknown
    or none. aborted_transactions is None unless read_committed was asked for. records is a view
    into the frame: copy what must outlive it.
    """

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    high_watermark: int = wire(Int64)
    last_stable_offset: int = wire(Int64, since=4, default=-1, ignorable=True)
    log_start_offset: int = wire(Int64, since=5, default=-1, ignorable=True)
    diverging_epoch: FetchEpochEndOffset = wire(
        row(FetchEpochEndOffset), since=12, default=FetchEpochEndOffset(), tag=0
    )
    current_leader: FetchLeaderIdAndEpoch = wire(
        row(FetchLeaderIdAndEpoch), since=12, default=FetchLeaderIdAndEpoch(), tag=1
    )
    snapshot_id: SnapshotId = wire(row(SnapshotId), since=12, default=SnapshotId(), tag=2)
    aborted_transactions: tuple[AbortedTransaction, ...] | None = wire(
        nullable(rows(AbortedTransaction)), since=4, ignorable=True
    )
    preferred_read_replica: int = wire(Int32, since=11, default=-1)
    records: memoryview | bytes | None = wire(nullable(Records))


@message()
class FetchableTopicResponse(Message):
    """Partitions of one topic: topic up to version 12, topic_id from 13 on."""

    topic: str = wire(String, until=12, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=13, default=ZERO_UUID, ignorable=True)
    partitions: tuple[PartitionData, ...] = wire(rows(PartitionData))


@message()
class FetchNodeEndpoint(Message):
    """The address of a leader named in the answer (16+, KIP-951)."""

    node_id: int = wire(Int32, since=16)
    host: str = wire(String, since=16)
    port: int = wire(Int32, since=16)
    rack: str | None = wire(nullable(String), since=16, default=None)


@message(versions=_VERSIONS, flexible=12)
class FetchResponse(Message):
    """Records, partition by partition; in a session only what changed.

    7 error_code and session_id (KIP-227); 8 the client waits throttle_time_ms out itself; 11
    preferred_read_replica (KIP-392); 12 flexible, diverging_epoch, current_leader; 13 topics by
    id; 16 node_endpoints of new leaders (KIP-951).
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    error_code: int = wire(Int16, since=7, default=0, ignorable=True)
    session_id: int = wire(Int32, since=7, default=0)
    responses: tuple[FetchableTopicResponse, ...] = wire(rows(FetchableTopicResponse))
    node_endpoints: tuple[FetchNodeEndpoint, ...] = wire(
        rows(FetchNodeEndpoint), since=16, default=(), tag=0
    )


@message()
class ReplicaState(Message):
    """The replica that fetches, from version 15 on (KIP-903); -1 = a consumer."""

    replica_id: int = wire(Int32, since=15, default=-1)
    replica_epoch: int = wire(Int64, since=15, default=-1)


@message()
class FetchPartition(Message):
    """One partition and the offset to begin at.

    last_fetched_epoch (12+) makes the broker answer diverging_epoch instead of records when the
    logs differ; -1 = do not. log_start_offset, replica_directory_id and high_watermark are
    followers' fields.
    """

    partition: int = wire(Int32)
    current_leader_epoch: int = wire(Int32, since=9, default=-1, ignorable=True)
    fetch_offset: int = wire(Int64)
    last_fetched_epoch: int = wire(Int32, since=12, default=-1)
    log_start_offset: int = wire(Int64, since=5, default=-1, ignorable=True)
    partition_max_bytes: int = wire(Int32)
    replica_directory_id: bytes = wire(Uuid, since=17, default=ZERO_UUID, ignorable=True, tag=0)
    high_watermark: int = wire(Int64, since=18, default=9223372036854775807, ignorable=True, tag=1)


@message()
class FetchTopic(Message):
    """Partitions of one topic: topic up to version 12, topic_id from 13 on."""

    topic: str = wire(String, until=12, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=13, default=ZERO_UUID, ignorable=True)
    partitions: tuple[FetchPartition, ...] = wire(rows(FetchPartition))


@message()
class ForgottenTopic(Message):
    """Partitions that leave the fetch session (7+, KIP-227)."""

    topic: str = wire(String, since=7, until=12, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=13, default=ZERO_UUID, ignorable=True)
    partitions: tuple[int, ...] = wire(array(Int32), since=7)


@message(versions=_VERSIONS, flexible=12, api=ApiKey.FETCH)
class FetchRequest(Request[FetchResponse]):
    """Ask for records; waits up to max_wait_ms until min_bytes are there.

    5 log_start_offset of followers; 7 fetch sessions: (0, 0) begins one, (0, -1) goes without,
    then (id, 1, 2, ...), with forgotten_topics_data for what left the session (KIP-227); 9
    current_leader_epoch (KIP-320); 10 zstd may come; 11 rack_id (KIP-392); 12 flexible,
    last_fetched_epoch, cluster_id; 13 topics by id (KIP-516); 15 replica_state instead of
    replica_id (KIP-903); 17 directory ids of replicas; 18 high_watermark of followers (KIP-1166).
    A consumer's replica_id is -1.
    """

    cluster_id: str | None = wire(nullable(String), since=12, default=None, ignorable=True, tag=0)
    replica_id: int = wire(Int32, until=14, default=-1)
    replica_state: ReplicaState = wire(row(ReplicaState), since=15, default=ReplicaState(), tag=1)
    max_wait_ms: int = wire(Int32)
    min_bytes: int = wire(Int32)
    max_bytes: int = wire(Int32, since=3, default=2147483647, ignorable=True)
    isolation_level: int = wire(Int8, since=4, default=0, ignorable=True)
    session_id: int = wire(Int32, since=7, default=0, ignorable=True)
    session_epoch: int = wire(Int32, since=7, default=-1, ignorable=True)
    topics: tuple[FetchTopic, ...] = wire(rows(FetchTopic))
    forgotten_topics_data: tuple[ForgottenTopic, ...] = wire(
        rows(ForgottenTopic), since=7, default=()
    )
    rack_id: str = wire(String, since=11, default="", ignorable=True)

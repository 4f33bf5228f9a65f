"""Requests by name, for rules and questions of tests: `broker.answers.lose(HeartbeatRequest)`.

Decides: which classes tests of users may import: the requests of consumers and producers. They are
named as in Kafka, their fields too (`groupId` is `group_id`).
Never: defines one; `kgroup.wire.messages` does, which is private.
"""

from kgroup.wire.messages import (
    ApiVersionsRequest,
    EndTxnRequest,
    FetchRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from kgroup.wire.schema import Request, replace

__all__ = [
    "ApiVersionsRequest",
    "EndTxnRequest",
    "FetchRequest",
    "FindCoordinatorRequest",
    "HeartbeatRequest",
    "InitProducerIdRequest",
    "JoinGroupRequest",
    "LeaveGroupRequest",
    "ListOffsetsRequest",
    "MetadataRequest",
    "OffsetCommitRequest",
    "OffsetFetchRequest",
    "OffsetForLeaderEpochRequest",
    "ProduceRequest",
    "Request",
    "SyncGroupRequest",
    "TxnOffsetCommitRequest",
    "replace",
]

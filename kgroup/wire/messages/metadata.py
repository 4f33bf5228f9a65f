"""Metadata: brokers of the cluster, topics, partitions and their leaders (KIP-4 and later)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Boolean,
    Int16,
    Int32,
    String,
    Uuid,
    array,
    nullable,
    nullable_from,
    rows,
)

__all__ = [
    "MetadataRequest",
    "MetadataRequestTopic",
    "MetadataResponse",
    "MetadataResponseBroker",
    "MetadataResponsePartition",
    "MetadataResponseTopic",
]

_VERSIONS: Final = range(14)


@message()
class MetadataResponseBroker(Message):
    """One broker and the address of the listener that was asked; rack 1+."""

    node_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    rack: str | None = wire(nullable(String), since=1, default=None, ignorable=True)


@message()
class MetadataResponsePartition(Message):
    """One partition: leader_id is -1 while it has none, leader_epoch -1 when unknown (KIP-320).

    replica_nodes holds all replicas, isr_nodes those in sync, offline_replicas (5+) those that are
    down.
    """

    error_code: int = wire(Int16, default=0)
    partition_index: int = wire(Int32)
    leader_id: int = wire(Int32)
    leader_epoch: int = wire(Int32, since=7, default=-1, ignorable=True)
    replica_nodes: tuple[int, ...] = wire(array(Int32))
    isr_nodes: tuple[int, ...] = wire(array(Int32))
    offline_replicas: tuple[int, ...] = wire(array(Int32), since=5, default=(), ignorable=True)


@message()
class MetadataResponseTopic(Message):
    """One topic, with an error of its own; a topic in error may lack partitions."""

    error_code: int = wire(Int16, default=0)
    name: str | None = wire(nullable_from(12, String))
    topic_id: bytes = wire(Uuid, since=10, default=ZERO_UUID, ignorable=True)
    is_internal: bool = wire(Boolean, since=1, default=False, ignorable=True)
    partitions: tuple[MetadataResponsePartition, ...] = wire(rows(MetadataResponsePartition))
    topic_authorized_operations: int = wire(Int32, since=8, default=-2147483648)


@message(versions=_VERSIONS, flexible=9)
class MetadataResponse(Message):
    """Brokers and topics as the answering broker knows them.

    1 controller_id, rack, is_internal; 2 cluster_id; 3 throttle_time_ms; 5 offline_replicas; 6 the
    client waits throttle_time_ms out itself; 7 leader_epoch (KIP-320); 8 authorized operations
    (KIP-430), of the cluster up to 10; 9 flexible; 10 topic_id (KIP-516); 12 name None when asked
    by an unknown id; 13 error_code at the top, REBOOTSTRAP_REQUIRED (KIP-1102). controller_id is
    -1 when unknown; authorized operations are -2147483648 unless asked for.
    """

    throttle_time_ms: int = wire(Int32, since=3, default=0, ignorable=True)
    brokers: tuple[MetadataResponseBroker, ...] = wire(rows(MetadataResponseBroker))
    cluster_id: str | None = wire(nullable(String), since=2, default=None, ignorable=True)
    controller_id: int = wire(Int32, since=1, default=-1, ignorable=True)
    topics: tuple[MetadataResponseTopic, ...] = wire(rows(MetadataResponseTopic))
    cluster_authorized_operations: int = wire(Int32, since=8, until=10, default=-2147483648)
    error_code: int = wire(Int16, since=13, default=0, ignorable=True)


@message()
class MetadataRequestTopic(Message):
    """One topic, by name, or by id with name None (12+)."""

    topic_id: bytes = wire(Uuid, since=10, default=ZERO_UUID, ignorable=True)
    name: str | None = wire(nullable_from(10, String))


@message(versions=_VERSIONS, flexible=9, api=ApiKey.METADATA)
class MetadataRequest(Request[MetadataResponse]):
    """Ask about topics: None = all (1+), empty = none (1+; in 0 empty = all).

    4 allow_auto_topic_creation; 8 authorized operations (KIP-430), of the cluster only up to 10; 9
    flexible; 10 topic_id in rows, but asking by id works from 12 on (KIP-516); 13 as 12.
    """

    topics: tuple[MetadataRequestTopic, ...] | None = wire(
        nullable_from(1, rows(MetadataRequestTopic))
    )
    allow_auto_topic_creation: bool = wire(Boolean, since=4, default=True)
    include_cluster_authorized_operations: bool = wire(Boolean, since=8, until=10, default=False)
    include_topic_authorized_operations: bool = wire(Boolean, since=8, default=False)

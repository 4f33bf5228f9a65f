"""What a cluster is made of: ApiVersions, Metadata, FindCoordinator and DescribeCluster.

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
    "ApiVersion",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "Coordinator",
    "DescribeClusterBroker",
    "DescribeClusterRequest",
    "DescribeClusterResponse",
    "FinalizedFeatureKey",
    "FindCoordinatorRequest",
    "FindCoordinatorResponse",
    "MetadataRequest",
    "MetadataRequestTopic",
    "MetadataResponse",
    "MetadataResponseBroker",
    "MetadataResponsePartition",
    "MetadataResponseTopic",
    "SupportedFeatureKey",
]

_VERSIONS: Final = range(5)


@message()
class ApiVersion(Message):
    """One API and the versions of it that the broker accepts, both ends included."""

    api_key: int = wire(Int16)
    min_version: int = wire(Int16)
    max_version: int = wire(Int16)


@message()
class SupportedFeatureKey(Message):
    """A feature the broker could run, and its versions (3+, KIP-584)."""

    name: str = wire(String, since=3)
    min_version: int = wire(Int16, since=3)
    max_version: int = wire(Int16, since=3)


@message()
class FinalizedFeatureKey(Message):
    """A feature the cluster runs, and the version levels agreed on (3+, KIP-584)."""

    name: str = wire(String, since=3)
    max_version_level: int = wire(Int16, since=3)
    min_version_level: int = wire(Int16, since=3)


@message(versions=_VERSIONS, flexible=3)
class ApiVersionsResponse(Message):
    """The ranges, one row per API.

    1 throttle_time_ms; 2 the client waits it out itself (KIP-219); 3 flexible, features as tagged
    fields (KIP-584), zk_migration_ready (KIP-866); 4 features may begin at version 0.
    finalized_features_epoch is -1 when unknown.
    """

    error_code: int = wire(Int16, default=0)
    api_keys: tuple[ApiVersion, ...] = wire(rows(ApiVersion))
    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    supported_features: tuple[SupportedFeatureKey, ...] = wire(
        rows(SupportedFeatureKey), since=3, default=(), ignorable=True, tag=0
    )
    finalized_features_epoch: int = wire(Int64, since=3, default=-1, ignorable=True, tag=1)
    finalized_features: tuple[FinalizedFeatureKey, ...] = wire(
        rows(FinalizedFeatureKey), since=3, default=(), ignorable=True, tag=2
    )
    zk_migration_ready: bool = wire(Boolean, since=3, default=False, ignorable=True, tag=3)


@message(versions=_VERSIONS, flexible=3, api=ApiKey.API_VERSIONS)
class ApiVersionsRequest(Request[ApiVersionsResponse]):
    r"""Ask for the broker's version ranges; the first request on a connection.

    client_software_name and client_software_version (3+, KIP-511) must match
    `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?`, or the broker answers INVALID_REQUEST. 1 and 2
    change nothing; 3 is flexible; 4 lets supported features begin at version 0.
    """

    client_software_name: str = wire(String, since=3, default="", ignorable=True)
    client_software_version: str = wire(String, since=3, default="", ignorable=True)


_METADATA_VERSIONS: Final = range(14)


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


@message(versions=_METADATA_VERSIONS, flexible=9)
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


@message(versions=_METADATA_VERSIONS, flexible=9, api=ApiKey.METADATA)
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


_FIND_COORDINATOR_VERSIONS: Final = range(7)


@message()
class Coordinator(Message):
    """The coordinator of one key (4+); node_id is -1 and host empty when there is an error."""

    key: str = wire(String, since=4)
    node_id: int = wire(Int32, since=4)
    host: str = wire(String, since=4)
    port: int = wire(Int32, since=4)
    error_code: int = wire(Int16, since=4, default=0)
    error_message: str | None = wire(nullable(Text), since=4, default=None, ignorable=True)


@message(versions=_FIND_COORDINATOR_VERSIONS, flexible=3)
class FindCoordinatorResponse(Message):
    """Where the coordinator is: one answer up to version 3, a row per key from 4 on (KIP-699).

    1 throttle_time_ms, error_message; 2 the client waits it out itself; 3 flexible.
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    error_code: int = wire(Int16, until=3, default=0)
    error_message: str | None = wire(nullable(Text), since=1, until=3, default=None, ignorable=True)
    node_id: int = wire(Int32, until=3, default=0)
    host: str = wire(String, until=3, default="")
    port: int = wire(Int32, until=3, default=0)
    coordinators: tuple[Coordinator, ...] = wire(rows(Coordinator), since=4, default=())


@message(versions=_FIND_COORDINATOR_VERSIONS, flexible=3, api=ApiKey.FIND_COORDINATOR)
class FindCoordinatorRequest(Request[FindCoordinatorResponse]):
    """Ask for coordinators: key up to version 3, coordinator_keys from 4 on (KIP-699).

    key_type (1+) is 0 for groups, 1 for transactional ids, 2 for share groups (6, KIP-932). 3 is
    flexible; 5 lets the answer carry TRANSACTION_ABORTABLE (KIP-890).
    """

    key: str = wire(String, until=3, default="")
    key_type: int = wire(Int8, since=1, default=0)
    coordinator_keys: tuple[str, ...] = wire(array(String), since=4, default=())


_DESCRIBE_CLUSTER_VERSIONS: Final = range(3)


@message()
class DescribeClusterBroker(Message):
    """One broker; is_fenced 2+ (KIP-1073)."""

    broker_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    rack: str | None = wire(nullable(String), default=None)
    is_fenced: bool = wire(Boolean, since=2, default=False)


@message(versions=_DESCRIBE_CLUSTER_VERSIONS, flexible=0)
class DescribeClusterResponse(Message):
    """The cluster.

    controller_id is -1 when unknown; authorized operations are -2147483648 unless asked for.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    endpoint_type: int = wire(Int8, since=1, default=1)
    cluster_id: str = wire(String)
    controller_id: int = wire(Int32, default=-1)
    brokers: tuple[DescribeClusterBroker, ...] = wire(rows(DescribeClusterBroker))
    cluster_authorized_operations: int = wire(Int32, default=-2147483648)


@message(versions=_DESCRIBE_CLUSTER_VERSIONS, flexible=0, api=ApiKey.DESCRIBE_CLUSTER)
class DescribeClusterRequest(Request[DescribeClusterResponse]):
    """Ask about the cluster.

    1 endpoint_type: 1 = brokers, 2 = controllers (KIP-919); 2 include_fenced_brokers (KIP-1073).
    """

    include_cluster_authorized_operations: bool = wire(Boolean)
    endpoint_type: int = wire(Int8, since=1, default=1)
    include_fenced_brokers: bool = wire(Boolean, since=2, default=False)

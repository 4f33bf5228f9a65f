"""DescribeCluster: brokers and controller without any topic (KIP-700, 919, 1073)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int8, Int16, Int32, String, Text, nullable, rows

__all__ = ["DescribeClusterBroker", "DescribeClusterRequest", "DescribeClusterResponse"]

_VERSIONS: Final = range(3)


@message()
class DescribeClusterBroker(Message):
    """One broker; is_fenced 2+ (KIP-1073)."""

    broker_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    rack: str | None = wire(nullable(String), default=None)
    is_fenced: bool = wire(Boolean, since=2, default=False)


@message(versions=_VERSIONS, flexible=0)
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


@message(versions=_VERSIONS, flexible=0, api=ApiKey.DESCRIBE_CLUSTER)
class DescribeClusterRequest(Request[DescribeClusterResponse]):
    """Ask about the cluster.

    1 endpoint_type: 1 = brokers, 2 = controllers (KIP-919); 2 include_fenced_brokers (KIP-1073).
    """

    include_cluster_authorized_operations: bool = wire(Boolean)
    endpoint_type: int = wire(Int8, since=1, default=1)
    include_fenced_brokers: bool = wire(Boolean, since=2, default=False)

"""Metadata and DescribeCluster: the cluster as brokers tell it.

Decides: which brokers, topics and partitions are named and with which errors (3, 17, 42, 100 per
topic; 5 per partition without a leader), and when asking for a topic makes it. A broker that died
is named until the controller notices.
Never: differs between the brokers asked: all of them learn everything at once.
KIPs: 4, 78 (cluster id), 320 (epochs), 430 (authorized operations), 516 (topic ids), 700, 1073.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.cluster import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Cluster,
    Partition,
    Topic,
)
from kgroup.testing.broker.cluster.topics import fault_of_name
from kgroup.wire.messages import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kgroup.wire.schema import Request

_NO_ID: Final = bytes(16)
_BY_ID_SINCE: Final = 12
_NOT_ASKED: Final = -2147483648
_MAY_ALL_OF_TOPIC: Final = 0b1101_1111_1000
_MAY_ALL_OF_CLUSTER: Final = 0b1_1111_1010_0000
_BROKERS: Final = 1
_CONTROLLERS: Final = 2


class Describing:
    """Answers Metadata and DescribeCluster.

    Args:
        cluster: what is described.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {MetadataRequest: self.metadata, DescribeClusterRequest: self.describe_cluster}

    @property
    def cluster_id(self) -> str:
        """The cluster's id as text: 22 characters."""
        return urlsafe_b64encode(self._cluster.cluster_id).decode().rstrip("=")

    # -- Metadata --------------------------------------------------------------------------------

    def metadata(self, asked: Asked, request: MetadataRequest) -> MetadataResponse:
        """Answer Metadata."""
        operations = _NOT_ASKED
        if request.include_cluster_authorized_operations:
            operations = _MAY_ALL_OF_CLUSTER
        brokers = (
            MetadataResponseBroker(
                node_id=node.node_id, host=node.host, port=node.port, rack=node.rack
            )
            for node in self._cluster.nodes.values()
            if not node.fenced
        )
        controller = self._cluster.controller
        return MetadataResponse(
            brokers=tuple(brokers),
            cluster_id=self.cluster_id,
            controller_id=-1 if controller is None else controller,
            topics=tuple(self._rows(asked.version, request)),
            cluster_authorized_operations=operations,
        )

    def _rows(self, version: int, request: MetadataRequest) -> list[MetadataResponseTopic]:
        wanted = request.topics
        if wanted is None or (version == 0 and not wanted):
            known = self._cluster.topics.values()
            return [self._row(version, request, each) for each in known]
        with_ids = any(each.topic_id != _NO_ID for each in wanted)
        if version < _BY_ID_SINCE and (with_ids or any(each.name is None for each in wanted)):
            code = ErrorCode.INVALID_REQUEST
            return [_refused(code, each.name or "", each.topic_id) for each in wanted]
        if with_ids:
            ids = dict.fromkeys(each.topic_id for each in wanted if each.topic_id != _NO_ID)
            return [self._row_by_id(version, request, each) for each in ids]
        names = dict.fromkeys(each.name or "" for each in wanted)
        return [self._row_by_name(version, request, each) for each in names]

    def _row_by_id(
        self, version: int, request: MetadataRequest, topic_id: bytes
    ) -> MetadataResponseTopic:
        topic = self._cluster.topic_by_id(topic_id)
        if topic is None:
            return _refused(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
        return self._row(version, request, topic)

    def _row_by_name(
        self, version: int, request: MetadataRequest, name: str
    ) -> MetadataResponseTopic:
        topic = self._cluster.topic(name)
        if topic is not None:
            return self._row(version, request, topic)
        operations = _topic_operations(request)
        if fault_of_name(name) is not None:
            return _refused(ErrorCode.INVALID_TOPIC_EXCEPTION, name, _NO_ID, operations)
        if request.allow_auto_topic_creation and self._cluster.context.settings.auto_create_topics:
            self._make(name)
        return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name, _NO_ID, operations)

    def _make(self, name: str) -> None:
        """Begin to make a topic; the client learns of it when it asks again."""
        if name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
            self._cluster.internal_topic(name)
        elif self._cluster.usable:
            self._cluster.create_topic(name)

    def _row(self, version: int, request: MetadataRequest, topic: Topic) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.internal,
            partitions=tuple(self._partition(version, each) for each in topic.partitions),
            topic_authorized_operations=_topic_operations(request),
        )

    def _partition(self, version: int, partition: Partition) -> MetadataResponsePartition:
        code = ErrorCode.NONE
        replicas, isr = partition.replicas, partition.isr
        if version == 0:  # its answer has no place for replicas that are down
            replicas, isr = self._up(replicas), self._up(isr)
            if replicas != partition.replicas or isr != partition.isr:
                code = ErrorCode.REPLICA_NOT_AVAILABLE
        if partition.leader is None:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        return MetadataResponsePartition(
            error_code=code,
            partition_index=partition.tp.partition,
            leader_id=-1 if partition.leader is None else partition.leader,
            leader_epoch=partition.epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=tuple(each for each in replicas if each not in self._up(replicas)),
        )

    def _up(self, node_ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(each for each in node_ids if not self._cluster.nodes[each].fenced)

    # -- DescribeCluster -------------------------------------------------------------------------

    def describe_cluster(
        self, asked: Asked, request: DescribeClusterRequest
    ) -> DescribeClusterResponse:
        """Answer DescribeCluster; brokers are asked here, never controllers."""
        del asked  # all brokers say the same
        if request.endpoint_type == _CONTROLLERS:
            text = (
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of"
            )
            code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
            return _cluster_refused(code, f"{text} type CONTROLLER")
        if request.endpoint_type != _BROKERS:
            text = f"Unsupported endpoint type {request.endpoint_type}"
            return _cluster_refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, text)
        operations = _NOT_ASKED
        if request.include_cluster_authorized_operations:
            operations = _MAY_ALL_OF_CLUSTER
        brokers = (
            DescribeClusterBroker(
                broker_id=node.node_id,
                host=node.host,
                port=node.port,
                rack=node.rack,
                is_fenced=node.fenced,
            )
            for node in self._cluster.nodes.values()
            if request.include_fenced_brokers or not node.fenced
        )
        controller = self._cluster.controller
        return DescribeClusterResponse(
            cluster_id=self.cluster_id,
            controller_id=-1 if controller is None else controller,
            brokers=tuple(brokers),
            cluster_authorized_operations=operations,
        )


def _topic_operations(request: MetadataRequest) -> int:
    return _MAY_ALL_OF_TOPIC if request.include_topic_authorized_operations else _NOT_ASKED


def _refused(
    code: ErrorCode, name: str | None, topic_id: bytes, operations: int = _NOT_ASKED
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=code,
        name=name,
        topic_id=topic_id,
        is_internal=name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC),
        partitions=(),
        topic_authorized_operations=operations,
    )


def _cluster_refused(code: ErrorCode, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error_code=code, error_message=message, cluster_id="", brokers=()
    )

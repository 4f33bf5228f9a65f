"""Requests of transactional and idempotent producers to the coordinators of transactions.

Decides: which code a request of an old version gets, which of its partitions do not exist.
Never: decides about transactions; `coordinator` does.
"""

from collections.abc import Iterable
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.transactions.coordinator import TransactionCoordinators
from kgroup.testing.broker.transactions.transaction import Identity
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kgroup.wire.schema import Request

_BATCHED_SINCE: Final = 4
_RAISING_SINCE: Final = 5
_FENCED_SINCE: Final = 2
_FENCED_SINCE_OF_INIT: Final = 4
_ABSENT: Final = -1


class TransactionRequests:
    """Answers what producers ask about transactions.

    Args:
        cluster: says which partitions exist.
        coordinators: decide.
    """

    def __init__(self, cluster: Cluster, coordinators: TransactionCoordinators) -> None:
        self._cluster = cluster
        self._coordinators = coordinators

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {
            InitProducerIdRequest: self.init_producer_id,
            AddPartitionsToTxnRequest: self.add_partitions,
            AddOffsetsToTxnRequest: self.add_offsets,
            EndTxnRequest: self.end,
        }

    def init_producer_id(
        self, asked: Asked, request: InitProducerIdRequest
    ) -> InitProducerIdResponse:
        """Answer InitProducerId."""
        given = self._initialise(asked, request)
        if isinstance(given, Identity):
            return InitProducerIdResponse(producer_id=given.producer_id, producer_epoch=given.epoch)
        code = _understood(given, asked.version, _FENCED_SINCE_OF_INIT)
        return InitProducerIdResponse(error_code=code, producer_epoch=_ABSENT)

    def _initialise(self, asked: Asked, request: InitProducerIdRequest) -> ErrorCode | Identity:
        if (request.producer_id == _ABSENT) is not (request.producer_epoch == _ABSENT):
            return ErrorCode.INVALID_REQUEST
        if request.transactional_id is None:
            return self._coordinators.new_identity()
        if not request.transactional_id:
            return ErrorCode.INVALID_REQUEST
        code = self._coordinators.refusal(asked.node_id, request.transactional_id)
        if code:
            return code
        had = Identity(request.producer_id, request.producer_epoch)
        expected = None if request.producer_id == _ABSENT else had
        timeout = request.transaction_timeout_ms / 1000
        return self._coordinators.initialise(request.transactional_id, timeout, expected)

    def add_partitions(
        self, asked: Asked, request: AddPartitionsToTxnRequest
    ) -> AddPartitionsToTxnResponse:
        """Answer AddPartitionsToTxn: one transaction of a client, or several of a broker."""
        if asked.version < _BATCHED_SINCE:
            identity = Identity(
                request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
            )
            name, topics = request.v3_and_below_transactional_id, request.v3_and_below_topics
            code = self._add(asked, name, identity, topics)
            rows = self._added(topics, code)
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows)
        results = []
        for each in request.transactions:
            identity = Identity(each.producer_id, each.producer_epoch)
            if each.verify_only:
                rows = self._verified(asked, each.transactional_id, identity, each.topics)
            else:
                code = self._add(asked, each.transactional_id, identity, each.topics)
                rows = self._added(each.topics, code)
            results.append(
                AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=rows)
            )
        return AddPartitionsToTxnResponse(results_by_transaction=tuple(results))

    def _add(
        self,
        asked: Asked,
        transactional_id: str,
        identity: Identity,
        topics: Iterable[AddPartitionsToTxnTopic],
    ) -> ErrorCode:
        partitions = {
            TopicPartition(each.name, number) for each in topics for number in each.partitions
        }
        if any(self._cluster.partition(tp) is None for tp in partitions):
            return ErrorCode.OPERATION_NOT_ATTEMPTED
        code = self._refusal(asked, transactional_id)
        if not code:
            code = self._coordinators.add(transactional_id, identity, partitions)
        return _understood(code, asked.version, _FENCED_SINCE)

    def _added(
        self, topics: Iterable[AddPartitionsToTxnTopic], code: ErrorCode
    ) -> tuple[AddPartitionsToTxnTopicResult, ...]:
        """Write the code of all partitions; those that do not exist say so."""
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return tuple(
            _row(
                each.name,
                {
                    number: code if self._exists(each.name, number) else unknown
                    for number in each.partitions
                },
            )
            for each in topics
        )

    def _verified(
        self,
        asked: Asked,
        transactional_id: str,
        identity: Identity,
        topics: Iterable[AddPartitionsToTxnTopic],
    ) -> tuple[AddPartitionsToTxnTopicResult, ...]:
        code = self._refusal(asked, transactional_id)
        return tuple(
            _row(
                each.name,
                {
                    number: code
                    or self._coordinators.verify(
                        transactional_id, identity, TopicPartition(each.name, number)
                    )
                    for number in each.partitions
                },
            )
            for each in topics
        )

    def add_offsets(self, asked: Asked, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
        """Answer AddOffsetsToTxn."""
        code = self._refusal(asked, request.transactional_id)
        if not code:
            identity = Identity(request.producer_id, request.producer_epoch)
            joining = {self._coordinators.offsets_partition(request.group_id)}
            code = self._coordinators.add(request.transactional_id, identity, joining)
        return AddOffsetsToTxnResponse(error_code=_understood(code, asked.version, _FENCED_SINCE))

    def end(self, asked: Asked, request: EndTxnRequest) -> EndTxnResponse:
        """Answer EndTxn."""
        code = self._refusal(asked, request.transactional_id)
        if code:
            return EndTxnResponse(error_code=code)
        raises = asked.version >= _RAISING_SINCE
        ended = self._coordinators.end(
            request.transactional_id,
            Identity(request.producer_id, request.producer_epoch),
            committed=request.committed,
            raises_epochs=raises,
        )
        if isinstance(ended, ErrorCode):
            return EndTxnResponse(error_code=_understood(ended, asked.version, _FENCED_SINCE))
        if not raises:
            return EndTxnResponse()
        return EndTxnResponse(producer_id=ended.producer_id, producer_epoch=ended.epoch)

    def _refusal(self, asked: Asked, transactional_id: str) -> ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        return self._coordinators.refusal(asked.node_id, transactional_id)

    def _exists(self, topic: str, number: int) -> bool:
        return self._cluster.partition(TopicPartition(topic, number)) is not None


def _row(name: str, codes: dict[int, ErrorCode]) -> AddPartitionsToTxnTopicResult:
    return AddPartitionsToTxnTopicResult(
        name=name,
        results_by_partition=tuple(
            AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
            for number, code in codes.items()
        ),
    )


def _understood(code: ErrorCode, version: int, since: int) -> ErrorCode:
    """Say `fenced` in the words of older versions: 47 before there was 90."""
    if code is ErrorCode.PRODUCER_FENCED and version < since:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code

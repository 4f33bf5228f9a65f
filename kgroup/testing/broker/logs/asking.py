"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords: where logs begin and end.

Decides: which offset answers which question, and which asker gets none.
Never: appends or reads records for anybody; of a search by time, the log does.

KIP-79 (by time), 98 (read_committed), 101 and 320 (epochs), 107 (DeleteRecords), 405 and 1005
(tiered logs, of which there are none here), 734 (latest timestamp).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.cluster.topics import Partition
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.logs.leading import led
from kgroup.testing.broker.logs.log import Found
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from kgroup.wire.schema import Request

_CONSUMER: Final = -1
_DEBUGGER: Final = -2

_END: Final = -1
_START: Final = -2
_LATEST_TIMESTAMP: Final = -3
_LOCAL_START: Final = -4
_SINCE: Final = {_LATEST_TIMESTAMP: 7, _LOCAL_START: 8, -5: 9, -6: 11}
_NOT_AVAILABLE_SINCE: Final = 5
_EPOCHS_SINCE: Final = 4
_TELLS_ONCE_SINCE: Final = 10


class LogRequests:
    """Answers where the logs of one cluster begin and end.

    Args:
        context: says which release is meant.
        cluster: partitions and their leaders.
    """

    def __init__(self, context: Context, cluster: Cluster) -> None:
        self._cluster = cluster
        self._answers_once = context.release.speaks(ApiKey.LIST_OFFSETS, _TELLS_ONCE_SINCE)

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {
            ListOffsetsRequest: self.list_offsets,
            OffsetForLeaderEpochRequest: self.ends_of_epochs,
            DeleteRecordsRequest: self.delete_records,
        }

    # -- ListOffsets -----------------------------------------------------------------------------

    def list_offsets(self, asked: Asked, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Answer ListOffsets; what is asked for twice is refused, by 4.x with one row for both."""
        return ListOffsetsResponse(
            topics=tuple(
                ListOffsetsTopicResponse(
                    name=topic.name, partitions=tuple(self._rows(asked, request, topic))
                )
                for topic in request.topics
            )
        )

    def _rows(
        self, asked: Asked, request: ListOffsetsRequest, topic: ListOffsetsTopic
    ) -> Iterator[ListOffsetsPartitionResponse]:
        counts = Counter(row.partition_index for row in topic.partitions)
        answered: set[int] = set()
        for row in topic.partitions:
            number = row.partition_index
            if counts[number] == 1:
                yield self._listed(asked, request, topic.name, row)
            elif number not in answered or not self._answers_once:
                answered.add(number)
                yield _not_listed(row, ErrorCode.INVALID_REQUEST)

    def _listed(
        self, asked: Asked, request: ListOffsetsRequest, topic: str, row: ListOffsetsPartition
    ) -> ListOffsetsPartitionResponse:
        if row.timestamp < _START and asked.version < _SINCE.get(row.timestamp, 1 << 15):
            return _not_listed(row, ErrorCode.UNSUPPORTED_VERSION)
        partition = led(
            self._cluster,
            asked.node_id,
            TopicPartition(topic, row.partition_index),
            epoch=row.current_leader_epoch,
            by_leader=request.replica_id != _DEBUGGER,
        )
        if isinstance(partition, ErrorCode):
            return _not_listed(row, partition)
        limit = _limit(partition, request)
        behind = _is_behind(partition) and request.replica_id == _CONSUMER
        found = _sought(partition, row.timestamp, limit)
        if behind and (row.timestamp == _END or (row.timestamp not in _SPECIAL and found is None)):
            new = asked.version >= _NOT_AVAILABLE_SINCE
            code = ErrorCode.OFFSET_NOT_AVAILABLE if new else ErrorCode.LEADER_NOT_AVAILABLE
            return _not_listed(row, code)
        if found is None:
            return _not_listed(row, ErrorCode.NONE)
        return ListOffsetsPartitionResponse(
            partition_index=row.partition_index,
            timestamp=found.timestamp,
            offset=found.offset,
            leader_epoch=found.epoch if asked.version >= _EPOCHS_SINCE else -1,
        )

    # -- OffsetForLeaderEpoch --------------------------------------------------------------------

    def ends_of_epochs(
        self, asked: Asked, request: OffsetForLeaderEpochRequest
    ) -> OffsetForLeaderEpochResponse:
        """Answer OffsetForLeaderEpoch."""
        return OffsetForLeaderEpochResponse(
            topics=tuple(
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=tuple(
                        self._end_of_epoch(asked, topic.topic, row) for row in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _end_of_epoch(
        self, asked: Asked, topic: str, row: OffsetForLeaderPartition
    ) -> OffsetForLeaderEpochEndOffset:
        tp = TopicPartition(topic, row.partition)
        epoch = row.current_leader_epoch
        partition = led(self._cluster, asked.node_id, tp, epoch=epoch)
        if isinstance(partition, ErrorCode):
            return OffsetForLeaderEpochEndOffset(partition=row.partition, error_code=partition)
        known = None if row.leader_epoch < 0 else partition.log.end_of_epoch(row.leader_epoch)
        if known is None:
            return OffsetForLeaderEpochEndOffset(partition=row.partition)
        return OffsetForLeaderEpochEndOffset(
            partition=row.partition, leader_epoch=known.epoch, end_offset=known.start
        )

    # -- DeleteRecords ---------------------------------------------------------------------------

    def delete_records(self, asked: Asked, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
        """Answer DeleteRecords."""
        return DeleteRecordsResponse(
            topics=tuple(
                DeleteRecordsTopicResult(
                    name=topic.name,
                    partitions=tuple(
                        self._deleted(asked, topic.name, row) for row in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _deleted(
        self, asked: Asked, topic: str, row: DeleteRecordsPartition
    ) -> DeleteRecordsPartitionResult:
        number = row.partition_index
        partition = led(self._cluster, asked.node_id, TopicPartition(topic, number))
        code = partition if isinstance(partition, ErrorCode) else self._undeletable(partition, row)
        if code or isinstance(partition, ErrorCode):
            return DeleteRecordsPartitionResult(
                partition_index=number, low_watermark=-1, error_code=code
            )
        log = partition.log
        log.delete_before(log.high_watermark if row.offset == _END else row.offset)
        return DeleteRecordsPartitionResult(partition_index=number, low_watermark=log.start)

    def _undeletable(self, partition: Partition, row: DeleteRecordsPartition) -> ErrorCode:
        topic = self._cluster.topics[partition.tp.topic]
        if topic.internal:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if "delete" not in topic.configs.get("cleanup.policy", "delete"):
            return ErrorCode.POLICY_VIOLATION
        if not _END <= row.offset <= partition.log.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return ErrorCode.NONE


_SPECIAL: Final = frozenset({_END, _START, _LOCAL_START, -5, -6})


def _limit(partition: Partition, request: ListOffsetsRequest) -> int:
    """Return the offset before which a record may be named."""
    log = partition.log
    if request.replica_id != _CONSUMER:
        return log.end
    return log.last_stable_offset if request.isolation_level else log.high_watermark


def _is_behind(partition: Partition) -> bool:
    """Whether the high watermark has not reached the present leader's first offset yet."""
    entries = partition.log.epochs.entries
    is_present = bool(entries) and entries[-1].epoch == partition.epoch
    return is_present and entries[-1].start > partition.log.high_watermark


def _sought(partition: Partition, timestamp: int, limit: int) -> Found | None:
    log = partition.log
    match timestamp:
        case -1:
            return Found(-1, limit, partition.epoch)
        case -2 | -4:
            epoch = log.epochs.at(log.start)
            return Found(-1, log.start, -1 if epoch is None else epoch)
        case -5 | -6:
            return Found(-1, -1, -1)  # nothing is tiered, nor will be
        case -3:
            found = log.offset_of_max_timestamp()
        case _:
            found = log.offset_for_time(timestamp)
    return found if found is not None and found.offset < limit else None


def _not_listed(row: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=row.partition_index, error_code=code)

"""Brokers with logs: a scripted cluster whose brokers answer for records, offsets and commits.

There is no group coordinator: every broker answers for committed offsets and takes every commit.
"""

import struct
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from kgroup.codes import ErrorCode
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    FetchableTopicResponse,
    FetchEpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
    OffsetForLeaderEpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
    PartitionData,
)
from kgroup.wire.records import NewRecord, encode_batch
from tests.search.scripted.broker import Answer, Delayed
from tests.search.scripted.cluster import ScriptedCluster

_BASE_OFFSET = struct.Struct(">q")


@dataclass
class Log:
    """One partition: its batches in order, its start and end, and the times of its records.

    `times` are (milliseconds, offset) in order; with `forgets_epochs` it knows no leader epoch.
    """

    batches: list[tuple[int, int, bytes]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    error: int = 0
    times: list[tuple[int, int]] = field(default_factory=list)
    forgets_epochs: bool = False

    def append(self, *values: bytes, epoch: int = 0) -> None:
        """Write one batch; keys say the offset."""
        records = [NewRecord(b"%d" % (self.end + i), value) for i, value in enumerate(values)]
        self.put(encode_batch(records), len(values), epoch=epoch)

    def put(self, data: bytes, count: int, *, epoch: int = 0) -> None:
        """Write a batch of some bytes that takes `count` offsets."""
        stamped = bytearray(data)
        _BASE_OFFSET.pack_into(stamped, 0, self.end)
        struct.pack_into(">i", stamped, 12, epoch)
        self.batches.append((self.end, self.end + count, bytes(stamped)))
        self.end += count

    def truncate(self, offset: int) -> None:
        """Lose everything from a batch's first offset on, as after an unclean election."""
        self.batches = [batch for batch in self.batches if batch[0] < offset]
        self.end = offset

    def epoch_end(self, epoch: int, leader_epoch: int) -> tuple[int, int]:
        """Return the largest epoch not above one, and where it ends; -1, -1 when it is unknown."""
        epochs = [int.from_bytes(data[12:16], "big") for _, _, data in self.batches]
        if self.forgets_epochs or epoch > leader_epoch:
            return -1, -1
        above = [
            batch[0] for batch, known in zip(self.batches, epochs, strict=True) if known > epoch
        ]
        known = max((each for each in epochs if each <= epoch), default=epoch)
        return known, min(above, default=self.end)

    def at_time(self, timestamp: int) -> int:
        """Return the first offset at or after a time, -1 when there is none."""
        return next((offset for at, offset in self.times if at >= timestamp), -1)

    def read(self, offset: int, limit: int) -> bytes:
        """Return whole batches from the one that holds `offset`; the first even if too large."""
        found = b""
        for _, end, data in self.batches:
            if end > offset and (not found or len(found) + len(data) <= limit):
                found += data
        return found


class Shelf(ScriptedCluster):
    """A cluster with logs."""

    def __init__(self, brokers: int = 1, **topics: int) -> None:
        super().__init__(brokers, topics=topics)
        self.logs: dict[TopicPartition, Log] = defaultdict(Log)
        self.committed: dict[TopicPartition, int] = {}
        self.committed_epochs: dict[TopicPartition, int] = {}
        self.commit_error = 0
        for broker in self.brokers:
            broker.on(FetchRequest, self.fetch)
            broker.on(ListOffsetsRequest, self.list_offsets)
            broker.on(OffsetFetchRequest, self.offset_fetch)
            broker.on(OffsetCommitRequest, self.offset_commit)
            broker.on(OffsetForLeaderEpochRequest, self.epoch_ends)

    def fill(self, tp: TopicPartition, count: int, *, per_batch: int = 10) -> None:
        """Write records whose values are their offsets."""
        log = self.logs[tp]
        for first in range(log.end, log.end + count, per_batch):
            last = min(first + per_batch, log.end + count)
            log.append(*(b"%d" % offset for offset in range(first, last)))
            count -= last - first

    def recreate(self, topic: str, partitions: int) -> None:
        """Delete a topic and make it anew, empty, under another id."""
        self.add_topic(topic, partitions)
        for tp in [each for each in self.logs if each.topic == topic]:
            del self.logs[tp]

    def epoch(self, tp: TopicPartition) -> int:
        """Return the present leader's epoch."""
        return self.topics[tp.topic].partitions[tp.partition].epoch

    @property
    def fetches(self) -> list[FetchRequest]:
        """Every Fetch of all brokers."""
        return [each for broker in self.brokers for each in broker.requests(FetchRequest)]

    def topic_name(self, topic: FetchTopic) -> str:
        ids = {known.topic_id: name for name, known in self.topics.items()}
        return topic.topic or ids.get(topic.topic_id, "")

    # -- the rules -------------------------------------------------------------------------

    def fetch(self, request: FetchRequest) -> Answer:
        left = request.max_bytes
        answers = []
        useful = False
        for topic in request.topics:
            parts = []
            for asked in topic.partitions:
                tp = TopicPartition(self.topic_name(topic), asked.partition)
                part = self._read(tp, asked, left)
                size = len(part.records or b"")
                left -= size
                useful = useful or bool(size) or bool(part.error_code)
                parts.append(part)
            answers.append(
                FetchableTopicResponse(
                    topic=topic.topic, topic_id=topic.topic_id, partitions=tuple(parts)
                )
            )
        answer = FetchResponse(responses=tuple(answers))
        return answer if useful else Delayed(answer, request.max_wait_ms / 1000)

    def _read(self, tp: TopicPartition, asked: FetchPartition, left: int) -> PartitionData:
        if tp.topic not in self.topics:
            return _failed(tp, ErrorCode.UNKNOWN_TOPIC_ID)
        log = self.logs[tp]
        code, records = log.error or self._fenced(tp, asked.current_leader_epoch), b""
        parted = None if code else self._parted(tp, asked)
        if parted is not None:
            return parted
        if not code and not log.start <= asked.fetch_offset <= log.end:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        if not code and left > 0:
            records = log.read(asked.fetch_offset, min(left, asked.partition_max_bytes))
        return PartitionData(
            partition_index=tp.partition,
            error_code=code,
            high_watermark=log.end,
            aborted_transactions=None,
            records=records,
        )

    def _fenced(self, tp: TopicPartition, epoch: int) -> int:
        if epoch < 0 or epoch == self.epoch(tp):
            return 0
        older = epoch < self.epoch(tp)
        return ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH

    def _parted(self, tp: TopicPartition, asked: FetchPartition) -> PartitionData | None:
        """Compare what was fetched last with the log, as brokers do from Fetch 12 on (KIP-320)."""
        if asked.last_fetched_epoch < 0:
            return None
        log = self.logs[tp]
        epoch, end = log.epoch_end(asked.last_fetched_epoch, self.epoch(tp))
        agrees = epoch == asked.last_fetched_epoch and end >= asked.fetch_offset
        if agrees or not log.start <= asked.fetch_offset:
            return None
        code = 0 if end >= 0 else ErrorCode.OFFSET_OUT_OF_RANGE
        return _failed(tp, code, FetchEpochEndOffset(epoch=epoch, end_offset=end))

    def epoch_ends(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        topics = []
        for topic in request.topics:
            rows = []
            for asked in topic.partitions:
                tp = TopicPartition(topic.topic, asked.partition)
                log = self.logs[tp]
                code = log.error or self._fenced(tp, asked.current_leader_epoch)
                epoch, end = log.epoch_end(asked.leader_epoch, self.epoch(tp))
                rows.append(
                    OffsetForLeaderEpochEndOffset(
                        error_code=code,
                        partition=asked.partition,
                        leader_epoch=-1 if code else epoch,
                        end_offset=-1 if code else end,
                    )
                )
            topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=tuple(rows)))
        return OffsetForLeaderEpochResponse(topics=tuple(topics))

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        topics = []
        for topic in request.topics:
            rows = []
            for asked in topic.partitions:
                log = self.logs[TopicPartition(topic.name, asked.partition_index)]
                ends = {-1: log.end, -2: log.start}
                offset = ends.get(asked.timestamp, log.at_time(asked.timestamp))
                rows.append(
                    ListOffsetsPartitionResponse(
                        partition_index=asked.partition_index,
                        error_code=log.error,
                        offset=-1 if log.error else offset,
                    )
                )
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=tuple(rows)))
        return ListOffsetsResponse(topics=tuple(topics))

    def offset_fetch(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        (group,) = request.groups
        topics = []
        for topic in group.topics or ():
            rows = tuple(
                OffsetFetchResponsePartitions(
                    partition_index=number,
                    committed_offset=self.committed.get(TopicPartition(topic.name, number), -1),
                    committed_leader_epoch=self.committed_epochs.get(
                        TopicPartition(topic.name, number), -1
                    ),
                    metadata="",
                )
                for number in topic.partition_indexes
            )
            topics.append(OffsetFetchResponseTopics(name=topic.name, partitions=rows))
        found = OffsetFetchResponseGroup(group_id=group.group_id, topics=tuple(topics))
        return OffsetFetchResponse(groups=(found,))

    def offset_commit(self, request: OffsetCommitRequest) -> OffsetCommitResponse:
        topics = []
        for topic in request.topics:
            rows = []
            for each in topic.partitions:
                tp = TopicPartition(topic.name, each.partition_index)
                if not self.commit_error:
                    self.committed[tp] = each.committed_offset
                rows.append(
                    OffsetCommitResponsePartition(
                        partition_index=tp.partition, error_code=self.commit_error
                    )
                )
            topics.append(OffsetCommitResponseTopic(name=topic.name, partitions=tuple(rows)))
        return OffsetCommitResponse(topics=tuple(topics))


def _failed(
    tp: TopicPartition, code: int, diverging: FetchEpochEndOffset | None = None
) -> PartitionData:
    return PartitionData(
        partition_index=tp.partition,
        error_code=code,
        high_watermark=-1,
        diverging_epoch=diverging or FetchEpochEndOffset(),
        aborted_transactions=None,
        records=b"",
    )


def full(partitions: int = 2, count: int = 50) -> Shelf:
    """Return brokers with records in every partition of topic `t`."""
    shelf = Shelf(t=partitions)
    for number in range(partitions):
        shelf.fill(TopicPartition("t", number), count)
    return shelf


def offsets_of(batches: Mapping[TopicPartition, object]) -> dict[TopicPartition, list[int]]:
    """Return the offsets in what `getmany` returned."""
    return {tp: [record.offset for record in batch] for tp, batch in batches.items()}  # type: ignore[attr-defined]

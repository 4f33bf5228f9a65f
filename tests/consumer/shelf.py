"""Brokers with logs: a scripted cluster whose brokers answer for records, offsets and commits.

Nothing here is a coordinator: whoever asks for committed offsets gets them, whoever commits may.
"""

import struct
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from kgroup.codes import ErrorCode
from kgroup.testing.scripted import Answer, Delayed
from kgroup.testing.scripted_cluster import ScriptedCluster
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    FetchableTopicResponse,
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
    PartitionData,
)
from kgroup.wire.records import NewRecord, encode_batch

_BASE_OFFSET = struct.Struct(">q")


@dataclass
class Log:
    """One partition: batches in order, and where it starts and ends."""

    batches: list[tuple[int, int, bytes]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    error: int = 0

    def append(self, *values: bytes, epoch: int = 0) -> None:
        """Write one batch; keys say the offset."""
        records = [NewRecord(b"%d" % (self.end + i), value) for i, value in enumerate(values)]
        self.put(encode_batch(records), len(values), epoch=epoch)

    def put(self, data: bytes, count: int, *, epoch: int = 0) -> None:
        """Write a batch of some bytes, standing for some offsets."""
        stamped = bytearray(data)
        _BASE_OFFSET.pack_into(stamped, 0, self.end)
        struct.pack_into(">i", stamped, 12, epoch)
        self.batches.append((self.end, self.end + count, bytes(stamped)))
        self.end += count

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
        self.commit_error = 0
        for broker in self.brokers:
            broker.on(FetchRequest, self.fetch)
            broker.on(ListOffsetsRequest, self.list_offsets)
            broker.on(OffsetFetchRequest, self.offset_fetch)
            broker.on(OffsetCommitRequest, self.offset_commit)

    def fill(self, tp: TopicPartition, count: int, *, per_batch: int = 10) -> None:
        """Write records whose values are their offsets."""
        log = self.logs[tp]
        for first in range(log.end, log.end + count, per_batch):
            last = min(first + per_batch, log.end + count)
            log.append(*(b"%d" % offset for offset in range(first, last)))
            count -= last - first

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
        log = self.logs[tp]
        code, records = log.error, b""
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

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        topics = []
        for topic in request.topics:
            rows = []
            for asked in topic.partitions:
                log = self.logs[TopicPartition(topic.name, asked.partition_index)]
                offset = {-1: log.end, -2: log.start}[asked.timestamp]
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


def offsets_of(batches: Mapping[TopicPartition, object]) -> dict[TopicPartition, list[int]]:
    """Return the offsets in what `getmany` returned."""
    return {tp: [record.offset for record in batch] for tp, batch in batches.items()}  # type: ignore[attr-defined]

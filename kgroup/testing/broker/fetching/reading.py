"""What one broker reads for one fetch, partition by partition.

Decides: which reads are allowed: the order in which a broker looks at leaders, ids, epochs and
offsets, and how bytes are shared out among the partitions of a fetch.
Never: waits, or knows sessions.

KIPs: 320 and 595 (fencing, diverging epochs), 392 (replicas close by), 516 (topic ids), 951 (the
new leader).
"""

from collections.abc import Iterable, Mapping

from kgroup.codes import ErrorCode
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.cluster.topics import Partition
from kgroup.testing.broker.fetching.wanted import Place, Terms, Wanted
from kgroup.testing.broker.logs.log import Log
from kgroup.testing.broker.logs.stored import StoredBatch
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    AbortedTransaction,
    FetchEpochEndOffset,
    FetchLeaderIdAndEpoch,
    FetchPartition,
    PartitionData,
)
from kgroup.wire.vocabulary import ZERO_UUID


def refused(
    partition: int, code: ErrorCode, current_leader: FetchLeaderIdAndEpoch | None = None
) -> PartitionData:
    """Make the answer for a partition whose reading failed."""
    return PartitionData(
        partition_index=partition,
        error_code=code,
        high_watermark=-1,
        current_leader=current_leader or FetchLeaderIdAndEpoch(),
        aborted_transactions=None,
        records=b"",
    )


def unknown(partition: int, code: ErrorCode) -> PartitionData:
    """Make the answer for a partition that does not exist; its list is empty, not null."""
    return PartitionData(
        partition_index=partition,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=(),
        records=b"",
    )


def stored_bytes(
    batches: Iterable[StoredBatch], max_bytes: int, *, whole: bool
) -> bytes | memoryview:
    """Return stored bytes as a broker cuts them: by size, through the last batch if need be.

    Args:
        batches: what may be read.
        max_bytes: at least 0.
        whole: whether the first batch is returned even if it alone has more bytes (KIP-74);
            otherwise it is not begun.
    """
    parts: list[bytes | memoryview] = []
    left = max_bytes
    for stored in batches:
        data = stored.data
        if not parts:
            if not whole and len(data) > left:
                return b""
            left = max(left, len(data))
        parts.append(data if len(data) <= left else memoryview(data)[:left])
        left -= len(data)
        if left <= 0:
            break
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_row(
    row: FetchPartition,
    log: Log,
    *,
    preferred_read_replica: int = -1,
    diverging_epoch: FetchEpochEndOffset | None = None,
) -> PartitionData:
    """Make an answer without records."""
    return PartitionData(
        partition_index=row.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.start,
        diverging_epoch=diverging_epoch or FetchEpochEndOffset(),
        aborted_transactions=None,
        preferred_read_replica=preferred_read_replica,
        records=b"",
    )


def records_row(
    terms: Terms, log: Log, row: FetchPartition, max_bytes: int, *, whole: bool
) -> PartitionData:
    """Make an answer with what is stored from the offset on, as far as may be read.

    Args:
        terms: of the fetch.
        log: of the partition; the offset lies in it.
        row: what is asked for.
        max_bytes: a negative one is a broker's unknown error, as soon as there is a record.
        whole: see `stored_bytes`.
    """
    limit = terms.limit_in(log)
    offset = row.fetch_offset
    records: bytes | memoryview = b""
    aborted: tuple[AbortedTransaction, ...] | None = () if terms.read_committed else None
    if offset < limit:
        if max_bytes < 0:
            return refused(row.partition, ErrorCode.UNKNOWN_SERVER_ERROR)
        records = stored_bytes(log.batches_from(offset, limit), max_bytes, whole=whole)
        if terms.read_committed:
            aborted = tuple(
                AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                for one in log.aborted_between(offset, log.end)
            )
    return PartitionData(
        partition_index=row.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.start,
        aborted_transactions=aborted,
        records=records,
    )


# -- reading ---------------------------------------------------------------------------------------


_LEADER_SINCE = 16
_LOST_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class Reader:
    """Reads what fetches ask for.

    Args:
        cluster: topics and leaders.
        follower_reads: whether leaders name closer replicas.
    """

    def __init__(self, cluster: Cluster, *, follower_reads: bool) -> None:
        self._cluster = cluster
        self._follower_reads = follower_reads

    def unknown(self, wanted: Wanted) -> ErrorCode:
        """Say that a topic or partition does not exist: 100, 3 or 0."""
        if wanted.name is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        tp = TopicPartition(wanted.name, wanted.row.partition)
        if self._cluster.partition(tp) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    def read_all(self, terms: Terms, wanted: Mapping[Place, Wanted]) -> dict[Place, PartitionData]:
        """Read partitions in their order, as much as all of them may give together."""
        left, whole = terms.max_bytes, True
        read = {}
        for place, one in wanted.items():
            data = self._read(terms, one, left, whole=whole)
            size = len(data.records or b"")
            whole = whole and not size
            left = max(0, left - size)
            read[place] = data
        return read

    def find(self, terms: Terms, wanted: Wanted) -> Partition | ErrorCode:
        """Return a partition that this broker may read for this fetch, or why it may not."""
        partition = self._hosted(terms, wanted)
        if isinstance(partition, ErrorCode):
            return partition
        return _fenced(partition, terms, wanted.row) or partition

    def available(self, terms: Terms, wanted: Wanted) -> int | None:
        """Count the bytes that a fetch which waits would get of a partition.

        Returns:
            None when there is something else to tell: an error, logs that part, an offset that
            lies beyond what may be read.
        """
        partition = self.find(terms, wanted)
        if isinstance(partition, ErrorCode):
            return None
        row, log = wanted.row, partition.log
        limit = terms.limit_in(log)
        if row.fetch_offset > limit or _parting(log, row) is not ErrorCode.NONE:
            return None
        size = 0
        for stored in log.batches_from(row.fetch_offset, limit):
            size += len(stored.data)
            if size >= row.partition_max_bytes:
                return row.partition_max_bytes
        return size

    def _hosted(self, terms: Terms, wanted: Wanted) -> Partition | ErrorCode:
        assert wanted.name is not None, "partitions of unknown topics are not read"
        tp = TopicPartition(wanted.name, wanted.row.partition)
        partition = self._cluster.partition(tp)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if terms.node_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if wanted.topic_id not in (ZERO_UUID, partition.topic_id):
            return ErrorCode.INCONSISTENT_TOPIC_ID
        return partition

    def _read(self, terms: Terms, wanted: Wanted, left: int, *, whole: bool) -> PartitionData:
        row = wanted.row
        partition = self._hosted(terms, wanted)
        if isinstance(partition, ErrorCode):
            return self._failed(terms, wanted, partition)
        replica = self._closer(partition, terms)
        code = _misdated(partition, row) if replica is not None else _fenced(partition, terms, row)
        if code:
            return self._failed(terms, wanted, code)
        if replica is not None:
            return read_row(row, partition.log, preferred_read_replica=replica)
        part = _parting(partition.log, row)
        if isinstance(part, FetchEpochEndOffset):
            return read_row(row, partition.log, diverging_epoch=part)
        if part or not partition.log.start <= row.fetch_offset <= partition.log.end:
            return refused(row.partition, ErrorCode.OFFSET_OUT_OF_RANGE)
        limit = min(row.partition_max_bytes, left)
        return records_row(terms, partition.log, row, limit, whole=whole)

    def _failed(self, terms: Terms, wanted: Wanted, code: ErrorCode) -> PartitionData:
        row = wanted.row
        if terms.version < _LEADER_SINCE or code not in _LOST_LEADER or wanted.name is None:
            return refused(row.partition, code)
        partition = self._cluster.partition(TopicPartition(wanted.name, row.partition))
        assert partition is not None, "a partition that has a leader is there"
        leader = -1 if partition.leader is None else partition.leader
        named = FetchLeaderIdAndEpoch(leader_id=leader, leader_epoch=partition.epoch)
        return refused(row.partition, code, named)

    def _closer(self, partition: Partition, terms: Terms) -> int | None:
        """Name a replica in the consumer's rack, unless the leader is in it (KIP-392)."""
        asked_leader = partition.leader == terms.node_id and not terms.is_follower
        if not self._follower_reads or terms.rack is None or not asked_leader:
            return None
        nodes = self._cluster.nodes
        near = [each for each in partition.isr if nodes[each].rack == terms.rack]
        return None if not near or partition.leader in near else near[0]


def _misdated(partition: Partition, row: FetchPartition) -> ErrorCode:
    """Compare the leader epoch of a fetch with the present one: 74, 75 or 0."""
    epoch = row.current_leader_epoch
    if epoch < 0 or epoch == partition.epoch:
        return ErrorCode.NONE
    older = epoch < partition.epoch
    return ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH


def _fenced(partition: Partition, terms: Terms, row: FetchPartition) -> ErrorCode:
    code = _misdated(partition, row)
    if not code and terms.only_leader and partition.leader != terms.node_id:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    if not code and terms.is_follower and terms.replica_id not in partition.replicas:
        stale = row.current_leader_epoch < 0
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER if stale else ErrorCode.UNKNOWN_LEADER_EPOCH
    return code


def _parting(log: Log, row: FetchPartition) -> FetchEpochEndOffset | ErrorCode:
    """Say where the fetcher's log parts from this one, if it does: by KIP-595."""
    if row.last_fetched_epoch < 0:
        return ErrorCode.NONE
    known = log.end_of_epoch(row.last_fetched_epoch)
    if known is None or row.fetch_offset < log.start:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    epoch, end = known
    if epoch < row.last_fetched_epoch or end < row.fetch_offset:
        return FetchEpochEndOffset(epoch=epoch, end_offset=end)
    return ErrorCode.NONE

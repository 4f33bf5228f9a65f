"""What a Fetch answer changes, partition by partition.

Decides: which records of an answer are kept, and what each error code does to its partition.
Never: keeps records of a claim that is over or a position that was moved:
1. a Fetch is sent for a claim at an offset; 2. the claim ends, or the application seeks;
3. the answer comes: its claim or its seek number is not the present one, it is dropped.
Nor while the position awaits its validation: it would be asked for again, and kept twice.
Never resets a position because of what a follower says: it may lag behind, its leader is asked.
KIPs: 98, 320 (truncation), 392 (replicas close by), 951 (new leaders named at once).
"""

import math
from collections.abc import Iterable
from typing import Final

from kgroup.codes import ApiKey, error_name
from kgroup.config import FetchSettings
from kgroup.consumer.buffer.chunk import Chunk, read_chunk
from kgroup.consumer.buffer.damage import asks_again
from kgroup.consumer.buffer.owned import Heard, Owned, OwnedPartitions, Replica
from kgroup.consumer.fetch.jumps import Jumps
from kgroup.errors import BrokerError, CorruptRecordError, UnauthorizedError
from kgroup.journal import FetchAnswered, Sink
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import EpochEnd
from kgroup.net.metadata import BrokerInfo
from kgroup.net.retrying import Leadership, learn_leader, named_broker
from kgroup.offsets.positions import PositionState, Received
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import FetchResponse, PartitionData
from kgroup.wire.records import BatchView


@dataclass(frozen=True, slots=True)
class Asked:
    """One partition of one Fetch, as it was when it was asked.

    Args:
        owned: the claim.
        seek: number of the position.
        offset: first offset asked for.
        leader_epoch: of the leader as it is known, None when it is not.
        topic_id: of the topic the position belonged to, None when not known.
        node_id: broker asked.
        follower: whether that is a replica the leader named instead of itself.
    """

    owned: Owned
    seek: int
    offset: int
    leader_epoch: int | None
    topic_id: bytes | None
    node_id: int
    follower: bool = False


_API = ApiKey.FETCH
_BYTES_EACH: Final = 256.0
_BATCH: Final = 16 * 1024
"""What a record and a batch weigh where nothing has come yet."""


class Weights:
    """What records weigh on the wire, so that a read that ends somewhere does not ask for more.

    A broker cuts answers by bytes, and reads that end know offsets only.
    """

    def __init__(self) -> None:
        self._known: dict[TopicPartition, tuple[float, int]] = {}

    def note(self, tp: TopicPartition, chunk: Chunk) -> None:
        """Weigh what came; old formats and records that nobody may see tell nothing."""
        views = [view for view in chunk.views if isinstance(view, BatchView)]
        if views:
            offsets = views[-1].next_offset - views[0].base_offset
            size = sum(view.size for view in views)
            self._known[tp] = size / max(offsets, 1), views[-1].size

    def of(self, tp: TopicPartition, offsets: int) -> int:
        """Return the bytes of so many offsets, about, and of one batch more."""
        each, batch = self._known.get(tp, (_BYTES_EACH, _BATCH))
        return math.ceil(offsets * each) + batch


class FetchAnswers:
    """Takes answers in.

    Args:
        settings: isolation level and patience.
        cluster: takes in leaders that moved; not owned.
        owned: where records are kept.
        jumps: moves positions the log does not hold.
        sink: takes the journal's events.
    """

    def __init__(
        self,
        settings: FetchSettings,
        cluster: Cluster,
        owned: OwnedPartitions,
        jumps: Jumps,
        sink: Sink,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._owned = owned
        self._jumps = jumps
        self._sink = sink
        self._turn = 0
        self.weights = Weights()

    def take(
        self, rows: Iterable[tuple[Asked, PartitionData]], answer: FetchResponse, heard: Heard
    ) -> bool:
        """Take one answer in; tell whether it concerned any partition that is owned now.

        Args:
            rows: what it says, each part with its question.
            answer: the rest of it.
            heard: when it came; later answers of the session move it on.
        """
        arrived = False
        brokers = {
            row.node_id: named_broker(row.node_id, row.host, row.port, row.rack)
            for row in answer.node_endpoints
        }
        for question, data in rows:
            self._hear(question, data, heard)
            if self._still_asked(question):
                self._settle(question, data, brokers.get(data.current_leader.leader_id))
                arrived = True
        return arrived

    def _hear(self, question: Asked, data: PartitionData, heard: Heard) -> None:
        """Note the ends of a log, wherever the position is by now: they are not sent twice."""
        owned = question.owned
        same = self._owned.of(owned.claim) is owned and owned.topic_id == question.topic_id
        if same and not data.error_code and _diverged(data) is None:
            owned.heard(data, heard)

    def left_open(self, question: Asked, now: float) -> bool:
        """Tell whether a question is still open: nothing was moved, put off or turned away."""
        owned = question.owned
        turned = owned.replica is not None and owned.replica.node_id != question.node_id
        return self._still_asked(question) and owned.asks(now) and not turned

    def _still_asked(self, question: Asked) -> bool:
        owned = question.owned
        return (
            self._owned.of(owned.claim) is owned
            and owned.position.seek == question.seek
            and owned.position.offset == question.offset
            and owned.position.state is PositionState.FETCHING
        )

    def _settle(self, question: Asked, data: PartitionData, leader: BrokerInfo | None) -> None:
        outcome = reaction(_API, data.error_code)
        diverged = _diverged(data)
        if outcome is Reaction.SUCCEED and diverged is None:
            self._keep(question, data)
            return
        if question.follower:
            # It lags behind, or follows no more; what its leader says counts.
            question.owned.replica = None
            self._put_off(
                question.owned, f"node {question.node_id} lags behind, or follows no more"
            )
        elif diverged is not None:
            self._jumps.diverged(question.owned, diverged, question.leader_epoch)
        elif outcome is Reaction.REFRESH:
            self._turn_to_leader(question, data, leader)
        else:
            self._fail(question, outcome, data.error_code)
        self._journal(question, question.offset, data.error_code)

    # -- what went wrong -------------------------------------------------------------------

    def _turn_to_leader(
        self, question: Asked, data: PartitionData, leader: BrokerInfo | None
    ) -> None:
        """Ask the leader the broker names, at once; without one ask for metadata first."""
        named = data.current_leader
        leadership = Leadership(named.leader_id, named.leader_epoch, leader)
        if not learn_leader(self._cluster, question.owned.tp, leadership):
            self._put_off(question.owned, _words(data.error_code))
        self._cluster.invalidate()

    def _fail(self, question: Asked, outcome: Reaction, code: int) -> None:
        owned = question.owned
        match outcome:
            case Reaction.RETRY:
                self._put_off(owned, _words(code))
            case Reaction.OUT_OF_RANGE if owned.chunks:
                # Buffered records come first; then the same question gets the same answer.
                self._put_off(owned, _words(code))
            case Reaction.OUT_OF_RANGE:
                self._jumps.out_of_range(owned)
            case Reaction.UNAUTHORIZED:
                self._put_off(owned, _words(code))
                owned.fail(UnauthorizedError(_API.name, code, [owned.tp.topic]), blocked=False)
            case Reaction.CORRUPT:
                what = f"{owned.tp} at offset {question.offset}"
                owned.fail(CorruptRecordError(what, "its leader says so"), blocked=True)
            case _:
                owned.fail(BrokerError(_API.name, code, str(owned.tp)), blocked=True)

    def _put_off(self, owned: Owned, why: str) -> None:
        settings, now = self._settings, self._cluster.ports.clock()
        owned.put_off(now, settings.retry_backoff, settings.retry_backoff_max, why)

    # -- what came -------------------------------------------------------------------------

    def _keep(self, question: Asked, data: PartitionData) -> None:
        owned = question.owned
        owned.resets = 0
        chunk = read_chunk(
            data,
            question.offset,
            committed_only=self._settings.isolation_level is IsolationLevel.READ_COMMITTED,
            check_crcs=self._settings.check_crcs,
            max_output=self._settings.max_decompressed_bytes,
            until=owned.until,
        )
        if owned.until is not None:
            self.weights.note(owned.tp, chunk)
        again = asks_again(owned, chunk, question.offset)
        if again:
            self._put_off(owned, "its records are damaged")
        elif self._follows(question, data.preferred_read_replica):
            owned.succeeded()
        self._journal(question, chunk.next_offset, None)
        if chunk.next_offset > question.offset or chunk.error is not None:
            self._buffer(question, chunk)

    def _follows(self, question: Asked, node_id: int) -> bool:
        """Fetch from the replica a leader names (KIP-392); False when it cannot be asked.

        1. A leader names a broker that metadata does not show; 2. the leader is asked instead;
        3. it names that broker again, at once and without records. So metadata comes first.
        """
        if node_id < 0 or node_id == question.node_id:
            return True
        owned, now = question.owned, self._cluster.ports.clock()
        if not self._cluster.view.serves(owned.tp, node_id):
            self._put_off(owned, f"its leader names node {node_id}, which is no replica known")
            self._cluster.invalidate()
            return False
        owned.replica = Replica(node_id, now + self._settings.metadata_max_age)
        return True

    def _buffer(self, question: Asked, chunk: Chunk) -> None:
        owned = question.owned
        self._turn += 1
        owned.turn = self._turn
        owned.chunks.append(chunk)
        owned.blocked = chunk.error is not None
        owned.position = owned.position.after(
            Received(
                question.seek,
                question.offset,
                chunk.next_offset,
                chunk.leader_epoch,
                question.leader_epoch,
            )
        )

    def _journal(self, question: Asked, next_offset: int, error: int | None) -> None:
        answer = FetchAnswered(question.owned.claim, question.offset, next_offset, error)
        self._sink.emit(answer)


def _words(code: int) -> str:
    return f"{_API.name}: {error_name(code)}"


def _diverged(data: PartitionData) -> EpochEnd | None:
    """Return where the logs diverge, None when the broker found nothing wrong (KIP-320)."""
    epoch, end = data.diverging_epoch.epoch, data.diverging_epoch.end_offset
    if epoch < 0 and end < 0:
        return None
    return EpochEnd(epoch if epoch >= 0 else None, end if end >= 0 else None)

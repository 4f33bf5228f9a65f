"""The internal producer: idempotent, one batch in flight per partition.

Decides: that a batch is stored once, or its fate is reported. Sequence numbers let a broker
recognise a repeated batch (KIP-98). After a batch of unknown fate the partition gets a new producer
id, because a broker would take the next batch for the lost one and drop it.
Never: is offered to applications: no partitioner, no linger, no transactions.
KIPs: 98 (idempotence), 360 (safe recovery by a new id), 516 (topic ids).
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Final

import anyio

from kgroup.codes import ApiKey
from kgroup.errors import (
    BrokerError,
    DecodeError,
    KGroupError,
    LocalProtocolError,
    TransportError,
)
from kgroup.machine.backoff import Backoff
from kgroup.net.cluster import Cluster, ClusterView, Lane
from kgroup.net.produce_fate import Fate, fate_of
from kgroup.net.retrying import retry
from kgroup.net.verdict import Verdict, refusal, verdict
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    InitProducerIdRequest,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kgroup.wire.records import Codec, NewRecord, encode_batch
from kgroup.wire.vocabulary import ZERO_UUID

_ALL_IN_SYNC: Final = -1
_SEQUENCES: Final = 2**31
_SOON: Final = 2.0
"""Seconds for what is had ahead of a first batch."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """The settings of the internal producer; times in seconds.

    Args:
        codec: how batches are compressed.
        delivery_timeout: from `send` to the stored batch, retries included.
        lane: which connection of a broker batches take.
    """

    codec: Codec = Codec.NONE
    delivery_timeout: float = 120.0
    lane: Lane = Lane.CONTROL


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of a batch.

    Args:
        offset: of its first record; None when it is not stored, or when a repeated batch was
            recognised so late that the broker no longer knows its offset.
        append_time: the broker's clock, milliseconds since the epoch; None where the topic keeps
            the records' own times.
        error: why it is not stored, or why nobody knows; None when it is.
        maybe: whether it may be stored in spite of the error.
    """

    offset: int | None = None
    append_time: int | None = None
    error: Exception | None = None
    maybe: bool = False


@dataclass(frozen=True, slots=True)
class _Lineage:
    """Under which identity, and with which number, the next batch of a partition is sent."""

    producer_id: int
    epoch: int
    sequence: int = 0

    def after(self, records: int) -> "_Lineage":
        return replace(self, sequence=(self.sequence + records) % _SEQUENCES)


@dataclass(slots=True)
class _Partition:
    """One partition's turn, what is known of its leader, and its lineage.

    The lineage is None before the first batch and after a doubt.
    """

    tp: TopicPartition
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    view: ClusterView | None = None
    lineage: _Lineage | None = None


class Producer:
    """Sends batches; any number of tasks may share it.

    Args:
        cluster: running.
        settings: compression and patience.
    """

    def __init__(self, cluster: Cluster, settings: ProducerSettings | None = None) -> None:
        self._cluster = cluster
        self._settings = settings or ProducerSettings()
        self._partitions: dict[TopicPartition, _Partition] = {}

    async def send(self, tp: TopicPartition, records: Sequence[NewRecord]) -> int | None:
        """Store records as one batch, after all batches of the partition asked for before.

        Args:
            tp: where.
            records: at least one; a timestamp of -1 becomes the present time.

        Returns:
            Offset of the first record; None when a repeated batch was recognised so late that
            the broker no longer knows its offset.

        Raises:
            BrokerError: refused; not stored, unless it is about the producer id.
            TimeoutError: not acknowledged in time; it may be stored.
            LocalProtocolError: no records, or a value that fits no field.
        """
        delivered = await self.deliver(tp, records)
        if delivered.error is not None:
            raise delivered.error
        return delivered.offset

    async def deliver(
        self, tp: TopicPartition, records: Sequence[NewRecord], *, timeout: float | None = None
    ) -> Delivered:
        """Store records as one batch, as `send` does; what goes wrong is returned, not raised.

        Args:
            tp: where.
            records: at least one; a timestamp of -1 becomes the present time.
            timeout: seconds after which nothing of it is sent any more; None for the
                `delivery_timeout`.

        Raises:
            LocalProtocolError: no records, or a value that fits no field.
        """
        partition = self._partition(tp)
        patience = self._settings.delivery_timeout if timeout is None else timeout
        delivery = _Delivery(self._cluster, partition, self._stamped(records), self._settings)
        try:
            with anyio.move_on_after(patience):
                async with partition.turn:
                    return await self._store(partition, delivery, len(records))
        except LocalProtocolError:
            raise
        except (KGroupError, TimeoutError) as error:
            return Delivered(error=error, maybe=delivery.in_doubt)
        late = TimeoutError(f"PRODUCE to {tp}: not acknowledged within {patience:g} s")
        return Delivered(error=late, maybe=delivery.in_doubt)

    async def prepare(self, tp: TopicPartition) -> None:
        """Have ahead what the first batch needs: its leader, a connection to it, a producer id.

        What cannot be had soon is asked for with the batch, which reports what is amiss: a silent
        leader does not keep a caller waiting that could ask another one.
        """
        partition = self._partition(tp)
        with anyio.move_on_after(_SOON), suppress(KGroupError, TimeoutError):
            async with partition.turn:
                view = await _leaders(self._cluster, partition, moved=False)
                leader = view.leader(tp)
                if leader is not None and partition.lineage is None:
                    partition.lineage = await self._ask_lineage(leader)

    def _partition(self, tp: TopicPartition) -> _Partition:
        return self._partitions.setdefault(tp, _Partition(tp))

    async def _store(self, partition: _Partition, delivery: "_Delivery", records: int) -> Delivered:
        """Send one batch until its fate is known.

        The race that makes the lineage vanish while a batch is under way:
        1. batch A (sequence 5) is written, its answer is lost, the caller gives up;
        2. batch B is sent with sequence 5, because A was never acknowledged;
        3. the broker has stored A, takes B for its repetition, and answers "stored".
        So a call that ends without knowing the outcome leaves no lineage behind.
        """
        lineage = partition.lineage or await self._new_lineage()
        partition.lineage = None
        try:
            delivered = await delivery.retry(lineage)
        except _LineageLostError:
            lineage = await self._new_lineage()
            delivered = await delivery.retry(lineage)
        partition.lineage = lineage.after(records)
        return delivered

    async def _new_lineage(self) -> _Lineage:
        patience = self._settings.delivery_timeout
        return await retry(self._cluster, self._ask_lineage, timeout=patience, what="a producer id")

    async def _ask_lineage(self, node_id: int | None = None) -> _Lineage:
        """Ask one broker for a producer id, None for any."""
        cluster, timeout = self._cluster, self._cluster.settings.request_timeout
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        if node_id is None:
            answer = await cluster.send_any(request, timeout=timeout)
        else:
            answer = await cluster.send(node_id, request, lane=self._settings.lane, timeout=timeout)
        if answer.error_code:
            raise refusal(request.api_key, answer.error_code, ())
        return _Lineage(answer.producer_id, answer.producer_epoch)

    def _stamped(self, records: Sequence[NewRecord]) -> list[NewRecord]:
        now = int(self._cluster.ports.wall() * 1000)
        return [replace(r, timestamp=now) if r.timestamp < 0 else r for r in records]


class _LineageLostError(Exception):
    """The broker does not go on with this producer id, and the batch is certainly not stored."""


class _Delivery:
    """One batch on its way."""

    def __init__(
        self,
        cluster: Cluster,
        partition: _Partition,
        records: Sequence[NewRecord],
        settings: ProducerSettings,
    ) -> None:
        self._cluster = cluster
        self._partition = partition
        self._tp = partition.tp
        self._records = records
        self._settings = settings
        self._is_under_way = False
        self._in_doubt = False
        self._moved = False

    @property
    def in_doubt(self) -> bool:
        """Whether it was sent, and may be stored although nobody said so."""
        return self._in_doubt or self._is_under_way

    async def retry(self, lineage: _Lineage) -> Delivered:
        """Send until it is stored or refused; the caller bounds the time."""
        batch = encode_batch(
            self._records,
            codec=self._settings.codec,
            producer_id=lineage.producer_id,
            producer_epoch=lineage.epoch,
            base_sequence=lineage.sequence,
        )
        settings = self._cluster.settings
        dice = self._cluster.ports.dice_for(f"PRODUCE to {self._tp}")
        backoff = Backoff(settings.retry_backoff, settings.retry_backoff_max)
        while True:
            try:
                answer = await self._once(batch)
                if answer is not None and self._is_stored(answer, lineage):
                    return _delivered(answer)
            except (TransportError, DecodeError, TimeoutError):
                self._moved = self._in_doubt = True
            backoff = backoff.failed()
            await anyio.sleep(backoff.pause(dice.uniform(0, 1)))

    def _is_stored(self, row: PartitionProduceResponse, lineage: _Lineage) -> bool:
        """Read the answer; False asks for another attempt.

        Raises:
            BrokerError: refused.
            _LineageLostError: another producer id is needed, and cannot make a duplicate.
        """
        code = row.error_code
        error = refusal(ApiKey.PRODUCE, code, (str(self._tp),), row.error_message)
        match fate_of(code):
            case Fate.STORED:
                return True
            case Fate.AGAIN:
                # 7 and 20 say that the leader has it and the replicas may not.
                self._in_doubt = True
            case Fate.ELSEWHERE:
                self._moved = True
            case Fate.ANEW:
                if self._in_doubt or not lineage.sequence:
                    raise error
                raise _LineageLostError
            case Fate.REFUSED:
                raise error
        return False

    async def _once(self, batch: bytes) -> PartitionProduceResponse | None:
        """Send to the leader; None when there is none at present."""
        view = await self._view()
        leader = view.leader(self._tp)
        if leader is None:
            topic = view.topics.get(self._tp.topic)
            if topic is not None and verdict(ApiKey.METADATA, topic.error) is Verdict.REFUSED:
                raise refusal(ApiKey.METADATA, topic.error, (self._tp.topic,))
            self._moved = True
            return None
        settings = self._cluster.settings
        request = _produce_request(view, self._tp, batch, settings.request_timeout)
        self._is_under_way = True
        answer = await self._cluster.send(
            leader, request, lane=self._settings.lane, timeout=settings.request_timeout
        )
        row = _only_row(answer, self._tp)
        self._is_under_way = False
        return row

    async def _view(self) -> ClusterView:
        """Return what is known of the leader, and ask when it was not there any more."""
        try:
            found = await _leaders(self._cluster, self._partition, moved=self._moved)
        except BrokerError:
            return self._partition.view or self._cluster.view
        self._moved = False
        return found


async def _leaders(cluster: Cluster, partition: _Partition, *, moved: bool) -> ClusterView:
    """Return a view that names the leader, a new one when it moved; the partition keeps it."""
    known = partition.view or cluster.view
    if not moved and known.leader(partition.tp) is not None:
        return known
    topic, timeout = partition.tp.topic, cluster.settings.request_timeout
    partition.view = await cluster.look_up(frozenset({topic}), timeout=timeout)
    return partition.view


def _delivered(row: PartitionProduceResponse) -> Delivered:
    return Delivered(
        row.base_offset if row.base_offset >= 0 else None,
        row.log_append_time_ms if row.log_append_time_ms >= 0 else None,
    )


def _produce_request(
    view: ClusterView, tp: TopicPartition, batch: bytes, patience: float
) -> ProduceRequest:
    rows = (PartitionProduceData(index=tp.partition, records=batch),)
    topic = TopicProduceData(
        name=tp.topic, topic_id=view.topic_id(tp.topic) or ZERO_UUID, partition_data=rows
    )
    return ProduceRequest(
        acks=_ALL_IN_SYNC, timeout_ms=int(patience * 1000 * 2 / 3), topic_data=(topic,)
    )


def _only_row(answer: ProduceResponse, tp: TopicPartition) -> PartitionProduceResponse:
    rows = [
        row
        for topic in answer.responses
        if topic.name == tp.topic
        for row in topic.partition_responses
        if row.index == tp.partition
    ]
    if len(rows) != 1:
        raise DecodeError("Produce answer", f"{len(rows)} rows for {tp}")
    return rows[0]

"""Produce: batches into logs, and the answer when enough replicas have them.

Decides: which partition takes its batch; when the answer leaves: at once, or once the high
watermark has passed what was written (acks -1), or at the end of its time (7).
Never: judges a batch by its records; the log does. A refused partition does not stop the others.

KIP-98 (transactions), 467 (records at fault), 516 (topic ids), 890 (transactions are verified, or
joined by writing), 951 (the present leader).
"""

from dataclasses import field
from functools import partial
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.asked import HUNG_UP, NO_ANSWER, PARKED, Answer, Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.cluster.topics import Partition
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.logs.leading import led
from kgroup.testing.broker.logs.log import AppendResult
from kgroup.testing.broker.logs.produced import Outcome, respond
from kgroup.testing.broker.logs.stored import read_batch
from kgroup.testing.broker.transactions.coordinator import TransactionCoordinators
from kgroup.testing.broker.transactions.transaction import Identity
from kgroup.values import dataclass
from kgroup.wire.compression import Codec
from kgroup.wire.messages import PartitionProduceData, ProduceRequest, TopicProduceData
from kgroup.wire.records import BatchView
from kgroup.wire.schema import Request

_ALL: Final = -1
_NONE: Final = 0
_ZSTD_SINCE: Final = 7
_ABORTABLE_SINCE: Final = 11
_JOINING_SINCE: Final = 12
_ADMIN: Final = "__admin_client"

_SAYS_NO_START: Final = frozenset({ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE})
_UNVERIFIED: Final = frozenset(
    {ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_NOT_AVAILABLE}
)


@dataclass(slots=True)
class WaitingProduce:
    """A Produce that is parked until its records are replicated.

    Args:
        asked: where it came from.
        request: the message.
        outcomes: of each partition, in the order of the request.
        timer: the end of its time.
    """

    asked: Asked
    request: ProduceRequest
    outcomes: list[Outcome] = field(default_factory=list)
    timer: Timer | None = None


class Producing:
    """Produce requests of one cluster.

    Args:
        context: clock and answers.
        cluster: partitions and their leaders.
        transactions: say which producer may write in which.

    Attributes:
        waiting: parked requests, by ticket.
    """

    def __init__(
        self, context: Context, cluster: Cluster, transactions: TransactionCoordinators
    ) -> None:
        self._context = context
        self._cluster = cluster
        self._transactions = transactions
        self.waiting: dict[int, WaitingProduce] = {}
        cluster.on_node_down.append(self.node_down)

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {ProduceRequest: self.produce}

    def produce(self, asked: Asked, request: ProduceRequest) -> Answer:
        """Answer Produce, or park it; one without record data is never answered."""
        if any(row.records is None for topic in request.topic_data for row in topic.partition_data):
            return PARKED
        if request.transactional_id is None and _has_transactions(request):
            refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            outcomes = [
                Outcome(refused) for topic in request.topic_data for _ in topic.partition_data
            ]
        else:
            outcomes = [
                self._append(asked, request, topic, row)
                for topic in request.topic_data
                for row in topic.partition_data
            ]
        waiting = WaitingProduce(asked, request, outcomes)
        if request.acks == _NONE:
            return HUNG_UP if any(outcome.code for outcome in outcomes) else NO_ANSWER
        if request.acks == _ALL and self._is_pending(waiting):
            self._park(waiting)
            return PARKED
        return respond(self._cluster, asked, request, outcomes)

    # -- appending -------------------------------------------------------------------------------

    def _append(
        self,
        asked: Asked,
        request: ProduceRequest,
        topic: TopicProduceData,
        row: PartitionProduceData,
    ) -> Outcome:
        partition = self._cluster.find(topic.name, topic.topic_id, row.index)
        if isinstance(partition, ErrorCode):
            return Outcome(partition)
        batch = _sent(asked, row)
        if isinstance(batch, AppendResult):
            return Outcome(batch.code, partition, batch)
        if batch.is_transactional and batch.producer_id is not None:
            refusal = self._unverified(asked, request, partition, batch)
            if refusal is not None:
                return Outcome(refusal.code, partition, refusal)
        code = self._unwritable(asked, request, partition)
        if code:
            return Outcome(code, partition)
        now_ms = self._context.milliseconds(self._cluster.nodes[asked.node_id].skew)
        result = partition.log.append(batch.data, epoch=partition.epoch, now_ms=now_ms)
        start = None if result.code in _SAYS_NO_START else partition.log.start
        return Outcome(result.code, partition, result, log_start=start)

    def _unwritable(self, asked: Asked, request: ProduceRequest, partition: Partition) -> ErrorCode:
        if request.acks not in (_ALL, _NONE, 1):
            return ErrorCode.INVALID_REQUIRED_ACKS
        topic = self._cluster.topics[partition.tp.topic]
        if topic.internal and asked.client_id != _ADMIN:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        leading = led(self._cluster, asked.node_id, partition.tp)
        if isinstance(leading, ErrorCode):
            return leading
        wanted = min(int(topic.configs.get("min.insync.replicas", 1)), len(partition.replicas))
        if request.acks == _ALL and len(partition.isr) < wanted:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return ErrorCode.NONE

    def _unverified(
        self, asked: Asked, request: ProduceRequest, partition: Partition, batch: BatchView
    ) -> AppendResult | None:
        """Ask the coordinator whether the batch's transaction reaches this partition (KIP-890)."""
        identity = Identity(batch.header.producer_id, batch.header.producer_epoch)
        known = partition.log.producers.by_id.get(identity.producer_id)
        if known is not None and known.open_since is not None and known.epoch == identity.epoch:
            return None
        transactional_id = request.transactional_id or ""
        code = self._transactions.refusal(None, transactional_id)
        if not code and asked.version >= _JOINING_SINCE:
            code = self._transactions.add(transactional_id, identity, {partition.tp})
        elif not code:
            code = self._transactions.verify(transactional_id, identity, partition.tp)
        return None if not code else _as_produce(code, asked.version)

    # -- waiting ---------------------------------------------------------------------------------

    def _is_pending(self, waiting: WaitingProduce) -> bool:
        """Look at what is not replicated yet; what has another leader by now has failed."""
        pending = False
        for outcome in waiting.outcomes:
            if outcome.code or outcome.partition is None or outcome.result is None:
                continue
            partition, last = outcome.partition, outcome.result.last_offset
            if partition.leader != waiting.asked.node_id:
                outcome.code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif last is not None and partition.log.high_watermark <= last:
                pending = True
        return pending

    def _park(self, waiting: WaitingProduce) -> None:
        ticket = waiting.asked.ticket
        self.waiting[ticket] = waiting
        seconds = max(waiting.request.timeout_ms, 0) / 1000
        waiting.timer = self._context.agenda.after(seconds, partial(self._time_out, ticket))
        for outcome in waiting.outcomes:
            if outcome.partition is not None:
                outcome.partition.log.bell.listen(ticket, partial(self._look, ticket))

    def _look(self, ticket: int) -> None:
        waiting = self.waiting.get(ticket)
        if waiting is not None and not self._is_pending(waiting):
            self._finish(waiting)

    def _time_out(self, ticket: int) -> None:
        waiting = self.waiting[ticket]
        for outcome in waiting.outcomes:
            if not outcome.code and outcome.is_ahead:
                outcome.code = ErrorCode.REQUEST_TIMED_OUT
        self._finish(waiting)

    def _finish(self, waiting: WaitingProduce) -> None:
        self._unpark(waiting)
        answer = respond(self._cluster, waiting.asked, waiting.request, waiting.outcomes)
        self._context.outbox.reply(waiting.asked.ticket, answer)

    def _unpark(self, waiting: WaitingProduce) -> None:
        ticket = waiting.asked.ticket
        del self.waiting[ticket]
        for outcome in waiting.outcomes:
            if outcome.partition is not None:
                outcome.partition.log.bell.leave(ticket)
        if waiting.timer is not None:
            waiting.timer.cancel()

    def disconnected(self, connection: int) -> None:
        """Forget what a connection that is closed still waits for; its records stay."""
        for waiting in [*self.waiting.values()]:
            if waiting.asked.connection == connection:
                self._unpark(waiting)

    def node_down(self, node_id: int) -> None:
        """Forget what was parked at a broker that is down."""
        for waiting in [*self.waiting.values()]:
            if waiting.asked.node_id == node_id:
                self._unpark(waiting)


def _has_transactions(request: ProduceRequest) -> bool:
    rows = (row for topic in request.topic_data for row in topic.partition_data)
    return any(
        view is not None and view.is_transactional and view.producer_id is not None
        for view in (_peek(row) for row in rows)
    )


def _peek(row: PartitionProduceData) -> BatchView | None:
    try:
        return read_batch(row.records or b"")
    except (CorruptRecordError, UnsupportedCodecError):
        return None


def _sent(asked: Asked, row: PartitionProduceData) -> BatchView | AppendResult:
    """Read the batch for one partition, or say why there is none to look at."""
    try:
        batch = read_batch(row.records or b"")
        if batch is None:
            return AppendResult(code=ErrorCode.INVALID_RECORD, message=_ONE)
        if asked.version < _ZSTD_SINCE and batch.codec is Codec.ZSTD:
            return AppendResult(code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    except (CorruptRecordError, UnsupportedCodecError) as error:
        return AppendResult(code=ErrorCode.CORRUPT_MESSAGE, message=str(error))
    return batch


_ONE: Final = "Produce requests of version 3 and above carry exactly one batch of magic 2"


def _as_produce(code: ErrorCode, version: int) -> AppendResult:
    """Say what the coordinator answered in words that a producer of this version knows."""
    if code is ErrorCode.PRODUCER_FENCED:
        return AppendResult(code=ErrorCode.INVALID_PRODUCER_EPOCH)
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_SINCE:
        return AppendResult(
            code=ErrorCode.INVALID_TXN_STATE, message="Partition was not added to the transaction"
        )
    rising = code is ErrorCode.CONCURRENT_TRANSACTIONS and version >= _JOINING_SINCE
    if code in _UNVERIFIED and not rising:
        message = (
            "Unable to verify the partition has been added to the transaction. Underlying error:"
            f" {code.name}"
        )
        return AppendResult(code=ErrorCode.NOT_ENOUGH_REPLICAS, message=message)
    return AppendResult(code=code)

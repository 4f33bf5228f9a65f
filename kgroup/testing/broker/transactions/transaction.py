"""One transactional id, as its coordinator knows it.

Decides: which producer id and epoch it has after each step, and which requests of an older one are
fenced.
Never: writes marks, or knows the time.

KIP-360: a producer that names the id and epoch it has goes on with the next epoch; asking twice
changes nothing. KIP-890, version 2: each end of a transaction raises the epoch, so a request of an
earlier transaction is never taken for one of the next. An epoch that could not be raised any more
is never given out: the producer gets another id.

Markers: The marks that end a transaction in each of its partitions (KIP-98). Decides: what is done
where; a partition without a leader that is up has to wait. Never: decides how a transaction ends.
"""

from dataclasses import field
from enum import Enum
from typing import Final, NamedTuple

from kgroup.codes import ErrorCode
from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC, Cluster
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_LAST_EPOCH: Final = (1 << 15) - 2


class Phase(Enum):
    """State of a transactional id; Kafka's names."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


PREPARING: Final = frozenset({Phase.PREPARE_COMMIT, Phase.PREPARE_ABORT})
COMMITTING: Final = frozenset({Phase.PREPARE_COMMIT, Phase.COMPLETE_COMMIT})


class Identity(NamedTuple):
    """A producer id with one of its epochs."""

    producer_id: int
    epoch: int


@dataclass(slots=True)
class Transaction:
    """One transactional id.

    Args:
        transactional_id: its name.
        now: id and epoch that may write.
        timeout: transaction.timeout.ms of the producer, seconds.
        phase: see `Phase`.
        before: the id and epoch that `now` replaced for the same producer, None when that one is
            fenced; a request of it is a retry.
        after: what the producer goes on with once the marks are written, if its epoch was the last
            that its id has (KIP-890).
        partitions: that are part of the open transaction.
        raises_epochs: whether the last end was one that raises the epoch (KIP-890).
        timer: aborts it; None while nothing is open.
    """

    transactional_id: str
    now: Identity
    timeout: float
    phase: Phase = Phase.EMPTY
    before: Identity | None = None
    after: Identity | None = None
    partitions: set[TopicPartition] = field(default_factory=set)
    raises_epochs: bool = False
    timer: Timer | None = None

    @property
    def is_spent(self) -> bool:
        """Whether the epoch may not be raised for the producer any more."""
        return self.now.epoch >= _LAST_EPOCH

    def refusal(self, identity: Identity) -> ErrorCode:
        """Say why a producer may not add to the transaction now: 49, 90, 51 or 0."""
        if identity.producer_id != self.now.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if identity.epoch != self.now.epoch:
            return ErrorCode.PRODUCER_FENCED
        if self.phase in PREPARING:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        return ErrorCode.NONE

    def raise_epoch(self, *, known: bool) -> None:
        """Go on with the next epoch.

        Args:
            known: whether the producer of the present epoch is the one that goes on; otherwise it
                is fenced.
        """
        self.before = self.now if known else None
        self.now = self.now._replace(epoch=self.now.epoch + 1)


def judge_init(transaction: Transaction, expected: Identity | None) -> ErrorCode | None:
    """Judge an InitProducerId of a transactional id that exists.

    Args:
        transaction: of it.
        expected: what the producer says it has, None for a new producer (KIP-360).

    Returns:
        Why it is refused; 0 for a retry whose answer is `transaction.now`; None = raise the epoch,
        after an abort if a transaction is open.
    """
    if expected is not None and not _may_go_on(transaction, expected):
        return ErrorCode.PRODUCER_FENCED
    if transaction.phase in PREPARING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if transaction.phase is Phase.ONGOING or expected is None or expected == transaction.now:
        return None
    known = transaction.before
    if known is not None and expected.epoch == known.epoch:
        return ErrorCode.NONE
    return ErrorCode.PRODUCER_FENCED


def _may_go_on(transaction: Transaction, expected: Identity) -> bool:
    if expected.producer_id == transaction.now.producer_id:
        return True
    return expected == transaction.before and expected.epoch >= _LAST_EPOCH


def judge_end(
    transaction: Transaction, identity: Identity, *, committed: bool, raises_epochs: bool
) -> ErrorCode | None:
    """Judge an EndTxn.

    Args:
        transaction: to end.
        identity: of the producer that asks.
        committed: or aborted.
        raises_epochs: whether the request is one of KIP-890.

    Returns:
        Why it is refused; 0 for a retry of what is done; None = end it.
    """
    is_retry = transaction.raises_epochs and identity == transaction.before
    if identity.producer_id != transaction.now.producer_id and not is_retry:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if identity != transaction.now and not is_retry:
        return ErrorCode.PRODUCER_FENCED
    as_asked = committed is (transaction.phase in COMMITTING)
    match transaction.phase:
        case Phase.ONGOING:
            return ErrorCode.PRODUCER_FENCED if is_retry else None
        case Phase.PREPARE_COMMIT | Phase.PREPARE_ABORT:
            if transaction.raises_epochs and not is_retry:
                return ErrorCode.PRODUCER_FENCED
            return ErrorCode.CONCURRENT_TRANSACTIONS if as_asked else ErrorCode.INVALID_TXN_STATE
        case Phase.COMPLETE_COMMIT | Phase.COMPLETE_ABORT if is_retry or not raises_epochs:
            return ErrorCode.NONE if as_asked else ErrorCode.INVALID_TXN_STATE
        case _:
            # An abort without a transaction raises the epoch too, for a producer in doubt whether
            # anything was written (KIP-890).
            nothing = raises_epochs and not committed and not is_retry
            return None if nothing else ErrorCode.INVALID_TXN_STATE


# -- markers ---------------------------------------------------------------------------------------


class Markers:
    """Writes the marks of one cluster.

    Args:
        context: its clock.
        cluster: its partitions.
        coordinators: hold the offsets that wait for the end of a transaction.
    """

    def __init__(self, context: Context, cluster: Cluster, coordinators: Coordinators) -> None:
        self._context = context
        self._cluster = cluster
        self._coordinators = coordinators

    def write(self, tp: TopicPartition, identity: Identity, *, committed: bool) -> bool:
        """End a transaction in one partition.

        Args:
            tp: partition of the transaction; one of the offsets topic stands for its groups.
            identity: id and epoch of the mark.
            committed: or aborted.

        Returns:
            Whether it is done, or there is nothing to do any more; False = try again later.
        """
        partition = self._cluster.partition(tp)
        if partition is None:
            return True  # deleted meanwhile
        leader = None if partition.leader is None else self._cluster.nodes[partition.leader]
        if leader is None or not leader.alive:
            return False
        if tp.topic == OFFSETS_TOPIC:
            offsets = self._coordinators.shards[tp.partition].offsets
            offsets.end_transaction(identity.producer_id, committed=committed)
            return True
        partition.log.append_control(
            identity.producer_id,
            identity.epoch,
            committed=committed,
            epoch=partition.epoch,
            now_ms=self._context.milliseconds(leader.skew),
        )
        return True

"""The coordinators of transactions: ids, what belongs to a transaction, its end.

Decides: which broker answers for a transactional id (16), which producer goes on with which epoch,
what becomes of a transaction whose time is up: it is aborted at once, while real brokers look
every 10 s. What a coordinator knows survives its broker.
Never: appends records of producers; `logs.producing` does, and asks here whether it may.

KIP-98, 360 (ids that go on), 890 (verification, epochs that rise with each end, partitions that
join by being written to).
"""

from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, Cluster
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.mint import group_partition
from kgroup.testing.broker.transactions.transaction import (
    COMMITTING,
    Identity,
    Markers,
    Phase,
    Transaction,
    judge_end,
    judge_init,
)
from kgroup.types import TopicPartition

_MARKS_AGAIN_AFTER: Final = 0.1


class TransactionCoordinators:
    """Transactions of one cluster.

    Args:
        context: clock and settings.
        cluster: partitions and their leaders.
        coordinators: of groups, for offsets in transactions.

    Attributes:
        transactions: by transactional id.
    """

    def __init__(self, context: Context, cluster: Cluster, coordinators: Coordinators) -> None:
        self._context = context
        self._cluster = cluster
        self._markers = Markers(context, cluster, coordinators)
        self.transactions: dict[str, Transaction] = {}
        self._ids_given = 0

    # -- places ----------------------------------------------------------------------------------

    def refusal(self, node_id: int | None, transactional_id: str) -> ErrorCode:
        """Say why a broker does not answer for a transactional id: 16 or 0.

        Args:
            node_id: the broker; None = whichever it is, as long as there is one (15).
            transactional_id: the id.
        """
        home = self._cluster.coordinator_partition(TRANSACTIONS_TOPIC, transactional_id)
        leader = None if home is None else home.leader
        if node_id is not None:
            return ErrorCode.NONE if leader == node_id else ErrorCode.NOT_COORDINATOR
        if leader is None or not self._cluster.nodes[leader].alive:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode.NONE

    def offsets_partition(self, group_id: str) -> TopicPartition:
        """Return the partition of the offsets topic that stands for a group in a transaction."""
        count = self._context.settings.offsets_partitions
        return TopicPartition(OFFSETS_TOPIC, group_partition(group_id, count))

    # -- ids -------------------------------------------------------------------------------------

    def new_identity(self) -> Identity:
        """Give out a new producer id."""
        self._ids_given += 1
        return Identity(self._ids_given - 1, 0)

    def initialise(
        self, transactional_id: str, timeout: float, expected: Identity | None
    ) -> ErrorCode | Identity:
        """Let a producer begin, or go on after an error.

        Args:
            transactional_id: not empty.
            timeout: of its transactions, seconds.
            expected: what it has, None = nothing.

        Returns:
            What it writes with; or 90, or 51 while a transaction still has to end.
        """
        if not 0 < timeout <= self._context.settings.transaction_timeout_limit:
            return ErrorCode.INVALID_TRANSACTION_TIMEOUT
        known = self.transactions.get(transactional_id)
        if known is None:
            known = Transaction(transactional_id, self.new_identity(), timeout)
            self.transactions[transactional_id] = known
            return known.now
        code = judge_init(known, expected)
        if code:
            return code
        if known.phase is Phase.ONGOING:
            self._fence(known)
            return ErrorCode.CONCURRENT_TRANSACTIONS
        if code is None:
            self._go_on(known, expected)
        known.timeout, known.phase = timeout, Phase.EMPTY
        return known.now

    def _go_on(self, transaction: Transaction, expected: Identity | None) -> None:
        if transaction.is_spent:
            transaction.before = None if expected is None else transaction.now
            transaction.now = self.new_identity()
        else:
            transaction.raise_epoch(known=expected is not None)

    # -- what belongs to a transaction -----------------------------------------------------------

    def add(
        self, transactional_id: str, identity: Identity, partitions: AbstractSet[TopicPartition]
    ) -> ErrorCode:
        """Take partitions into a transaction; it begins with the first ones.

        Args:
            transactional_id: not empty.
            identity: of the producer.
            partitions: that exist; `offsets_partition` stands for the offsets of a group.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        code = transaction.refusal(identity)
        if code:
            return code
        if transaction.phase is not Phase.ONGOING:
            transaction.phase = Phase.ONGOING
            transaction.partitions.clear()
            self._set_timer(transaction)
        transaction.partitions |= partitions
        return ErrorCode.NONE

    def verify(self, transactional_id: str, identity: Identity, tp: TopicPartition) -> ErrorCode:
        """Say whether a partition is part of a producer's transaction: 120 if not (KIP-890)."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        code = transaction.refusal(identity)
        if code:
            return code
        return ErrorCode.NONE if tp in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE

    # -- the end ---------------------------------------------------------------------------------

    def end(
        self, transactional_id: str, identity: Identity, *, committed: bool, raises_epochs: bool
    ) -> ErrorCode | Identity:
        """End a producer's transaction.

        Args:
            transactional_id: not empty.
            identity: of the producer.
            committed: or aborted.
            raises_epochs: whether the request is one of KIP-890, version 2.

        Returns:
            What the producer goes on with, or why it is refused.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        code = judge_end(transaction, identity, committed=committed, raises_epochs=raises_epochs)
        if code:
            return code
        if code is None:
            self._end(transaction, committed=committed, raises_epoch=raises_epochs)
        return transaction.after or transaction.now

    def _fence(self, transaction: Transaction) -> None:
        """Abort the open transaction of a producer that shall not go on."""
        transaction.raise_epoch(known=False)
        self._end(transaction, committed=False, raises_epoch=False)

    def _time_out(self, transaction: Transaction) -> None:
        transaction.timer = None
        self._fence(transaction)

    def _end(self, transaction: Transaction, *, committed: bool, raises_epoch: bool) -> None:
        transaction.phase = Phase.PREPARE_COMMIT if committed else Phase.PREPARE_ABORT
        transaction.raises_epochs = raises_epoch
        if transaction.timer is not None:
            transaction.timer.cancel()
            transaction.timer = None
        if raises_epoch:
            if transaction.is_spent:
                transaction.after = self.new_identity()
            transaction.raise_epoch(known=True)
        delay = self._context.settings.marker_delay
        if delay > 0 and transaction.partitions:
            self._context.agenda.after(delay, partial(self._mark, transaction))
        else:
            self._mark(transaction)

    def _mark(self, transaction: Transaction) -> None:
        committed = transaction.phase in COMMITTING
        transaction.partitions = {
            tp
            for tp in sorted(transaction.partitions)
            if not self._markers.write(tp, transaction.now, committed=committed)
        }
        if transaction.partitions:
            self._context.agenda.after(_MARKS_AGAIN_AFTER, partial(self._mark, transaction))
            return
        transaction.phase = Phase.COMPLETE_COMMIT if committed else Phase.COMPLETE_ABORT
        if transaction.after is not None:
            transaction.now, transaction.after = transaction.after, None

    def _set_timer(self, transaction: Transaction) -> None:
        agenda = self._context.agenda
        act = partial(self._time_out, transaction)
        transaction.timer = agenda.after(transaction.timeout, act)

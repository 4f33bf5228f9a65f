"""Whether the producer of a TxnOffsetCommit may commit in its transaction.

Decides: nothing by itself; the transaction coordinator is asked whether the offsets of the group
belong to the transaction, or join it from version 5 on (KIP-890), and its codes are put
into the words that group coordinators use.
Never: looks at the group.
"""

from typing import Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.transactions.coordinator import TransactionCoordinators
from kgroup.testing.broker.transactions.transaction import Identity
from kgroup.wire.messages import TxnOffsetCommitRequest

_ABORTABLE_SINCE: Final = 4
_JOINING_SINCE: Final = 5


def refusal_of_producer(
    transactions: TransactionCoordinators, asked: Asked, request: TxnOffsetCommitRequest
) -> ErrorCode:
    """Judge the producer and its transaction; 0 lets it pass."""
    identity = Identity(request.producer_id, request.producer_epoch)
    partition = transactions.offsets_partition(request.group_id)
    code = transactions.refusal(None, request.transactional_id)
    if not code and asked.version >= _JOINING_SINCE:
        code = transactions.add(request.transactional_id, identity, {partition})
    elif not code:
        code = transactions.verify(request.transactional_id, identity, partition)
    return _in_words_of_groups(code, asked.version)


def _in_words_of_groups(code: ErrorCode, version: int) -> ErrorCode:
    if code is ErrorCode.CONCURRENT_TRANSACTIONS and version < _JOINING_SINCE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_SINCE:
        return ErrorCode.INVALID_TXN_STATE
    return code

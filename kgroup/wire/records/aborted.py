"""What a read_committed consumer leaves out of one Fetch answer (KIP-98).

Decides: which batches hold records to hand out.
Never: decides how far to read; the broker ends the answer at the last stable offset.

Walk-through. The broker lists, for the partition, each aborted transaction that reaches into the
answer: producer id, first offset. For each batch of a producer, in order of offsets:
1. transactions that begin at or before the batch's last offset become active;
2. an abort mark of an active producer ends its transaction; what it writes next is another one;
3. records of an active producer's transaction are aborted: the whole batch is left out.
"""

from collections.abc import Iterable

from kgroup.wire.compression import MAX_OUTPUT
from kgroup.wire.records.batches import LogBatch
from kgroup.wire.records.control import ControlType, control_type

__all__ = ["AbortedTransactions"]


class AbortedTransactions:
    """The filter for one partition of one answer; show it every batch, in order, once.

    Args:
        aborted: producer id and first offset of each, in any order, as the answer lists them.
        max_output: most bytes an abort mark's batch may inflate to.
    """

    def __init__(self, aborted: Iterable[tuple[int, int]], *, max_output: int = MAX_OUTPUT) -> None:
        self._coming = sorted(aborted, key=lambda each: each[1], reverse=True)
        self._active: set[int] = set()
        self._max_output = max_output

    def admits(self, batch: LogBatch) -> bool:
        """Tell whether the records of `batch` may be handed out.

        Control batches never may. A mark of a producer that has nothing aborted here is not even
        read, and one without a transaction, or a second one, changes nothing (N19).

        Raises:
            CorruptRecordError: an abort mark cannot be read.
        """
        producer_id = batch.producer_id
        if producer_id is None:
            return not batch.is_control
        while self._coming and self._coming[-1][1] <= batch.last_offset:
            self._active.add(self._coming.pop()[0])
        if producer_id not in self._active:
            return not batch.is_control
        if batch.is_control:
            mark = control_type(batch.columns(max_output=self._max_output))
            if mark is not None and mark.type == ControlType.ABORT:
                self._active.discard(producer_id)
            return False
        return not batch.is_transactional

"""What a log knows of the producers that write to it: sequences and open transactions (KIP-98).

Decides: whether a batch is the next one of its producer, one that is there already, or neither;
which transactions are open, and which were aborted.
Never: reads records; what the coordinator of transactions knows is not known here.

KIP-360: a forgotten producer may begin with any sequence. A duplicate is recognised among
the last five batches.
"""

from bisect import bisect_left
from collections import deque
from dataclasses import field
from typing import Final, NamedTuple

from kgroup.codes import ErrorCode
from kgroup.values import dataclass
from kgroup.wire.records import BatchView, ControlRecord, ControlType, control_type

_REMEMBERED: Final = 5
_LAST_SEQUENCE: Final = (1 << 31) - 1
_NO_SEQUENCE: Final = -1


class Remembered(NamedTuple):
    """A batch that would be recognised if it came again."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class AbortedTransaction(NamedTuple):
    """A transaction whose abort mark is in the log.

    Args:
        producer_id: of the producer.
        first_offset: of its first record.
        last_offset: of its mark.
    """

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class Producer:
    """One producer id in one log.

    Args:
        epoch: the latest that was seen.
        batches: the latest, at most five.
        open_since: first offset of its open transaction, None without one.
    """

    epoch: int
    batches: deque[Remembered] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    open_since: int | None = None

    @property
    def last_sequence(self) -> int:
        """Sequence of the latest record of this epoch, -1 before the first."""
        return self.batches[-1].last_sequence if self.batches else _NO_SEQUENCE


@dataclass(slots=True)
class Producers:
    """All producers of one log.

    Args:
        by_id: by producer id.
        aborted: in the order of their marks.
        ended: first offset and mark of every transaction that is over, in the order of their marks.
    """

    by_id: dict[int, Producer] = field(default_factory=dict)
    aborted: list[AbortedTransaction] = field(default_factory=list)
    ended: list[tuple[int, int]] = field(default_factory=list)

    def duplicate(self, batch: BatchView) -> Remembered | None:
        """Return the batch of the log that this one repeats."""
        producer = self.by_id.get(batch.header.producer_id)
        if producer is None or producer.epoch != batch.header.producer_epoch:
            return None
        first, last = _sequences(batch)
        for known in producer.batches:
            if (known.first_sequence, known.last_sequence) == (first, last):
                return known
        return None

    def refusal(self, batch: BatchView) -> ErrorCode:
        """Say why a batch of an idempotent producer may not be appended: 47, 45, 48 or 0."""
        header = batch.header
        producer = self.by_id.get(header.producer_id)
        if producer is None:
            return ErrorCode.NONE
        if header.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        is_first = header.producer_epoch > producer.epoch
        expected = 0 if is_first else _after(producer.last_sequence)
        if header.base_sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if producer.open_since is not None and not batch.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def observe(self, batch: BatchView) -> None:
        """Note a batch that is in the log now, at its offsets."""
        header = batch.header
        if header.producer_id < 0:
            return
        producer = self.by_id.setdefault(header.producer_id, Producer(header.producer_epoch))
        if header.producer_epoch != producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        if batch.is_control:
            self._end(header.producer_id, producer, batch)
            return
        first, last = _sequences(batch)
        producer.batches.append(
            Remembered(first, last, batch.base_offset, batch.last_offset, header.max_timestamp)
        )
        if batch.is_transactional and producer.open_since is None:
            producer.open_since = batch.base_offset

    def _end(self, producer_id: int, producer: Producer, batch: BatchView) -> None:
        began, producer.open_since = producer.open_since, None
        mark = control_type(batch.columns(check_crc=False))
        if began is None or mark is None:
            return
        self.ended.append((began, batch.last_offset))
        if mark == ControlRecord(0, ControlType.ABORT):
            self.aborted.append(AbortedTransaction(producer_id, began, batch.last_offset))

    def first_unstable(self, high_watermark: int) -> int | None:
        """Return the first offset of a transaction that is open, or whose mark is not replicated.

        Args:
            high_watermark: a mark at or after it is not.
        """
        begun = [each.open_since for each in self.by_id.values() if each.open_since is not None]
        settled = bisect_left(self.ended, high_watermark, key=lambda span: span[1])
        begun += [began for began, _ in self.ended[settled:]]
        return min(begun, default=None)


def _sequences(batch: BatchView) -> tuple[int, int]:
    first = batch.header.base_sequence
    return first, (first + batch.header.last_offset_delta) & _LAST_SEQUENCE


def _after(sequence: int) -> int:
    return sequence + 1 & _LAST_SEQUENCE

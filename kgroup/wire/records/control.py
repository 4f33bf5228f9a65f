"""Transactions within a log (KIP-98): the broker's marks, and which batches were aborted.

Decides: what a mark says, and which batches a read_committed consumer leaves out of an answer.
Never: decides how far to read; the broker ends the answer at the last stable offset. Never fails
on an unknown mark; like all marks it is skipped.

The broker lists, for a partition, each aborted transaction that reaches into the answer: its
producer id and first offset. From that offset on, batches of that producer are left out, until
its ABORT mark ends the transaction.
"""

import struct
from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from kgroup.wire.compression import MAX_OUTPUT
from kgroup.wire.records.batches import LogBatch
from kgroup.wire.records.columns import RecordColumns

_KEY: Final = struct.Struct(">hh")


class ControlType(IntEnum):
    """Types a log can hold; a consumer of topics acts on the first only."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class ControlRecord(NamedTuple):
    """The key of a mark; `type` stays a bare number when it is not a `ControlType`."""

    version: int
    type: int


def control_type(columns: RecordColumns) -> ControlRecord | None:
    """Read the first mark of a control batch; a broker writes one per batch.

    Returns:
        None when compaction has removed it, or its key is too short to say anything.
    """
    key = columns.key(0) if len(columns) else None
    if key is None or len(key) < _KEY.size:
        return None
    return ControlRecord(*_KEY.unpack_from(key))


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

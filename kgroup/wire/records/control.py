"""Control batches: marks of the broker between the records of applications (KIP-98).

Decides: what a mark says.
Never: fails on a mark it does not know (N19); it is skipped like all of them.

Key: version i16, type i16. The value (for the end of a transaction version i16, coordinator epoch
i32) tells a consumer nothing.
"""

import struct
from enum import IntEnum
from typing import Final, NamedTuple

from kgroup.wire.records.columns import RecordColumns

__all__ = ["ControlRecord", "ControlType", "control_type"]

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

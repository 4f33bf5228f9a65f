"""Where a streaming query goes on with a partition: one table.

Decides: which of the places that are known for a partition counts.
Never: asks anybody; the places come in as arguments.

| the query | committed in the group | goes on at |
|---|---|---|
| has kept the claim since the batch before | anything | its own position |
| has a position in its checkpoint | nothing | that position |
| has a position in its checkpoint | by this query | that position: commits are a trigger late |
| has a position in its checkpoint | by others, further | what is committed: they handled it |
| has a position in its checkpoint | by others, not as far | its position: its sink has the rest |
| has committed, and lost the claim since | by others, in front of that | what is committed |
| has no position | by anybody | what is committed |
| has no position | nothing | where `startingOffsets` says; a new partition at its beginning |

The last but two: members only go forward, so somebody has set the positions back on purpose.

A place that the log does not hold any more, or not yet, is moved by `settle`, or ends the query.
"""

from collections.abc import Mapping
from typing import Final

from kgroup.errors import KGroupError
from kgroup.spark.offsets import Span
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass

_MARK: Final = "kgroup/1"


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a cluster says of partitions.

    Args:
        committed: in the group, of those that are new.
        taken: partition -> what the group has taken of this member's commits.
        firsts: first offsets of the logs of those that are new.
        latest: ends of the logs.
    """

    committed: Mapping[TopicPartition, OffsetAndMetadata | None]
    taken: Mapping[TopicPartition, int]
    firsts: Mapping[TopicPartition, int]
    latest: dict[TopicPartition, int]


class DataLossError(KGroupError):
    """Records that the query has not read are gone, or the log is not what it was.

    Args:
        tp: the partition.
        position: where the query wants to go on.
        log: first offset the log holds, and the one behind its last.
    """

    def __init__(self, tp: TopicPartition, position: int, log: Span) -> None:
        super().__init__(
            f"{tp}: the query goes on at offset {position}, and the log holds {log[0]} to "
            f"{log[1]}; failOnDataLoss=false goes on with what there is"
        )
        self.tp = tp
        self.position = position
        self.log = log


def mark(query: str, batch: int) -> str:
    """Return the metadata of a query's commit, by which it knows its own."""
    return f"{_MARK};q={query};b={batch}"


def is_own(committed: OffsetAndMetadata, query: str) -> bool:
    """Tell whether a commit is of this query."""
    parts = committed.metadata.rstrip("\0").split(";")
    return parts[:2] == [_MARK, f"q={query}"]


def read_mark(metadata: str) -> tuple[str, int] | None:
    """Return the query and the batch of a commit, by its metadata; None of any other commit."""
    parts = metadata.rstrip("\0").split(";")
    if len(parts) != 3 or parts[0] != _MARK or parts[1][:2] != "q=" or parts[2][:2] != "b=":
        return None
    batch = parts[2][2:]
    return (parts[1][2:], int(batch)) if batch.isdecimal() and len(batch) < 19 else None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one partition.

    Args:
        kept: the query's own position, of a claim it has held without a break; else None.
        checkpoint: position in the checkpoint, None without one.
        committed: in the group, None for nothing.
        fallback: where `startingOffsets` says.
        taken: what the group has taken from this query since it was started, None for nothing.
    """

    kept: int | None = None
    checkpoint: int | None = None
    committed: OffsetAndMetadata | None = None
    fallback: int | None = None
    taken: int | None = None


def begin(known: Known, query: str) -> int | None:
    """Return where to go on; None where a fallback is needed and not known yet."""
    if known.kept is not None:
        return known.kept
    committed = known.committed
    if known.checkpoint is None:
        return known.fallback if committed is None else committed.offset
    if committed is None or is_own(committed, query):
        return known.checkpoint
    if known.taken is not None and committed.offset < known.taken:
        return committed.offset
    return max(known.checkpoint, committed.offset)


def settle(tp: TopicPartition, position: int, log: Span, *, fails: bool) -> int:
    """Return a position that the log holds.

    Args:
        tp: the partition.
        position: where the query wants to go on.
        log: first offset the log holds, and the one behind its last.
        fails: whether a loss is an error.

    Raises:
        DataLossError: it is not in the log.
    """
    first, end = log
    if first <= position <= end:
        return position
    if fails:
        raise DataLossError(tp, position, log)
    return first if position < first else end

"""What stops reading at one place of one partition.

Decides: which place, and the way on.
Never: moves a position.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from kgroup.errors.usage import KGroupError
from kgroup.types import TopicPartition

__all__ = ["DeserializationError", "LogTruncatedError", "NoOffsetError", "OffsetOutOfRangeError"]


class DeserializationError(KGroupError):
    """A deserialiser raised; what it raised is the `__cause__`. The message shows no payload.

    Args:
        tp: partition of the record.
        offset: offset of the record; `seek(tp, offset + 1)` leaves it out.
        field: which of the two it was.
        key: bytes of the key as they came, None for a null.
        value: bytes of the value as they came, None for a null.
    """

    def __init__(
        self,
        tp: TopicPartition,
        offset: int,
        field: Literal["key", "value"],
        *,
        key: bytes | None,
        value: bytes | None,
    ) -> None:
        super().__init__(
            f"{tp}: the {field} of the record at offset {offset} cannot be deserialised; "
            f"seek to {offset + 1} to leave it out, or set on_deserialize_error"
        )
        self.tp = tp
        self.offset = offset
        self.field = field
        self.key = key
        self.value = value

    @property
    def raw(self) -> bytes | None:
        """The bytes that could not be deserialised."""
        return self.key if self.field == "key" else self.value


class NoOffsetError(KGroupError):
    """A partition has no committed offset and the reset policy is `none`.

    Args:
        partitions: the partitions in question.
    """

    def __init__(self, partitions: Sequence[TopicPartition]) -> None:
        names = ", ".join(str(tp) for tp in partitions)
        super().__init__(
            f"{names}: no committed offset, and auto_offset_reset is 'none'; "
            "seek, or choose 'earliest' or 'latest'"
        )
        self.partitions: tuple[TopicPartition, ...] = tuple(partitions)


class OffsetOutOfRangeError(KGroupError):
    """The log no longer, or not yet, holds the position, and the reset policy is `none`.

    Args:
        positions: partition -> the offset that was asked for.
    """

    def __init__(self, positions: Mapping[TopicPartition, int]) -> None:
        names = ", ".join(f"{tp} at {offset}" for tp, offset in sorted(positions.items()))
        super().__init__(f"{names}: offset out of range, and auto_offset_reset is 'none'")
        self.positions: dict[TopicPartition, int] = dict(positions)


class LogTruncatedError(KGroupError):
    """Records that were read are gone from the log, and the reset policy is `none` (KIP-320).

    A leader was elected that never had them. What stands at their offsets now is something else.

    Args:
        tp: the partition.
        position: the next offset to hand out.
        leader_epoch: epoch of the record before it, None when not known.
        diverged_at: first offset that is not what was read, None when the leader cannot tell.
    """

    def __init__(
        self, tp: TopicPartition, position: int, leader_epoch: int | None, diverged_at: int | None
    ) -> None:
        where = "from an unknown offset on" if diverged_at is None else f"from {diverged_at} on"
        super().__init__(
            f"{tp} at {position}: the log was truncated, what was read {where} is no longer there, "
            "and auto_offset_reset is 'none'; seek to go on"
        )
        self.tp = tp
        self.position = position
        self.leader_epoch = leader_epoch
        self.diverged_at = diverged_at

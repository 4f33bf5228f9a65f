"""What goes wrong between a member and its group.

Decides: which identity and outcome an error carries.
Never: how a member reacts; `kgroup.machine.reactions` decides.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from kgroup.codes import error_name
from kgroup.errors.usage import KGroupError
from kgroup.types import CommitOutcome, Generation, TopicPartition


class GroupError(KGroupError):
    """The membership ended or could not be made.

    Args:
        reason: what happened.
        generation: the identity at that moment, None without one.
        code: the broker's error code, None without one.
    """

    def __init__(
        self, reason: str, *, generation: Generation | None = None, code: int | None = None
    ) -> None:
        who = (
            ""
            if generation is None
            else f" (group {generation.group_id!r}, member {generation.member_id!r}, "
            f"generation {generation.generation_id})"
        )
        named = "" if code is None else f": {error_name(code)} ({code})"
        super().__init__(f"{reason}{named}{who}")
        self.reason = reason
        self.generation = generation
        self.code = code


class FencedError(GroupError):
    """Another member uses the same group instance id; this one may do nothing more (KIP-345).

    In a Marshal group the other member is a process of the same name that was started later, by
    the clocks of the two machines.
    """


class AssignmentError(GroupError):
    """The partitions of a group cannot be divided; nothing was sent, and the round is tried again.

    Raised when members or the coordinator caused it. What an assignor did is an `AssignorError`.
    """


class AssignorError(AssignmentError):
    """An assignor raised, or returned what cannot be sent; nothing was sent.

    Args:
        assignor: its name.
        offences: what is wrong, the first few of each kind; never empty.
    """

    def __init__(self, assignor: str, offences: Sequence[str]) -> None:
        super().__init__(f"assignor {assignor!r} {'; '.join(offences)}")
        self.assignor = assignor
        self.offences: tuple[str, ...] = tuple(offences)


class CoordinationTopicError(GroupError):
    """The topic through which a Marshal group coordinates cannot be used, or not any more.

    It is missing, cannot be read, was deleted or made anew, or has another number of partitions
    than when this member started: claims would not be where others look for them.

    Args:
        topic: its name.
        reason: what is wrong, and the way out.
    """

    def __init__(self, topic: str, reason: str) -> None:
        super().__init__(f"coordination topic {topic!r}: {reason}")
        self.topic = topic


class NotOwnedError(KGroupError):
    """A commit or a seek names a partition this member does not own; nothing was sent.

    Args:
        partitions: the partitions in question.
    """

    def __init__(self, partitions: Sequence[TopicPartition], reason: str) -> None:
        names = ", ".join(str(tp) for tp in partitions)
        super().__init__(f"{names}: {reason}")
        self.partitions: tuple[TopicPartition, ...] = tuple(partitions)


class FencedWriteError(KGroupError):
    """A store refused a write: another owner of the partition came later. Nothing was written.

    Args:
        tp: the partition.
        epoch: number of the owner that was refused.
        present: number of the owner that the store knows, None when it knows none.
    """

    def __init__(self, tp: TopicPartition, epoch: int, present: int | None) -> None:
        known = "nobody" if present is None else f"owner {present}"
        super().__init__(f"{tp}: the store refuses owner {epoch}; the partition has {known}")
        self.tp = tp
        self.epoch = epoch
        self.present = present


class LockLostError(KGroupError):
    """A write under a lock was refused: somebody was given the lock later. Nothing was written.

    Args:
        name: of the lock.
        epoch: number of the grant that was refused.
        present: number of the latest grant, None when none is known.
    """

    def __init__(self, name: str, epoch: int, present: int | None) -> None:
        known = "nobody" if present is None else f"grant {present}"
        super().__init__(f"lock {name!r}: grant {epoch} is over; the lock has {known}")
        self.name = name
        self.epoch = epoch
        self.present = present


class CommitFailedError(KGroupError):
    """Some partitions of a commit were refused, or their outcome is not known.

    Args:
        outcome: every partition of the commit, the good ones too.
    """

    def __init__(self, outcome: CommitOutcome) -> None:
        each = "; ".join(
            f"{tp} {result.status.value} ({result.reason})"
            for tp, result in sorted(outcome.failed().items())
        )
        super().__init__(f"commit: {each}")
        self.outcome = outcome


# -- reading ---------------------------------------------------------------------------------------
#
# What stops reading at one place of one partition.
#
# Decides: which place, and the way on.
# Never: moves a position.


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

    A leader was elected that never had them. Other records stand at their offsets now.

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

"""What goes wrong between a member and its group.

Decides: which identity and outcome an error carries.
Never: how a member reacts; `kgroup.machine.reactions` decides.
"""

from collections.abc import Sequence

from kgroup.codes import error_name
from kgroup.errors.usage import KGroupError
from kgroup.types import CommitOutcome, Generation, TopicPartition

__all__ = [
    "AssignmentError",
    "AssignorError",
    "CommitFailedError",
    "CoordinationTopicError",
    "FencedError",
    "GroupError",
    "NotOwnedError",
]


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

    In a group that claims: a process of the same name that was started later, by their clocks.
    """


class AssignmentError(GroupError):
    """The partitions of a group cannot be divided; nothing was sent, and the round is tried again.

    Raised by itself for what members or the coordinator did; see `AssignorError` for the rest.
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

"""C2 and C5: a commit names a live membership and an owned partition.

C2: a subscribed member never sends OffsetCommit without generation and member id; a broker takes
    such a commit whenever the group is empty, so a zombie could overwrite the last owner's.
C5: only owned partitions are committed; during a revocation still, after its end or a loss never.
A manual assignment (a period without member id) commits without an identity, rightly.

Decides: who may commit, and for which partitions.
Never: looks at offsets.
"""

from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    Entry,
    Event,
    GenerationEntered,
    MemberStopped,
    OwnershipStep,
    RequestSent,
)
from kgroup.journal.periods import Periods


class CommitIdentity:
    """C2 and C5: commits under an identity and a claim.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStep, GenerationEntered, MemberStopped, OwnershipStep, RequestSent}
    )

    APIS: ClassVar[frozenset[ApiKey]] = frozenset({ApiKey.OFFSET_COMMIT})

    __slots__ = ("_members", "_periods")

    def __init__(self, periods: Periods | None = None) -> None:
        self._periods = Periods() if periods is None else periods
        self._members: dict[object, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, RequestSent) and event.api is not ApiKey.OFFSET_COMMIT:
            return ()
        self._periods.observe(entry)
        match event:
            case GenerationEntered():
                self._members.setdefault(entry.source, entry)
            case RequestSent(api=ApiKey.OFFSET_COMMIT) as sent if entry.source in self._members:
                return self._anonymous(entry, sent.generation_id, sent.member_id)
            case CommitStep(stage=CommitStage.REQUESTED) as step:
                return self._requested(entry, step)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _anonymous(
        self, entry: Entry, generation_id: int | None, member_id: str | None
    ) -> tuple[Violation, ...]:
        if generation_id is not None and generation_id >= 0 and member_id:
            return ()
        text = (
            f"{entry.source} is a member of a group and commits with generation "
            f"{generation_id} and member id {member_id!r}"
        )
        joined = self._members.get(entry.source)
        return (Violation("C2", text, (entry,) if joined is None else (joined, entry)),)

    def _requested(self, entry: Entry, step: CommitStep) -> tuple[Violation, ...]:
        period = self._periods.get(entry.source, step.claim)
        if period is None or period.ended is not None:
            ended = None if period is None else period.ended
            when = "which it never owned" if ended is None else "after the end of the claim"
            text = f"{entry.source} commits {step.offset} of {step.claim}, {when}"
            proofs = (entry,) if ended is None else (ended, entry)
            return (Violation("C5", text, proofs, step.claim.tp),)
        if period.member_id is None:
            return ()
        return self._anonymous(entry, step.generation_id, step.member_id)

"""C4: a commit never covers a delivered record that is not done (at-least-once).

Decides: whether the position committed under a claim is covered by what the application finished.
Never: applies to at-most-once, where the commit comes first on purpose.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    Delivered,
    Done,
    Entry,
    Event,
    OffsetRead,
    PositionMoved,
)
from kgroup.journal.oracles.violation import Violation
from kgroup.journal.periods import PeriodKey

__all__ = ["CommitsOnlyDone"]


@dataclass(frozen=True, slots=True)
class _Progress:
    """How far one claim is; offsets are the next ones."""

    position: int
    done: int
    entry: Entry


class CommitsOnlyDone:
    """C4: done before committed.

    Args:
        sparse: topics in which a position may rightly stand after offsets that hold no record.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStep, Delivered, Done, OffsetRead, PositionMoved}
    )

    __slots__ = ("_progress", "_sparse")

    def __init__(self, sparse: frozenset[str] = frozenset()) -> None:
        self._sparse = sparse
        self._progress: dict[PeriodKey, _Progress] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        match entry.event:
            case (
                OffsetRead(claim=claim, offset=int(offset))
                | PositionMoved(claim=claim, offset=offset)
            ):
                self._progress[entry.source, claim] = _Progress(offset, offset, entry)
            case Delivered(claim=claim, first=first, last=last):
                known = self._progress.get((entry.source, claim))
                done = first if known is None else known.done
                self._progress[entry.source, claim] = _Progress(last + 1, done, entry)
            case Done(claim=claim, next_offset=done):
                known = self._progress.get((entry.source, claim))
                if known is not None and done > known.done:
                    self._progress[entry.source, claim] = replace(known, done=done)
            case CommitStep(stage=CommitStage.REQUESTED) as step:
                return self._requested(entry, step)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _requested(self, entry: Entry, step: CommitStep) -> tuple[Violation, ...]:
        known = self._progress.get((entry.source, step.claim))
        if known is None:
            return ()
        if step.offset > known.position and step.claim.tp.topic not in self._sparse:
            what = f"the next record to deliver is {known.position}"
        elif step.offset > known.done and known.done < known.position:
            what = f"records from {known.done} on are delivered but not done"
        else:
            return ()
        text = f"{entry.source} commits {step.offset} of {step.claim}, but {what}"
        return (Violation("C4", text, (known.entry, entry), step.claim.tp),)

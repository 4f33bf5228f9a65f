"""C4: a commit never covers a delivered record that is not done (at-least-once).

Decides: whether the position committed under a claim is covered by what the application finished.
Never: applies to at-most-once, where the commit comes first on purpose.
"""

from dataclasses import dataclass
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
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
from kgroup.journal.periods import PeriodKey


@dataclass(slots=True)
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
        event = entry.event
        if isinstance(event, CommitStep):
            if event.stage is CommitStage.REQUESTED:
                return self._requested(entry, event)
        elif isinstance(event, Delivered):
            self._delivered(entry, event)
        elif isinstance(event, Done):
            known = self._progress.get((entry.source, event.claim))
            if known is not None and event.next_offset > known.done:
                known.done = event.next_offset
        elif isinstance(event, (OffsetRead, PositionMoved)) and event.offset is not None:
            new = _Progress(event.offset, event.offset, entry)
            self._progress[entry.source, event.claim] = new
        return ()

    def _delivered(self, entry: Entry, event: Delivered) -> None:
        key = (entry.source, event.claim)
        known = self._progress.get(key)
        if known is None:
            self._progress[key] = _Progress(event.last + 1, event.first, entry)
        else:
            known.position, known.entry = event.last + 1, entry

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

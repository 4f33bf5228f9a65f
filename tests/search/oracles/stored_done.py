"""D1's second half: what is stored was done.

D1: an accepted commit of c says that every record below c, from where the group began, is done.
What a seek or the reset policy went over counts as done, as does what lies below an
administrator's commit.

Decides: whether all records below an accepted commit were finished by somebody, at any time.
Never: applies to at-most-once, where the commit comes first on purpose.
"""

from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import CommitStored, Done, Entry, Event, OffsetRead, PositionMoved
from kgroup.journal.periods import Intervals, PeriodKey, total
from kgroup.types import TopicPartition


class StoredIsDone:
    """D1: accepted commits against what is done."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStored, Done, OffsetRead, PositionMoved}
    )

    __slots__ = ("_at", "_covered", "_starts")

    def __init__(self) -> None:
        self._at: dict[PeriodKey, int] = {}
        self._starts: dict[TopicPartition, int] = {}
        self._covered: dict[TopicPartition, Intervals] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        match entry.event:
            case Done(claim=claim, next_offset=offset):
                key = (entry.source, claim)
                self._cover(claim.tp, self._at.get(key, offset), offset)
                self._at[key] = offset
            case OffsetRead(claim=claim, offset=int(offset)):
                self._starts.setdefault(claim.tp, offset)
                self._at[entry.source, claim] = offset
            case PositionMoved(claim=claim, offset=offset):
                key = (entry.source, claim)
                self._starts[claim.tp] = min(offset, self._starts.get(claim.tp, offset))
                self._cover(claim.tp, self._at.get(key, offset), offset)
                self._at[key] = offset
            case CommitStored() as stored:
                return self._stored(entry, stored)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _cover(self, tp: TopicPartition, first: int, end: int) -> Intervals:
        covered = self._covered.get(tp)
        if covered is None:
            covered = self._covered[tp] = Intervals()
        covered.add(first, end)
        return covered

    def _stored(self, entry: Entry, stored: CommitStored) -> tuple[Violation, ...]:
        tp, end = stored.tp, stored.offset
        start = self._starts.get(tp)
        if end is None or start is None or end <= start:
            return ()
        gaps = self._cover(tp, 0, 0).missing(start, end)
        if not gaps:
            return ()
        self._cover(tp, start, end)  # each gap is told once
        if stored.member_id is None:
            return ()
        text = (
            f"{tp}: {end} of {stored.member_id} was accepted, but {total(gaps)} offsets from "
            f"{gaps[0][0]} on are not done"
        )
        return (Violation("D1", text, (entry,), tp),)

"""D1: nothing is lost.

Decides: which offsets, between where the group began and where it stands, nobody was given.
Never: asks the broker; end offsets are given by the caller, or left out.

An accepted commit of c says that all records below c were handed to somebody. At the end the same
holds for the end offsets, as far as they are given. What a seek or a reset jumped over is not lost.
Topics with offsets that consumers cannot see are left out.
"""

from collections.abc import Mapping
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    Delivered,
    Entry,
    Event,
    OffsetRead,
    PositionMoved,
)
from kgroup.journal.periods import Interval, Intervals, PeriodKey, total
from kgroup.types import TopicPartition


class NothingLost:
    """D1: every record from the group's start on is delivered.

    Args:
        ends: partition -> offset after its last record, when the run is over and has come to rest;
            looked at only then.
        sparse: topics with offsets that consumers do not see; not judged.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStep, Delivered, OffsetRead, PositionMoved}
    )

    ONE_PARTITION: ClassVar[bool] = True
    __slots__ = ("_covered", "_ends", "_last", "_positions", "_sparse", "_starts")

    def __init__(
        self,
        ends: Mapping[TopicPartition, int] | None = None,
        sparse: frozenset[str] = frozenset(),
    ) -> None:
        self._ends = {} if ends is None else ends
        self._sparse = sparse
        self._starts: dict[TopicPartition, int] = {}
        self._covered: dict[TopicPartition, Intervals] = {}
        self._positions: dict[PeriodKey, int] = {}
        self._last: dict[TopicPartition, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        match entry.event:
            case OffsetRead(claim=claim, offset=int(offset)):
                self._starts.setdefault(claim.tp, offset)
                self._positions.setdefault((entry.source, claim), offset)
            case PositionMoved(claim=claim, offset=offset):
                here = self._positions.get((entry.source, claim))
                if here is not None:
                    self._cover(claim.tp, here, offset)
                self._positions[entry.source, claim] = offset
                self._starts[claim.tp] = min(offset, self._starts.get(claim.tp, offset))
            case Delivered(claim=claim, first=first, last=last):
                self._starts.setdefault(claim.tp, first)
                self._cover(claim.tp, first, last + 1)
                self._positions[entry.source, claim] = last + 1
                self._last[claim.tp] = entry
            case CommitStep(stage=CommitStage.OK, claim=claim, offset=offset):
                return self._below(claim.tp, offset, f"{entry.source} committed {offset}", entry)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Compare with the end offsets."""
        return tuple(
            violation
            for tp, end in sorted(self._ends.items())
            for violation in self._below(tp, end, f"the log ends at {end}", self._last.get(tp))
        )

    def _cover(self, tp: TopicPartition, first: int, end: int) -> None:
        self._covered.setdefault(tp, Intervals()).add(first, end)

    def _below(
        self, tp: TopicPartition, end: int, why: str, entry: Entry | None
    ) -> tuple[Violation, ...]:
        if tp.topic in self._sparse:
            return ()
        start = self._starts.get(tp, 0 if entry is None else end)
        covered = self._covered.setdefault(tp, Intervals())
        gaps = covered.missing(start, end)
        if not gaps:
            return ()
        covered.add(start, end)  # each gap is reported once
        text = f"{tp}: {why}, but {total(gaps)} offsets were never delivered: {_spelled(gaps)}"
        return (Violation("D1", text, () if entry is None else (entry,), tp),)


def _spelled(gaps: tuple[Interval, ...]) -> str:
    shown = ", ".join(f"{first} to {end - 1}" for first, end in gaps[:5])
    return shown if len(gaps) <= 5 else f"{shown} and {len(gaps) - 5} more"

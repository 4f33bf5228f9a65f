"""Periods of ownership as a log has them: which member held which partition, and when.

Decides: when a period begins (ASSIGNED END), closes for delivery (REVOKED BEGIN), and ends, and
how: given up, lost, stopped with its member, or silent.
Never: calls anything wrong; oracles and the audit do.

A period is keyed by the member's life and the claim, not by a generation: a kept partition spans
generations, and a static restart keeps one. It carries the generation it began in.
A process that was killed writes no end. Its periods stay open here until another member is
assigned the partition; then they are overtaken, and their end is the last entry of that process.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from enum import Enum
from typing import ClassVar

from kgroup.frozen import replace
from kgroup.journal.events import (
    Entry,
    Event,
    GenerationEntered,
    MemberStopped,
    OwnershipStep,
    Phase,
    Source,
    StateChanged,
)
from kgroup.types import ChangeKind, Claim, MemberState, TopicPartition
from kgroup.values import dataclass

PeriodKey = tuple[Source, Claim]


class Ending(Enum):
    """How a period of ownership ended."""

    REVOKED = "revoked"
    LOST = "lost"
    STOPPED = "its member stopped"
    SILENT = "its process wrote nothing more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """One period of ownership of one partition by one member.

    Args:
        source: the member's life that holds it.
        claim: its claim.
        member_id: id at the beginning, None for a manual assignment.
        generation_id: generation it began in, None for a manual assignment.
        assigning: the entry that announced it, before the listener.
        began: the entry that began it, None while the listener still runs.
        revoking: the entry after which nothing may be delivered, None before.
        ended: the entry that ended it, None while it is open.
        ending: how it ended, None while it is open.
        overtaken: the entry that gave the partition to another member while this was open.
    """

    source: Source
    claim: Claim
    member_id: str | None
    generation_id: int | None
    assigning: Entry
    began: Entry | None = None
    revoking: Entry | None = None
    ended: Entry | None = None
    ending: Ending | None = None
    overtaken: Entry | None = None

    @property
    def key(self) -> PeriodKey:
        """What identifies it."""
        return self.source, self.claim

    @property
    def owned(self) -> bool:
        """Whether it has begun and has not ended."""
        return self.began is not None and self.ended is None


class Periods:
    """Follows the periods of all members; show it every entry, in order of time."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {GenerationEntered, MemberStopped, OwnershipStep, StateChanged}
    )
    """Events that tell of a period; no other needs to be shown."""

    __slots__ = ("_all", "_asked", "_by_source", "_changed", "_latest", "_open", "_syncing")

    def __init__(self) -> None:
        self._all: dict[PeriodKey, Period] = {}
        self._open: dict[TopicPartition, tuple[PeriodKey, ...]] = {}
        self._by_source: dict[Source, dict[Claim, None]] = {}
        self._latest: Entry | None = None
        self._changed: tuple[Period, ...] = ()
        self._syncing: dict[Source, float] = {}
        self._asked: dict[tuple[Source, int], float] = {}

    def get(self, source: Source, claim: Claim) -> Period | None:
        """Return one period, open or ended."""
        return self._all.get((source, claim))

    def held(self, source: Source) -> tuple[Period, ...]:
        """Return what one member holds, in order of acquisition."""
        return tuple(self._all[source, claim] for claim in self._by_source.get(source, ()))

    def holders(self, tp: TopicPartition) -> tuple[Period, ...]:
        """Return the open periods of a partition; several when one was overtaken."""
        return tuple(self._all[key] for key in self._open.get(tp, ()))

    def asked(self, period: Period) -> float:
        """Return when its member asked for the generation it began in, with SyncGroup."""
        if period.generation_id is None:
            return period.assigning.at
        return self._asked.get((period.source, period.generation_id), period.assigning.at)

    def observe(self, entry: Entry) -> tuple[Period, ...]:
        """Take one entry and return the periods it changes, as they are now.

        Several oracles may share one follower: what is shown again at once counts once.
        """
        if entry is not self._latest:
            self._latest = entry
            self._changed = self._take(entry)
        return self._changed

    def _take(self, entry: Entry) -> tuple[Period, ...]:
        event = entry.event
        if isinstance(event, OwnershipStep):
            return tuple(
                changed for claim in event.claims for changed in self._step(entry, event, claim)
            )
        if isinstance(event, MemberStopped):
            return tuple(
                self._end(period, entry, Ending.STOPPED) for period in self.held(entry.source)
            )
        if isinstance(event, GenerationEntered):
            since = self._syncing.pop(entry.source, entry.at)
            self._asked[entry.source, event.generation_id] = since
        elif isinstance(event, StateChanged) and event.after is MemberState.SYNCING:
            self._syncing[entry.source] = entry.at
        return ()

    def _step(self, entry: Entry, event: OwnershipStep, claim: Claim) -> tuple[Period, ...]:
        period = self._all.get((entry.source, claim))
        if event.kind is ChangeKind.ASSIGNED:
            return self._assigned(entry, event, claim)
        if period is None or period.ended is not None:
            return ()
        if event.kind is ChangeKind.REVOKED and event.phase is Phase.BEGIN:
            return (self._put(replace(period, revoking=entry)),)
        if event.kind is ChangeKind.LOST:
            return (self._end(period, entry, Ending.LOST),)
        return (self._end(period, entry, Ending.REVOKED),)

    def _assigned(self, entry: Entry, event: OwnershipStep, claim: Claim) -> tuple[Period, ...]:
        period = self._all.get((entry.source, claim))
        if period is None:
            period = Period(
                source=entry.source,
                claim=claim,
                member_id=event.member_id,
                generation_id=event.generation_id,
                assigning=entry,
            )
        if event.phase is Phase.BEGIN or period.ended is not None or period.began is not None:
            return (self._put(period),)
        others = [each for each in self.holders(claim.tp) if each.key != period.key and each.owned]
        late = next((each.began for each in others if self._is_late(period, each)), None)
        if late is not None:
            return (self._put(replace(period, began=entry, overtaken=late)),)
        overtaken = [
            self._put(replace(other, overtaken=entry))
            for other in others
            if other.overtaken is None
        ]
        return (*overtaken, self._put(replace(period, began=entry)))

    def _put(self, period: Period) -> Period:
        known = period.key in self._all
        self._all[period.key] = period
        if not known:
            tp = period.claim.tp
            self._open[tp] = (*self._open.get(tp, ()), period.key)
            self._by_source.setdefault(period.source, {})[period.claim] = None
        return period

    def _end(self, period: Period, entry: Entry, ending: Ending) -> Period:
        ended = replace(period, revoking=period.revoking or entry, ended=entry, ending=ending)
        self._all[period.key] = ended
        tp = period.claim.tp
        self._open[tp] = tuple(key for key in self._open[tp] if key != period.key)
        self._by_source[period.source].pop(period.claim, None)
        return ended

    def _is_late(self, period: Period, other: Period) -> bool:
        """Tell whether a period begins when another has long begun in a later generation.

        1. m1 is given t-0, and stands still inside its listener, or before it has read the answer
        to its SyncGroup; 2. its session ends, and m2 is given t-0; 3. m1 goes on, and its listener
        returns. It is m1 that owns nothing. The order of generations alone does not tell: a group
        that was deleted begins at 1 again, so m1 must have asked before m2 had it.
        """
        if period.generation_id is None or other.generation_id is None or other.began is None:
            return False
        asked = self.asked(period)
        return period.generation_id < other.generation_id and asked < other.began.at


# -- intervals -------------------------------------------------------------------------------------
#
# Sets of offsets as half-open intervals: what was delivered, in memory bounded by its gaps.
#
# Decides: union, overlap and gaps of offset ranges.
# Never: holds single offsets; a partition read in order is one interval however long it is.


Interval = tuple[int, int]
"""First offset, and the offset after the last."""


def total(intervals: Iterable[Interval]) -> int:
    """Count the offsets of intervals that do not overlap."""
    return sum(end - first for first, end in intervals)


class Intervals:
    """A set of offsets that only grows."""

    __slots__ = ("_ends", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []

    def __iter__(self) -> "zip[Interval]":
        return zip(self._firsts, self._ends, strict=True)

    def __len__(self) -> int:
        return len(self._firsts)

    def add(self, first: int, end: int) -> tuple[Interval, ...]:
        """Add the offsets from `first` to before `end`; return those that were in already."""
        if first >= end:
            return ()
        if not self._ends or first > self._ends[-1]:
            self._firsts.append(first)
            self._ends.append(end)
            return ()
        if first == self._ends[-1]:  # a partition read in order
            self._ends[-1] = end
            return ()
        known = self.overlap(first, end)
        low = bisect_left(self._ends, first)
        high = bisect_right(self._firsts, end)
        if low < high:
            first = min(first, self._firsts[low])
            end = max(end, self._ends[high - 1])
        self._firsts[low:high] = [first]
        self._ends[low:high] = [end]
        return known

    def overlap(self, first: int, end: int) -> tuple[Interval, ...]:
        """Return the parts of `first` to before `end` that are in the set."""
        if first >= end:
            return ()
        low = bisect_right(self._ends, first)
        high = bisect_left(self._firsts, end)
        return tuple(
            (max(first, a), min(end, b))
            for a, b in zip(self._firsts[low:high], self._ends[low:high], strict=True)
        )

    def missing(self, first: int, end: int) -> tuple[Interval, ...]:
        """Return the parts of `first` to before `end` that are not in the set."""
        if self._firsts and self._firsts[-1] <= first and end <= self._ends[-1]:
            return ()
        gaps: list[Interval] = []
        for a, b in self.overlap(first, end):
            if first < a:
                gaps.append((first, a))
            first = b
        if first < end:
            gaps.append((first, end))
        return tuple(gaps)

"""Records that were delivered more than once, and what explains it.

Decides: for each repeated delivery how much of it lies inside its own claim, below the last
acknowledged commit before its claim, or in what a former owner was done with and gave up cleanly.
Never: says whether that is allowed; the oracles of D5 and D6 and the audit do.

A commit whose answer a killed process never logged lies above the last logged one, so it makes the
bound more generous, never less. A claim whose position was moved by a seek repeats on purpose; one
whose log lost records, or is another one, only repeats the numbers of offsets.

Nobody can go on from a commit that is gone: 1. m1 is done with 10, commits 10, and gives t-0 up;
2. m2 is given t-0; 3. an administrator deletes the commit, or the topic; 4. m2 asks where to begin,
and nothing is committed.
"""

from collections.abc import Iterable
from typing import ClassVar

from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    CommitStored,
    Delivered,
    Done,
    Entry,
    Event,
    MemberStopped,
    OffsetRead,
    PositionMove,
    PositionMoved,
)
from kgroup.journal.periods import Ending, Interval, Intervals, Period, PeriodKey, Periods, total
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """One delivery of offsets that had been delivered before.

    Args:
        entry: the delivery.
        tp: its partition.
        count: offsets in it that had been delivered before.
        inside: of these, delivered under the same claim before.
        below: of these, below the last acknowledged commit before the claim; `inside` not counted.
        settled: of these, done by the claim before and given up by it without a failed commit,
            which the claim could be told of; `inside` and `below` not counted.
        sought: whether the application, or another log, moved the claim's position.
        floor: that last acknowledged commit, None without one.
        committed: the entry that acknowledged it, None without one.
        before: the claim before this one, None for the first.
    """

    entry: Entry
    tp: TopicPartition
    count: int
    inside: int
    below: int
    settled: int
    sought: bool
    floor: int | None
    committed: Entry | None
    before: Period | None


@dataclass(slots=True)
class _Tenure:
    """One claim: what it may rely on, what it delivered, what it leaves to the next.

    Args:
        informed: it has read what is committed, and relies on it no more.
        bereft: what was committed before it was overruled before it was read.
    """

    floor: int | None = None
    committed: Entry | None = None
    before: PeriodKey | None = None
    first: int | None = None
    position: int | None = None
    done: int | None = None
    failed: bool = False
    sought: bool = False
    informed: bool = False
    bereft: bool = False


class Repeats:
    """Finds repeated deliveries; show it every entry, in order of time.

    Args:
        periods: a follower shared with others that watch the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = Periods.KINDS | {
        CommitStep,
        CommitStored,
        Delivered,
        Done,
        OffsetRead,
        PositionMoved,
    }
    """Events it follows; no other needs to be shown."""

    __slots__ = ("_accepted", "_delivered", "_latest", "_periods", "_stands", "_tenures")

    def __init__(self, periods: Periods | None = None) -> None:
        self._periods = Periods() if periods is None else periods
        self._tenures: dict[PeriodKey, _Tenure] = {}
        self._latest: dict[TopicPartition, PeriodKey] = {}
        self._accepted: dict[TopicPartition, tuple[int, Entry]] = {}
        self._delivered: dict[TopicPartition, Intervals] = {}
        self._stands: dict[TopicPartition, int | None] = {}

    def delivered(self, tp: TopicPartition) -> Intervals:
        """Return every offset of a partition that was delivered so far."""
        known = self._delivered.get(tp)
        if known is None:
            known = self._delivered[tp] = Intervals()
        return known

    def observe(self, entry: Entry) -> Repeat | None:
        """Take one entry; return what it repeats, None when it repeats nothing."""
        event = entry.event
        if isinstance(event, Delivered):
            return self._deliver(entry, event)
        if isinstance(event, Done):
            self._get(entry, event.claim).done = event.next_offset
            return None
        self._follow(entry)
        return None

    def _follow(self, entry: Entry) -> None:
        for period in self._periods.observe(entry):
            if period.began is entry:
                self._begin(period)
        match entry.event:
            case PositionMoved(claim=claim):
                self._moved(self._get(entry, claim), entry.event)
            case OffsetRead(claim=claim):
                self._get(entry, claim).informed = True
            case CommitStep(stage=CommitStage.OK, claim=claim, offset=offset):
                stands = self._stands.get(claim.tp, offset)
                if stands is not None and stands >= offset:  # else it is overruled already
                    self._accepted[claim.tp] = (offset, entry)
            case CommitStored(tp=tp, offset=offset, member_id=member_id):
                self._stands[tp] = offset
                known = self._accepted.get(tp)
                lower = known is not None and (offset is None or offset < known[0])
                if member_id is None or lower:
                    self._overruled(tp)
            case CommitStep(stage=CommitStage.ERROR | CommitStage.UNKNOWN, claim=claim):
                self._get(entry, claim).failed = True
            case _:
                pass

    def _moved(self, tenure: _Tenure, event: PositionMoved) -> None:
        """Follow a claim whose position was moved: what lies behind it is to be read again.

        1. m1 is done with 6; 2. its application seeks back to 4; 3. t-0 is taken from it before it
        reads: 4 is committed, and the next owner begins there, as with Java's client.
        """
        if event.move is PositionMove.RESET:
            return
        tenure.sought = True
        if tenure.done is not None:
            tenure.done = min(tenure.done, event.offset)

    def _overruled(self, tp: TopicPartition) -> None:
        """Forget what was committed: it does not stand any more."""
        self._accepted.pop(tp, None)
        latest = self._latest.get(tp)
        if latest is not None:
            here = self._tenures[latest]
            here.floor, here.committed, here.failed = None, None, True
            here.bereft |= not here.informed

    def _get(self, entry: Entry, claim: Claim) -> _Tenure:
        key = (entry.source, claim)
        known = self._tenures.get(key)
        if known is None:
            known = self._tenures[key] = _Tenure()
        return known

    def _begin(self, period: Period) -> None:
        tp = period.claim.tp
        floor, committed = self._accepted.get(tp, (None, None))
        self._tenures[period.key] = _Tenure(floor, committed, self._latest.get(tp))
        self._latest[tp] = period.key

    def _deliver(self, entry: Entry, event: Delivered) -> Repeat | None:
        claim, first, end = event.claim, event.first, event.last + 1
        here = self._get(entry, claim)
        repeated = self.delivered(claim.tp).add(first, end)
        own = (0, 0) if here.first is None else (here.first, here.position or 0)
        here.first = first if here.first is None else min(first, here.first)
        here.position = max(end, here.position or 0)
        if not repeated:
            return None
        foreign = tuple(_outside(repeated, own))
        floor = first if here.floor is None else here.floor
        rest = tuple(_outside(foreign, (0, floor)))
        before = None if here.before is None else self._periods.get(*here.before)
        return Repeat(
            entry=entry,
            tp=claim.tp,
            count=total(repeated),
            inside=total(repeated) - total(foreign),
            below=total(foreign) - total(rest),
            settled=0 if here.bereft else self._settled(before, rest),
            sought=here.sought,
            floor=here.floor,
            committed=here.committed,
            before=before,
        )

    def _settled(self, before: Period | None, repeated: tuple[Interval, ...]) -> int:
        if before is None or not _is_clean(before):
            return 0
        former = self._tenures[before.key]
        if former.done is None or former.failed:
            return 0
        return total(repeated) - total(_outside(repeated, (0, former.done)))


def _is_clean(period: Period) -> bool:
    """Tell whether a claim was given up in a way that lets it be committed first.

    1. m1 is done with records, and another member starts with its instance id; 2. the coordinator
    fences m1; 3. m1 stops with that error: no commit of its is accepted from 1 on.
    """
    if period.ending is Ending.STOPPED and period.ended is not None:
        event = period.ended.event
        return isinstance(event, MemberStopped) and event.reason == "closed"
    return period.ending is Ending.REVOKED


def _outside(intervals: Iterable[Interval], cut: Interval) -> Iterable[Interval]:
    """Return the parts of intervals that do not lie in the cut."""
    low, high = cut
    for first, end in intervals:
        if first < min(end, low):
            yield first, min(end, low)
        if max(first, high) < end:
            yield max(first, high), end

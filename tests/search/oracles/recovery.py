"""L1: after the last fault the group comes back.

L1: a bound after the last fault ended, and after the last member started or stopped, every
    subscribed partition has exactly one owner, and that one delivers or has nothing to deliver.

Decides: whether the group came back, some time after the last disturbance.
Never: judges before the run is over, or one that ends before that time is.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    FaultStep,
    MemberStarted,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    PositionMoved,
    Source,
)
from kgroup.journal.faults import Faults
from kgroup.journal.periods import Period, PeriodKey, Periods
from kgroup.types import TopicPartition


class Recovers:
    """L1: one delivering owner per partition after the last disturbance.

    Args:
        partitions: topic -> partitions that must be owned; looked at when it is judged, so a
            simulation may change it while it runs. None says nothing.
        bound: seconds after the last disturbance.
        ends: partition -> offset after its last record; looked at when it is judged. None: only
            ownership is judged.
        ends_at: monotonic seconds at which the run ends, None: with its last delivery.
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = Periods.KINDS | {
        Delivered,
        FaultStep,
        MemberStarted,
        OffsetRead,
        PositionMoved,
    }

    __slots__ = (
        "_bound",
        "_ends",
        "_ends_at",
        "_faults",
        "_latest",
        "_live",
        "_partitions",
        "_periods",
        "_positions",
        "_since",
    )

    def __init__(
        self,
        partitions: Mapping[str, int] | None = None,
        *,
        bound: float = 60.0,
        ends: Mapping[TopicPartition, int] | None = None,
        ends_at: float | None = None,
        periods: Periods | None = None,
    ) -> None:
        self._partitions = {} if partitions is None else partitions
        self._bound = bound
        self._ends = {} if ends is None else ends
        self._ends_at = ends_at
        self._faults = Faults()
        self._periods = Periods() if periods is None else periods
        self._live: dict[Source, None] = {}
        self._positions: dict[PeriodKey, int] = {}
        self._since: Entry | None = None
        self._latest: Entry | None = None

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        self._latest = entry
        if isinstance(event, Delivered):
            self._positions[entry.source, event.claim] = event.last + 1
        elif isinstance(event, PositionMoved):
            self._positions[entry.source, event.claim] = event.offset
        elif isinstance(event, OffsetRead):
            self._positions.setdefault((entry.source, event.claim), event.offset or 0)
        elif isinstance(event, OwnershipStep):
            self._periods.observe(entry)
        elif isinstance(event, (MemberStarted, MemberStopped, FaultStep)):
            self._disturbed(entry)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Judge where the group stands at its end."""
        since, latest = self._since, self._latest
        living = any(not self._faults.is_dead(source) for source in self._live)
        if since is None or latest is None or not living:
            return ()
        end = latest.at if self._ends_at is None else self._ends_at
        calm = max(since.at, self._faults.calm_since())
        if end - calm < self._bound:
            return ()
        return tuple(
            Violation("L1", f"{tp}: {text}, {end - calm:.3f} s after all was well", (since,), tp)
            for topic, count in sorted(self._partitions.items())
            for tp in (TopicPartition(topic, number) for number in range(count))
            for text in self._wrong(tp)
        )

    def _disturbed(self, entry: Entry) -> None:
        event = entry.event
        self._since = entry
        self._periods.observe(entry)
        self._faults.observe(entry)
        if isinstance(event, MemberStarted):
            self._live[entry.source] = None
        elif isinstance(event, MemberStopped):
            self._live.pop(entry.source, None)

    def _wrong(self, tp: TopicPartition) -> Iterator[str]:
        owners = [
            period
            for period in self._periods.holders(tp)
            if period.owned and period.overtaken is None
            if not self._faults.is_dead(period.source)
        ]
        if len(owners) != 1:
            names = ", ".join(str(period.source) for period in owners) or "nobody"
            yield f"it is owned by {names}"
        else:
            yield from self._behind(owners[0])

    def _behind(self, period: Period) -> Iterator[str]:
        end = self._ends.get(period.claim.tp)
        position = self._positions.get(period.key, 0)
        if end is not None and position < end:
            yield f"{period.source} owns it and stands at {position}, before its end {end}"

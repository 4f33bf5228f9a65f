"""Who holds what: periods of ownership while they last, and their rows when they end.

Decides: that an owner that keeps a partition holds it in one period, whatever generations pass;
and that a partition is unowned from the end of one period to the beginning of the next.
Never: knows why somebody owns something.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kgroup.spark.coordination.declared import OWNERSHIP, UNOWNED
from kgroup.spark.coordination.schema import Row, Table

MOVED: Final = "moved"
"""Another owner has it at once."""


class Place(NamedTuple):
    """A partition as a group sees it."""

    group: str
    topic: str
    partition: int


class Moment(NamedTuple):
    """A place in a coordination log.

    Args:
        ts: milliseconds since the epoch.
        offset: of the record.
    """

    ts: int
    offset: int


class Owner(NamedTuple):
    """Who holds a partition; the columns of `ownership` have the meanings."""

    mode: str
    owner: str
    instance: str | None
    client: str | None
    epoch: int | None


class _Period(NamedTuple):
    place: Place
    owner: Owner
    begins: Moment
    ends: Moment | None = None
    reason: str | None = None


class Holds:
    """Periods of ownership in one partition of a coordination log.

    Args:
        log_partition: its number.
    """

    def __init__(self, log_partition: int) -> None:
        self._log_partition = log_partition
        self._open: dict[Place, _Period] = {}
        self._closed: list[_Period] = []

    def owner(self, place: Place) -> Owner | None:
        """Return who has a partition, None without an owner."""
        found = self._open.get(place)
        return None if found is None else found.owner

    def places(self) -> list[Place]:
        """Return what has an owner."""
        return list(self._open)

    def give(self, place: Place, owner: Owner, at: Moment, reason: str = MOVED) -> None:
        """Begin a period, unless the owner is the same; the former one ends there.

        Args:
            place: the partition.
            owner: its owner from now on.
            at: now.
            reason: why a former owner has it no more.
        """
        known = self._open.get(place)
        if known is not None:
            same = (known.owner.mode, known.owner.owner, known.owner.instance)
            if same == (owner.mode, owner.owner, owner.instance):
                return
            self.end(place, at, reason)
        self._open[place] = _Period(place, owner, at)

    def end(self, place: Place, at: Moment, reason: str) -> None:
        """End a period, if there is one."""
        known = self._open.pop(place, None)
        if known is not None:
            self._closed.append(known._replace(ends=at, reason=reason))

    def rows(self) -> Iterator[tuple[Table, Row]]:
        """Yield all periods and all gaps, in order of partitions and time."""
        periods = sorted(
            [*self._closed, *self._open.values()], key=lambda each: (each.place, each.begins.offset)
        )
        for period in periods:
            yield OWNERSHIP, self._row(period)
        for number, period in enumerate(periods, 1):
            gap = self._gap(period, periods[number] if number < len(periods) else None)
            if gap is not None:
                yield UNOWNED, gap

    def _row(self, period: _Period) -> Row:
        begins, ends = period.begins, period.ends
        return {
            **period.place._asdict(),
            **period.owner._asdict(),
            "log_partition": self._log_partition,
            "from_ts": begins.ts,
            "to_ts": None if ends is None else ends.ts,
            "from_offset": begins.offset,
            "to_offset": None if ends is None else ends.offset,
            "end_reason": period.reason,
        }

    def _gap(self, period: _Period, later: _Period | None) -> Row | None:
        """Return the gap behind a period; one of no length is none."""
        ends = period.ends
        if ends is None:
            return None
        begins = later.begins if later is not None and later.place == period.place else None
        if begins is not None and begins.ts <= ends.ts:
            return None
        return {
            **period.place._asdict(),
            "mode": period.owner.mode,
            "log_partition": self._log_partition,
            "from_ts": ends.ts,
            "to_ts": None if begins is None else begins.ts,
            "from_offset": ends.offset,
            "to_offset": None if begins is None else begins.offset,
        }

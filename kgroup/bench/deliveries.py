"""What a group was written and what it delivered: lost, repeated, late, and by whom.

Decides: that a record counts as delivered when a member says so and proves it by the sum of its
value; that the time it tells must lie between the record's making and the moment it was heard; that
a record is late by the time from its making to its first delivery; and whose a partition is after
an event: still the same process's, that of its member started anew, or another member's. What
should have come is what the broker holds, whatever a client says.
Never: reads a clock; all times come with the lines, as seconds of the machine's wall clock.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, NamedTuple
from zlib import crc32

from kgroup.values import dataclass

USUAL: Final = 0.25
"""Seconds that a record may wait on a busy machine though nothing has happened."""
_MOST: Final = 100_000
"""Records that a row may be about; more were never written at once."""
_HEARD: Final = 2.0
"""Seconds that a line may take from a member to us on a busy machine."""
_CLOCK: Final = 0.01
"""Seconds by which a clock may be set back meanwhile."""


class Fate(StrEnum):
    """Whose a partition is after an event."""

    STAY = "stay"
    BACK = "back"
    MOVED = "moved"


def member_of(name: str) -> str:
    """Return which member a process is: `m2 (2)` is m2, started anew."""
    return name.partition(" ")[0]


def reborn(name: str) -> str:
    """Return what the next process of the same member is called."""
    member, _, life = name.partition(" ")
    return f"{member} ({int(life.strip('()') or 1) + 1})"


class Got(NamedTuple):
    """Records that one member was given at once.

    Args:
        at: when.
        member: its name.
        partition: where from.
        first: offset of the first record.
        after: offset behind the last one.
    """

    at: float
    member: str
    partition: int
    first: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What became of one partition around an event.

    Args:
        partition: its number.
        before: members that delivered it before the event, the last one last.
        after: members that delivered it after the event.
        wait: longest time between a record's making and its first delivery, of those that were
            made around the event or later.
        silence: when the longest time without a new record began and ended.
    """

    partition: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    wait: float
    silence: tuple[float, float]

    @property
    def fate(self) -> Fate:
        """Whose it is now; one that came back from another member has moved, too."""
        if {*self.after} == {*self.before[-1:]}:
            return Fate.STAY
        same = {*map(member_of, self.after)} == {*map(member_of, self.before[-1:])}
        return Fate.BACK if same else Fate.MOVED


def value_of(partition: int, offset: int, size: int) -> bytes:
    """Return the value of a record, which nobody knows who has not read it."""
    text = f"{partition}-{offset}-{crc32(f'{partition} {offset}'.encode()):08x}-"
    return (text * (size // len(text) + 1))[:size].encode()


class Deliveries:
    """All that was written to one topic and all that was delivered of it.

    Args:
        partitions: of the topic.
        value_bytes: of each value.
    """

    def __init__(self, partitions: int, value_bytes: int) -> None:
        self._partitions = range(partitions)
        self._size = value_bytes
        self._made: dict[tuple[int, int], float] = {}
        self._first: dict[tuple[int, int], float] = {}
        self._times: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._got: list[Got] = []
        self.faults: list[str] = []

    def wrote(self, rows: Iterable[Sequence[float]]) -> None:
        """Take a line of the stream: partition, first offset, records, when they were made."""
        for partition, first, count, at in rows:
            for offset in range(int(first), int(first + count)):
                self._made[int(partition), offset] = at

    def got(self, member: str, at: float, heard: float, rows: Iterable[Sequence[int]]) -> None:
        """Take a line of a member.

        Args:
            member: its name.
            at: when it was given the records, by its own word.
            heard: when the line came.
            rows: partition, first offset, offset behind, sum of CRC-32.
        """
        if not heard - _HEARD <= at <= heard + _CLOCK:
            self.faults.append(f"{member}: its time of delivery is {at}, heard at {heard:.3f}")
            return
        for partition, first, after, total in rows:
            if not self._is_right(partition, first, after, total):
                what = f"{member}: offsets {first} to {after - 1} of partition {partition}"
                self.faults.append(f"{what} are not what was written")
                continue
            self._got.append(Got(at, member, partition, first, after))
            for place in ((partition, offset) for offset in range(first, after)):
                self._times[place] += 1
                self._first[place] = min(at, self._first.get(place, at))

    def _is_right(self, partition: int, first: int, after: int, total: int) -> bool:
        if partition not in self._partitions or not 0 <= first < after <= first + _MOST:
            return False
        values = (value_of(partition, offset, self._size) for offset in range(first, after))
        return sum(map(crc32, values)) == total

    def fault(self, ends: Mapping[int, int]) -> str:
        """Return what is wrong with what was delivered, "" when nothing is.

        Args:
            ends: partition -> offset behind its last record, as the broker says.
        """
        if self.faults:
            return self.faults[0]
        for (partition, offset), first in self._first.items():
            if offset >= ends.get(partition, 0):
                return f"offset {offset} of partition {partition} was delivered, and is not there"
            if first < self._made.get((partition, offset), first) - _CLOCK:
                return f"offset {offset} of partition {partition} came before it was made"
        lost = self.missing(ends)
        if not lost:
            return ""
        partition, count = next(iter(lost.items()))
        more = f"; {sum(lost.values())} altogether" if len(lost) > 1 else ""
        return f"{count} records of partition {partition} were never delivered{more}"

    def steady(self, since: float, members: Collection[str]) -> bool:
        """Return whether, since a time, all of these deliver, each partition by one of them."""
        owners: defaultdict[int, set[str]] = defaultdict(set)
        for each in reversed(self._got):
            if each.at < since - USUAL:
                break  # lines of members come nearly in order
            if each.at >= since:
                owners[each.partition].add(each.member)
        alone = all(len(owners[partition]) == 1 for partition in self._partitions)
        return alone and {name for one in owners.values() for name in one} == {*members}

    def missing(self, ends: Mapping[int, int]) -> dict[int, int]:
        """Return partition -> how many of its records nobody delivered.

        Args:
            ends: partition -> offset behind its last record, as the broker says.
        """
        found = {
            partition: sum((partition, offset) not in self._times for offset in range(end))
            for partition, end in ends.items()
        }
        return {partition: count for partition, count in found.items() if count}

    def reached(self, ends: Mapping[int, int]) -> bool:
        """Return whether the last record of each partition was delivered."""
        return all((partition, end - 1) in self._times for partition, end in ends.items() if end)

    def repeated(self) -> int:
        """Return how many deliveries were not the first one."""
        return sum(self._times.values()) - len(self._times)

    def waits(self, since: float, until: float) -> list[float]:
        """Return how late each record was that was made in a time, seconds."""
        return [
            self._first[place] - at
            for place, at in self._made.items()
            if since <= at < until and place in self._first
        ]

    def courses(self, event: float, until: float) -> list[Course]:
        """Return what became of each partition between an event and when all was well again."""
        return [self._course(partition, event, until) for partition in self._partitions]

    def recovered(self, event: float, until: float) -> float:
        """Return how long after an event the last record came that had waited unusually long.

        0.0 when none had to wait longer than records wait in any case.

        Args:
            event: when it was.
            until: records that were made later do not count.
        """
        late = [
            self._first[place] - event
            for place, at in self._made.items()
            if place in self._first and at < until and self._first[place] > event
            and self._first[place] - at > USUAL
        ]  # fmt: skip
        return max(late, default=0.0)

    def spans(self, event: float) -> list[list[Any]]:
        """Return who delivered what and when: partition, member, from, to, seconds of the event."""
        found: list[list[Any]] = []
        open_: dict[int, list[Any]] = {}
        for each in sorted(self._got):
            at = round(each.at - event, 3)
            span = open_.get(each.partition)
            if span is not None and span[1] == each.member and at - span[3] <= USUAL:
                span[3] = at
            else:
                open_[each.partition] = span = [each.partition, each.member, at, at]
                found.append(span)
        return found

    def _course(self, partition: int, event: float, until: float) -> Course:
        mine = sorted(each for each in self._got if each.partition == partition)
        firsts = {at for place, at in self._first.items() if place[0] == partition}
        waits = (
            self._first[place] - at
            for place, at in self._made.items()
            if place[0] == partition and at < until and self._first.get(place, 0.0) >= event
        )
        silences = (
            pair for pair in pairwise(sorted(firsts)) if pair[1] > event and pair[0] < until
        )
        return Course(
            partition=partition,
            before=_names(each.member for each in mine if each.at < event),
            after=_names(each.member for each in mine if each.at >= event),
            wait=max(waits, default=0.0),
            silence=max(silences, key=lambda pair: pair[1] - pair[0], default=(event, event)),
        )


def _names(members: Iterable[str]) -> tuple[str, ...]:
    """Return names without repetitions, the one that came last at the end."""
    found: dict[str, None] = {}
    for member in members:
        found.pop(member, None)
        found[member] = None
    return tuple(found)

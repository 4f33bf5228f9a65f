"""What a group was written and what it delivered: lost, repeated, late, and by whom.

Decides: that a record counts as delivered when a member says so and proves it by the sum of its
value; that it is late by the time from its making to its first delivery; and that a partition has
moved when other members deliver it after an event than before. What should have come is what the
broker holds, whatever a client says.
Never: reads a clock; all times come with the lines, as seconds of the machine's wall clock.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from zlib import crc32

from kgroup.values import dataclass

USUAL: Final = 0.25
"""Seconds that a record may wait on a busy machine though nothing has happened."""
_MOST: Final = 100_000
"""Records that a row may be about; more were never written at once."""


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
    """

    partition: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    wait: float

    @property
    def moved(self) -> bool:
        """Whether somebody else delivers it now."""
        return self.before[-1:] != self.after[-1:]


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

    def got(self, member: str, at: float, rows: Iterable[Sequence[int]]) -> None:
        """Take a line of a member: partition, first offset, offset behind, sum of CRC-32."""
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
        if not 0 <= first < after <= first + _MOST:
            return False
        values = (value_of(partition, offset, self._size) for offset in range(first, after))
        return sum(map(crc32, values)) == total

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

    def courses(self, event: float) -> list[Course]:
        """Return what became of each partition around an event."""
        return [self._course(partition, event) for partition in self._partitions]

    def recovered(self, event: float) -> float:
        """Return how long after an event the last record came that had waited unusually long.

        0.0 when none had to wait longer than records wait in any case.
        """
        late = [
            self._first[place] - event
            for place, at in self._made.items()
            if place in self._first and self._first[place] > event
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

    def _course(self, partition: int, event: float) -> Course:
        mine = sorted(each for each in self._got if each.partition == partition)
        waits = (
            self._first[place] - at
            for place, at in self._made.items()
            if place[0] == partition and self._first.get(place, 0.0) >= event
        )
        return Course(
            partition=partition,
            before=_names(each.member for each in mine if each.at < event),
            after=_names(each.member for each in mine if each.at >= event),
            wait=max(waits, default=0.0),
        )


def _names(members: Iterable[str]) -> tuple[str, ...]:
    """Return names without repetitions, the one that came last at the end."""
    found: dict[str, None] = {}
    for member in members:
        found.pop(member, None)
        found[member] = None
    return tuple(found)

"""Whether a group passes the sieve, from its claims alone, and with which numbers.

Decides: what is plain of one claim, step by step; and of a partition: claims one after the other in
time, each beginning where the one before ended. Such a group has nothing that an audit could
report: nothing is lost, repeated, out of order, delivered without owning or owned by two.
Never: looks at a line.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, NamedTuple, TypeAlias

from kgroup.audit.verdict import PartitionVerdict
from kgroup.spark.audit.belonging import tied
from kgroup.types import TopicPartition

_WAYS: Final = frozenset({"A", "Aa", "AaR", "AaRr", "AaL", "AaLl"})
"""What may become of a claim: assigned, then revoked or lost; each begins and ends."""
_DONE: Final = frozenset({"AaRr", "AaLl"})
_OWNED: Final = "Aa"

# A clock that is tied to another machine's is rounded: of silences that are as good as equal, any
# may be the longest then.
_ROUNDING: Final = 1e-5
_FAR: Final = 2.0**32
"""Seconds; up to here the rounding makes a silence less than half of that longer or shorter."""
_MOST: Final = 32
"""Silences that are kept; with more, only a group whose clocks need not be tied passes."""


class Claimed(NamedTuple):
    """What became of one claim that is plain.

    Args:
        topic: of the partition.
        partition: its number.
        since: its first step.
        until: its last step.
        heard: its first and its last delivery, None without one.
        silences: the longest times between two deliveries, each as its ends.
        crowded: whether these were too many, and only the longest is there.
        start: where it began to read, None when it did not.
        held: where it ended.
        committed: its last commit, None without one.
        records: that it delivered.
    """

    topic: str
    partition: int
    since: float
    until: float
    heard: tuple[float, float] | None
    silences: Sequence[tuple[float, float]]
    crowded: bool
    start: int | None
    held: int | None
    committed: int | None
    records: int


Passed: TypeAlias = Sequence[Claimed] | None
"""The claims of a group in one log; None when something there is not plain."""


class Period:
    """Takes the steps of one claim, in order.

    Args:
        topic: of the partition.
        partition: its number.
    """

    __slots__ = (
        "_asked", "_committed", "_crowded", "_first", "_heard", "_held", "_least", "_partition",
        "_plain", "_records", "_silences", "_since", "_start", "_topic", "_until", "_way",
    )  # fmt: skip

    def __init__(self, topic: str, partition: int) -> None:
        self._topic, self._partition = topic, partition
        self._way, self._plain, self._asked, self._crowded = "", True, False, False
        self._since = self._until = self._first = 0.0
        self._heard: float | None = None
        self._silences: list[tuple[float, float]] = []
        self._least = float("-inf")
        self._start: int | None = None
        self._held: int | None = None
        self._committed: int | None = None
        self._records = 0

    def claimed(self) -> Claimed | None:
        """Return what became of it, None when that is not plain."""
        if not self._plain or self._way not in _DONE:
            return None
        return Claimed(
            topic=self._topic,
            partition=self._partition,
            since=self._since,
            until=self._until,
            heard=None if self._heard is None else (self._first, self._heard),
            silences=self._silences,
            crowded=self._crowded,
            start=self._start,
            held=self._held,
            committed=self._committed,
            records=self._records,
        )

    def change(self, at: float, step: str) -> None:
        """Take a step of ownership: a letter, large where it begins."""
        self._until = at
        if not self._way:
            self._since = at
        if self._way + step in _WAYS:
            self._way += step
        else:
            self._plain = False

    def read(self, at: float, offset: int | None) -> None:
        """Take the offset that was read, None where none was committed."""
        self._until = at
        self._need(self._way == _OWNED and not self._asked)
        self._asked = True
        if offset is not None:
            self._begin(offset)

    def move(self, at: float, offset: int, *, reset: bool) -> None:
        """Take a position that was moved."""
        self._until = at
        self._need(reset and self._way == _OWNED and self._asked and self._start is None)
        self._begin(offset)

    def deliver(self, at: float, first: int, last: int, count: int) -> None:
        """Take a delivery."""
        self._until = at
        if first != self._held or self._way != _OWNED or not count == last - first + 1 > 0:
            self._plain = False
        if self._heard is None:
            self._first = at
        elif at - self._heard > self._least:
            self._silent(self._heard, at)
        self._heard = at
        self._held = last + 1
        self._records += count

    def commit(self, at: float, offset: int) -> None:
        """Take a commit that was accepted."""
        self._until = at
        self._need(self._start is not None)
        self._committed = offset

    def _begin(self, offset: int) -> None:
        self._need(offset >= 0)
        self._start = self._held = offset

    def _need(self, plain: bool) -> None:  # noqa: FBT001 - a condition
        self._plain = self._plain and plain

    def _silent(self, before: float, at: float) -> None:
        """Take the longest silence so far, or one that is as good as that."""
        self._least = max(self._least, at - before - _ROUNDING)
        self._silences.append((before, at))
        if len(self._silences) > _MOST:
            self._silences = [each for each in self._silences if _length(each) >= self._least]
        if len(self._silences) > _MOST or self._crowded:
            self._crowded = True
            self._silences = [max(self._silences, key=_length)]
            self._least = _length(self._silences[0])


def _length(silence: tuple[float, float]) -> float:
    before, after = silence
    return after - before


# -- groups ----------------------------------------------------------------------------------------


def passes(logs: Iterable[tuple[float, Passed]]) -> tuple[PartitionVerdict, ...] | None:
    """Return the numbers of the partitions that a group read, None when it is not plain.

    Args:
        logs: for each that holds the group, what ties its clock to the first one's, and its claims.
    """
    claims: list[Claimed] = []
    for shift, those in logs:
        here = [] if those is None else [_tied(each, shift) for each in those]
        if those is None or None in here:
            return None
        claims += filter(None, here)
    claims.sort(key=_place_and_time)
    found = []
    for (topic, partition), periods in groupby(claims, _place):
        chain = list(periods)
        if not _is_plain(chain):
            return None
        if any(each.start is not None for each in chain):
            found.append(_numbers(TopicPartition(topic, partition), chain))
    return tuple(found) if any(row.records for row in found) else None


def _place(claim: Claimed) -> tuple[str, int]:
    return claim.topic, claim.partition


def _place_and_time(claim: Claimed) -> tuple[str, int, float]:
    return claim.topic, claim.partition, claim.since


def _tied(claim: Claimed, shift: float) -> Claimed | None:
    """Return a claim on the first machine's clock, None when its silences would be too inexact."""
    if shift == 0.0:
        return claim
    if claim.crowded or max(abs(claim.since), abs(claim.until), abs(shift)) > _FAR:
        return None
    heard = claim.heard
    return claim._replace(
        since=tied(claim.since, shift),
        until=tied(claim.until, shift),
        heard=None if heard is None else (tied(heard[0], shift), tied(heard[1], shift)),
        silences=[(tied(before, shift), tied(at, shift)) for before, at in claim.silences],
    )


def _is_plain(chain: Sequence[Claimed]) -> bool:
    """Tell whether each claim of a partition comes after the one before, and goes on with it."""
    if any(one.until >= other.since for one, other in pairwise(chain)):
        return False
    read = [each for each in chain if each.start is not None]
    if any(one.held != other.start for one, other in pairwise(read)):
        return False
    committed = [each.committed for each in read if each.committed is not None]
    return not committed or committed[-1] <= (read[-1].held or 0)


def _numbers(tp: TopicPartition, chain: Sequence[Claimed]) -> PartitionVerdict:
    read = [each for each in chain if each.start is not None]
    committed = [each.committed for each in read if each.committed is not None]
    return PartitionVerdict(
        tp=tp,
        start=read[0].start or 0,
        end=read[-1].held or 0,
        committed=committed[-1] if committed else None,
        records=sum(each.records for each in read),
        periods=len(chain),
        silence=max(map(_length, _silences(chain)), default=None),
    )


def _silences(chain: Iterable[Claimed]) -> Iterator[tuple[float, float]]:
    before = None
    for claim in chain:
        if claim.heard is None:
            continue
        if before is not None:
            yield before, claim.heard[0]
        yield from claim.silences
        before = claim.heard[1]

"""What is done of a partition whose records finish in any order, and how that is written down.

Decides: the offset in front of which everything is done, and the text beside it that names what is
done beyond; it takes at most 4,096 bytes, which is what brokers keep.
Never: commits. Never trusts such a text: one that was not written here says nothing.

    kg1:2+3,1+5      from the committed offset on: 2 are not done, 3 are, 1 is not, 5 are

Offsets without records lie between offsets with them. A stretch from the first done record to the
last one may cover such holes, for nobody will ever be given them.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from kgroup.values import dataclass

Runs: TypeAlias = tuple[range, ...]
"""Stretches of offsets that are done, in order."""

MOST_BYTES: Final = 4096
_MARK: Final = "kg1:"
_RUN: Final = re.compile(r"(\d{1,18})\+(\d{1,18})", re.ASCII)


@dataclass(slots=True)
class _Handed:
    """One record that was handed out."""

    offset: int
    epoch: int | None
    done: bool = False


class Gaps:
    """What is done of one claim.

    Args:
        begin: first offset that is not done.
    """

    __slots__ = ("_by_offset", "_end", "_handed", "epoch", "prefix")

    def __init__(self, begin: int) -> None:
        self.prefix = begin
        """First offset that is not done: below it everything is."""
        self.epoch: int | None = None
        """Leader epoch of the record in front of `prefix`, None when that is not known."""
        self._end = begin
        self._handed: deque[_Handed] = deque()
        self._by_offset: dict[int, _Handed] = {}

    def __len__(self) -> int:
        """Return how many records are handed out and not done."""
        return len(self._by_offset)

    def admit(self, offsets: Iterable[tuple[int, int | None]], end: int) -> None:
        """Hand records out.

        Args:
            offsets: offset and leader epoch of each, rising, behind all before.
            end: first offset behind them.
        """
        for offset, epoch in offsets:
            handed = _Handed(offset, epoch)
            self._handed.append(handed)
            self._by_offset[offset] = handed
        self._end = end
        self._advance()

    def done(self, offset: int) -> bool:
        """Count a record as done; tell whether `prefix` has moved."""
        handed = self._by_offset.pop(offset, None)
        if handed is None:
            return False
        handed.done = True
        before = self.prefix
        self._advance()
        return self.prefix > before

    def _advance(self) -> None:
        while self._handed and self._handed[0].done:
            self.epoch = self._handed.popleft().epoch
        self.prefix = self._handed[0].offset if self._handed else self._end

    def runs(self) -> Runs:
        """Return what is done beyond `prefix`."""
        found: list[range] = []
        begin: int | None = None
        last = 0
        for handed in self._handed:
            if handed.done:
                begin = handed.offset if begin is None else begin
                last = handed.offset
            elif begin is not None:
                found.append(range(begin, last + 1))
                begin = None
        if begin is not None:
            found.append(range(begin, last + 1))
        return tuple(found)


def write_runs(prefix: int, runs: Sequence[range], most: int = MOST_BYTES) -> str:
    """Return the text beside a committed offset, "" when nothing is done beyond it.

    Args:
        prefix: the offset.
        runs: done beyond it, in order.
        most: bytes; what does not fit is left out, and will be repeated.
    """
    text, at = "", prefix
    for run in runs:
        piece = f"{run.start - at}+{len(run)}"
        longer = f"{text},{piece}" if text else f"{_MARK}{piece}"
        if len(longer) > most:
            break
        text, at = longer, run.stop
    return text


def read_runs(prefix: int, text: str) -> Runs:
    """Return what is done beyond a committed offset; nothing when the text is somebody else's."""
    if not text.startswith(_MARK):
        return ()
    found: list[range] = []
    at = prefix
    for piece in text.removeprefix(_MARK).split(","):
        matched = _RUN.fullmatch(piece)
        if matched is None:
            return ()
        begin = at + int(matched[1])
        at = begin + int(matched[2])
        found.append(range(begin, at))
    return tuple(found)


def is_in(runs: Runs, offset: int) -> bool:
    """Tell whether an offset is in one of some stretches."""
    return any(offset in run for run in runs)

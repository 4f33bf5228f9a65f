"""Leader epochs of one log: which began where (KIP-101, KIP-279, KIP-320).

Decides: where an epoch ends.
Never: fences anybody; the handlers compare epochs of requests.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["EpochStart", "Epochs"]


class EpochStart(NamedTuple):
    """One entry of a broker's leader epoch checkpoint: an epoch, and its first offset."""

    epoch: int
    start: int


@dataclass(slots=True)
class Epochs:
    """The epochs of one log, rising in both figures.

    Args:
        entries: first to latest.
    """

    entries: list[EpochStart] = field(default_factory=list)

    @property
    def latest(self) -> int | None:
        """The latest epoch, None before the first."""
        return self.entries[-1].epoch if self.entries else None

    def begin(self, epoch: int, start: int) -> None:
        """Note that an epoch begins at an offset; one that has begun already changes nothing.

        An epoch in which nothing was written is forgotten as soon as the next begins.
        """
        if self.entries and epoch <= self.entries[-1].epoch:
            return
        self.cut_from(start)
        self.entries.append(EpochStart(epoch, start))

    def end_of(self, epoch: int, log_end: int) -> EpochStart | None:
        """Find the largest epoch that is not above the one asked about, and where it ends.

        Args:
            epoch: asked about.
            log_end: where the latest epoch ends.

        Returns:
            The epoch and its end; None when the epoch lies above all that are known.
        """
        if not self.entries or epoch > self.entries[-1].epoch:
            return None
        if epoch == self.entries[-1].epoch:
            return EpochStart(epoch, log_end)
        above = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        end = self.entries[above].start
        return EpochStart(self.entries[above - 1].epoch if above else epoch, end)

    def at(self, offset: int) -> int | None:
        """Return the epoch in which an offset was or would be written."""
        above = bisect_right(self.entries, offset, key=lambda entry: entry.start)
        return self.entries[above - 1].epoch if above else None

    def cut_from(self, offset: int) -> None:
        """Forget the epochs that begin at or after an offset."""
        self.entries = [entry for entry in self.entries if entry.start < offset]

    def cut_before(self, offset: int) -> None:
        """Let the epoch of an offset begin there, and forget those before it."""
        gone = [entry for entry in self.entries if entry.start <= offset]
        if gone:
            first = EpochStart(gone[-1].epoch, offset)
            self.entries = [first, *self.entries[len(gone) :]]

"""Records of one claim that were handed out and that no commit covers: a crash has them come again.

Decides: how many those are, counted in records, whatever offsets compaction and marks leave out.
Never: keeps more than the ends of each run of neighbouring offsets; knows what is done.
"""

from collections import deque
from collections.abc import Sequence

__all__ = ["Exposed"]


class Exposed:
    """Runs of neighbouring offsets, rising; each is what a crash would repeat."""

    __slots__ = ("_runs", "count")

    def __init__(self) -> None:
        self.count: int = 0
        """How many records there are."""
        self._runs: deque[tuple[int, int]] = deque()

    def add(self, offsets: Sequence[int]) -> None:
        """Take in records that were just handed out.

        Args:
            offsets: one per record, rising, all behind those that are here.
        """
        if not offsets:
            return
        first, after = offsets[0], offsets[-1] + 1
        if after - first == len(offsets):
            self._put(first, after)
        else:
            for offset in offsets:
                self._put(offset, offset + 1)
        self.count += len(offsets)

    def cover(self, offset: int) -> None:
        """Let go of what stands in front of an offset: it is committed."""
        while self._runs and self._runs[0][0] < offset:
            first, after = self._runs.popleft()
            self.count -= min(after, offset) - first
            if after > offset:
                self._runs.appendleft((offset, after))

    def cut(self, offset: int) -> None:
        """Let go of what stands from an offset on: it is to be handed out again."""
        while self._runs and self._runs[-1][1] > offset:
            first, after = self._runs.pop()
            self.count -= after - max(first, offset)
            if first < offset:
                self._runs.append((first, offset))

    def _put(self, first: int, after: int) -> None:
        if self._runs and self._runs[-1][1] == first:
            first = self._runs.pop()[0]
        self._runs.append((first, after))

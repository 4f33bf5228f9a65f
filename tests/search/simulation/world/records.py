"""The logs at this level: offsets without records.

Decides: how far each partition goes, and who waits for more.
Never: holds bytes; levels B and C read real ones.
"""

from collections.abc import Callable, Iterable

from kgroup.types import TopicPartition

__all__ = ["Logs"]


class Logs:
    """Where each partition ends."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self._waiting: list[Callable[[], None]] = []

    def append(self, tps: Iterable[TopicPartition], count: int) -> None:
        """Write records; who waits for more hears of it."""
        for tp in tps:
            self.ends[tp] = self.ends.get(tp, 0) + count
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()

    def wait(self, wake: Callable[[], None]) -> None:
        """Call something once, when more is written."""
        self._waiting.append(wake)

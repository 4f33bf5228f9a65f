"""What all processes of a run share: the log, committed offsets, and which process saw what.

Decides: when a promise is broken: a record handed out twice, one skipped, two owners at once.
Never: is read by a process except where the real thing could be: the log, and what is committed.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kgroup.marshal.key_state import Key
from kgroup.marshal.messages import Message, encode

EPOCH: Final = 1_700_000_000
"""Wall clock of a run's beginning, seconds."""


class Entry(NamedTuple):
    """One record of the log; what `World.apply` takes."""

    offset: int
    timestamp: int
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class SharedLog:
    """One coordination partition.

    Args:
        append_time: whether records carry the broker's time.
    """

    def __init__(self, *, append_time: bool) -> None:
        self.entries: list[Entry] = []
        self.generation = 0
        """Counts truncations, as leader epochs let a reader notice."""
        self.behind = 0.0
        """Seconds that the broker's clock is behind."""
        self._append_time = append_time
        self._written: list[float] = []

    def append(self, now: float, message: Message, headers: tuple[tuple[str, bytes], ...]) -> None:
        """Append a message."""
        timestamp = message.time * 1000 if headers else -1
        if self._append_time:
            timestamp = int((EPOCH + now - self.behind) * 1000)
        self.entries.append(Entry(len(self.entries), timestamp, encode(message), headers))
        self._written.append(now)

    def truncate(self, count: int) -> None:
        """Lose the last records."""
        keep = max(len(self.entries) - count, 0)
        del self.entries[keep:], self._written[keep:]
        self.generation += 1

    def first_since(self, time: float) -> int:
        """Return the offset of the first record that was written at a time or later."""
        return bisect_left(self._written, time)


@dataclass(slots=True)
class Shelf:
    """The data of all partitions, without end, and which process saw what of them.

    Args:
        exclusive: whether two clients at once are a fault.
        committed: what Kafka's own store of offsets holds.
        broken: what was broken -> how often.
        latest: of each key the time at which something was handed out.
    """

    exclusive: bool
    committed: dict[Key, int] = field(default_factory=dict)
    broken: Counter[str] = field(default_factory=Counter)
    latest: dict[Key, float] = field(default_factory=dict)
    _seen: dict[Key, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    _newest: dict[Key, tuple[int, bytes]] = field(default_factory=dict)

    def hand_out(
        self, key: Key, offsets: range, by: tuple[int, bytes], now: float, *, once: bool
    ) -> None:
        """Note that records went to an application; `by`: epoch and client id."""
        seen = self._seen[key]
        if once and any(seen[offset] for offset in offsets):
            self.broken["double"] += 1
        seen.update(offsets)
        self.latest[key] = now
        epoch, client_id = self._newest.get(key, by)
        if self.exclusive and by[0] < epoch and by[1] != client_id:
            self.broken["overlap"] += 1
        self._newest[key] = max(by, (epoch, client_id))

    def begin(self, key: Key, offset: int) -> None:
        """Note that an at-least-once owner begins: whatever is before it must have been seen."""
        if any(not self._seen[key][each] for each in range(offset)):
            self.broken["lost"] += 1

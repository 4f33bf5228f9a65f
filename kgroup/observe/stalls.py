"""Finds what has come to a standstill, by comparing one look with the next.

Decides: what a stall is, and that each is told once, when it is found.
Never: reads a clock, waits or logs.

- The loop was blocked: the look came later than it was due.
- A heartbeat is late: none that was sent in the last few intervals was answered.
- No progress: records of a partition are in hand, or wait to be read, and none is done.
- A listener is slow: one callback runs on and on.
"""

from collections.abc import Iterator

from kgroup.observe.vitals import Part, Vitals
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass
from kgroup.words import Word


class StallKind(Word):
    """What stands still."""

    LOOP_BLOCKED = "the event loop was blocked"
    HEARTBEAT_LATE = "no heartbeat is answered"
    NO_PROGRESS = "there are records, and none is done"
    LISTENER_SLOW = "a callback of the listener does not return"


@dataclass(frozen=True, slots=True)
class Stall:
    """One standstill, when it was found; of a blocked loop, when that was over.

    Args:
        kind: what stands still.
        seconds: for how long by then.
        limit: seconds that are allowed.
        at: instant of the consumer's clock.
        tp: the partition without progress, None for other kinds.
        detail: more words, "" without any.
    """

    kind: StallKind
    seconds: float
    limit: float
    at: float
    tp: TopicPartition | None = None
    detail: str = ""

    def __str__(self) -> str:
        where = "" if self.tp is None else f"{self.tp}: "
        more = f" ({self.detail})" if self.detail else ""
        return f"{where}{self.kind.value}{more} for {self.seconds:.3g} s, limit {self.limit:g} s"


@dataclass(frozen=True, slots=True)
class StallLimits:
    """From when on something stands still.

    Args:
        loop: seconds for which the event loop may be blocked.
        heartbeats: heartbeat intervals without an answered one.
        progress: seconds for which a partition with records may have none done.
        listener: seconds for which a callback may run.
    """

    loop: float = 1.0
    heartbeats: float = 4.0
    progress: float = 60.0
    listener: float = 10.0


@dataclass(slots=True)
class _Still:
    """Something that may be standing still: since when, and whether that was told."""

    sign: object
    since: float
    told: bool = False


class Stalls:
    """Compares looks at one consumer.

    Args:
        limits: from when on something stands still.
    """

    def __init__(self, limits: StallLimits) -> None:
        self._limits = limits
        self._parts: dict[Claim, _Still] = {}
        self._listener: _Still | None = None
        self._late = False

    def look(self, vitals: Vitals, late: float) -> list[Stall]:
        """Return what is found at one look.

        Args:
            vitals: how the consumer is doing.
            late: seconds by which the look came too late.
        """
        found = [*self._heartbeat(vitals), *self._callback(vitals), *self._progress(vitals)]
        if late >= self._limits.loop:
            found.insert(0, Stall(StallKind.LOOP_BLOCKED, late, self._limits.loop, vitals.at))
        return found

    def longest(self, at: float) -> tuple[TopicPartition, float] | None:
        """Return the partition that has been without progress for longest, and the seconds."""
        waits = ((claim.tp, at - still.since) for claim, still in self._parts.items())
        return max(waits, key=lambda each: each[1], default=None)

    def _heartbeat(self, vitals: Vitals) -> Iterator[Stall]:
        confirmed, every = vitals.pulse.confirmed_at, vitals.pulse.heartbeat_interval
        silence = 0.0 if confirmed is None else vitals.at - confirmed
        limit = self._limits.heartbeats * (every or 0.0)
        late = every is not None and silence >= limit
        if late and not self._late:
            yield Stall(StallKind.HEARTBEAT_LATE, silence, limit, vitals.at)
        self._late = late

    def _callback(self, vitals: Vitals) -> Iterator[Stall]:
        if vitals.listener is None:
            self._listener = None
            return
        name, number = vitals.listener
        still = self._listener
        if still is None or still.sign != number:
            still = self._listener = _Still(number, vitals.at)
        limit = self._limits.listener
        if not still.told and vitals.at - still.since >= limit:
            still.told = True
            seconds = vitals.at - still.since
            yield Stall(StallKind.LISTENER_SLOW, seconds, limit, vitals.at, detail=name)

    def _progress(self, vitals: Vitals) -> Iterator[Stall]:
        before, self._parts = self._parts, {}
        for part in vitals.parts:
            if not part.is_at_work:
                continue
            still = before.get(part.claim)
            if still is None or still.sign != part.done:
                still = _Still(part.done, vitals.at)
            self._parts[part.claim] = still
            seconds, limit = vitals.at - still.since, self._limits.progress
            if not still.told and seconds >= limit:
                still.told = True
                yield Stall(StallKind.NO_PROGRESS, seconds, limit, vitals.at, part.tp, _words(part))


def _words(part: Part) -> str:
    in_hand = (part.handed or 0) - (part.done or 0)
    return f"done to {part.done}, {in_hand} in hand, {part.behind} behind"

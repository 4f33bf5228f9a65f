"""The journal of one run: entries are made, judged at once, counted, and kept when asked for.

Decides: the stamps, and the digest: of every entry's instant, source, kind and the offsets of what
is delivered and committed.
Never: writes a file, or drops what an oracle has found.
"""

from typing import Final, Protocol
from zlib import crc32

from kgroup.journal import CommitStep, Delivered, Entry, Event, Source
from kgroup.journal.oracles.violation import Violation
from kgroup.journal.oracles.watch import Watch

__all__ = ["Clock", "MemberSink", "Recorder"]

_MOST_VIOLATIONS: Final = 50


class Clock(Protocol):
    """Tells the time."""

    @property
    def now(self) -> float:
        """The present instant, seconds."""
        ...


class Recorder:
    """Takes the events of all members.

    Args:
        watch: the oracles.
        keep: whether `entries` holds everything.
    """

    def __init__(self, watch: Watch, *, keep: bool) -> None:
        self.violations: list[Violation] = []
        self.entries: list[Entry] = []
        self.count: int = 0
        self._watch = watch
        self._keep = keep
        self._digest = 0

    def take(self, entry: Entry) -> None:
        """Judge one entry."""
        self.count += 1
        event = entry.event
        told = f"{entry.at:.6f}{entry.source.process}{event.KIND}"
        if isinstance(event, Delivered):
            told += f"{event.claim}{event.first}"
        elif isinstance(event, CommitStep):
            told += f"{event.claim}{event.offset}{event.stage.value}"
        self._digest = crc32(told.encode(), self._digest)
        if self._keep:
            self.entries.append(entry)
        found = self._watch.observe(entry)
        if found:
            self.violations.extend(found[: _MOST_VIOLATIONS - len(self.violations)])

    def finish(self) -> None:
        """Judge what only the end shows."""
        self.violations.extend(self._watch.finish())

    @property
    def digest(self) -> str:
        """Equal for equal runs."""
        return f"{self.count}-{self._digest:08x}"


class MemberSink:
    """The `Sink` of one member.

    Args:
        recorder: takes its entries.
        source: stamps them.
        clock: tells their instants.
    """

    def __init__(self, recorder: Recorder, source: Source, clock: Clock) -> None:
        self._recorder = recorder
        self._source = source
        self._clock = clock
        self._seq = 0

    def emit(self, event: Event) -> None:
        """Take one event."""
        self._seq += 1
        now = self._clock.now
        self._recorder.take(
            Entry(source=self._source, seq=self._seq, at=now, wall=now, event=event)
        )

"""The journal of one run: entries of everybody in order of time, judged at once, and counted.

Decides: the stamps, and the digest: of every entry's instant, source, kind and the offsets of what
is delivered and committed.
Never: writes a file, or drops what an oracle has found.
"""

from collections.abc import Callable
from typing import Final
from zlib import crc32

from kgroup.audit.oracles.watch import Violation, Watch
from kgroup.journal import CommitStep, Delivered, Entry, Event, Source
from kgroup.types import TopicPartition

__all__ = ["MemberSink", "Recorder"]

_MOST_VIOLATIONS: Final = 50
_MASK: Final = (1 << 64) - 1
_SPREAD: Final = 0x9E3779B97F4A7C15
_OFF_EDGE: Final = 0.314
"""Microseconds; round instants, which are common, are not at the edge of a rounding."""


class Recorder:
    """Takes the events of everybody.

    Args:
        watch: the oracles.
        clock: tells the instant; may be replaced before the first entry.
        keep: whether `entries` holds everything.
        ordered: whether entries of one instant have one order. With whole consumers they may stand
            in any: event loops differ in that, and nothing may depend on it.
    """

    def __init__(
        self, watch: Watch, clock: Callable[[], float], *, keep: bool, ordered: bool
    ) -> None:
        self.violations: list[Violation] = []
        self.entries: list[Entry] = []
        self.count: int = 0
        self.delivered: dict[TopicPartition, int] = {}
        """Offset behind the last record that anybody was given."""
        self.clock = clock
        self._watch = watch
        self._keep = keep
        self._ordered = ordered
        self._digest = 0

    def take(self, entry: Entry) -> None:
        """Judge one entry."""
        self.count += 1
        event = entry.event
        told = f"{int(entry.at * 1e6 + _OFF_EDGE)} {entry.source.process} {event.KIND}"
        if type(event) is Delivered:
            tp = event.claim.tp
            self.delivered[tp] = max(event.last + 1, self.delivered.get(tp, 0))
            told += f"{event.claim} {event.first} {event.last}"
        elif type(event) is CommitStep:
            told += f"{event.claim} {event.offset} {event.stage.value}"
        if self._ordered:
            self._digest = crc32(told.encode(), self._digest)
        else:
            self._digest = (self._digest + crc32(told.encode()) * _SPREAD) & _MASK
        if self._keep:
            self.entries.append(entry)
        found = self._watch.observe(entry)
        if found:
            self.violations.extend(found[: _MOST_VIOLATIONS - len(self.violations)])

    def add(self, rule: str, text: str, tp: TopicPartition | None = None) -> None:
        """Note a broken promise that no oracle sees."""
        if len(self.violations) < _MOST_VIOLATIONS:
            self.violations.append(Violation(rule, text, (), tp))

    def finish(self) -> None:
        """Judge what only the end shows."""
        self.violations.extend(self._watch.finish())

    @property
    def digest(self) -> str:
        """Equal for equal runs."""
        return f"{self.count}-{self._digest:0{8 if self._ordered else 16}x}"


class MemberSink:
    """The `Sink` of one life of one member.

    Args:
        recorder: takes its entries.
        source: stamps them.

    While it is `muted`, what it is told is forgotten: the process is dead.
    """

    def __init__(self, recorder: Recorder, source: Source) -> None:
        self.muted = False
        self._recorder = recorder
        self._source = source
        self._seq = 0

    def emit(self, event: Event) -> None:
        """Take one event."""
        if self.muted:
            return
        self._seq += 1
        now = self._recorder.clock()
        entry = Entry(source=self._source, seq=self._seq, at=now, wall=now, event=event)
        self._recorder.take(entry)

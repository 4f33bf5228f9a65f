"""Where events go: the protocol that `net` and `consumer` write to, and two small sinks.

Decides: that emitting is one call which neither waits nor fails.
Never: opens a file; the sink that writes one is `kgroup.observe.journal_file`.
"""

from typing import Protocol

from kgroup.journal.events import Event


class Sink(Protocol):
    """Takes events; safe to call from any thread, never raises, never waits for long."""

    def emit(self, event: Event) -> None:
        """Take one event; it is stamped with time and source by the sink."""
        ...


class NullSink:
    """Takes events and forgets them."""

    __slots__ = ()

    def emit(self, event: Event) -> None:
        """Forget the event."""


class MemorySink:
    """Keeps events in order of arrival, unstamped; for tests."""

    __slots__ = ("events",)

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

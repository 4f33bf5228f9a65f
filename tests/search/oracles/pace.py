"""L4: no storm of requests, whatever the answers are.

L4: a member sends at most 20 requests a second, averaged over a few seconds. Fetches count when
    they are answered with an error, commits when nothing new was asked to be committed. A
    connection that ended before it could be used counts as a request. Pauses grow: of tries that
    one after the other find the coordinator loading or not there, eight take seconds.

Decides: how many requests a member may send that bring it nothing.
Never: counts what is fetched or committed with success: that is as fast as the application is.
"""

from collections import deque
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CommitStage,
    CommitStep,
    ConnectionClosed,
    ConnectionOpened,
    Entry,
    Event,
    FetchAnswered,
    RequestSent,
    Source,
)

_FETCH: Final = ApiKey.FETCH
_COMMIT: Final = ApiKey.OFFSET_COMMIT
_LATER: Final = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE}
)
"""Errors that say nothing but that it is too early."""
_TRIES: Final = 8
_TAKE: Final = 2.5
"""Seconds between the first and the last of so many tries, at least."""


class NoStorm:
    """L4: requests per second.

    Args:
        per_second: requests, at most.
        window: seconds over which they are averaged; a start or a rebalance needs several at once.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            AnswerReceived,
            CommitStep,
            ConnectionClosed,
            ConnectionOpened,
            FetchAnswered,
            RequestSent,
        }
    )

    __slots__ = ("_asked", "_most", "_open", "_per_second", "_sent", "_tries", "_window")

    def __init__(self, per_second: float = 20.0, window: float = 5.0) -> None:
        self._per_second = per_second
        self._window = window
        self._most = int(per_second * window)
        self._sent: dict[Source, deque[Entry]] = {}
        self._tries: dict[tuple[Source, int], deque[Entry]] = {}
        self._asked: dict[Source, None] = {}
        self._open: dict[tuple[Source, int], None] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, RequestSent):
            api = event.api
            if api is _FETCH:
                return ()
            if api is not _COMMIT or self._asked.pop(entry.source, True) is not None:
                return self._count(entry)
        elif isinstance(event, AnswerReceived):
            return self._tried(entry, event)
        elif isinstance(event, FetchAnswered) and event.error:
            return self._count(entry)
        elif isinstance(event, ConnectionOpened):
            self._open[entry.source, event.connection] = None
        elif isinstance(event, ConnectionClosed):
            if self._open.pop((entry.source, event.connection), True) is not None:
                return self._count(entry)
        elif isinstance(event, CommitStep) and event.stage is CommitStage.REQUESTED:
            self._asked[entry.source] = None
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _tried(self, entry: Entry, event: AnswerReceived) -> tuple[Violation, ...]:
        if event.api is ApiKey.HEARTBEAT or event.error is None:
            return ()  # heartbeats have a rhythm of their own
        if event.error not in _LATER:
            self._tries.pop((entry.source, event.api), None)
            return ()
        tries = self._tries.setdefault((entry.source, event.api), deque(maxlen=_TRIES))
        tries.append(entry)
        seconds = entry.at - tries[0].at
        if len(tries) < _TRIES or seconds >= _TAKE:
            return ()
        del self._tries[entry.source, event.api]
        text = (
            f"{entry.source} asked {_TRIES} times in {seconds:.3f} s although it heard each time "
            f"that it is too early: {event.api.name}"
        )
        return (Violation("L4", text, (tries[0], entry)),)

    def _count(self, entry: Entry) -> tuple[Violation, ...]:
        sent = self._sent.get(entry.source)
        if sent is None:
            sent = self._sent[entry.source] = deque()
        sent.append(entry)
        if len(sent) <= self._most:
            return ()
        first = sent.popleft()
        if entry.at - first.at >= self._window:
            return ()
        sent.clear()
        text = (
            f"{entry.source} sent {self._most + 1} requests (or had connections refused) in "
            f"{entry.at - first.at:.3f} s, "
            f"more than {self._per_second:g} a second"
        )
        return (Violation("L4", text, (first, entry)),)

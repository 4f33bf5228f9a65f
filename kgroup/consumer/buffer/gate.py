"""Whether records may be handed out; records that a deserialiser refused.

Decides: whether this consumer may hand out anything at all, and records of one claim now. Refused
records (`on_deserialize_error="skip"`) are counted, and the first of a burst is logged.
Never: remembers an answer: a lease ends by the clock, between any two records. Never logs a key, a
value, or a deserialiser's own words, which may quote them.

A fatal error of background work shuts the gate for good, and every read raises it. An exception of
a listener is raised once, by the next read. While the group does not permit reading, every read
raises why.
"""

import logging
from collections import deque
from typing import Final

from kgroup.backends.backend import GroupBackend
from kgroup.backends.standalone import StandaloneBackend
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Hold, Owned
from kgroup.consumer.buffer.topic_watch import TopicWatch
from kgroup.errors import ClosedError, DeserializationError
from kgroup.net.ports import Clock
from kgroup.types import Claim


class Gate:
    """Says yes or no, from the latest state.

    Args:
        group: the backend for subscriptions, None without a group id.
        standalone: the backend for assignments by hand.
        notifiers: fired when an answer may have changed.
        topics: knows which of the topics asked for are refused.
        hold: holds partitions back at `max_uncommitted`, None without that option.
    """

    def __init__(
        self,
        group: GroupBackend | None,
        standalone: StandaloneBackend,
        notifiers: Notifiers,
        topics: TopicWatch,
        hold: Hold | None = None,
    ) -> None:
        self.backend: GroupBackend = group or standalone
        """The one that serves what was asked for last."""
        self.topics = topics
        self.hold = hold
        self._group = group
        self._standalone = standalone
        self._notifiers = notifiers
        self._failure: Exception | None = None
        self._closed = False
        self._reports: deque[Exception] = deque()

    def backend_of(self, claim: Claim) -> GroupBackend:
        """Return the backend that gave a claim; it need not be the one that serves now.

        1. The application unsubscribes with records in hand, and assigns by hand at once. 2. The
        group still waits for those records, and for the commit of what is done.
        """
        if self._group is None or self._standalone.minted(claim):
            return self._standalone
        return self._group

    @property
    def failure(self) -> Exception | None:
        """The first fatal error, None while there is none."""
        return self._failure

    @property
    def closed(self) -> bool:
        """Whether the consumer is closing or closed."""
        return self._closed

    def fail(self, error: Exception) -> None:
        """Shut the gate for good; the first error counts."""
        if self._failure is None:
            self._failure = error
        self._notifiers.news.notify()

    def close(self) -> None:
        """Shut the gate because the consumer closes."""
        self._closed = True
        self._notifiers.news.notify()

    def report(self, error: Exception) -> None:
        """Have the next reader raise an error that shuts nothing; the same words only once."""
        words = (type(error), str(error))
        if all((type(each), str(each)) != words for each in self._reports):
            self._reports.append(error)
        self._notifiers.news.notify()

    def check_failure(self) -> None:
        """Raise the fatal error of background work, always the same one; nothing without."""
        if self._failure is not None:
            # Each time adds to the places it remembers, and to what those keep alive.
            raise self._failure.with_traceback(None)

    def check_alive(self) -> None:
        """Raise the error that ended the consumer.

        Raises:
            ClosedError: the consumer is closed.
            KGroupError: the fatal error of background work, always the same one.
        """
        self.check_failure()
        if self._closed:
            raise ClosedError("the consumer is closed")

    def check_read(self) -> None:
        """Raise the error that a read has instead of records; see `check_alive`."""
        self.check_alive()
        if self._reports:
            raise self._reports.popleft()
        trouble = self.backend.trouble
        if trouble is not None:
            raise trouble.with_traceback(None)

    def passes(self, owned: Owned) -> bool:
        """Tell whether records of a claim may be handed out at this moment."""
        if not owned.open or owned.paused or self._closed or self._failure is not None:
            return False
        if self.hold is not None and self.hold.holds(owned):
            return False
        return self.backend_of(owned.claim).may_deliver(owned.claim)

    def is_held(self, owned: Owned) -> bool:
        """Tell whether a claim that did not pass just now is held at its bound, by nothing else."""
        if not owned.held_back or not owned.open or owned.paused:
            return False
        return self.backend_of(owned.claim).may_deliver(owned.claim)


# -- skipped records -------------------------------------------------------------------------------


log = logging.getLogger(__name__)

_BURST: Final = 60.0
"""Seconds in which refusals of one kind count as one burst."""

_Cause = tuple[str, str, str]
"""Topic, field, and name of the exception's class."""


class Skipped:
    """Counts for one consumer.

    Args:
        clock: monotonic seconds.
    """

    __slots__ = ("_clock", "_warned", "count")

    def __init__(self, clock: Clock) -> None:
        self.count: int = 0
        """Records skipped since the consumer was entered."""
        self._clock = clock
        self._warned: dict[_Cause, tuple[float, int]] = {}

    def note(self, error: DeserializationError) -> None:
        """Count one record; log it when it begins a burst."""
        self.count += 1
        cause = (error.tp.topic, error.field, type(error.__cause__).__name__)
        warned_at, unsaid = self._warned.get(cause, (None, 0))
        now = self._clock()
        if warned_at is not None and now - warned_at < _BURST:
            self._warned[cause] = warned_at, unsaid + 1
            return
        self._warned[cause] = now, 0
        log.warning(
            "partition=%s offset=%d skipped: its %s cannot be deserialised (%s); "
            "%d more of this kind since the last such line",
            error.tp,
            error.offset,
            error.field,
            cause[-1],
            unsaid,
        )

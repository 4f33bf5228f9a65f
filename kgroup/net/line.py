"""The requests of one connection: waiting to be written, and in flight.

Decides: which request may be written next and when: not during a throttle, not while the
connection is being authenticated, in order otherwise; and when a connection has been idle.
Never: touches a socket, or knows what a request means.
KIPs: 219 (throttle), 368 (a session that ends must be renewed before the next request).

A session is renewed when something is to be written late in it, so an idle connection stays idle.
While it is renewed nothing else is on the way: the broker would take any other request for a
part of the authentication.
"""

import math
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

import anyio

from kgroup.errors import KGroupError
from kgroup.net.ports import Clock, Notifier
from kgroup.net.trace import Exchange
from kgroup.wire.schema import Message

R = TypeVar("R", bound=Message)


class Pending(Generic[R]):
    """A request from the moment it is queued until it is settled.

    Args:
        exchange: what is asked, where, in which version.
        frame: its bytes.
        patience: the caller's scope; a throttle moves its deadline.

    `awaited` says whether the caller is still there.
    """

    __slots__ = ("_answer", "_done", "_failure", "awaited", "exchange", "frame", "patience")

    def __init__(self, exchange: Exchange, frame: bytes, patience: anyio.CancelScope) -> None:
        self.exchange = exchange
        self.frame = frame
        self.patience = patience
        self.awaited = True
        self._done = anyio.Event()
        self._answer: Any = None
        self._failure: KGroupError | None = None

    @property
    def settled(self) -> bool:
        """Whether the answer or the failure is there."""
        return self._done.is_set()

    def answer(self, message: Message) -> None:
        """Give the caller its answer."""
        self._answer = message
        self._done.set()

    def fail(self, error: KGroupError) -> None:
        """Give the caller the reason why no answer comes; nothing happens after the first time."""
        if not self._done.is_set():
            self._failure = error
            self._done.set()

    async def wait(self) -> None:
        """Wait until it is settled; the caller bounds the time."""
        await self._done.wait()

    def result(self) -> R:
        """Return the answer, or raise the failure."""
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        answer: R = self._answer
        return answer


# -- line ------------------------------------------------------------------------------------------


_NEVER: Final = math.inf


class Line:
    """Two queues and the rules between them.

    Args:
        clock: instants.
        max_idle: seconds without a request after which the line has ended.
        max_silence: most seconds of a throttle that are waited out (N29): a session lives by
            what is written on some lines, and ends when they are silent for too long.
    """

    def __init__(self, clock: Clock, max_idle: float, max_silence: float) -> None:
        self._clock = clock
        self._max_idle = max_idle
        self._max_silence = max_silence
        self._first: deque[Pending[Any]] = deque()
        self._queue: deque[Pending[Any]] = deque()
        self._in_flight: deque[Pending[Any]] = deque()
        self._moved = Notifier()
        self._throttled_until = 0.0
        self._used_at = 0.0
        self._held = False
        self._renew_at = _NEVER
        self._session_ends_at = _NEVER

    def __iter__(self) -> Iterator[Pending[Any]]:
        """Every request that is not settled, in order."""
        return iter((*self._in_flight, *self._first, *self._queue))

    def __contains__(self, pending: object) -> bool:
        """Whether it has been handed to the writer and has no answer yet."""
        return pending in self._in_flight

    @property
    def oldest(self) -> Pending[Any] | None:
        """The request whose answer must come next."""
        return self._in_flight[0] if self._in_flight else None

    @property
    def silence(self) -> float:
        """Seconds for which the broker wants to hear nothing."""
        return max(0.0, self._throttled_until - self._clock())

    # -- requests --------------------------------------------------------------------------

    def add(self, pending: Pending[Any]) -> None:
        """Queue a request."""
        self._queue.append(pending)
        self._moved.notify()

    def go(self, pending: Pending[Any]) -> bool:
        """Count a request as in flight if it may be written now, before all others; else refuse."""
        now = self._clock()
        waits = self._first or self._queue or self._held
        if waits or now < self._throttled_until or now >= self._renew_at:
            return False
        self._in_flight.append(pending)
        return True

    def add_first(self, pending: Pending[Any]) -> None:
        """Queue a request of the connection's own, before all others and throttles."""
        self._first.append(pending)
        self._moved.notify()

    def take_back(self, pending: Pending[Any]) -> None:
        """Forget a request of which no byte has been written."""
        if pending in self._queue:
            self._queue.remove(pending)

    def use(self) -> None:
        """Note that the connection was used."""
        self._used_at = self._clock()

    def answered(self) -> None:
        """Note that the oldest request has its answer."""
        self._in_flight.popleft()
        self.use()
        if self._held:  # else nobody waits for it: that it was used only puts the end of idling off
            self._moved.notify()

    def clear(self) -> None:
        """Forget everything."""
        for queue in (self._first, self._queue, self._in_flight):
            queue.clear()

    async def next(self) -> Pending[Any] | None:
        """Wait for a request that may be written now; None when idle for too long.

        The request counts as in flight from here, because its answer can overtake the end of
        the write.
        """
        while (pause := self._pause()) > 0:
            with anyio.move_on_after(pause):
                await self._moved.wait()
        if not self._first and not self._queue:
            return None
        pending = (self._first or self._queue).popleft()
        self._in_flight.append(pending)
        return pending

    def _pause(self) -> float:
        now = self._clock()
        if self._first:
            return 0.0
        if self._queue:
            held = self._held or now >= self._session_ends_at
            return _NEVER if held else self._throttled_until - now
        if any(pending.awaited for pending in self._in_flight):
            return self._max_idle
        return self._max_idle - (now - self._used_at)

    def keep_silent_for(self, seconds: float) -> None:
        """Write nothing until a throttle has passed, and give everybody that much more time."""
        now, seconds = self._clock(), min(seconds, self._max_silence)
        longer = now + seconds - max(self._throttled_until, now)
        if longer <= 0:
            return
        self._throttled_until = now + seconds
        for pending in self:
            pending.patience.deadline += longer

    # -- sessions --------------------------------------------------------------------------

    def begin_session(self, renew_after: float, lifetime: float) -> None:
        """Note how long the authentication holds.

        Args:
            renew_after: seconds after which it should be renewed.
            lifetime: seconds after which the broker hangs up at the next request.
        """
        now = self._clock()
        self._renew_at, self._session_ends_at = now + renew_after, now + lifetime

    async def session_wears_out(self) -> None:
        """Wait until something is to be written and the session should be renewed first."""
        while not self._queue or self._clock() < self._renew_at:
            if not self._queue:
                await self._moved.wait()
                continue
            with anyio.move_on_after(self._renew_at - self._clock()):
                await self._moved.wait()

    async def hold(self) -> None:
        """Have nothing written from now on; return when nothing is in flight."""
        self._held = True
        while self._in_flight:
            await self._moved.wait()

    def release(self) -> None:
        """Let everybody go on."""
        self._held = False
        self._moved.notify()

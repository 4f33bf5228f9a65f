"""One request and the caller who waits for its answer.

Decides: that the answer or the failure arrives once, and that a caller may walk away from it.
Never: touches a socket; the connection owns what was written, whoever still waits.
"""

from typing import Any, Generic, TypeVar

import anyio

from kgroup.errors import KGroupError
from kgroup.net.trace import Exchange
from kgroup.wire.schema import Message

__all__ = ["Pending"]

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

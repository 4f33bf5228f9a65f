"""A network cable between one member and its brokers, which a test can cut and mend.

Cut, it behaves as a network that swallows packets while TCP lives on: nothing arrives, and no error
says so. What was written before or meanwhile arrives when the cable is mended, even on connections
that the member has given up since. That is the worst a network does to a fence.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from anyio.abc import ByteStream

from kgroup.net.ports import Dial, Notifier


class Cable:
    """A `Dial` port that can be cut.

    Args:
        dial: opens the real connections.
    """

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self.stops_questions = False
        self.stops_answers = False
        self.changed = Notifier()
        self._plugged: list[_Plugged] = []

    async def __call__(self, host: str, port: int) -> ByteStream:
        """Connect; while it is cut, for ever."""
        while self.stops_questions:
            await self.changed.wait()
        plugged = _Plugged(self, await self._dial(host, port))
        self._plugged.append(plugged)
        return plugged

    def cut(self, *, answers_only: bool = False) -> None:
        """Let nothing through any more; `answers_only` still lets questions through."""
        self.stops_answers = True
        self.stops_questions = not answers_only

    async def mend(self) -> None:
        """Let everything through again, what was held back first."""
        self.stops_answers = self.stops_questions = False
        for plugged in tuple(self._plugged):
            await plugged.flush()
        self.changed.notify()

    async def pull(self) -> None:
        """Close everything for good, as the end of a process does."""
        for plugged in self._plugged:
            await anyio.aclose_forcefully(plugged.inner)


class _Plugged(ByteStream):
    """One connection through the cable."""

    def __init__(self, cable: Cable, inner: ByteStream) -> None:
        self._cable = cable
        self.inner = inner
        self._unsent: deque[bytes] = deque()
        self._unread = b""
        self._closed = False

    async def send(self, item: bytes) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        if self._cable.stops_questions or self._unsent:
            self._unsent.append(bytes(item))
            await anyio.lowlevel.checkpoint()
            return
        await self.inner.send(item)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        if not self._unread:
            self._unread = await self.inner.receive(max_bytes)
        while self._cable.stops_answers:
            await self._cable.changed.wait()
        data, self._unread = self._unread, b""
        return data

    async def flush(self) -> None:
        """Send what the cut held back; a connection that was given up is closed behind it."""
        try:
            while self._unsent:
                await self.inner.send(self._unsent[0])
                self._unsent.popleft()
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._unsent.clear()
        if self._closed:
            await self.inner.aclose()

    async def aclose(self) -> None:
        self._closed = True
        if not self._unsent:
            await self.inner.aclose()

    async def send_eof(self) -> None:
        await self.inner.send_eof()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return self.inner.extra_attributes

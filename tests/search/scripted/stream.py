"""One end of a connection in memory, whose other end is a script.

Decides: when bytes of the script reach the client: in the order of the requests, when they are
due, in pieces as large as the broker wants.
Never: runs a task of its own; it acts inside the client's `send` and `receive`.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import anyio
from anyio.abc import ByteStream

from kgroup.net.ports import Notifier
from kgroup.wire.frames import FrameSplitter

_SLACK: Final = 1e-9
"""Seconds by which a timer may be early, because floats are."""


@dataclass(slots=True, eq=False)
class Slot:
    """The place of one answer in the order of a connection's answers.

    Args:
        data: bytes to send.
        ready_at: instant from which they may go; infinity while the test holds them.
        then_hang_up: whether the connection is closed behind them.
        owner: is called when they become ready.
    """

    data: bytes = b""
    ready_at: float = math.inf
    then_hang_up: bool = False
    owner: "ScriptedStream | None" = None

    def fill(self, data: bytes) -> None:
        """Let the answer go now."""
        self.data = data
        self.ready_at = -math.inf
        if self.owner is not None:
            self.owner.wake()


class StreamManners(Protocol):
    """What a broker does to all of its connections; may change at any time."""

    @property
    def jams(self) -> bool:
        """Whether connections take no bytes."""
        ...

    @property
    def piece(self) -> float:
        """Most bytes that arrive at once."""
        ...


class ScriptedStream(ByteStream):
    """The client's end.

    Args:
        number: which connection of its broker it is, from 1.
        take: called with each whole request frame.
        manners: what the broker does to its connections.
    """

    def __init__(
        self,
        number: int,
        take: Callable[["ScriptedStream", memoryview], None],
        manners: StreamManners,
    ) -> None:
        self.number = number
        self.slots: deque[Slot] = deque()
        self._take = take
        self._manners = manners
        self._splitter = FrameSplitter()
        self._arrived = bytearray()
        self._notifier = Notifier()
        self._closed = False
        self._ended = False
        self._reset = False

    # -- what the test sees and does ---------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it."""
        return not (self._closed or self._ended or self._reset)

    def hang_up(self, *, reset: bool = False) -> None:
        """Close the broker's end; answers that have not gone out are lost."""
        self.slots.clear()
        self._ended = True
        self._reset = self._reset or reset
        self.wake()

    def push(self, data: bytes) -> None:
        """Send bytes without a request."""
        self.slots.append(Slot(data, ready_at=-math.inf))
        self.wake()

    def wake(self) -> None:
        """Let a waiting `receive` look again."""
        self._notifier.notify()

    # -- the client's end --------------------------------------------------------------------

    async def send(self, item: bytes) -> None:
        """Give bytes to the broker, which acts on every frame they complete."""
        await anyio.lowlevel.checkpoint()
        if self._closed:
            raise anyio.ClosedResourceError
        if self._manners.jams:
            await anyio.sleep_forever()
        if self._ended or self._reset:
            raise anyio.BrokenResourceError
        for frame in self._splitter.feed(bytes(item)):
            self._take(self, frame)
        self.wake()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Wait for the next bytes."""
        await anyio.lowlevel.checkpoint()
        while not self._arrived:
            if self._closed:
                raise anyio.ClosedResourceError
            if self._reset:
                raise anyio.BrokenResourceError
            if not await self._deliver():
                raise anyio.EndOfStream
        size = int(min(max_bytes, self._manners.piece, len(self._arrived)))
        data = bytes(self._arrived[:size])
        del self._arrived[:size]
        return data

    async def _deliver(self) -> bool:
        """Move due answers to the client, or wait for one; False at the end of the stream."""
        while self.slots and self.slots[0].ready_at <= anyio.current_time() + _SLACK:
            slot = self.slots.popleft()
            self._arrived += slot.data
            if slot.then_hang_up:
                self.hang_up()
        if self._arrived:
            return True
        if self._ended:
            return False
        pause = self.slots[0].ready_at - anyio.current_time() if self.slots else math.inf
        with anyio.move_on_after(pause):
            await self._notifier.wait()
        return True

    async def send_eof(self) -> None:
        """Close the client's sending side."""
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close the client's end."""
        self._closed = True
        self.wake()
        await anyio.lowlevel.checkpoint()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Nothing: there is no socket below."""
        return {}

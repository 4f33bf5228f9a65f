"""Connections in memory, which drive the broker's clock: virtual or real, without any task.

Decides: which client wakes up when the broker has something to do. Of all clients that wait for
bytes one is the watchman: it wakes at the broker's next timer, and hands its post over when it
stops waiting. So time is exact as long as somebody waits for an answer, and costs nothing per
connection.
Never: runs a task, or lets time pass by itself.

What is here is for the tasks of one event loop; another loop may follow when the first has ended,
and the broker's clock goes on where it was.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
from anyio.abc import ByteStream
from anyio.lowlevel import RunVar

from kgroup.net.ports import Notifier
from kgroup.testing.broker.server.line import Line
from kgroup.testing.broker.server.switchboard import Switchboard
from kgroup.testing.virtual_time import clock_is_virtual

_JITTER: Final = 1e-3
"""Seconds by which a clock may seem to go back, because floats are."""


class MemoryNetwork:
    """The `Dial` port of a cluster.

    Args:
        board: connects to the cluster; its clock is taken over.
    """

    def __init__(self, board: Switchboard) -> None:
        self._board = board
        self._ahead: RunVar[float] = RunVar(f"broker clock {id(self)}")
        self._waiting: dict[int, Notifier] = {}
        self._watchman: int | None = None
        self._wakes_at = math.inf
        board.clock = self.clock
        board.listeners.append(self._call_watchman)

    async def __call__(self, host: str, port: int) -> "MemoryStream":
        """Connect a client.

        Raises:
            ConnectionRefusedError: the broker is down.
            OSError: there is no such broker.
            RuntimeError: the cluster is served on sockets now, in real time.
        """
        if self._board.clock != self.clock:
            raise RuntimeError(
                "the cluster is served on sockets, in real time: clients connect to "
                "`broker.bootstrap_servers`, without `ports=`; in memory again after that block"
            )
        await anyio.lowlevel.checkpoint()
        self._board.look()
        node_id = self._board.node_at(host, port)
        if node_id is None:
            raise OSError(f"{host}: no broker of this cluster has the address {host}:{port}")
        notifier = Notifier()
        line = self._board.connect(node_id, notifier.notify)
        return MemoryStream(self, line, notifier)

    # -- time ------------------------------------------------------------------------------------

    def clock(self) -> float:
        """Read the running loop's clock as the broker's; outside of any loop time stands still."""
        try:
            now = anyio.current_time()
        except RuntimeError:
            return self._board.now
        try:
            ahead = self._ahead.get()
        except LookupError:
            ahead = self._first_look(now)
            self._ahead.set(ahead)
        if now + ahead < self._board.now - _JITTER:  # it was served on sockets meanwhile
            ahead = self._board.now - now
            self._ahead.set(ahead)
        return now + ahead

    def _first_look(self, now: float) -> float:
        """Begin with another loop: a clock never goes back, and a virtual one is not shifted."""
        known = self._board.now
        return 0.0 if clock_is_virtual() and now >= known else known - now

    def deadline(self, instant: float) -> float:
        """Return when the running loop's clock reads an instant of the broker's."""
        return instant - self._ahead.get()

    # -- the watch -------------------------------------------------------------------------------

    async def wait(self, number: int, notifier: Notifier) -> None:
        """Wait until a connection may have bytes; its client keeps watch if no other does.

        Args:
            number: of the connection.
            notifier: fired when it may have bytes.
        """
        self._waiting[number] = notifier
        if self._watchman is None:
            self._watchman = number
        if self._watchman != number:
            await notifier.wait()
            return
        self._wakes_at = self._board.next_at
        with anyio.CancelScope(deadline=self.deadline(self._wakes_at)):
            await notifier.wait()

    def stop_waiting(self, number: int) -> None:
        """Note that a client does not wait any more; another one keeps watch instead."""
        self._waiting.pop(number, None)
        if self._watchman == number:
            self._watchman = next(iter(self._waiting), None)
            self._wake_watchman()

    def _call_watchman(self) -> None:
        """Let the watchman look anew if something is due before it would wake."""
        if self._board.next_at < self._wakes_at:
            self._wake_watchman()

    def _wake_watchman(self) -> None:
        if self._watchman is not None:
            self._waiting[self._watchman].notify()

    def look(self) -> float:
        """Let time pass up to the present, and return it."""
        self._board.look()
        return self._board.now

    def receive(self, line: Line, data: bytes) -> None:
        """Bring bytes to the broker."""
        self._board.receive(line, data)

    def disconnect(self, line: Line, *, reset: bool) -> None:
        """Close a connection from the client's side; a reset if bytes for it were not read."""
        self._board.disconnect(line, reset=reset)


class MemoryStream(ByteStream):
    """The client's end of a connection.

    Args:
        network: keeps watch.
        line: the broker's end.
        notifier: fired when the line may have bytes.
    """

    def __init__(self, network: MemoryNetwork, line: Line, notifier: Notifier) -> None:
        self._network = network
        self._line = line
        self._notifier = notifier
        self._arrived = memoryview(b"")
        self._closed = False

    async def send(self, item: bytes) -> None:
        """Give bytes to the broker, which acts on every request they complete."""
        await anyio.lowlevel.checkpoint()
        if self._closed:
            raise anyio.ClosedResourceError
        if self._line.ended:
            raise anyio.BrokenResourceError
        self._network.receive(self._line, bytes(item))

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Wait for the next bytes."""
        await anyio.lowlevel.checkpoint()
        if not self._arrived:
            try:
                self._arrived = memoryview(await self._next_bytes())
            finally:
                self._network.stop_waiting(self._line.number)
        taken, self._arrived = self._arrived[:max_bytes], self._arrived[max_bytes:]
        return bytes(taken)

    async def _next_bytes(self) -> bytes:
        while True:
            if self._closed:
                raise anyio.ClosedResourceError
            if data := self._line.take(self._network.look()):
                return data
            if self._line.reset:
                raise anyio.BrokenResourceError
            if self._line.ended:
                raise anyio.EndOfStream
            await self._network.wait(self._line.number, self._notifier)

    async def send_eof(self) -> None:
        """Close the client's sending side; the broker does not mind."""
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close the client's end."""
        if not self._closed:
            self._closed = True
            unread = self._arrived or self._line.take(self._network.look())
            self._network.disconnect(self._line, reset=bool(unread))
        self._notifier.notify()
        await anyio.lowlevel.checkpoint()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Nothing: there is no socket below."""
        return {}

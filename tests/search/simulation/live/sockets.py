"""The network of level C: loopback sockets, in real time.

Decides: that what a silenced process sends waits at its own end, and what it is sent is not read.
Never: delays anything else; the loopback is as slow as it is.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
from anyio.abc import ByteStream

from kgroup.net.ports import Dial, dial_tcp
from tests.search.simulation.live.reach import Reach


class SocketNetwork:
    """Connects processes with a cluster that is served."""

    def dial_of(self, reach: Reach) -> Dial:
        """Return the port by which a process connects."""
        return partial(self._dial, reach)

    async def run(self) -> None:
        """Do nothing: the system carries."""

    async def _dial(self, reach: Reach, host: str, port: int) -> ByteStream:
        await reach.hears()
        if reach.dead:
            await anyio.sleep_forever()
        wire = _Wire(reach, await dial_tcp(host, port))
        reach.connections.append(wire)
        return wire


class _Wire(ByteStream):
    """The client's end of a connection.

    Args:
        reach: of the process.
        inner: the socket.
    """

    def __init__(self, reach: Reach, inner: ByteStream) -> None:
        self._reach = reach
        self._inner = inner
        self._scope = anyio.CancelScope()
        self._broken = False
        self._closed = False

    async def send(self, item: bytes) -> None:
        """Send, when something passes."""
        await self._reach.is_heard()
        self._check()
        await self._inner.send(item)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Receive, when something passes."""
        self._check()
        data = b""
        with anyio.CancelScope() as self._scope:
            data = await self._inner.receive(max_bytes)
            await self._reach.hears()
        self._check()
        return data

    async def send_eof(self) -> None:
        """Close the sending side."""
        await self._inner.send_eof()

    async def aclose(self) -> None:
        """Close it."""
        self.vanish()
        await anyio.aclose_forcefully(self._inner)

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Those of the socket."""
        return self._inner.extra_attributes

    def vanish(self) -> None:
        """Close it as the system does when its process has ended; its reader closes the socket."""
        self._closed = True
        self._end()

    def reset(self) -> None:
        """End it for both sides; its reader closes the socket."""
        self._broken = True
        self._end()

    def _end(self) -> None:
        if self in self._reach.connections:
            self._reach.connections.remove(self)
        self._scope.cancel()

    def _check(self) -> None:
        if self._broken:
            raise anyio.BrokenResourceError
        if self._closed:
            raise anyio.ClosedResourceError

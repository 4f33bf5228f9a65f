"""Connections on the loopback: one listener per broker, served in a thread with a loop of its own.

Decides: when sockets are opened, closed and reset, so that a broker that is down refuses
connections and one that comes back is found at the same port; and when the thread wakes up: when
bytes come, when the broker's next timer is due, and when another thread has changed something.
Never: outlives `close()`: thread, loop, listeners and connections end with it.
"""

import asyncio
import math
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from kgroup.testing.broker.server.line import Line
from kgroup.testing.broker.server.switchboard import Switchboard

LOOPBACK: Final = "127.0.0.1"
_PATIENCE: Final = 10.0
"""Real seconds within which the thread must have done what another one asks of it."""

_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: closing resets the connection."""


class SocketServer:
    """Serves one cluster on the loopback.

    Args:
        board: connections to the cluster; while it is served, its clock and calendar are the real
            ones.
    """

    def __init__(self, board: Switchboard) -> None:
        self._board = board
        self._ports: dict[int, _Port] = {}
        self._connections: set[_Connection] = set()
        self._greeted: set[asyncio.Task[Any]] = set()
        self._ready: list[_Connection] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._all_gone = asyncio.Event()
        self._ahead = 0.0

    # -- from any thread -------------------------------------------------------------------------

    def start(self) -> dict[int, tuple[str, int]]:
        """Open the listeners; return the address of each broker.

        Raises:
            OSError: a port could not be had.
        """
        begun: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run_loop, args=(begun,), name="in-process Kafka", daemon=True
        )
        self._thread.start()
        begun.result(_PATIENCE)
        return {node_id: (LOOPBACK, port.number) for node_id, port in self._ports.items()}

    def close(self) -> None:
        """Close every socket and end the thread; may be called more than once."""
        thread, loop, over = self._thread, self._loop, self._over
        if thread is None or loop is None or over is None:
            return
        loop.call_soon_threadsafe(over.set)
        thread.join(_PATIENCE)
        if thread.is_alive():
            raise RuntimeError(f"the thread of the sockets did not end within {_PATIENCE:g} s")
        self._thread = self._loop = self._over = None

    def settle(self) -> None:
        """Return when brokers that are down refuse connections, and those that are up take them."""
        if self._loop is None:
            return
        if threading.current_thread() is self._thread:  # a rule has changed a broker
            self._open_and_close()
            return
        asyncio.run_coroutine_threadsafe(self._settled(), self._loop).result(_PATIENCE)

    async def _settled(self) -> None:
        self._open_and_close()
        await asyncio.sleep(0)  # resets go out

    def wake(self, connection: "_Connection") -> None:
        """Note, under the lock, that a connection may have bytes or an end."""
        self._ready.append(connection)

    def _changed(self) -> None:
        """Let the thread look if another one has changed something; called under the lock."""
        if self._loop is not None and threading.current_thread() is not self._thread:
            self._loop.call_soon_threadsafe(self.turn)

    # -- the thread ------------------------------------------------------------------------------

    def _run_loop(self, begun: "Future[None]") -> None:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._run(begun))

    async def _run(self, begun: "Future[None]") -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        clock, settle = self._board.clock, self._board.settle
        try:
            self._ports = {node_id: _Port() for node_id in self._board.core.cluster.nodes}
            self._begin()
            self._open_and_close()
            begun.set_result(None)
            await self._over.wait()
        except BaseException as error:
            if begun.done():
                raise
            begun.set_exception(error)
        finally:
            self._board.clock, self._board.settle = clock, settle
            await self._end()

    def _begin(self) -> None:
        with self._board.changing() as core:
            self._ahead = self._board.now - time.monotonic()
            core.context.calendar_start = time.time() - self._board.now
            self._board.clock = self._clock
            self._board.listeners.append(self._changed)
            self._board.settle = self.settle

    async def _end(self) -> None:
        with self._board.lock:
            if self._changed in self._board.listeners:
                self._board.listeners.remove(self._changed)
        if self._timer is not None:
            self._timer.cancel()
        for port in self._ports.values():
            port.close()
        while self._greeted:
            await asyncio.wait(self._greeted)
        for connection in [*self._connections]:
            connection.abort()
        if self._connections:
            self._all_gone.clear()
            await self._all_gone.wait()

    def _clock(self) -> float:
        return time.monotonic() + self._ahead

    def _open_and_close(self) -> None:
        for node in self._board.core.cluster.nodes.values():
            port = self._ports[node.node_id]
            if node.alive and not port.is_open:
                port.open(partial(self._accepted, node.node_id))
            elif not node.alive and port.is_open:
                port.refuse()
        self.turn()

    def _accepted(self, node_id: int, made: socket.socket) -> None:
        assert self._loop is not None
        connection = partial(_Connection, self, node_id)
        greeting = self._loop.create_task(self._loop.connect_accepted_socket(connection, made))
        self._greeted.add(greeting)
        greeting.add_done_callback(self._greeted.discard)

    def turn(self) -> None:
        """Send what may leave, close what has ended, and set the timer anew."""
        with self._board.lock:
            ready, self._ready = self._ready, []
            for connection in ready:
                connection.flush(self._board.now)
            self._set_timer(self._board.next_at)

    def _set_timer(self, due: float) -> None:
        if due == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, due
        if self._loop is not None and due < math.inf:
            seconds = max(due - self._clock(), 0.0)
            self._timer = self._loop.call_later(seconds, self._tick)

    def _tick(self) -> None:
        self._timer, self._timer_at = None, math.inf
        try:
            self._board.look()
        finally:  # a rule of the test may raise; time goes on
            self.turn()

    # -- for connections -------------------------------------------------------------------------

    def connected(self, connection: "_Connection", node_id: int) -> Line | None:
        """Connect a client to a broker; None when the broker has just gone down."""
        self._connections.add(connection)
        try:
            return self._board.connect(node_id, partial(self.wake, connection))
        except ConnectionRefusedError:
            return None

    def receive(self, line: Line, data: bytes) -> None:
        """Bring bytes to the broker."""
        self._board.receive(line, data)
        self.turn()

    def gone(self, connection: "_Connection", line: Line | None, *, reset: bool) -> None:
        """Note that a connection has ended, by a reset or in good order."""
        self._connections.discard(connection)
        if not self._connections:
            self._all_gone.set()
        if line is not None:
            self._board.disconnect(line, reset=reset)


class _Port:
    """One port, which stays ours while its broker is down.

    A socket that is bound and does not listen refuses connections, and no other process gets its
    port. asyncio's own servers are of no use here: one that is closed while it accepts leaks the
    socket.
    """

    def __init__(self) -> None:
        self._socket = _bound(0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.number: int = self._socket.getsockname()[1]

    @property
    def is_open(self) -> bool:
        """Whether it takes connections."""
        return self._loop is not None

    def open(self, accepted: Callable[[socket.socket], None]) -> None:
        """Take connections.

        Args:
            accepted: called with the socket of each.
        """
        self._loop = asyncio.get_running_loop()
        self._socket.listen()
        self._loop.add_reader(self._socket, self._accept, accepted)

    def _accept(self, accepted: Callable[[socket.socket], None]) -> None:
        try:
            while True:
                made, _ = self._socket.accept()
                made.setblocking(False)  # noqa: FBT003  # as it is called
                accepted(made)
        except (BlockingIOError, ConnectionAbortedError):
            return  # called again when there is another one

    def refuse(self) -> None:
        """Refuse connections from now on; those that are there stay."""
        self.close()
        self._socket = _bound(self.number)

    def close(self) -> None:
        """Give the port back."""
        if self._loop is not None:
            self._loop.remove_reader(self._socket)
            self._loop = None
        self._socket.close()


class _Connection(asyncio.Protocol):
    """One connection, seen from the broker.

    Args:
        server: which serves it.
        node_id: the broker.
    """

    def __init__(self, server: SocketServer, node_id: int) -> None:
        self._server = server
        self._node_id = node_id
        self._line: Line | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  # asyncio's own is too wide
        self._transport = transport
        self._line = self._server.connected(self, self._node_id)
        if self._line is None:
            self.abort()

    def data_received(self, data: bytes) -> None:
        if self._line is not None:
            self._server.receive(self._line, data)

    def connection_lost(self, error: Exception | None) -> None:
        self._server.gone(self, self._line, reset=error is not None)

    def flush(self, now: float) -> None:
        """Send what may leave; close the socket when the connection has ended."""
        line, transport = self._line, self._transport
        if line is None or transport is None or transport.is_closing():
            return
        data = line.take(now)
        if data:
            transport.write(data)
        if line.ended and line.reset:
            self.abort()
        elif line.ended:
            transport.close()

    def abort(self) -> None:
        """Reset the connection."""
        if self._transport is not None:
            raw: socket.socket = self._transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self._transport.abort()


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setblocking(False)  # noqa: FBT003  # as it is called
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOOPBACK, port))
    return made

"""A TCP connection on asyncio without a task switch per write and per read.

Decides: bytes that arrive are received straight into the frame they belong to, and looked at in the
step that reads them off the socket; a frame is written in the step that has it, as long as the
socket takes it.
Never: knows requests; holds back an error: the end and its reason are raised by `pump`,
`receive` and `send`.

anyio's stream ends each write with a turn of the loop, and registers the socket anew for each read.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from itertools import zip_longest
from typing import Final, Protocol, TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream, SocketAttribute, SocketStream

from kgroup.wire.frames import FrameSplitter

T = TypeVar("T")

_RECEIVE: Final = 1024 * 1024
"""Bytes asked of the socket at once: large reads are what makes fetching fast."""
_NEXT_ADDRESS_AFTER: Final = 0.25
"""Seconds after which the next address of a name is tried beside the first (RFC 8305)."""
_KEPT: Final = 64
"""Pieces that are kept for `receive` before nothing more is read off the socket."""
_PIECE: Final = 64 * 1024
"""Bytes of the largest such piece."""


class Intake(Protocol):
    """Takes what arrives."""

    def room(self) -> memoryview:
        """Return where the next bytes may be received."""
        ...

    def filled(self, count: int) -> None:
        """Take the bytes that were received there."""
        ...

    def feed(self, data: bytes) -> None:
        """Take bytes that were received elsewhere."""
        ...


class Frames:
    """An intake that passes whole frames on.

    Args:
        splitter: finds them.
        take: called with each.
    """

    __slots__ = ("_splitter", "_take", "room")

    def __init__(self, splitter: FrameSplitter, take: Callable[[memoryview], None]) -> None:
        self._splitter = splitter
        self._take = take
        self.room = splitter.room

    def filled(self, count: int) -> None:
        """Pass on what the bytes in `room()` complete."""
        for frame in self._splitter.filled(count):
            self._take(frame)

    def feed(self, data: bytes) -> None:
        """Pass on what these bytes complete."""
        for frame in self._splitter.feed(data):
            self._take(frame)


class DirectStream(asyncio.BufferedProtocol, ByteStream):
    """One connection, both as asyncio's protocol and as a stream."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._intake: Intake | None = None
        self._piece: memoryview | None = None
        self._kept: deque[bytes] = deque()
        self._failure: Exception | None = None
        self._ended = False
        self._closed = False
        self._full = False
        self._moved: list[asyncio.Future[None]] = []

    # -- for callers -----------------------------------------------------------------------

    @property
    def writable(self) -> bool:
        """Whether what is written now goes to the socket at once, as far as can be known."""
        transport = self._transport
        return not (self._full or self._closed or transport is None or transport.is_closing())

    def write(self, data: bytes) -> None:
        """Write; only while it is `writable`."""
        assert self._transport is not None
        self._transport.write(data)

    async def pump(self, intake: Intake) -> None:
        """Give `intake` everything that arrives, in the step that reads it; return never.

        Raises:
            EndOfStream: the other side has ended it.
            BrokenResourceError, ClosedResourceError: it broke, or was closed here.
            Exception: what `intake` has raised; it is not called again.
        """
        self._intake = intake
        while self._kept:
            self._guarded(intake.feed, self._kept.popleft())
        self._resume()
        while not self._is_over():
            await self._next_move()
        self._raise_end()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Return the next bytes."""
        await anyio.lowlevel.checkpoint()
        while not self._kept:
            if self._is_over():
                self._raise_end()
            self._resume()
            await self._next_move()
        data = self._kept.popleft()
        if len(data) > max_bytes:
            self._kept.appendleft(data[max_bytes:])
        return data[:max_bytes]

    async def send(self, item: bytes) -> None:
        """Write, and wait until the socket has taken it."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        await self._drained()
        if not self.writable:
            self._raise_end()
        self.write(item)
        await self._drained()
        if self._failure is not None or self._closed:
            self._raise_end()

    async def send_eof(self) -> None:
        """Say that nothing more is written."""
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close it at once; the socket is closed in the next turn of the loop."""
        self.abort()
        await anyio.lowlevel.checkpoint()

    def abort(self) -> None:
        """Close it, without waiting for the turn of the loop in which the socket is closed."""
        self._closed = True
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    # -- for asyncio -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; nothing is kept in memory that the socket does not take."""
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(0)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Say where the next bytes are to be received."""
        del sizehint
        if self._intake is not None and self._failure is None:
            return self._intake.room()
        if self._piece is None:
            self._piece = memoryview(bytearray(_PIECE))
        return self._piece

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on the bytes that were received there."""
        if self._intake is None:
            assert self._piece is not None
            self._kept.append(bytes(self._piece[:nbytes]))
            if len(self._kept) >= _KEPT and self._transport is not None:
                self._transport.pause_reading()
            self._wake()
        else:
            self._guarded(self._intake.filled, nbytes)

    def _guarded(self, take: Callable[[T], None], what: T) -> None:
        """Have the intake take something, unless it has raised before."""
        if self._failure is not None:
            return
        try:
            take(what)
        except Exception as error:  # noqa: BLE001 - raised by `pump`
            self._failure = error
            self._wake()

    def eof_received(self) -> bool:
        """Note the end of the other side; this one is closed by its owner."""
        self._ended = True
        self._wake()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end, and why."""
        self._ended, self._full = True, False
        if exc is not None and self._failure is None:
            self._failure = anyio.BrokenResourceError()
            self._failure.__cause__ = exc
        self._wake()

    def pause_writing(self) -> None:
        """Note that the socket takes no more."""
        self._full = True

    def resume_writing(self) -> None:
        """Note that it does again."""
        self._full = False
        self._wake()

    # -- waiting ---------------------------------------------------------------------------

    async def _drained(self) -> None:
        while self._full and not self._closed:
            await self._next_move()

    def _resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _is_over(self) -> bool:
        return self._ended or self._closed or self._failure is not None

    def _raise_end(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closed:
            raise anyio.ClosedResourceError
        if self._ended:
            raise anyio.EndOfStream
        raise anyio.BrokenResourceError

    def _wake(self) -> None:
        moved, self._moved = self._moved, []
        for waiter in moved:
            if not waiter.done():
                waiter.set_result(None)

    async def _next_move(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._moved.append(waiter)
        await waiter


def on_asyncio() -> bool:
    """Tell whether the caller is a task of a loop of asyncio itself.

    Trio may be a guest of such a loop, without a task. Loops of another make, such as uvloop, are
    left to anyio.
    """
    try:
        own = isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop)
        return own and asyncio.current_task() is not None
    except RuntimeError:
        return False


def _on_trio() -> bool:
    """Tell whether the caller is a task of trio, which may be a guest of asyncio's loop."""
    try:
        return asyncio.current_task() is None
    except RuntimeError:
        return True


async def dial_direct(host: str, port: int) -> DirectStream:
    """Connect to the address of a host that answers first.

    asyncio's own race between addresses loses sockets that connect while it is cancelled, so each
    address is an attempt of its own here.

    Raises:
        OSError: nobody is there; of several addresses the cause holds what each of them said.
    """
    streams: list[DirectStream] = []
    failures: list[OSError] = []
    try:
        await _try(await _addresses(host, port), port, streams, failures)
        if not streams:
            raise _joined(failures)
        return streams.pop(0)
    finally:
        for stream in streams:
            stream.abort()


async def _try(
    addresses: list[str], port: int, streams: list[DirectStream], failures: list[OSError]
) -> None:
    """Try one address after the other, the next one also beside those that are silent."""
    loop = asyncio.get_running_loop()

    async def attempt(address: str, over: anyio.Event) -> None:
        try:
            _, stream = await loop.create_connection(DirectStream, address, port)
            streams.append(stream)
            tasks.cancel_scope.cancel()
        except OSError as error:
            failures.append(error)
        finally:
            over.set()

    async with anyio.create_task_group() as tasks:
        for address in addresses:
            over = anyio.Event()
            tasks.start_soon(attempt, address, over)
            with anyio.move_on_after(_NEXT_ADDRESS_AFTER):
                await over.wait()


async def _addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host, those of either family in turn (RFC 8305)."""
    with suppress(ValueError):
        ip_address(host)
        return [host]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    families: dict[int, list[str]] = {}
    for family, *_, place in found:
        families.setdefault(family, []).append(str(place[0]))
    in_turn = (each for row in zip_longest(*families.values()) for each in row if each)
    return list(dict.fromkeys(in_turn))


def _joined(failures: list[OSError]) -> OSError:
    if len(failures) == 1:
        return failures[0]
    error = OSError("no address of it could be reached")
    error.__cause__ = ExceptionGroup("each address", failures)
    return error


async def read_all(stream: ByteStream, intake: Intake) -> None:
    """Give `intake` everything that arrives, until the stream or `intake` raises."""
    if isinstance(stream, DirectStream):
        await stream.pump(intake)
    elif isinstance(stream, SocketStream) and _on_trio():
        await _receive_on_trio(stream.extra(SocketAttribute.raw_socket), intake)  # noqa: S610 - not of Django
    while True:
        intake.feed(await stream.receive(_RECEIVE))


async def _receive_on_trio(raw: socket.socket, intake: Intake) -> None:
    """Receive where the bytes stay, which anyio's streams cannot."""
    import trio  # noqa: PLC0415 - an extra

    while True:
        await anyio.lowlevel.checkpoint()
        try:
            count = raw.recv_into(intake.room())
        except BlockingIOError:
            try:
                await trio.lowlevel.wait_readable(raw)
            except trio.ClosedResourceError:
                raise anyio.ClosedResourceError from None
            continue
        except OSError as error:
            closed = raw.fileno() < 0
            raise (anyio.ClosedResourceError if closed else anyio.BrokenResourceError) from error
        if not count:
            raise anyio.EndOfStream
        intake.filled(count)

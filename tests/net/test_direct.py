"""A TCP connection on asyncio: what arrives, what is written, and how it ends."""

import asyncio
import gc
import socket
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import ByteStream, SocketStream

from kgroup.net.direct import DirectStream, read_all
from kgroup.net.ports import dial_tcp, os_reason

LIMIT = 10.0


class Peer:
    """The other side of one connection; what it wrote and how it was left is up to the test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[DirectStream, Peer]]:
    peers: asyncio.Queue[Peer] = asyncio.Queue()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await peers.put(Peer(reader, writer))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    stream = await dial_tcp("127.0.0.1", server.sockets[0].getsockname()[1])
    assert isinstance(stream, DirectStream)
    peer = await peers.get()
    try:
        with anyio.fail_after(LIMIT):
            yield stream, peer
    finally:
        await stream.aclose()
        peer.writer.transport.abort()
        server.close()


class Taken:
    """Takes what arrives into room for three bytes; keeps it, or raises."""

    def __init__(self, error: Exception | None = None) -> None:
        self.heard: list[bytes] = []
        self._error = error
        self._room = memoryview(bytearray(3))

    def room(self) -> memoryview:
        return self._room

    def filled(self, count: int) -> None:
        self.feed(bytes(self._room[:count]))

    def feed(self, data: bytes) -> None:
        self.heard.append(data)
        if self._error is not None:
            raise self._error


async def until_end(stream: DirectStream) -> list[bytes]:
    taken = Taken()
    with pytest.raises(anyio.EndOfStream):
        await stream.pump(taken)
    return taken.heard


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_arrives_before_and_after_the_pump_begins_is_fed_in_order(
    anyio_backend: str,
) -> None:
    async with connected() as (stream, peer):
        peer.writer.write(b"one")
        assert await stream.receive(1) == b"o"
        peer.writer.write(b"two")
        peer.writer.write_eof()
        assert b"".join(await until_end(stream)) == b"netwo"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_the_feed_raises_ends_the_pump_and_it_is_not_called_again(
    anyio_backend: str,
) -> None:
    taken = Taken(ValueError("no"))
    async with connected() as (stream, peer):
        peer.writer.write(b"one")
        with pytest.raises(ValueError, match="no"):
            await stream.pump(taken)
        peer.writer.write(b"two")
        for _ in range(20):  # turns of the loop, in which it would be read
            await anyio.lowlevel.checkpoint()
        assert taken.heard == [b"one"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_intake_that_refuses_what_was_kept_is_not_called_again(
    anyio_backend: str,
) -> None:
    taken = Taken(ValueError("no"))
    async with connected() as (stream, peer):
        peer.writer.write(b"one")
        await stream.receive(1)
        peer.writer.write(b"two")
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        with pytest.raises(ValueError, match="no"):
            await stream.pump(taken)
        assert taken.heard == [b"ne"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_write_that_the_socket_does_not_take_makes_it_unwritable_until_it_is_read(
    anyio_backend: str,
) -> None:
    async with connected() as (stream, peer):
        size = 64 * 1024 * 1024
        stream.write(bytes(size))
        assert not stream.writable
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.send, b"last")
            assert (await peer.reader.readexactly(size + 4))[-4:] == b"last"
        assert stream.writable


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_stream_closed_here_ends_its_pump(anyio_backend: str) -> None:
    async with connected() as (stream, _), anyio.create_task_group() as tasks:

        async def pump() -> None:
            with pytest.raises(anyio.ClosedResourceError):
                await stream.pump(Taken())

        tasks.start_soon(pump)
        await anyio.wait_all_tasks_blocked()
        await stream.aclose()
        assert not stream.writable


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_connection_that_the_peer_resets_ends_the_pump(
    anyio_backend: str,
) -> None:
    async with connected() as (stream, peer):
        peer.writer.transport.abort()
        with pytest.raises((anyio.BrokenResourceError, anyio.EndOfStream)):
            await stream.pump(Taken())


@asynccontextmanager
async def served(data: bytes, *, ends: bool) -> AsyncIterator[ByteStream]:
    """Connect to a peer that writes, and then ends the stream or waits."""

    async def serve(peer: SocketStream) -> None:
        async with peer:
            await peer.send(data)
            if not ends:
                await anyio.sleep_forever()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, serve)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        with anyio.fail_after(LIMIT):
            yield await dial_tcp("127.0.0.1", port)
        tasks.cancel_scope.cancel()


async def test_everything_is_given_to_the_intake_until_the_stream_ends() -> None:
    taken = Taken()
    async with served(b"abcdefgh", ends=True) as stream:
        with pytest.raises(anyio.EndOfStream):
            await read_all(stream, taken)
        await stream.aclose()
    assert b"".join(taken.heard) == b"abcdefgh"


async def test_reading_ends_when_the_stream_is_closed_here() -> None:
    async with served(b"abc", ends=False) as stream, anyio.create_task_group() as tasks:

        async def read() -> None:
            with pytest.raises(anyio.ClosedResourceError):
                await read_all(stream, Taken())

        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        await stream.aclose()


async def test_where_nobody_listens_the_reason_is_that_it_was_refused() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
    with pytest.raises(OSError) as raised:
        await dial_tcp("127.0.0.1", port)
    reasons = (raised.value, raised.value.__cause__)
    assert any(isinstance(each, ConnectionRefusedError) for each in reasons)


async def test_on_either_loop_what_is_dialled_is_a_stream_of_bytes() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:

        async def echo(peer: ByteStream) -> None:
            async with peer:
                await peer.send(await peer.receive())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, echo)
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            stream = await dial_tcp("127.0.0.1", port)
            await stream.send(b"word")
            assert await stream.receive() == b"word"
            await stream.aclose()
            tasks.cancel_scope.cancel()


# -- addresses -----------------------------------------------------------------------------


@contextmanager
def bound(*addresses: str) -> Iterator[list[socket.socket]]:
    """Bind one port at several addresses; nobody listens yet."""
    first = socket.socket()
    first.bind((addresses[0], 0))
    others = [socket.socket() for _ in addresses[1:]]
    try:
        for other, address in zip(others, addresses[1:], strict=True):
            other.bind((address, first.getsockname()[1]))
        yield [first, *others]
    finally:
        for each in (first, *others):
            each.close()


def name(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Have every name stand for these addresses."""

    async def found(_: str, port: int, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_of_two_addresses_the_one_where_somebody_listens_is_connected(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name(monkeypatch, "127.0.0.1", "127.0.0.2")
    with bound("127.0.0.1", "127.0.0.2") as (_, second):
        second.listen()
        stream = await dial_tcp("broker", second.getsockname()[1])
        peer, _ = second.accept()
        with peer:
            await stream.send(b"word")
            assert peer.recv(4) == b"word"
        await stream.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_where_no_address_of_a_name_answers_the_error_has_each_reason_once(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name(monkeypatch, "127.0.0.1", "127.0.0.2")
    with bound("127.0.0.1", "127.0.0.2") as (first, _), pytest.raises(OSError) as raised:
        await dial_tcp("broker", first.getsockname()[1])
    reason = os_reason(raised.value)
    assert reason.count("127.0.0.1") == reason.count("127.0.0.2") == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_dial_cancelled_in_any_step_leaves_no_socket_open(anyio_backend: str) -> None:
    gc.collect()  # what others have left is not of this test
    with bound("127.0.0.1") as (listener,), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        listener.listen(100)
        for steps in range(20):
            dialling = asyncio.create_task(dial_tcp(*listener.getsockname()))
            for _ in range(steps):
                await asyncio.sleep(0)
            dialling.cancel()
            (outcome,) = await asyncio.gather(dialling, return_exceptions=True)
            if isinstance(outcome, DirectStream):
                await outcome.aclose()
            del dialling, outcome
            gc.collect()
    assert [str(each.message) for each in seen if each.category is ResourceWarning] == []

"""TLS on sockets of this machine: which authority is trusted, which name counts, what a failure
says."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import trustme
from anyio.abc import ByteStream, SocketAttribute, TaskStatus
from anyio.streams.tls import TLSListener, TLSStream

from kgroup.errors import ConnectionLostError, TlsError
from kgroup.net.ports import Dial, dial_tcp
from kgroup.net.tls import TlsFiles, dial_tls, tls_context

HOST = "broker-1.example"
PATIENCE = 10.0


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Real time: sockets know no other."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusting(authority: trustme.CA, tmp_path: Path) -> ssl.SSLContext:
    """A client's context, made of files."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return tls_context(TlsFiles(cafile=str(tmp_path / "ca.pem")))


def server_context(authority: trustme.CA, host: str = HOST) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    return context


async def greet(stream: ByteStream) -> None:
    async with stream:
        await stream.send(b"hello " + await stream.receive())


@asynccontextmanager
async def listening(
    context: ssl.SSLContext | None, handle: Callable[[ByteStream], Awaitable[None]] = greet
) -> AsyncIterator[Dial]:
    """Have a server; yields a `Dial` that takes every name for its address."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    listens_on = listener.extra(SocketAttribute.local_port)

    async def serve(*, task_status: TaskStatus[None]) -> None:
        async with listener:
            task_status.started()
            await (listener if context is None else quiet(listener, context)).serve(handle)

    async def dial(host: str, port: int) -> ByteStream:
        return await dial_tcp("127.0.0.1", listens_on)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve)
            yield dial
            tasks.cancel_scope.cancel()


def quiet(listener: anyio.abc.Listener[ByteStream], context: ssl.SSLContext) -> TLSListener:
    """Serve TLS, and say nothing when a client does not want it."""

    class Quiet(TLSListener):
        @staticmethod
        async def handle_handshake_error(exc: BaseException, stream: object) -> None:
            await anyio.aclose_forcefully(stream)  # type: ignore[arg-type]  # a socket

    return Quiet(listener, context, standard_compatible=False)


async def said(dial: Dial, context: ssl.SSLContext, host: str = HOST) -> bytes:
    stream = await dial_tls(dial, context)(host, 9093)
    async with stream:
        await stream.send(b"kgroup")
        return await stream.receive(1024)


async def test_a_broker_with_the_right_name_is_talked_to(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with listening(server_context(authority)) as dial:
        assert await said(dial, trusting) == b"hello kgroup"


async def test_an_address_is_a_name_too(authority: trustme.CA, trusting: ssl.SSLContext) -> None:
    async with listening(server_context(authority, "127.0.0.1")) as dial:
        assert await said(dial, trusting, "127.0.0.1") == b"hello kgroup"


async def test_the_error_of_an_unknown_authority_has_the_host(
    trusting: ssl.SSLContext,
) -> None:
    async with listening(server_context(trustme.CA())) as dial:
        with pytest.raises(TlsError) as caught:
            await said(dial, trusting)
    assert caught.value.address == f"{HOST}:9093"
    reason = f"TLS: the certificate of {HOST!r} is not accepted: unable to get local issuer"
    assert caught.value.reason.startswith(reason)
    assert caught.value.reason.endswith("; ssl_cafile names the authorities that are trusted")


async def test_another_name_is_not_accepted_and_the_error_has_both(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with listening(server_context(authority, "somebody.example")) as dial:
        with pytest.raises(TlsError, match=f"Hostname mismatch.*{HOST}") as caught:
            await said(dial, trusting)
    assert "ssl_cafile" not in caught.value.reason


async def test_another_name_is_accepted_when_names_are_not_compared(
    authority: trustme.CA, tmp_path: Path
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    files = TlsFiles(cafile=str(tmp_path / "ca.pem"), check_hostname=False)
    async with listening(server_context(authority, "somebody.example")) as dial:
        assert await said(dial, tls_context(files)) == b"hello kgroup"


async def test_the_error_of_a_listener_without_tls_says_so(trusting: ssl.SSLContext) -> None:
    async with listening(None) as dial:
        with pytest.raises(TlsError, match="no TLS is spoken there; is this the port of an SSL"):
            await said(dial, trusting)


async def test_a_name_that_no_certificate_can_have_is_an_error_of_tls(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with listening(server_context(authority)) as dial:
        with pytest.raises(TlsError, match=r"host '\.broker'"):
            await said(dial, trusting, ".broker")


async def test_a_peer_that_hangs_up_in_the_handshake_is_a_lost_connection(
    trusting: ssl.SSLContext,
) -> None:
    class Gone(ByteStream):
        async def send(self, item: bytes) -> None:
            await anyio.lowlevel.checkpoint()

        async def receive(self, max_bytes: int = 65536) -> bytes:
            raise anyio.EndOfStream

        async def send_eof(self) -> None: ...

        async def aclose(self) -> None: ...

    async def dial(host: str, port: int) -> ByteStream:
        return Gone()

    with pytest.raises(ConnectionLostError, match="during the handshake") as caught:
        await dial_tls(dial, trusting)(HOST, 9093)
    assert not isinstance(caught.value, TlsError)


async def test_a_client_certificate_is_shown_to_a_broker_that_requires_one(
    authority: trustme.CA, tmp_path: Path
) -> None:
    server = server_context(authority)
    server.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(server)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    issued = authority.issue_cert("alice.example")
    issued.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "alice.pem"))
    files = TlsFiles(str(tmp_path / "ca.pem"), str(tmp_path / "alice.pem"))
    async with listening(server) as dial:
        assert await said(dial, tls_context(files)) == b"hello kgroup"


async def test_tls_may_send_by_itself_while_the_writer_waits(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    """A peer that asks for new keys makes the reader send; sockets refuse two senders."""
    finished = anyio.Event()

    async def never_read(stream: ByteStream) -> None:
        async with stream:
            await finished.wait()

    async with listening(server_context(authority), never_read) as dial:
        stream = await dial_tls(dial, trusting)(HOST, 9093)
        assert isinstance(stream, TLSStream)
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(stream.transport_stream.send, bytes(32 * 1024 * 1024))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        finished.set()
        await anyio.aclose_forcefully(stream)

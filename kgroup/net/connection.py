"""One socket to one broker: requests in flight, answered in order.

Decides: correlation, versions of this connection, when it is authenticated, when it is dead. A
caller who is cancelled or runs out of time ends its own wait only: what was written belongs to
the connection, a late answer is matched and dropped. An answer nobody asked for, out of order or
unreadable ends the connection with that error for everybody in flight: no byte can be trusted then.
Never: retries, reconnects, routes, or knows what a request means.
KIPs: 35 and 511 (handshake), 152 (SASL), 219 (throttle), 368 (sessions).

Frames are written whole: by the writer task, or by a caller who need not wait for it.
"""

import math
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import anyio
from anyio.abc import ByteStream

from kgroup.errors import BrokerError, ClosedError, ConnectionLostError, DecodeError, KGroupError
from kgroup.net.dialling import dial
from kgroup.net.direct import DirectStream, Frames, read_all
from kgroup.net.layouts import ceiling, fit, unify
from kgroup.net.line import Line, Pending
from kgroup.net.ports import Ports, os_reason
from kgroup.net.sasl import Login
from kgroup.net.settings import NetSettings
from kgroup.net.tls import tls_failure
from kgroup.net.trace import ConnectionId, Exchange, Trace, without_tokens
from kgroup.net.versions import BrokerVersions, next_handshake_version, throttle_of
from kgroup.wire.frames import (
    FrameSplitter,
    decode_response,
    encode_request,
    response_correlation_id,
)
from kgroup.wire.messages import ApiVersionsRequest
from kgroup.wire.schema import Message, Request

R = TypeVar("R", bound=Message)

_LAST_CORRELATION_ID: Final = 2**31 - 1

_RENEW_AFTER: Final = (0.85, 0.95)
"""Parts of a session's lifetime between which it is renewed, by chance; Java has the same."""


class Connection:
    """One connection; `run` lives as long as it does.

    Args:
        identity: its name, in errors and the trace.
        settings: bounds and patience.
        ports: dials, and tells the time.
        trace: hears what happens.
        ended: called once, when the connection has failed and before anybody hears of it.
    """

    def __init__(
        self,
        identity: ConnectionId,
        settings: NetSettings,
        ports: Ports,
        trace: Trace,
        ended: Callable[["Connection"], None],
    ) -> None:
        self.identity = identity
        self._ended = ended
        self._settings = settings
        self._ports = ports
        self._trace = trace
        self._scope = anyio.CancelScope()
        self._ready = anyio.Event()
        silence = settings.silence(identity.lane)
        self._line = Line(ports.clock, settings.connections_max_idle, silence)
        self._next_id = 0
        self._versions = BrokerVersions()
        self._failure: KGroupError | None = None
        self._untaken: Pending[Any] | None = None
        self._served = False
        self._direct: DirectStream | None = None
        self._writing = False
        self._healthy_end = False
        self.known = False  # whether a broker has served this client before

    @property
    def failure(self) -> KGroupError | None:
        """Why no request can be made any more; None while one can, or soon can."""
        return self._failure

    @property
    def served(self) -> bool:
        """Whether the broker has answered anything but the handshake."""
        return self._served

    @property
    def ended_healthy(self) -> bool:
        """Whether it ended because we wanted it to, not because of the broker or the network."""
        return self._healthy_end

    @property
    def versions(self) -> BrokerVersions:
        """What the broker speaks; nothing before the handshake."""
        return self._versions

    @property
    def is_ready(self) -> bool:
        """Whether it can be asked now: the handshake is over, and it has not ended."""
        return self._ready.is_set() and self._failure is None

    # -- for callers -----------------------------------------------------------------------

    async def ready(self) -> None:
        """Wait for the end of the handshake; the caller bounds the time.

        Raises:
            KGroupError: the connection could not be made, or has ended.
        """
        if not self._ready.is_set():
            await self._ready.wait()
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    async def request(self, request: Request[R], timeout: float) -> R:
        """Ask, and wait for the answer.

        Args:
            request: in its newest layout; it is written in the version of this connection.
            timeout: seconds until the answer must be there, queueing included; while the broker
                wants silence (throttle) the time does not run.

        Raises:
            TimeoutError: no answer in time. It may still be carried out. When the time was at
                least the request timeout of the settings, the connection is given up as dead.
            ConnectionLostError: the connection ended; it may have been carried out.
            AuthenticationError: the broker did not accept us.
            DecodeError: the broker sent something unreadable; it may have been carried out.
            UnsupportedVersionError: the broker cannot be asked this; nothing was sent.
        """
        pending: Pending[Any] | None = None
        with anyio.move_on_after(timeout) as patience:
            await self.ready()
            version = self._versions.choose(type(request), at_most=ceiling(request))
            pending = self._pending(fit(request, version), version, patience)
            if not self._write_at_once(pending):
                self._line.add(pending)
            patience.deadline += self._line.silence
            try:
                await pending.wait()
            finally:
                self._walk_away(pending)
        if pending is not None and pending.settled:
            return unify(request, pending.exchange.version, pending.result())
        api = request.api_key.name
        if pending in self._line and timeout >= self._settings.request_timeout:
            self._end(self._lost(f"no answer to {api} within {timeout:g} s"))
        what = "not connected" if pending is None else "no answer"
        raise TimeoutError(f"{api} to {self.identity.endpoint}: {what} within {timeout:g} s")

    def close(self, error: KGroupError | None = None) -> None:
        """End it at once, for a reason of our own; everybody in flight gets `error`."""
        self._healthy_end = self._healthy_end or self._failure is None
        self._end(error or ClosedError(f"{self.identity.endpoint}: the connection was closed"))

    # -- life ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Dial, shake hands, read and write until it ends; why it ended is in `failure`.

        Cancelling ends the connection and everybody's wait for it.
        """
        try:
            with self._scope:
                stream = await dial(self.identity.endpoint, self._settings, self._ports)
                if isinstance(stream, ConnectionLostError):
                    self._end(stream)
                else:
                    await self._serve(stream)
        finally:
            self.close()

    async def _serve(self, stream: ByteStream) -> None:
        self._direct = stream if isinstance(stream, DirectStream) else None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._guarded, self._read, stream)
                tasks.start_soon(self._guarded, self._write, stream)
                tasks.start_soon(self._guarded, self._shake_hands, stream)
        finally:
            await anyio.aclose_forcefully(stream)

    async def _guarded(
        self, work: Callable[[ByteStream], Awaitable[None]], stream: ByteStream
    ) -> None:
        """Let one of the tasks end the connection with a reason; bugs go on to the owner."""
        try:
            await work(stream)
        except KGroupError as error:
            self._end(error)
        except ssl.SSLError as error:
            # With TLS 1.3 a broker refuses our certificate only after the handshake.
            endpoint = self.identity.endpoint
            self._end(tls_failure(error, endpoint.host, endpoint.port))
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self._end(self._lost(os_reason(error)))

    def _end(self, error: KGroupError) -> None:
        """End everything once; later reasons are consequences of the first."""
        if self._failure is not None:
            return
        self._failure = error
        self._ended(self)
        for pending in self._line:
            pending.fail(error)
        self._line.clear()
        self._ready.set()
        self._scope.cancel()
        self._trace.on_close(self.identity, str(error))

    # -- the handshake ---------------------------------------------------------------------

    async def _shake_hands(self, _stream: ByteStream) -> None:
        limit = self._settings.connect_timeout
        login, session = self._login(), None
        with anyio.move_on_after(limit) as patience:
            await self._agree_on_versions(patience)
            if login is not None:
                session = await self._authenticate(login, patience)
        if patience.cancelled_caught:
            what = "answer to API_VERSIONS" if login is None else f"end of {login.mechanism}"
            raise self._lost(f"no {what} within {limit:g} s")
        self._trace.on_open(self.identity)
        self._ready.set()
        if login is not None and session is not None:
            await self._stay_authenticated(login, session)

    async def _agree_on_versions(self, patience: anyio.CancelScope) -> None:
        request = ApiVersionsRequest(
            client_software_name=self._settings.software_name,
            client_software_version=self._settings.software_version,
        )
        spoken = ApiVersionsRequest.VERSIONS
        version: int | None = spoken.stop - 1
        while version is not None:
            answer = await self._ask_first(request, version, patience)
            self._versions = BrokerVersions.read(answer.api_keys)
            try:
                version = next_handshake_version(version, answer.error_code, self._versions, spoken)
            except BrokerError as error:
                raise self._lost(str(error)) from error

    # -- authentication --------------------------------------------------------------------

    def _login(self) -> Login | None:
        sasl, address = self._settings.security.sasl, self.identity.endpoint.address
        return None if sasl is None else Login(sasl, address, self._ports.dice)

    async def _authenticate(self, login: Login, patience: anyio.CancelScope) -> float | None:
        """Say who we are; return the seconds the session lasts, None without an end."""

        async def ask(request: Request[R]) -> R:
            version = self._versions.choose(type(request))
            return await self._ask_first(request, version, patience)

        conversation = await login.prepare()
        await self._line.hold()
        session = await login.run(conversation, ask)
        self._line.release()
        return session

    async def _stay_authenticated(self, login: Login, session: float) -> None:
        """Renew the session before it ends, whenever something is to be written (KIP-368)."""
        limit = self._settings.connect_timeout
        lifetime: float | None = session
        while lifetime is not None:
            share = self._ports.dice.uniform(*_RENEW_AFTER)
            self._line.begin_session(lifetime * share, lifetime)
            await self._line.session_wears_out()
            with anyio.move_on_after(limit) as patience:
                lifetime = await self._authenticate(login, patience)
            if patience.cancelled_caught:
                raise self._lost(f"session not renewed by {login.mechanism} within {limit:g} s")
        self._line.begin_session(math.inf, math.inf)

    async def _ask_first(self, request: Request[R], version: int, patience: anyio.CancelScope) -> R:
        """Ask something of our own, before whatever else waits to be written."""
        pending = self._pending(request, version, patience)
        self._untaken = pending
        self._line.add_first(pending)
        try:
            await pending.wait()
        finally:
            self._untaken = None
        return pending.result()

    # -- writing ---------------------------------------------------------------------------

    def _pending(
        self, request: Request[R], version: int, patience: anyio.CancelScope
    ) -> Pending[R]:
        number = self._next_id
        frame = encode_request(request, version, number, self._settings.client_id)
        self._next_id = 0 if number == _LAST_CORRELATION_ID else number + 1
        exchange = Exchange(self.identity, number, version, without_tokens(request))
        return Pending(exchange, frame, patience)

    def _walk_away(self, pending: Pending[Any]) -> None:
        """Note that nobody waits any more; what no byte was written of is taken back."""
        pending.awaited = False
        self._line.take_back(pending)

    def _write_at_once(self, pending: Pending[Any]) -> bool:
        """Write a request in the caller's own step, if nothing is in its way; tell whether."""
        stream = self._direct
        if self._writing or stream is None or not stream.writable or not self._line.go(pending):
            return False
        self._line.use()
        self._trace.on_request(pending.exchange)
        stream.write(pending.frame)
        return True

    async def _write(self, stream: ByteStream) -> None:
        limit = self._settings.request_timeout
        self._line.use()
        while (pending := await self._line.next()) is not None:
            self._line.use()
            self._trace.on_request(pending.exchange)
            self._writing = True
            with anyio.move_on_after(limit) as patience:
                await stream.send(pending.frame)
            self._writing = False
            if patience.cancelled_caught:
                raise self._lost(f"the broker took no bytes for {limit:g} s")
        idle = self._settings.connections_max_idle
        self.close(self._lost(f"closed after {idle:g} s without a request"))

    # -- reading ---------------------------------------------------------------------------

    async def _read(self, stream: ByteStream) -> None:
        splitter = FrameSplitter(self._settings.max_frame_size)
        try:
            await read_all(stream, Frames(splitter, self._take))
        except (anyio.EndOfStream, anyio.BrokenResourceError, OSError) as error:
            await self._look_at_what_came()
            if isinstance(error, anyio.EndOfStream):
                raise self._lost(self._how_it_ended(in_frame=splitter.in_frame)) from None
            raise

    async def _look_at_what_came(self) -> None:
        """Report the end when what came before it has been looked at.

        1. A broker refuses our password, and closes. 2. Both arrive at once: the reader has
        handed the answer over, and reads the end before the handshake has run. 3. Taken for a
        lost connection, the refusal would be asked for again and again.
        """
        while self._untaken is not None and self._untaken.settled:
            await anyio.lowlevel.checkpoint()

    def _take(self, frame: memoryview) -> None:
        """Match one answer with the oldest request in flight."""
        number = response_correlation_id(frame)
        pending = self._line.oldest
        if pending is None:
            raise DecodeError("answer", f"correlation id {number}, but nothing was asked")
        exchange = pending.exchange
        if number != exchange.correlation_id:
            reason = f"correlation id {number}, but {exchange.correlation_id} was to come next"
            raise DecodeError(f"answer to {exchange.api.name}", reason)
        _, answer = decode_response(type(exchange.request), exchange.version, frame)
        self._line.answered()
        self._served = self._served or self._ready.is_set()
        self._trace.on_answer(exchange, without_tokens(answer))
        self._line.keep_silent_for(throttle_of(exchange.request, exchange.version, answer))
        pending.answer(answer)

    # -- words -----------------------------------------------------------------------------

    def _how_it_ended(self, *, in_frame: bool) -> str:
        """Say what the end of the stream may mean."""
        ended = "the broker closed the connection"
        if in_frame:
            return f"{ended} in the middle of an answer"
        sasl = self._settings.security.sasl
        if sasl is not None and not self._ready.is_set():
            return f"{ended} while we authenticated by {sasl.mechanism.value}"
        unknown = sasl is None and not self._served and not self.known
        if unknown and self._ready.is_set() and self._line.oldest is not None:
            return f"{ended} at the first request; does this listener want SASL?"
        return ended

    def _lost(self, reason: str) -> ConnectionLostError:
        return ConnectionLostError(str(self.identity.endpoint), reason)

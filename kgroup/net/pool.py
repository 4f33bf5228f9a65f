"""All connections of one client: one per endpoint and lane, made when first needed.

Decides: when a broker may be dialled again. The pause after a failure belongs to the endpoint,
not to the caller, so however many callers want a dead broker, it is left alone; it grows until a
connection gets as far as answering a request. After `bar` nothing is dialled at all. What is said
of a broker that is out of reach: when a request or a connection first fails, and when it is over.
Never: chooses a broker, retries a request, or keeps a connection that has ended.
KIP-144 (growing reconnect backoff).
"""

import logging
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kgroup.errors import (
    AuthenticationError,
    ClosedError,
    ConnectionLostError,
    DecodeError,
    KGroupError,
    NotConnectedError,
    TlsError,
)
from kgroup.machine.backoff import Backoff
from kgroup.net.connection import Connection
from kgroup.net.outages import Outages, absence
from kgroup.net.ports import Ports
from kgroup.net.race import reason_of
from kgroup.net.settings import Endpoint, Lane, NetSettings
from kgroup.net.trace import ConnectionId, Trace
from kgroup.values import dataclass
from kgroup.wire.schema import Message, Request

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Message)

Refusal: TypeAlias = AuthenticationError | TlsError
"""Why a connection that could be made could not be used: they do not take us, or we not them."""

_CLOSED: Final = "the cluster is closed, or does not run yet"
_TELL_AGAIN: Final = 60.0
"""Seconds after which unreadable answers of one broker are logged again."""
_SILENCE: Final = 1.0
"""Seconds without an answer that say something about a broker; less is its asker's impatience."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """The pause of an endpoint: how many failures in a row, and until when."""

    backoff: Backoff
    until: float


class Pool:
    """Makes, shares and ends connections.

    Args:
        settings: bounds and patience.
        ports: the network, clock and dice.
        trace: hears what connections do.
        refused: called when a broker does not accept our credentials.
    """

    def __init__(
        self,
        settings: NetSettings,
        ports: Ports,
        trace: Trace,
        refused: Callable[[AuthenticationError], None],
    ) -> None:
        self.refusals: dict[str, Refusal] = {}
        """Address -> why it was of no use the last time; empty again where it was."""
        self._refused = refused
        self._barred: AuthenticationError | None = None
        self._settings = settings
        self._ports = ports
        self._trace = trace
        self._connections: dict[tuple[Endpoint, Lane], Connection] = {}
        self._rests: dict[Endpoint, _Rest] = {}
        self.outages = Outages()
        self._dialled_at: dict[int, float] = {}
        self._unreadable_logged: dict[str, float] = {}
        """Address -> when it was said last that its answers cannot be read."""
        self._began = False
        self._serial = 0
        self._tasks: TaskGroup | None = None

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Own the connections' tasks until cancelled; then every socket is closed."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                task_status.started()
                await anyio.sleep_forever()
            finally:
                # Not behind the group: it takes no more tasks a moment before it is left.
                self._tasks = None

    async def connect(self, endpoint: Endpoint, lane: Lane) -> Connection:
        """Return a connection that is ready for requests; the caller bounds the time.

        Raises:
            NotConnectedError, KGroupError: it could not be made; the endpoint now rests.
            AuthenticationError: we were refused, here or elsewhere.
            ClosedError: the pool does not run.
        """
        connection = self._connections.get((endpoint, lane))
        while connection is None and self.resting(endpoint) > 0:
            await anyio.sleep(self.resting(endpoint))
            connection = self._connections.get((endpoint, lane))
        if connection is None:
            connection = self._open(endpoint, lane)
        try:
            await connection.ready()
        except TlsError:
            raise
        except ConnectionLostError as error:
            raise NotConnectedError(error.address, error.reason) from error
        return connection

    async def connect_within(self, endpoint: Endpoint, lane: Lane, timeout: float) -> Connection:
        """Return a connection like `connect`, in bounded time; one that is ready at once.

        Raises:
            TimeoutError: it was not made in time.
            KGroupError, AuthenticationError, ClosedError: as `connect`.
        """
        there = self._connections.get((endpoint, lane))
        if there is not None and there.is_ready:  # a timer for each request would cost more
            return there
        began = self._ports.clock()
        with anyio.move_on_after(timeout):
            return await self.connect(endpoint, lane)
        late = TimeoutError(f"{endpoint}: not connected within {timeout:g} s")
        self._note_silence(endpoint, began, timeout, late)
        raise late

    async def ask(self, connection: Connection, request: Request[R], timeout: float) -> R:
        """Ask like `Connection.request`, and say when the broker is out of reach, or back."""
        began, endpoint = self._ports.clock(), connection.identity.endpoint
        try:
            answer = await connection.request(request, timeout)
        except TimeoutError as error:
            self._note_silence(endpoint, began, timeout, error)
            raise
        except ConnectionLostError:
            self._note_unreachable(connection, began)
            raise
        if self.outages.answer(endpoint.address, began, self._ports.clock()):
            log.info("%s answers again", endpoint)
        return answer

    def resting(self, endpoint: Endpoint) -> float:
        """Return the seconds for which an endpoint is left alone; 0 when it may be dialled."""
        rest = self._rests.get(endpoint)
        return 0.0 if rest is None else max(0.0, rest.until - self._ports.clock())

    def refused_by_all(self, addresses: Iterable[str]) -> bool:
        """Tell whether each of these addresses was of no use the last time."""
        return all(address in self.refusals for address in addresses)

    @property
    def barred(self) -> AuthenticationError | None:
        """Why nothing is dialled any more; None while brokers are."""
        return self._barred

    def bar(self, error: AuthenticationError) -> None:
        """Dial nobody from now on: the same credentials would be refused again and again."""
        self._barred = self._barred or error

    def drop(self, endpoint: Endpoint, lane: Lane, reason: str) -> None:
        """End a connection, if there is one; the next request gets a new one at once."""
        connection = self._connections.get((endpoint, lane))
        if connection is not None:
            connection.close(ConnectionLostError(str(endpoint), reason))

    def _open(self, endpoint: Endpoint, lane: Lane) -> Connection:
        if self._tasks is None:
            raise ClosedError(_CLOSED)
        if self._barred is not None:
            raise self._barred.with_traceback(None)
        self._serial += 1
        identity = ConnectionId(self._serial, endpoint, lane)
        connection = Connection(identity, self._settings, self._ports, self._trace, self._ended)
        connection.known = self._in_use()
        self._connections[endpoint, lane] = connection
        self._dialled_at[self._serial] = self._ports.clock()
        self._tasks.start_soon(connection.run)
        if log.isEnabledFor(logging.DEBUG):
            self._tasks.start_soon(_tell_opened, connection)
        return connection

    def _ended(self, connection: Connection) -> None:
        """Forget a connection, and note what its end says about the endpoint.

        This happens before its callers wake: one that asks again at once must find the pause.
        """
        _tell_closed(connection)
        key = connection.identity.endpoint, connection.identity.lane
        dialled_at = self._dialled_at.pop(connection.identity.serial)
        if self._connections.get(key) is connection:
            del self._connections[key]
        if connection.served:
            self._began = True
            if self.resting(key[0]) == 0:  # another lane's failure may have begun a pause just now
                self._rests.pop(key[0], None)
            self.refusals.pop(key[0].address, None)
        self._note_refusal(connection)
        if not connection.served:  # one that was at rest may end without a word
            self._note_unreachable(connection, dialled_at)
        self._note_unreadable(connection)
        if not connection.ended_healthy:
            self._let_rest(key[0])

    def _note_refusal(self, connection: Connection) -> None:
        failure = connection.failure
        if not isinstance(failure, AuthenticationError | TlsError):
            return
        address = connection.identity.endpoint.address
        known = self.refusals.get(address)
        self.refusals[address] = failure
        if isinstance(failure, AuthenticationError):
            self._refused(failure)
        elif self._in_use() and (known is None or known.reason != failure.reason):
            log.warning("no connection to %s: %s", connection.identity.endpoint, failure.reason)

    def _note_unreachable(self, connection: Connection, began: float) -> None:
        """Say once that a broker cannot be reached, until it has answered again."""
        failure, who = connection.failure, connection.identity.endpoint
        if not isinstance(failure, ConnectionLostError) or isinstance(failure, TlsError):
            return
        why, now = absence(failure), self._ports.clock()
        if connection.ended_healthy or not self.outages.fail(who.address, began, now, why):
            return
        what = "connection lost to" if connection.served else "no connection to"
        advice = "" if why is None else f"; {why.value}"
        log.warning("%s %s: %s%s; tried again", what, who, failure.reason, advice)

    def _note_silence(
        self, who: Endpoint, began: float, timeout: float, late: TimeoutError
    ) -> None:
        """Say the same of one that does not answer."""
        now = self._ports.clock()
        if timeout >= _SILENCE and self.outages.fail(who.address, began, now, None):
            log.warning("%s; tried again", late)

    def _note_unreadable(self, connection: Connection) -> None:
        """Say what cannot be read of a broker's answers, now and then while it goes on."""
        failure, endpoint = connection.failure, connection.identity.endpoint
        if not isinstance(failure, DecodeError) or not self._in_use():
            return
        now = self._ports.clock()
        if now >= self._unreadable_logged.get(endpoint.address, -math.inf) + _TELL_AGAIN:
            self._unreadable_logged[endpoint.address] = now
            text = "connection to %s closed, for its answer cannot be read: %s; tried again"
            log.warning(text, endpoint, failure)

    def _in_use(self) -> bool:
        """Tell whether any broker ever answered; before, `NoBrokerError` tells the rest."""
        self._began = self._began or any(each.served for each in self._connections.values())
        return self._began

    def _let_rest(self, endpoint: Endpoint) -> None:
        """Begin a pause, longer than the last.

        The lanes of a dead broker fail together: what fails during a pause is the same failure.
        """
        if self.resting(endpoint) > 0:
            return
        rest = self._rests.get(endpoint)
        initial, maximum = self._settings.reconnect_backoff, self._settings.reconnect_backoff_max
        backoff = (Backoff(initial, maximum) if rest is None else rest.backoff).failed()
        dice = self._ports.dice_for(f"rest of {endpoint}")
        until = self._ports.clock() + backoff.pause(dice.uniform(0, 1))
        self._rests[endpoint] = _Rest(backoff, until)


async def _tell_opened(connection: Connection) -> None:
    """Say that the handshake is done; nothing when it fails: the end is logged."""
    with suppress(KGroupError):
        await connection.ready()
        who, apis = connection.identity, len(connection.versions.ranges)
        text = "connection=%d opened node=%s address=%s lane=%s apis=%d"
        endpoint = who.endpoint
        log.debug(text, who.serial, endpoint.node_id, endpoint.address, who.lane.value, apis)


def _tell_closed(connection: Connection) -> None:
    who, failure = connection.identity, connection.failure
    reason = "" if failure is None else reason_of(failure)
    text = "connection=%d closed node=%s address=%s lane=%s reason=%s"
    endpoint = who.endpoint
    log.debug(text, who.serial, endpoint.node_id, endpoint.address, who.lane.value, reason)

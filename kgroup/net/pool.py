"""All connections of one client: one per endpoint and lane, made when first needed.

Decides: when a broker may be dialled again. The pause after a failure belongs to the endpoint,
not to the caller, so however many callers want a dead broker, it is left alone; it grows until a
connection gets as far as answering a request. After `bar` nothing is dialled at all.
Never: chooses a broker, retries a request, or keeps a connection that has ended.
KIP-144 (growing reconnect backoff).
"""

import logging
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

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
from kgroup.net.ports import Ports
from kgroup.net.race import reason_of
from kgroup.net.settings import Endpoint, Lane, NetSettings
from kgroup.net.trace import ConnectionId, Trace

__all__ = ["Pool", "Refusal"]

log = logging.getLogger(__name__)

Refusal: TypeAlias = AuthenticationError | TlsError
"""Why a connection that could be made could not be used: they do not take us, or we not them."""

_CLOSED: Final = "the cluster is closed, or does not run yet"
_TELL_AGAIN: Final = 60.0
"""Seconds after which unreadable answers of one broker are logged again."""


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
        refused: called when a broker does not accept who we are.
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
        self._told: dict[str, int] = {}
        """Address said to be out of reach -> the connection whose failure was logged."""
        self._unreadable_told: dict[str, float] = {}
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
        with anyio.move_on_after(timeout):
            return await self.connect(endpoint, lane)
        raise TimeoutError(f"{endpoint}: not connected within {timeout:g} s")

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
        self._connections[endpoint, lane] = connection
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
        if self._connections.get(key) is connection:
            del self._connections[key]
        if connection.served:
            self._began = True
            if self.resting(key[0]) == 0:  # another lane's failure may have begun a pause just now
                self._rests.pop(key[0], None)
            self.refusals.pop(key[0].address, None)
            if self._told.get(key[0].address, 0) < connection.identity.serial:
                self._told.pop(key[0].address, None)
        self._note_refusal(connection)
        self._note_unreachable(connection)
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

    def _note_unreachable(self, connection: Connection) -> None:
        """Say once that a broker cannot be reached, until it has answered again."""
        failure, endpoint = connection.failure, connection.identity.endpoint
        if not isinstance(failure, ConnectionLostError) or isinstance(failure, TlsError):
            return
        ours = connection.served or connection.ended_healthy
        if not ours and self._in_use() and endpoint.address not in self._told:
            self._told[endpoint.address] = connection.identity.serial
            log.warning("no connection to %s: %s; tried again", endpoint, failure.reason)

    def _note_unreadable(self, connection: Connection) -> None:
        """Say what cannot be read of a broker's answers, now and then while it goes on."""
        failure, endpoint = connection.failure, connection.identity.endpoint
        if not isinstance(failure, DecodeError) or not self._in_use():
            return
        now = self._ports.clock()
        if now >= self._unreadable_told.get(endpoint.address, -math.inf) + _TELL_AGAIN:
            self._unreadable_told[endpoint.address] = now
            text = "connection to %s closed, for its answer cannot be read: %s; tried again"
            log.warning(text, endpoint, failure)

    def _in_use(self) -> bool:
        """Tell whether any broker ever answered; before that, `NoBrokerError` tells everything."""
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

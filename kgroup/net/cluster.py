"""The cluster as one client sees it: metadata kept fresh, and requests routed to brokers.

Decides: which broker a request goes to; when metadata is asked, and of which broker. When no known
broker can be reached, and when a broker says so, the bootstrap addresses are asked again.
Never: sends a request twice, except metadata. Never decides about groups or partitions.
KIPs: 320 (leader epochs), 899 and 1102 (re-bootstrap).
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio
from anyio.abc import TaskStatus

from kgroup.codes import ApiKey
from kgroup.errors import (
    AuthenticationError,
    BrokerError,
    ClosedError,
    ConnectionLostError,
    DecodeError,
    KGroupError,
    NoBrokerError,
    NotConnectedError,
)
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.broker_order import BrokerOrder
from kgroup.net.metadata import (
    EMPTY_VIEW,
    ClusterView,
    address_fault,
    lacking,
    merge_brokers,
    merge_metadata,
)
from kgroup.net.outages import BOOTSTRAP
from kgroup.net.pool import Pool
from kgroup.net.ports import Notifier, Ports
from kgroup.net.race import Patience, first_answer, reason_of
from kgroup.net.refresh import RefreshPlan
from kgroup.net.settings import Endpoint, Lane, NetSettings
from kgroup.net.trace import NoTrace, Trace
from kgroup.wire.messages import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kgroup.wire.schema import Message, Request

__all__ = ["Cluster", "ClusterView", "Endpoint", "Lane"]

R = TypeVar("R", bound=Message)

_LOOK_AGAIN: Final = 60.0
"""Seconds after which the metadata task looks at its plan even when nothing woke it."""


class Cluster:
    """Connections and metadata of one client; confined to one event loop.

    Args:
        settings: addresses, patience and bounds.
        ports: the network, clocks and dice.
        trace: hears what connections do, None for nobody.
    """

    def __init__(self, settings: NetSettings, ports: Ports, trace: Trace | None = None) -> None:
        self.settings = settings
        self.ports = ports
        self.trace: Trace = NoTrace() if trace is None else trace
        self._pool = Pool(settings, ports, self.trace, self._refused)
        self._whom = BrokerOrder(ports.clock, ports.dice_for("whom to ask"), self._pool.resting)
        self._plan = RefreshPlan(settings, ports.dice_for("refresh"))
        self._view = EMPTY_VIEW
        self._watched: frozenset[str] | None = frozenset()
        self._learned: dict[int, Endpoint] = {}
        self._only_bootstrap = False
        self._asked = 0
        self._answered = 0
        self._trouble: dict[str, str] = {}
        self._patience = Patience()
        self._closed = False
        self._wake = Notifier()
        self._news = Notifier()

    # -- life ------------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Own all tasks and sockets until cancelled; nothing can be sent before or after."""
        try:
            async with anyio.create_task_group() as tasks:
                await tasks.start(self._pool.run)
                task_status.started()
                await self._keep_fresh()
        finally:
            self._closed = True
            self._news.notify()

    async def bootstrap(self, timeout: float | None) -> ClusterView:
        """Wait until the cluster is found; returns at once when it already is.

        Args:
            timeout: seconds; 0: each address once, in `request_timeout`; None: `Outages.patience`.

        Raises:
            NoBrokerError: no address answered; it says why, address by address. At once when
                each of them refuses us or is not to be trusted: that does not change by waiting.
            ClosedError: `run` has ended.
        """
        began = anyio.current_time()
        first = [Endpoint(None, *pair).address for pair in self.settings.bootstrap]
        self._pool.refusals.clear()
        limit = BOOTSTRAP if timeout is None else timeout or self.settings.request_timeout
        with self._patience.of(limit), anyio.move_on_after(limit) as patience:
            while not self._view.brokers and not self._pool.refused_by_all(first):
                self.invalidate()
                await self._next_news()
                if timeout is None:
                    patience.deadline = began + self._pool.outages.patience(first)
                elif not timeout and self._trouble.keys() >= set(first):
                    break
        if not self._view.brokers:
            why = {**dict.fromkeys(first, "its turn did not come"), **self._trouble}
            seconds = min(limit, max(0.1, round(anyio.current_time() - began, 1)))
            error = NoBrokerError(why, seconds, refused=self._pool.refused_by_all(first))
            raise error from next(iter(self._pool.refusals.values()), None)
        return self._view

    # -- what is known ---------------------------------------------------------------------

    @property
    def view(self) -> ClusterView:
        """What is known now; nothing before `bootstrap`."""
        return self._view

    def watch(self, topics: frozenset[str] | None) -> None:
        """Say which topics the view shall hold, None for all; those not known yet are asked for."""
        if topics == self._watched:
            return
        wants_more = topics is None or not topics <= self._view.topics.keys()
        self._watched = topics
        if wants_more:
            self._plan.look(self.ports.clock())
            self._wake.notify()

    def invalidate(self) -> None:
        """Ask for fresh metadata as soon as the pace allows (`RefreshPlan`)."""
        self._plan.ask()
        self._wake.notify()

    async def refresh(self, timeout: float) -> ClusterView:
        """Return a view that was asked for after this call.

        Raises:
            TimeoutError: no broker answered in time.
            ClosedError: `run` has ended.
        """
        wanted = self._asked + 1
        self.invalidate()
        with self._patience.of(timeout), anyio.move_on_after(timeout):
            while self._answered < wanted:
                await self._next_news()
            return self._view
        each = "; ".join(f"{address} ({why})" for address, why in self._trouble.items())
        raise TimeoutError(f"metadata: no answer within {timeout:g} s{each and f': {each}'}")

    async def changed(self, seen: ClusterView) -> ClusterView:
        """Wait until the view differs from `seen`; the caller bounds the time.

        Raises:
            ClosedError: `run` has ended.
        """
        while self._view is seen or self._view == seen:
            await self._next_news()
        return self._view

    async def look_up(
        self, topics: frozenset[str] | None, timeout: float, *, may_create: bool = False
    ) -> ClusterView:
        """Ask once about topics that need not be watched, None for all; `view` learns the brokers.

        With `may_create` a broker may make those that are missing.

        Raises:
            NoBrokerError: no broker answered.
            TimeoutError: no broker answered in time.
            BrokerError: the broker refused.
        """
        with anyio.fail_after(timeout):
            answer = await self._ask_metadata(topics, may_create=may_create)
        if answer is None:
            raise NoBrokerError(self._trouble, timeout)
        found, _ = merge_metadata(EMPTY_VIEW, answer)
        self.publish(merge_brokers(self._view, found))
        return found

    def learn_node(self, node_id: int, host: str, port: int) -> None:
        """Note where a broker is, until metadata says it; for coordinators.

        Raises:
            DecodeError: there can be no broker at such an address.
        """
        fault = address_fault(host, port)
        if fault is not None or node_id < 0:
            raise DecodeError(f"address of node {node_id}", fault or "the node id is negative")
        endpoint = Endpoint(node_id, host, port)
        known = self._view.brokers.get(node_id)
        self._learned.pop(node_id, None)
        if known is None or known.endpoint != endpoint:
            self._learned[node_id] = endpoint

    # -- requests --------------------------------------------------------------------------

    async def send(self, node_id: int, request: Request[R], *, lane: Lane, timeout: float) -> R:
        """Ask one broker.

        Args:
            node_id: a broker of the view, or learned.
            request: in its newest layout (`kgroup.net.layouts`).
            lane: which of the broker's connections it takes.
            timeout: seconds for connecting, queueing and the answer; not counting the silence a
                broker asks for (throttle).

        Raises:
            TimeoutError: no answer in time; it may still be carried out.
            NotConnectedError, TlsError: not connected; nothing was sent.
            ConnectionLostError: the connection was lost; it may have been carried out.
            DecodeError: the broker sent something unreadable; it may have been carried out.
            UnsupportedVersionError: this broker cannot be asked this; nothing was sent.
            ClosedError: the cluster does not run.
        """
        endpoint = self._endpoint(node_id)
        started = anyio.current_time()
        try:
            with self._whom.noting(endpoint):
                connection = await self._pool.connect_within(endpoint, lane, timeout)
                left = timeout - (anyio.current_time() - started)
                return await self._pool.ask(connection, request, max(left, 0.0))
        except (ConnectionLostError, DecodeError, TimeoutError):
            self.invalidate()
            raise

    async def send_any(self, request: Request[R], *, timeout: float) -> R:
        """Ask a broker that can be reached, another one each time.

        Brokers that cannot be connected are skipped; once sent, the request is not repeated.

        Args:
            request: in its newest layout.
            timeout: as for `send`.

        Raises:
            NoBrokerError: no broker could be connected.
            TimeoutError, ConnectionLostError, DecodeError, UnsupportedVersionError, ClosedError:
                as for `send`.
        """
        started = anyio.current_time()
        tried: dict[str, str] = {}
        for endpoint in self._candidates():
            left = timeout - (anyio.current_time() - started)
            if left <= 0:
                break
            try:
                with self._whom.noting(endpoint):
                    connection = await self._pool.connect_within(endpoint, Lane.CONTROL, left)
            except ClosedError:
                raise
            except (KGroupError, TimeoutError) as error:
                tried[endpoint.address] = reason_of(error)
                continue
            left = timeout - (anyio.current_time() - started)
            with self._whom.noting(endpoint):
                return await self._pool.ask(connection, request, max(left, 0.0))
        self.invalidate()
        raise NoBrokerError(tried, timeout)

    def drop(self, node_id: int, lane: Lane) -> None:
        """Give a connection up; what is in flight on it fails, the next request gets a new one."""
        if (endpoint := self.place_of(node_id)) is not None:
            self._pool.drop(endpoint, lane, "the connection was dropped by its user")

    # -- routing ---------------------------------------------------------------------------

    def place_of(self, node_id: int) -> Endpoint | None:
        """Return where a broker is, None when that is not known."""
        learned = self._learned.get(node_id)
        known = self._view.brokers.get(node_id)
        return learned or (None if known is None else known.endpoint)

    def _endpoint(self, node_id: int) -> Endpoint:
        endpoint = self.place_of(node_id)
        if endpoint is None:
            self.invalidate()
            raise NotConnectedError(f"node {node_id}", "no address is known for it")
        return endpoint

    def _candidates(self) -> list[Endpoint]:
        """Order the candidates: brokers, then bootstrap addresses, last those that rest."""
        known = [] if self._only_bootstrap else [b.endpoint for b in self._view.brokers.values()]
        first = [Endpoint(None, host, port) for host, port in self.settings.bootstrap]
        return self._whom.order(known, first)

    # -- metadata --------------------------------------------------------------------------

    async def _keep_fresh(self) -> None:
        while True:
            pause = self._plan.due_at() - self.ports.clock()
            if pause > 0:
                with anyio.move_on_after(min(pause, _LOOK_AGAIN)):
                    await self._wake.wait()
                continue
            await self._refresh_once()
            self._news.notify()

    async def _refresh_once(self) -> None:
        self._plan.began()
        self._asked += 1
        asked = self._watched
        try:
            may_create = self.settings.allow_auto_create_topics
            answer = await self._ask_metadata(asked, may_create=may_create)
            if answer is None:
                self._plan.failed(self.ports.clock())
                return
            merged, rejected = merge_metadata(self._view, answer, asked)
        except BrokerError:
            self._plan.failed(self.ports.clock())
            return
        except DecodeError as error:
            self._trouble["answer"] = str(error)
            self._plan.failed(self.ports.clock())
            return
        for entry in rejected:
            self.trace.on_rejected(entry)
        changed = self.publish(merged)
        self._answered = self._asked
        self._trouble.clear()
        lack = lacking(merged, self._watched, rejected)
        self._plan.succeeded(self.ports.clock(), changed=changed, lack=lack)

    async def _ask_metadata(
        self, topics: frozenset[str] | None, *, may_create: bool
    ) -> MetadataResponse | None:
        """Ask one broker after the other; None when nobody answered.

        Raises:
            BrokerError: the answer is an error; REBOOTSTRAP_REQUIRED makes the next question go
                to the bootstrap addresses.
        """
        rows = (
            None
            if topics is None
            else tuple(MetadataRequestTopic(name=name) for name in sorted(topics))
        )
        request = MetadataRequest(topics=rows, allow_auto_topic_creation=may_create)
        found = await first_answer(
            self._candidates(), self._ask_one(request), self._trouble, self._patience
        )
        if found is None:
            return None
        endpoint, answer = found
        self._only_bootstrap = reaction(ApiKey.METADATA, answer.error_code) is Reaction.REBOOTSTRAP
        if self._only_bootstrap:
            self._learned.clear()
        if answer.error_code:
            refusal = BrokerError(request.api_key.name, answer.error_code)
            self._trouble[endpoint.address] = str(refusal)
            raise refusal
        return answer

    def _ask_one(self, request: Request[R]) -> Callable[[Endpoint], Awaitable[R]]:
        async def ask(endpoint: Endpoint) -> R:
            with self._whom.noting(endpoint):
                connection = await self._pool.connect(endpoint, Lane.CONTROL)
                return await self._pool.ask(connection, request, self.settings.request_timeout)

        return ask

    def publish(self, view: ClusterView) -> bool:
        """Replace the view by a newer one; tell whether that changed anything."""
        for node_id in view.brokers.keys() & self._learned.keys():
            del self._learned[node_id]
        if view is self._view:
            return False
        self._view = view
        self._news.notify()
        return True

    async def _next_news(self) -> None:
        self._check_running()
        await self._news.wait()
        self._check_running()

    def _check_running(self) -> None:
        if self._closed:
            raise ClosedError("the cluster is closed")
        if self._pool.barred is not None:
            raise self._pool.barred.with_traceback(None)

    def _refused(self, error: AuthenticationError) -> None:
        """Give up, once there is a cluster to be refused by; before, `bootstrap` tells it."""
        if self._view.brokers:
            self._pool.bar(error)
            self._news.notify()

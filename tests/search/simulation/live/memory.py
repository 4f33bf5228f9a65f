"""The network of level B: bytes in memory that take time, in one order of virtual time.

Decides: when what was sent arrives. Within a connection nothing overtakes (TCP); while nothing
passes, it arrives when something does again. One alarm of the event loop carries everything and
wakes the cluster when one of its timers is due: it is in no task, so processes may stand still
without holding time up, and no task is woken that has nothing to do.
Never: knows what bytes mean, or draws chance itself.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import anyio
from anyio.abc import ByteStream
from anyio.lowlevel import checkpoint

from kgroup.net.ports import Dial, Notifier
from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.server.line import Line
from kgroup.testing.broker.server.switchboard import Switchboard
from tests.search.simulation.choices import Choices
from tests.search.simulation.live.backends import alarm, loop_clock
from tests.search.simulation.live.reach import Reach
from tests.search.simulation.plan import Order

_APART: Final = 1e-8
_APARTS: Final = 9973
_STRIDE: Final = 7919
"""Messages take up to `_APART` times `_APARTS` seconds longer, in steps that look random."""
_SPELL: Final = 16
"""Messages of one connection that share one draw of the jitter."""


class MemoryNetwork:
    """Carries bytes between processes and a cluster; to be made inside its event loop.

    Args:
        board: connects to the cluster; the loop's clock becomes its own.
        choices: the run's chance.
        latency: seconds of one way.
        backend: "asyncio" or "trio".
        order: of members, None = jitter decides how long a message takes.
    """

    def __init__(
        self,
        board: Switchboard,
        choices: Choices,
        latency: float,
        backend: str,
        order: Order | None = None,
    ) -> None:
        self.board = board
        self.clock = board.clock = loop_clock(backend)
        self._choices = choices
        self._latency = latency
        self._order = order
        self._agenda = Agenda()
        self._alarm = alarm(backend, self._carry)
        self._goes_off_at = math.inf
        self._carrying = False
        self._failure: BaseException | None = None
        self._failed = Notifier()
        board.listeners.append(self._rearm)

    def dial_of(self, reach: Reach) -> Dial:
        """Return the port by which a process connects."""
        return partial(self._dial, reach)

    async def run(self) -> None:
        """Wait until cancelled; raise what goes wrong on the way."""
        self._rearm()
        while self._failure is None:
            await self._failed.wait()
        raise self._failure

    def _carry(self) -> None:
        """Do what is due; the alarm has gone off."""
        self._goes_off_at = math.inf
        if self._failure is not None:
            return
        self._carrying = True
        try:
            self._agenda.run(self.clock())
            if self.board.next_at <= self.clock():
                self.board.look()
        except BaseException as error:  # noqa: BLE001 - an event loop would only log it
            self._failure = error
            self._failed.notify()
        finally:
            self._carrying = False
        self._rearm()

    def _rearm(self) -> None:
        """Have the alarm go off when something is due next; called after each change."""
        due = min(self._agenda.next_at, self.board.next_at)
        if due < self._goes_off_at and not self._carrying:
            self._goes_off_at = due
            self._alarm.set(due)

    # -- for connections -------------------------------------------------------------------------

    def at(self, instant: float, act: Callable[[], None]) -> None:
        """Do something at an instant."""
        self._agenda.at(instant, act)
        self._rearm()

    def delay(self, link: "_Link") -> float:
        """Return how long one message takes: drawn, unless members have an order.

        No two take exactly as long: what happens at one instant in one process has an order that
        only its event loop decides.
        """
        link.carried += 1
        apart = link.carried * _STRIDE % _APARTS * _APART
        if self._order is not None:
            return self._latency * self._order.times(link.reach.name, self.clock()) + apart
        if not link.spell:
            link.jitter = self._choices.choose(f"{link.reach.name}/jitter", 8) / 8
            link.spell = _SPELL
        link.spell -= 1
        return self._latency * (1 + link.jitter) + apart

    async def _dial(self, reach: Reach, host: str, port: int) -> ByteStream:
        await reach.hears()
        if reach.dead:
            await anyio.sleep_forever()
        reach.dialled += 1
        link = _Link(self, reach, reach.dialled)
        await anyio.sleep(self.delay(link))
        node_id = self.board.node_at(host, port)
        if node_id is None:
            raise OSError(f"{host}: no broker of this cluster has the address {host}:{port}")
        try:
            link.line = self.board.connect(node_id, link.wake)
        except ConnectionRefusedError:
            await anyio.sleep(self.delay(link))
            raise
        try:
            await anyio.sleep(self.delay(link))
        except BaseException:
            self.board.disconnect(link.line)
            raise
        if reach.dead:
            self.board.disconnect(link.line)
            await anyio.sleep_forever()
        reach.connections.append(link)
        return link


class _Link(ByteStream):
    """The client's end of a connection.

    Args:
        network: carries.
        reach: of the process.
        number: of the connection, within the process.
    """

    line: Line

    def __init__(self, network: MemoryNetwork, reach: Reach, number: int) -> None:
        self.reach = reach
        self.number = number
        self._network = network
        self._notifier = Notifier()
        self._arrived: deque[bytes] = deque()
        self._closed = False
        self._broken = False
        self._over = False
        self._end_sent = False
        self._last_out = 0.0
        self._last_in = 0.0
        self.jitter = 0.0
        self.spell = 0
        self.carried = reach.number * 577 + number * 97

    # -- the client's side -----------------------------------------------------------------------

    async def send(self, item: bytes) -> None:
        """Give bytes to the network."""
        await checkpoint()
        if self._closed:
            raise anyio.ClosedResourceError
        if self._broken or self._over:
            raise anyio.BrokenResourceError
        self._depart(partial(self._at_broker, bytes(item)))

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Wait for the next bytes."""
        while not self._arrived:
            if self._closed:
                raise anyio.ClosedResourceError
            if self._broken:
                raise anyio.BrokenResourceError
            if self._over:
                raise anyio.EndOfStream
            await self._notifier.wait()
        data = self._arrived.popleft()
        if len(data) > max_bytes:
            self._arrived.appendleft(data[max_bytes:])
        return data[:max_bytes]

    async def send_eof(self) -> None:
        """Close the client's sending side; the broker does not mind."""
        await checkpoint()

    async def aclose(self) -> None:
        """Close the client's end."""
        self.vanish()
        await checkpoint()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Nothing: there is no socket below."""
        return {}

    def vanish(self) -> None:
        """Close it; the broker hears of it behind what was sent."""
        if self._closed:
            return
        self._closed = True
        if self in self.reach.connections:
            self.reach.connections.remove(self)
        unread = bool(self._arrived)
        self._notifier.notify()
        if not self._broken:
            self._depart(partial(self._network.board.disconnect, self.line, reset=unread))

    def reset(self) -> None:
        """End it for both sides at once; what is on its way is lost."""
        if self in self.reach.connections:
            self.reach.connections.remove(self)
        self._broken = True
        self._arrived.clear()
        self._network.board.disconnect(self.line, reset=True)
        self._notifier.notify()

    # -- on the way ------------------------------------------------------------------------------

    def _depart(self, act: Callable[[], None]) -> None:
        network, reach = self._network, self.reach
        due = max(network.clock(), reach.out_until) + network.delay(self)
        self._last_out = max(due, self._last_out)
        network.at(self._last_out, partial(self._reach_broker, act))

    def _reach_broker(self, act: Callable[[], None]) -> None:
        if self._broken:
            return
        if self.reach.out_until > self._network.clock():  # nothing passes since it was sent
            self._last_out = max(self._last_out, self.reach.out_until)
            self._network.at(self.reach.out_until, partial(self._reach_broker, act))
            return
        act()

    def _at_broker(self, data: bytes) -> None:
        self._network.board.receive(self.line, data)

    def wake(self) -> None:
        """Take what may leave the broker; called whenever there may be something."""
        data = self.line.take(self._network.board.now)
        if data:
            self._return(partial(self._arrived.append, data))
        if self.line.ended and not self._end_sent:
            self._end_sent = True
            self._return(self._end)

    def _return(self, act: Callable[[], None]) -> None:
        network, reach = self._network, self.reach
        due = max(network.clock(), reach.in_until) + network.delay(self)
        self._last_in = max(due, self._last_in)
        network.at(self._last_in, partial(self._reach_client, act))

    def _reach_client(self, act: Callable[[], None]) -> None:
        if self._broken or self._closed:
            return
        if self.reach.in_until > self._network.clock():
            self._last_in = max(self._last_in, self.reach.in_until)
            self._network.at(self.reach.in_until, partial(self._reach_client, act))
            return
        act()
        self._notifier.notify()

    def _end(self) -> None:
        if self.line.reset:
            self._broken = True
            self._arrived.clear()
        else:
            self._over = True

"""The second: a thread that sends a member's heartbeats while the consumer's loop is blocked.

Decides: how the thread begins and ends, where its one connection goes, and that it says nothing
more once it was silenced.
Never: decides when a heartbeat is due or what its answer means (`kgroup.membership.second` does);
sends anything but heartbeats; touches what belongs to the consumer's loop; keeps a process from
ending.
KIPs: 62.

Two threads share three things: what is lent (replaced whole), the answers (a queue), and the floor
(a lock), which the second holds from its last look at what is lent until its heartbeat is about to
be written. So a heartbeat comes before the JoinGroup or LeaveGroup of a loop that takes its word
back, in the event log, too; or it is not sent.
"""

import asyncio
import logging
import threading
from collections import deque
from contextlib import suppress
from contextvars import Context
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey
from kgroup.errors import KGroupError
from kgroup.membership import second as rules
from kgroup.membership.events import SecondBeat, SecondHeard
from kgroup.membership.requests import heartbeat_of
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.value import GroupMember
from kgroup.net.cluster import Cluster
from kgroup.net.connection import Connection
from kgroup.net.ports import Clock, Ports
from kgroup.net.settings import Endpoint, Lane, NetSettings
from kgroup.net.trace import ConnectionId, Exchange, Trace
from kgroup.values import dataclass
from kgroup.wire.schema import Message

log = logging.getLogger(__name__)

_END: Final = 1.0
"""Seconds in which the thread ends when it is asked to; nothing in there waits for a peer."""
_LOOK: Final = 0.005
"""Seconds between two looks whether it has ended."""
_FLOOR: Final = 0.05
"""Seconds for which the loop waits for a heartbeat that is being written; usually none."""


@dataclass(frozen=True, slots=True, eq=False)
class _Lent:
    """What the second may send, and to which coordinator."""

    loan: rules.Loan
    place: Endpoint


class _Floor:
    """What both threads touch.

    Args:
        clock: of the member.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._taken = False
        self.lent: _Lent | None = None
        self.heard: deque[SecondBeat] = deque()
        self.said_at = 0.0
        """Instant of the latest heartbeat; of the second's thread alone."""

    def lend(self, lent: _Lent | None) -> None:
        """Replace what is lent; what was lent of another generation is not said after this."""
        before = self.lent
        goes_on = lent and before and lent.loan.generation == before.loan.generation
        if goes_on or before is None:
            self.lent = lent
            return
        waited = self._lock.acquire(timeout=_FLOOR)
        self.lent = lent
        if waited:
            self._lock.release()

    def take(self, lent: _Lent) -> bool:
        """Take the floor, in the second's thread, if this is still what is lent."""
        self._lock.acquire()
        self._taken = True
        if self.lent is not lent:
            self.leave()
        return self._taken

    def leave(self) -> None:
        """Leave the floor, in the second's thread; nothing happens without it."""
        if self._taken:
            self._taken = False
            self._lock.release()

    def say(self) -> None:
        """Note that a heartbeat is about to be written."""
        self.said_at = self._clock()


class Second:
    """The second of one member; its methods are for the consumer's loop.

    Args:
        settings: of the member.
        cluster: the addresses, settings, ports and trace of the consumer's connections.
    """

    def __init__(self, settings: MembershipSettings, cluster: Cluster) -> None:
        self._group_id = settings.group_id
        self._cluster = cluster
        self._floor = _Floor(cluster.ports.clock)
        self._speaker = _Speaker(self._floor, settings, cluster)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start the thread; once."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            # In a context of its own: that of the consumer may say that this is trio.
            target=Context().run,
            args=(self._live, self._loop),
            name=f"kgroup heartbeats of {self._group_id}",
            daemon=True,
        )
        self._thread.start()

    async def stop(self) -> None:
        """End the thread; shielded, within a second."""
        thread, loop = self._thread, self._loop
        if thread is None or loop is None:
            return
        self._floor.lend(None)
        with suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(self._speaker.over.set)
        with anyio.move_on_after(_END, shield=True):
            while thread.is_alive():  # noqa: ASYNC110 - a thread tells no event of any loop
                await anyio.sleep(_LOOK)
            return
        log.warning("thread %r has not ended in time; it is left behind", thread.name)

    def lend(self, member: GroupMember) -> None:
        """Say what the second may say from now on; must be called after each step."""
        loan = rules.lend(member)
        place = None if loan is None else self._cluster.place_of(loan.node_id)
        self._floor.lend(None if loan is None or place is None else _Lent(loan, place))

    def heard(self) -> SecondHeard | None:
        """Return what was answered since the last call, None for nothing."""
        heard = self._floor.heard
        if not heard:
            return None
        return SecondHeard(tuple(heard.popleft() for _ in range(len(heard))))

    def _live(self, loop: asyncio.AbstractEventLoop) -> None:
        # Not asyncio.run: it would wait for a name that is being looked up.
        try:
            loop.run_until_complete(self._speaker.run())
        except Exception:
            log.exception("heartbeats beside the loop have ended")
        finally:
            loop.close()


class _Speaker:
    """What runs in the thread.

    Args:
        floor: what is lent, and where answers go.
        settings: of the member.
        cluster: its settings, ports and trace are used; nothing of it is called but those.
    """

    def __init__(self, floor: _Floor, settings: MembershipSettings, cluster: Cluster) -> None:
        self._floor = floor
        self._settings = settings
        self._net: NetSettings = cluster.settings
        self._ports: Ports = cluster.ports
        self._trace = _Hearing(cluster.trace, floor)
        self._voice = rules.Voice()
        self._connection: Connection | None = None
        self._serial = 0
        self._in_vain = False
        self.over = asyncio.Event()

    async def run(self) -> None:
        """Speak until `over` is set; every socket is closed then."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._speak, tasks)
            await self.over.wait()
            tasks.cancel_scope.cancel()

    async def _speak(self, tasks: TaskGroup) -> None:
        look = self._settings.heartbeat_interval / 2
        while True:
            lent, now = self._floor.lent, self._ports.clock()
            loan = None if lent is None else lent.loan
            if lent is not None and rules.may_beat(loan, self._voice, now):
                await self._beat(lent, tasks)
                continue
            pause = rules.beat_at(loan, self._voice) - now
            await anyio.sleep(min(pause, look) if pause > 0 else look)

    async def _beat(self, lent: _Lent, tasks: TaskGroup) -> None:
        limit = self._settings.heartbeat_timeout
        try:
            with anyio.fail_after(limit):
                connection = await self._connected(lent.place, tasks)
            beat = await self._say(connection, lent, limit)
        except (KGroupError, TimeoutError) as error:
            self._fail(lent, error)
            return
        if beat is not None:
            self._in_vain = False
            self._floor.heard.append(beat)
            self._voice = rules.answered(self._voice, lent.loan, beat)

    async def _say(self, connection: Connection, lent: _Lent, limit: float) -> SecondBeat | None:
        """Send one heartbeat, and wait for its answer; None when something else is lent by now."""
        if not self._floor.take(lent):
            return None
        generation = lent.loan.generation
        log.debug("group=%s heartbeat beside a loop that sends none", generation.group_id)
        try:
            answer = await connection.request(heartbeat_of(generation), limit)
        finally:
            self._floor.leave()
        return SecondBeat(generation, self._floor.said_at, self._ports.clock(), answer.error_code)

    def _fail(self, lent: _Lent, error: Exception) -> None:
        if self._connection is not None:
            self._connection.close()
        level = logging.DEBUG if self._in_vain else logging.WARNING
        text = "group=%s no heartbeat beside a loop that sends none: %s; tried again"
        log.log(level, text, self._settings.group_id, error)
        self._in_vain = True
        self._voice = rules.unanswered(self._voice, lent.loan, self._ports.clock())

    # -- the connection --------------------------------------------------------------------

    async def _connected(self, place: Endpoint, tasks: TaskGroup) -> Connection:
        """Return the connection, made anew when it has ended, or goes to another place."""
        known = self._connection
        if known is not None and known.identity.endpoint != place:
            known.close()
        if self._connection is None:
            self._serial -= 1
            identity = ConnectionId(self._serial, place, Lane.SECOND)
            made = Connection(identity, self._net, self._ports, self._trace, self._ended)
            made.known = True  # the loop's own was served there
            self._connection = made
            tasks.start_soon(made.run)
        await self._connection.ready()
        return self._connection

    def _ended(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None


class _Hearing:
    """A `Trace` of the second's connections; it passes everything on.

    Args:
        trace: that of the consumer.
        floor: left when a heartbeat is about to be written, and has been written down.
    """

    def __init__(self, trace: Trace, floor: _Floor) -> None:
        self._trace = trace
        self._floor = floor

    def on_open(self, connection: ConnectionId) -> None:
        """Pass it on."""
        self._trace.on_open(connection)

    def on_close(self, connection: ConnectionId, reason: str) -> None:
        """Pass it on."""
        self._trace.on_close(connection, reason)

    def on_request(self, exchange: Exchange) -> None:
        """Pass it on, and note the sending time of a heartbeat: never later than the true one."""
        beats = exchange.api is ApiKey.HEARTBEAT
        if beats:
            self._floor.say()
        self._trace.on_request(exchange)
        if beats:
            self._floor.leave()

    def on_answer(self, exchange: Exchange, answer: Message) -> None:
        """Pass it on."""
        self._trace.on_answer(exchange, answer)

    def on_rejected(self, entry: str) -> None:
        """Pass it on."""
        self._trace.on_rejected(entry)

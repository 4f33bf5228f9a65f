"""One consumer with its application at levels B and C, and the faults that strike it alone.

Decides: what the application does with records, calls of its listener and errors.
Never: looks into the consumer.
"""

from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey
from kgroup.config import ConsumerConfig
from kgroup.consumer import Consumer
from kgroup.errors import ClosedError, KGroupError
from kgroup.testing import InProcessBroker
from kgroup.types import Leave, OwnershipChange, TopicPartition
from kgroup.wire.frames import request_class
from tests.search.simulation.live.reach import Reach
from tests.search.simulation.live.standstill import PROCESS, Standstill
from tests.search.simulation.plan import CommitHabit, Kind, MemberPlan, Perturbation, Plan
from tests.search.simulation.recorder import MemberSink

Reader: TypeAlias = Consumer[bytes | None, bytes | None]

CLOSE_TIMEOUT: Final = 5.0
"""Seconds that a consumer has to close."""
_AGAIN: Final = 0.5
"""Seconds before an application that met an error reads again."""
_UNLIKE: Final = 1.000_137
"""An application's seconds are a little longer: no round number of them is one of the network's, so
that two things of one process hardly ever happen at one instant, in an order that only the event
loop decides."""


class ListenerRaisedError(Exception):
    """What a listener raises when it is to raise."""


@dataclass(slots=True)
class _Whims:
    """What the application does differently for once.

    Args:
        idle_until: it does not poll before this instant.
        slow_call: seconds that the next call of the listener takes on top.
        raises: whether the next call of the listener raises.
    """

    idle_until: float = 0.0
    slow_call: float = 0.0
    raises: bool = False


class Life:
    """One life of one member.

    Args:
        plan: of the member.
        name: of this life, unlike any other's.
        config: of its consumer.
        reach: how it reaches the brokers.
        sink: takes its journal.
        pace: what the plan's seconds are multiplied by.
    """

    def __init__(
        self,
        plan: MemberPlan,
        name: str,
        config: ConsumerConfig,
        reach: Reach,
        sink: MemberSink,
        *,
        pace: float,
    ) -> None:
        self.plan = plan
        self.name = name
        self.reach = reach
        self.sink = sink
        self.whims = _Whims()
        self.ended = anyio.Event()
        self.killed: bool = False
        self.closing: bool = False
        self.unraised: int = 0
        """How often its listener has raised without a read that said so."""
        self.failure: BaseException | None = None
        """A fatal error of the consumer's."""
        self.crash: BaseException | None = None
        """Something that has no name among kgroup's errors."""
        self.last: dict[TopicPartition, int] = {}
        """Offset behind the last record that the application got, of each partition."""
        self.consumer: Reader = Consumer(*plan.topics, config=config, listener=self)
        self._pace = pace * _UNLIKE
        self._scope = anyio.CancelScope()
        self._call: anyio.CancelScope | None = None
        self._tasks: TaskGroup | None = None
        self._context: Context | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs, and nothing has ended it or is about to."""
        return not (self.killed or self.closing or self.ended.is_set())

    @property
    def reads(self) -> bool:
        """Whether it runs, has been entered, and asks for topics."""
        return self.alive and self._tasks is not None and self.consumer.subscription() is not None

    # -- its course ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Enter the consumer, read until it ends, and close it."""
        PROCESS.set(self.name)
        self._context = copy_context()
        try:
            await self._run()
        except KGroupError as error:
            self.failure = self.failure or error
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            self.crash = error
        finally:
            self.ended.set()

    async def _run(self) -> None:
        with self._scope:
            async with self.consumer, anyio.create_task_group() as tasks:
                self._tasks = tasks
                try:
                    await self._read_on()
                finally:
                    tasks.cancel_scope.cancel()

    async def _read_on(self) -> None:
        while not self.closing:
            try:
                await self._read()
            except ClosedError:
                return
            except ListenerRaisedError:
                self.unraised = 0  # raised once, also when the listener failed again meanwhile
            except TimeoutError:
                continue  # a listener took too long; raised once
            except KGroupError:
                if self.consumer.failure is not None:
                    # A commit that is cut off by the end says so, not what has ended it.
                    self.failure = self.consumer.failure
                    return
                await anyio.sleep(_AGAIN * self._pace)

    async def _read(self) -> None:
        plan, pace = self.plan, self._pace
        idle = self.whims.idle_until - anyio.current_time()
        if idle > 0:
            await anyio.sleep(idle)
        if self.consumer.subscription() is None:
            await anyio.sleep(plan.poll_every * pace)
            return
        found: dict[TopicPartition, Any] = {}
        with anyio.CancelScope() as self._call:
            found = await self.consumer.getmany(timeout=plan.poll_every * pace)
        self.last.update({tp: batch.next_offset for tp, batch in found.items()})
        if found and plan.handling:
            await anyio.sleep(plan.handling * pace)
        if found and plan.habit is CommitHabit.EACH_BATCH:
            with anyio.CancelScope() as self._call:
                await self.consumer.commit()

    # -- the listener ----------------------------------------------------------------------------

    async def on_assigned(self, _consumer: object, change: OwnershipChange) -> None:
        """Take as long as the plan says."""
        for claim in change.added:
            self.last.pop(claim.tp, None)
        await self._listen()

    async def on_revoked(self, _consumer: object, _change: OwnershipChange) -> None:
        """Take as long as the plan says."""
        await self._listen()

    async def on_lost(self, _consumer: object, _change: OwnershipChange) -> None:
        """Take as long as the plan says."""
        await self._listen()

    async def _listen(self) -> None:
        if self.killed:
            return
        whims = self.whims
        seconds, whims.slow_call = self.plan.listener * self._pace + whims.slow_call, 0.0
        if seconds:
            await anyio.sleep(seconds)
        if whims.raises:
            whims.raises = False
            self.unraised += 1
            raise ListenerRaisedError(f"{self.name} raises, once")

    # -- what is done to it ----------------------------------------------------------------------

    def do(self, call: Callable[[Reader], Awaitable[object] | object]) -> None:
        """Have a task of the process call something; errors with a name are its own affair."""
        if self.alive:
            self._start(call)

    def _start(self, call: Callable[[Reader], Awaitable[object] | object]) -> None:
        tasks, context = self._tasks, self._context
        if tasks is not None and context is not None:
            context.copy().run(tasks.start_soon, self._do, call)

    async def _do(self, call: Callable[[Reader], Awaitable[object] | object]) -> None:
        try:
            waiting = call(self.consumer)
            if isinstance(waiting, Awaitable):
                await waiting
        except KGroupError:
            return

    def cancel_call(self) -> None:
        """Cancel what the application waits for at this moment, if it is the consumer."""
        if self._call is not None:
            self._call.cancel()

    def kill(self) -> None:
        """End the process without a word: nothing of it is heard or journalled any more."""
        self.killed = True
        self.sink.muted = True
        self.reach.die()
        self.consumer.close_soon(timeout=0.0, leave=Leave.REMAIN)
        self._scope.cancel()

    def close(self) -> None:
        """Have the application end in good order."""
        if not self.alive:
            return
        self.closing = True
        if self._tasks is None:
            self._scope.cancel()
        self._start(lambda consumer: consumer.close(timeout=CLOSE_TIMEOUT, leave=self.plan.leave))


# -- member trouble --------------------------------------------------------------------------------


Undo: TypeAlias = Callable[[], None]
"""Ends what lasts for a while."""


def nothing() -> None:
    """End what has no end."""


class MemberTrouble:
    """Makes trouble for single lives.

    Args:
        plan: the run.
        broker: the cluster.
        standstill: stops processes.
    """

    def __init__(self, plan: Plan, broker: InProcessBroker, standstill: Standstill) -> None:
        self._plan = plan
        self._broker = broker
        self._standstill = standstill

    def kill(self, life: Life) -> None:
        """End a process without a word."""
        self._standstill.go_on(life.name)
        life.kill()

    # -- connections -----------------------------------------------------------------------------

    def network(self, what: Perturbation, life: Life, seconds: float) -> Undo:
        """Do one of those things that happen between a process and the brokers."""
        answers, name = self._broker.answers, life.reach.name
        asked = request_class(ApiKey.HEARTBEAT if what.api is None else what.api)
        match what.kind:
            case Kind.CUT:
                life.reach.cut()
            case Kind.LOSE:
                # TCP loses nothing but whole connections: the answer goes with its own.
                answers.hang_up(asked, client_id=name, times=max(what.number, 1))
            case Kind.DELAY:
                return answers.delay(asked, seconds, client_id=name, times=None).cancel
            case Kind.HOLD:
                return answers.hold_request(asked, client_id=name).release
            case _:
                until = anyio.current_time() + seconds
                life.reach.silence(until, answers_only=what.kind is Kind.DEAF)
        return nothing

    # -- the application -------------------------------------------------------------------------

    def application(self, what: Perturbation, life: Life, seconds: float) -> Undo:
        """Have an application do one of those things that applications do."""
        match what.kind:
            case Kind.FREEZE:
                self._standstill.stop(life.name)
                return lambda: self._standstill.go_on(life.name)
            case Kind.STALL:
                life.whims.idle_until = anyio.current_time() + seconds
            case Kind.SLOW_LISTENER:
                life.whims.slow_call = seconds
            case Kind.RAISING_LISTENER:
                life.whims.raises = True
            case Kind.COMMIT:
                life.do(lambda consumer: consumer.commit_done())
            case Kind.SEEK:
                life.do(_seeking(life, what.number))
            case _:
                return self._consumer(what, life)
        return nothing

    def _consumer(self, what: Perturbation, life: Life) -> Undo:
        match what.kind:
            case Kind.PAUSE:
                life.do(lambda consumer: consumer.pause(*sorted(consumer.assignment())))
                return lambda: life.do(lambda consumer: consumer.resume(*sorted(consumer.paused())))
            case Kind.ENFORCE:
                life.do(lambda consumer: consumer.enforce_rebalance("the simulation wants a round"))
            case Kind.SUBSCRIBE:
                topics = sorted(self._plan.topics)[: 1 + what.number % len(self._plan.topics)]
                life.do(lambda consumer: consumer.subscribe(*topics))
            case _:
                life.do(lambda consumer: consumer.unsubscribe())
                return lambda: life.do(lambda consumer: consumer.subscribe(*life.plan.topics))
        return nothing


def _seeking(life: Life, count: int) -> Callable[[Reader], None]:
    def seek(consumer: Reader) -> None:
        for tp in sorted(consumer.assignment() & life.last.keys())[:1]:
            consumer.seek(tp, max(life.last[tp] - count, 0))

    return seek

"""Carries out what a plan does to a group, for levels B and C.

Decides: what each kind of perturbation means here.
Never: chooses; the plan has.

What is done to somebody who is not there has no effect and is counted as skipped.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, assert_never

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey
from kgroup.journal import FaultStep, Phase
from kgroup.testing import InProcessBroker
from kgroup.testing.simulation.live.cluster import ClusterTrouble
from kgroup.testing.simulation.live.crew import Crew
from kgroup.testing.simulation.live.life import Life, Reader
from kgroup.testing.simulation.live.recorder import MemberSink
from kgroup.testing.simulation.live.standstill import Standstill
from kgroup.testing.simulation.perturbation import Kind, Perturbation
from kgroup.testing.simulation.plan import Plan
from kgroup.wire.frames import request_class

__all__ = ["UNABLE", "Nemesis"]

UNABLE: Final[Mapping[Kind, str]] = MappingProxyType({})
"""What these levels cannot do, and why: nothing."""

_NETWORK: Final = frozenset({Kind.CUT, Kind.LOSE, Kind.DELAY, Kind.HOLD, Kind.BLACKHOLE, Kind.DEAF})


class Nemesis:
    """Does to members and cluster what a plan says.

    Args:
        plan: the run.
        crew: the members.
        broker: the cluster.
        standstill: stops processes.
        sink: takes the beginnings and ends of faults.
        pace: what the plan's seconds are multiplied by.
    """

    def __init__(
        self,
        plan: Plan,
        crew: Crew,
        broker: InProcessBroker,
        standstill: Standstill,
        sink: MemberSink,
        *,
        pace: float,
    ) -> None:
        self.skipped: Counter[Kind] = Counter()
        self._plan = plan
        self._crew = crew
        self._broker = broker
        self._standstill = standstill
        self._sink = sink
        self._pace = pace
        self._trouble = ClusterTrouble(broker)

    async def run(self, tasks: TaskGroup, lives: TaskGroup) -> None:
        """Start members, and perturb them, each at its instant.

        Args:
            tasks: own what a perturbation does later.
            lives: own the members.
        """
        starts = [(plan.starts_at, plan) for plan in self._plan.members]
        for at, plan in starts:
            if at is not None:
                tasks.start_soon(self._start, lives, plan.index, at)
        began = anyio.current_time()
        for each in self._plan.perturbations:
            await anyio.sleep_until(began + each.at * self._pace)
            tasks.start_soon(self._carry_out, lives, each)

    async def _start(self, lives: TaskGroup, index: int, at: float) -> None:
        await anyio.sleep(at * self._pace)
        self._crew.start(lives, self._plan.members[index])

    async def _carry_out(self, lives: TaskGroup, what: Perturbation) -> None:
        """Do one thing, journaled from its beginning to its end."""
        target = self._plan.members[what.member].label
        step = FaultStep(Phase.BEGIN, what.kind.name, target)
        self._sink.emit(step)
        if not await self._do(lives, what):
            self.skipped[what.kind] += 1
        self._sink.emit(FaultStep(Phase.END, what.kind.name, target))

    async def _do(self, lives: TaskGroup, what: Perturbation) -> bool:
        """Do one thing; tell whether there was anything to do it to."""
        match what.kind:
            case Kind.JOIN | Kind.LEAVE | Kind.KILL | Kind.RESTART | Kind.TWIN:
                return await self._to_process(lives, what)
            case (
                Kind.COORDINATOR_KILLED
                | Kind.COORDINATOR_MOVED
                | Kind.COORDINATOR_LOADS
                | Kind.EVICT
                | Kind.ADD_PARTITIONS
                | Kind.DELETE_TOPIC
                | Kind.DELETE_OFFSETS
                | Kind.PRODUCE
            ):
                return await self._trouble.make(what, self._name(what), what.seconds * self._pace)
            case _:
                life = self._crew.of(what.member)
                if life is None:
                    return False
                if what.kind in _NETWORK:
                    return await self._to_network(life, what)
                return await self._to_application(life, what)

    def _name(self, what: Perturbation) -> str:
        life = self._crew.of(what.member)
        return "" if life is None else life.reach.name

    # -- processes -------------------------------------------------------------------------------

    async def _to_process(self, lives: TaskGroup, what: Perturbation) -> bool:
        plan, life = self._plan.members[what.member], self._crew.of(what.member)
        match what.kind:
            case Kind.JOIN:
                if life is None:
                    self._crew.start(lives, plan)
                return life is None
            case Kind.TWIN if life is not None and plan.instance is not None:
                self._crew.fenced.add(plan.instance)
                self._crew.start(lives, plan, twin=True)
                return True
            case Kind.LEAVE if life is not None:
                life.close()
                with anyio.move_on_after(10 * self._pace):
                    await life.ended.wait()
                return True
            case Kind.KILL | Kind.RESTART if life is not None:
                self._standstill.go_on(life.name)
                life.kill()
                if what.kind is Kind.RESTART:
                    await anyio.sleep(what.seconds * self._pace)
                    if self._crew.of(what.member) is None:
                        self._crew.start(lives, plan)
                return True
            case _:
                return False

    # -- networks --------------------------------------------------------------------------------

    async def _to_network(self, life: Life, what: Perturbation) -> bool:
        answers, name = self._broker.answers, life.reach.name
        seconds = what.seconds * self._pace
        asked = request_class(what.api or ApiKey.HEARTBEAT)
        match what.kind:
            case Kind.CUT:
                life.reach.cut()
            case Kind.LOSE:
                # TCP loses nothing but whole connections: the answer goes with its own.
                answers.hang_up(asked, client_id=name, times=max(what.number, 1))
            case Kind.DELAY:
                rule = answers.delay(asked, seconds, client_id=name, times=max(what.number, 1))
                await anyio.sleep(seconds)
                rule.cancel()
            case Kind.HOLD:
                held = answers.hold_request(asked, client_id=name)
                await anyio.sleep(seconds)
                held.release()
            case _:
                until = anyio.current_time() + seconds
                life.reach.silence(until, answers_only=what.kind is Kind.DEAF)
                await anyio.sleep_until(until)
        return True

    # -- applications ----------------------------------------------------------------------------

    async def _to_application(self, life: Life, what: Perturbation) -> bool:
        seconds = what.seconds * self._pace
        match what.kind:
            case Kind.FREEZE:
                self._standstill.stop(life.name)
                await anyio.sleep(seconds)
                self._standstill.go_on(life.name)
            case Kind.STALL:
                life.whims.idle_until = anyio.current_time() + seconds
            case Kind.SLOW_LISTENER:
                life.whims.slow_call = seconds
            case Kind.RAISING_LISTENER:
                life.whims.raises = True
            case _:
                return await self._to_consumer(life, what)
        return True

    async def _to_consumer(self, life: Life, what: Perturbation) -> bool:
        if not life.reads:
            return False
        seconds = what.seconds * self._pace
        match what.kind:
            case Kind.COMMIT:
                life.do(lambda consumer: consumer.commit_done())
            case Kind.SEEK:
                life.do(_seeking(life, what.number))
            case Kind.PAUSE:
                life.do(lambda consumer: consumer.pause(*sorted(consumer.assignment())))
                await anyio.sleep(seconds)
                life.do(lambda consumer: consumer.resume(*sorted(consumer.paused())))
            case Kind.ENFORCE:
                life.do(lambda consumer: consumer.enforce_rebalance("the simulation wants a round"))
            case Kind.SUBSCRIBE:
                topics = self._other_topics(what.number)
                life.do(lambda consumer: consumer.subscribe(*topics))
            case Kind.RESUBSCRIBE:
                life.do(lambda consumer: consumer.unsubscribe())
                await anyio.sleep(seconds)
                life.do(lambda consumer: consumer.subscribe(*life.plan.topics))
            case _:
                return False
        return True

    def _other_topics(self, number: int) -> tuple[str, ...]:
        """Choose some of the topics: as many as the number says, from another one on each time."""
        topics = tuple(self._plan.topics)
        first = number % len(topics)
        return (topics[first:] + topics[:first])[: max(1, number)]


def _seeking(life: Life, count: int) -> Callable[[Reader], None]:
    def seek(consumer: Reader) -> None:
        for tp in sorted(consumer.assignment() & life.last.keys())[:1]:
            consumer.seek(tp, max(life.last[tp] - count, 0))

    return seek

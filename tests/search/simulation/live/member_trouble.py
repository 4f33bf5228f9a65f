"""Trouble for one life of one member: its process, its connections, its application.

Decides: what each kind means to a real consumer.
Never: journals, or touches the cluster but for its answers to this member.
"""

from collections.abc import Callable
from typing import TypeAlias

import anyio

from kgroup.codes import ApiKey
from kgroup.testing import InProcessBroker
from kgroup.wire.frames import request_class
from tests.search.simulation.live.life import Life, Reader
from tests.search.simulation.live.standstill import Standstill
from tests.search.simulation.perturbation import Kind, Perturbation
from tests.search.simulation.plan import Plan

__all__ = ["MemberTrouble", "Undo", "nothing"]

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

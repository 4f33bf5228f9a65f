"""What happens to a group at levels A and A': each kind of perturbation carried out.

Decides: what each kind means here. A fault that has no target (a dead member is killed again)
does not happen.
Never: draws; the plan says everything.
"""

from collections.abc import Callable
from typing import Any

from kgroup.codes import ErrorCode
from kgroup.membership.events import EnforceRebalance, Unsubscribed
from tests.search.simulation.plan import Kind, Perturbation
from tests.search.simulation.world.crew import Crew, Life


class Nemesis:
    """Carries perturbations out.

    Args:
        crew: everybody.
    """

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._brokers = crew.brokers

    def strike(self, what: Perturbation) -> None:
        """Carry out one perturbation, if it can happen now."""
        if self._cluster(what):
            self._crew.tell_fault(what)
            return
        if what.kind in (Kind.JOIN, Kind.TWIN):
            if self._crew.start_another(what.member, twin=what.kind is Kind.TWIN):
                self._crew.tell_fault(what)
            return
        life = self._crew.living(what.member)
        if life is None:
            return
        if what.kind is not Kind.LEAVE:  # a wish, by which nothing is excused
            self._crew.tell_fault(what, life)
        if not (self._process(what, life) or self._network(what, life)):
            self._application(what, life)

    # -- cluster and topics ----------------------------------------------------------------------

    def _cluster(self, what: Perturbation) -> bool:
        brokers = self._brokers
        match what.kind:
            case Kind.COORDINATOR_KILLED:
                node_id = brokers.coordinator
                if node_id is not None:
                    brokers.kill(node_id)
                    brokers.at(brokers.now + what.seconds, brokers.core.cluster.start, node_id)
            case Kind.COORDINATOR_MOVED:
                self._move()
            case Kind.COORDINATOR_LOADS:
                brokers.shard.resign(ErrorCode.NOT_COORDINATOR)
                brokers.shard.load(what.seconds)
            case Kind.ADD_PARTITIONS | Kind.DELETE_TOPIC:
                self._change_topic(what)
            case Kind.DELETE_OFFSETS:
                brokers.delete_offsets()
            case Kind.PRODUCE:
                self._crew.produce(what.number * 3)
            case _:
                return False
        return True

    def _move(self) -> None:
        brokers = self._brokers
        alive = [each.node_id for each in brokers.core.cluster.nodes.values() if each.alive]
        others = [each for each in alive if each != brokers.coordinator]
        if others:
            brokers.move_coordinator(others[0])

    def _change_topic(self, what: Perturbation) -> None:
        counts = self._brokers.counts()
        topics = sorted(counts)
        cluster = self._brokers.core.cluster
        if len(cluster.usable) < len(cluster.nodes):
            return  # replicas cannot be placed, nor deleted, while a broker is down
        if what.kind is Kind.ADD_PARTITIONS and topics:
            topic = topics[what.member % len(topics)]
            cluster.add_partitions(topic, counts[topic] + what.number)
        elif len(topics) > 1:
            self._brokers.delete_topic(topics[-1])
        self._crew.tell_counts()

    # -- members ---------------------------------------------------------------------------------

    def _process(self, what: Perturbation, life: Life) -> bool:
        crew, now = self._crew, self._brokers.now
        match what.kind:
            case Kind.LEAVE:
                self._have(life, life.member.close)
            case Kind.KILL:
                crew.kill(life)
            case Kind.RESTART:
                crew.kill(life)
                self._brokers.at(now + what.seconds, crew.start, life.plan)
            case Kind.FREEZE:
                life.process.frozen_until = max(life.process.frozen_until, now + what.seconds)
            case Kind.SUBSCRIBE:
                every = tuple(sorted(crew.plan.topics))
                self._have(life, life.member.subscribe, every[: 1 + what.number % len(every)])
            case Kind.RESUBSCRIBE:
                self._have(life, life.member.apply, Unsubscribed())
                life.process.at(now + what.seconds, life.member.subscribe, life.member.plan.topics)
            case Kind.ENFORCE:
                self._have(life, life.member.apply, EnforceRebalance("somebody wants one"))
            case Kind.EVICT:
                crew.evict(life)
            case _:
                return False
        return True

    def _application(self, what: Perturbation, life: Life) -> None:
        application = life.application
        match what.kind:
            case Kind.STALL:
                application.stalled_until = self._brokers.now + what.seconds
            case Kind.SLOW_LISTENER:
                application.slow_listener = what.seconds
            case Kind.RAISING_LISTENER:
                application.raising_listener = True
            case Kind.COMMIT:
                self._have(life, application.commit_done)
            case Kind.SEEK:
                self._have(life, application.seek_back, what.number)
            case Kind.PAUSE:
                self._have(life, application.pause, what.seconds)
            case _:
                raise AssertionError(f"{what.kind} is not carried out at this level")

    def _have(self, life: Life, act: Callable[..., None], *args: Any) -> None:
        """Have a member do something itself: it cannot while it stands still, nor once it ended."""
        life.process.at(self._brokers.now, _unless_over, life, act, args)

    # -- network ---------------------------------------------------------------------------------

    def _network(self, what: Perturbation, life: Life) -> bool:
        reach, until = life.process.reach, self._brokers.now + what.seconds
        match what.kind:
            case Kind.CUT:
                life.process.cut()
            case Kind.LOSE if what.api is not None:
                reach.lose[what.api] = what.number
            case Kind.DELAY if what.api is not None:
                reach.late[what.api] = what.seconds
            case Kind.HOLD if what.api is not None:
                reach.held[what.api] = what.seconds
            case Kind.BLACKHOLE:
                reach.in_until = reach.out_until = until
            case Kind.DEAF:
                reach.in_until = until
            case _:
                return False
        return True


def _unless_over(life: Life, act: Callable[..., None], args: tuple[Any, ...]) -> None:
    if not life.member.over:
        act(*args)

"""Carries out what a plan does to a group, for levels B and C.

Decides: what each kind of perturbation means here, and how it is journaled: from the instant at
which it strikes until its `seconds` are over. What would be done to an absent member does not
happen, and is counted as skipped.
Never: chooses; the plan has.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

import anyio
from anyio.abc import TaskGroup

from kgroup.journal import FaultStep, Phase
from kgroup.journal.faults import LETHAL
from tests.search.simulation.live.cluster import ClusterTrouble
from tests.search.simulation.live.crew import Crew
from tests.search.simulation.live.life import Life, MemberTrouble, Undo, nothing
from tests.search.simulation.plan import Kind, Perturbation, Plan
from tests.search.simulation.recorder import MemberSink

UNABLE: Final[Mapping[Kind, str]] = MappingProxyType({})
"""What these levels cannot do, and why: nothing."""

_Struck: TypeAlias = tuple[str, Undo]
"""Label of the member it struck ("" for all), and what ends it."""


class Nemesis:
    """Does to members and cluster what a plan says.

    Args:
        plan: the run.
        crew: the members.
        members: trouble for one of them.
        cluster: trouble for all.
        sink: takes the beginnings and ends of faults.
        pace: what the plan's seconds are multiplied by.
    """

    def __init__(
        self,
        plan: Plan,
        crew: Crew,
        members: MemberTrouble,
        cluster: ClusterTrouble,
        sink: MemberSink,
        *,
        pace: float,
    ) -> None:
        self.skipped: Counter[Kind] = Counter()
        self._plan = plan
        self._crew = crew
        self._members = members
        self._cluster = cluster
        self._sink = sink
        self._pace = pace

    async def run(self, began: float, tasks: TaskGroup, lives: TaskGroup) -> None:
        """Start members, and perturb them, each at its instant.

        Args:
            began: instant at which the run began.
            tasks: own what a perturbation does later.
            lives: own the members.
        """
        for member in self._plan.members:
            if member.starts_at is not None:
                at = began + member.starts_at * self._pace
                tasks.start_soon(self._later, at, lambda m=member: self._crew.start(lives, m))
        for what in self._plan.perturbations:
            await anyio.sleep_until(began + what.at * self._pace)
            tasks.start_soon(self._carry_out, lives, what)

    async def _later(self, at: float, act: Callable[[], object]) -> None:
        await anyio.sleep_until(at)
        act()

    async def _carry_out(self, lives: TaskGroup, what: Perturbation) -> None:
        struck = self._strike(lives, what)
        if struck is None:
            self.skipped[what.kind] += 1
            return
        label, undo = struck
        name = what.kind.name
        # What it causes comes later than this entry: nothing has run since it struck.
        self._sink.emit(FaultStep(Phase.BEGIN, name, label))
        await anyio.sleep(what.seconds * self._pace)
        undo()
        if name not in LETHAL:
            self._sink.emit(FaultStep(Phase.END, name, label))

    def _strike(self, lives: TaskGroup, what: Perturbation) -> _Struck | None:
        """Do one thing; None: there was no target."""
        match what.kind:
            case Kind.JOIN | Kind.TWIN:
                return self._start(lives, what)
            case Kind.COORDINATOR_KILLED | Kind.COORDINATOR_MOVED | Kind.COORDINATOR_LOADS:
                undo = self._cluster.make(what, what.seconds * self._pace)
                return None if undo is None else ("", undo)
            case Kind.ADD_PARTITIONS | Kind.DELETE_TOPIC | Kind.DELETE_OFFSETS | Kind.PRODUCE:
                undo = self._cluster.make(what, what.seconds * self._pace)
                return None if undo is None else ("", undo)
            case (
                Kind.LEAVE
                | Kind.KILL
                | Kind.RESTART
                | Kind.EVICT
                | Kind.CUT
                | Kind.LOSE
                | Kind.DELAY
                | Kind.HOLD
                | Kind.BLACKHOLE
                | Kind.DEAF
                | Kind.FREEZE
                | Kind.STALL
                | Kind.SLOW_LISTENER
                | Kind.RAISING_LISTENER
                | Kind.COMMIT
                | Kind.SEEK
                | Kind.PAUSE
                | Kind.SUBSCRIBE
                | Kind.RESUBSCRIBE
                | Kind.ENFORCE
            ):
                life = self._crew.of(what.member)
                return None if life is None else self._strike_life(lives, what, life)
            case _:
                assert_never(what.kind)

    def _start(self, lives: TaskGroup, what: Perturbation) -> _Struck | None:
        plan, life = self._plan.members[what.member], self._crew.of(what.member)
        if what.kind is Kind.TWIN:
            if life is None or plan.instance is None:
                return None
            self._crew.fenced.add(plan.instance)
            self._crew.start(lives, plan, twin=True)
            return "", nothing
        waiting = [each for each in self._plan.members if not self._crew.has_lived(each)]
        later = [each for each in waiting if each.starts_at is None]
        if life is not None and not later:
            return None
        self._crew.start(lives, later[0] if later else plan)
        return "", nothing

    def _strike_life(self, lives: TaskGroup, what: Perturbation, life: Life) -> _Struck | None:
        label, seconds = life.plan.label, what.seconds * self._pace
        match what.kind:
            case Kind.LEAVE:
                life.close()
                return label, nothing
            case Kind.KILL:
                self._members.kill(life)
                return label, nothing
            case Kind.RESTART:
                self._members.kill(life)
                return label, lambda: self._again(lives, what.member)
            case Kind.EVICT:
                return (label, nothing) if self._cluster.evict(life.reach.name) else None
            case Kind.CUT | Kind.LOSE | Kind.DELAY | Kind.HOLD | Kind.BLACKHOLE | Kind.DEAF:
                return label, self._members.network(what, life, seconds)
            case _:
                return label, self._members.application(what, life, seconds)

    def _again(self, lives: TaskGroup, index: int) -> None:
        if self._crew.of(index) is None:
            self._crew.start(lives, self._plan.members[index])

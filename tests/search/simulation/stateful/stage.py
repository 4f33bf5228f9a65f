"""The world that the rules act on: brokers, members, faults, and oracles that watch all along.

Decides: what each rule does to the world, what is broken after it, and how a run comes to its end.
Never: draws; the rules say everything.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Final

from kgroup.audit.oracles import Oracle, Violation
from kgroup.audit.oracles.watch import Watch
from kgroup.codes import ApiKey
from kgroup.machine.commit_queue import Submission
from kgroup.membership.events import Unsubscribed
from kgroup.membership.step import next_deadline
from kgroup.types import MemberState
from tests.search.oracles import simulation_oracles
from tests.search.simulation.choices import Choices
from tests.search.simulation.plan import Kind, MemberPlan, Perturbation, Plan, end_of_tail
from tests.search.simulation.recorder import Known, Recorder
from tests.search.simulation.schedule import Level, Outcome, Schedule
from tests.search.simulation.stateful.post import Dice, HeldBrokers, Post
from tests.search.simulation.story import story
from tests.search.simulation.world.crew import Crew, Life
from tests.search.simulation.world.nemesis import Nemesis
from tests.search.simulation.world.run import at_rest, reading_on, stuck

_STILL: Final = 2
"""Heartbeat intervals for which nothing may change in a group that is at rest."""


class _Patience:
    """An application that may wait for one of its commits, and read nothing meanwhile.

    Args:
        life: of the member.
    """

    def __init__(self, life: Life) -> None:
        self._life = life
        self._serial: int | None = None
        self._passed_on = life.member.on_committed
        life.member.on_committed = self._heard

    def wait(self, serial: int) -> None:
        """Read nothing until the outcome of a commit is known."""
        self._serial = serial
        self._life.application.stalled_until = inf

    def end(self) -> None:
        """Go on, whatever becomes of the commit."""
        if self._serial is None:
            return
        self._serial = None
        application = self._life.application
        if application.stalled_until == inf:
            application.stalled_until = 0.0
        application.poll()

    def _heard(self, submission: Submission) -> None:
        self._passed_on(submission)
        if submission.serial == self._serial:
            self.end()


class Stage:
    """One run.

    Args:
        plan: of the group; its members come when a rule starts them.
    """

    def __init__(self, plan: Plan) -> None:
        self.dice: Dice = Dice()
        choices = Choices(self.dice)
        known = Known(dict(plan.topics))  # oracles look at what there was at first
        self.brokers: HeldBrokers = HeldBrokers(plan, choices)
        self.recorder: Recorder = Recorder(
            Watch(_oracles(known)), lambda: self.brokers.now, keep=True, ordered=True
        )
        self.crew: Crew = Crew(plan, self.brokers, self.recorder, choices, known)
        self._nemesis = Nemesis(self.crew)
        self._plan = plan
        self._members: list[MemberPlan] = []
        self._patience: dict[str, _Patience] = {}
        self._calm_at = 0.0
        self._listening = 0.0
        self._quiet_at = inf
        self._found: list[Violation] = []
        self._produce()

    @property
    def now(self) -> float:
        """The present instant, seconds."""
        return self.brokers.now

    def _produce(self) -> None:
        self.crew.produce()
        if self.now < self._quiet_at:
            self.brokers.at(self.now + self._plan.produce_every, self._produce)

    # -- time ------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.brokers.heap.run(self.now + seconds)

    def advance_to_timer(self, index: int, beside: float) -> None:
        """Let time pass to the next deadline of a member's machine, or to a moment beside it."""
        life = self.crew.living(index)
        if life is not None:
            due = next_deadline(life.member.value)
            if due < inf:
                self.advance(max(0.0, due + beside - self.now))

    def pending(self, which: int) -> Post | None:
        """Return the connection on which the n-th message is on its way, counting round."""
        pending = self.brokers.pending()
        return pending[which % len(pending)] if pending else None

    def deliver(self, which: int) -> None:
        """Let the n-th message arrive before all others that are on their way."""
        chosen = self.pending(which)
        if chosen is not None:
            self._tell(Kind.HOLD, max(0.0, chosen.due[0] - self.now))
            self.brokers.let_pass(chosen)

    def hold(self, which: int, seconds: float) -> None:
        """Keep the n-th message, and all behind it, from arriving for a time."""
        chosen = self.pending(which)
        if chosen is not None:
            self._tell(Kind.HOLD, seconds)
            self.brokers.hold(chosen, self.now + seconds)

    def reset(self, which: int) -> None:
        """Reset the connection of the n-th message: it is lost, and whatever else is on its way."""
        chosen = self.pending(which)
        if chosen is not None:
            self._tell(Kind.CUT, 0.0)
            chosen.link.cut("the connection was reset")

    # -- members ---------------------------------------------------------------------------------

    def join(self, habits: MemberPlan, *, static: bool) -> int:
        """Start another member; return its number."""
        index = len(self._members)
        plan = replace(habits, index=index, instance=f"i{index}" if static else None)
        self._members.append(plan)
        self.crew.lives[index] = []
        self.crew.start(plan)
        self._run()
        return index

    def rejoin(self, index: int) -> None:
        """Start a member again after its last life is over."""
        if self.crew.living(index) is None:
            self.crew.start(self._members[index])
            self._run()

    def strike(
        self,
        kind: Kind,
        index: int = 0,
        *,
        seconds: float = 0.0,
        api: ApiKey | None = None,
        number: int = 1,
    ) -> None:
        """Have a perturbation happen."""
        what = Perturbation(self.now, kind, index, seconds, api, number)
        if not self._members:
            self.crew.lives.setdefault(0, [])
        self._nemesis.strike(what)
        self._lasts(seconds)
        if kind is Kind.SLOW_LISTENER:  # which may be called much later
            self._listening = max(self._listening, seconds)
        self._run()

    def unsubscribe(self, index: int) -> None:
        """Have a member want nothing any more."""
        life = self._able(index)
        if life is not None:
            life.member.apply(Unsubscribed())
            self._run()

    def resubscribe(self, index: int) -> None:
        """Have a member subscribe to what it began with."""
        life = self._able(index)
        if life is not None:
            life.member.subscribe(self._members[index].topics)
            self._run()

    # -- the application -------------------------------------------------------------------------

    def poll(self, index: int) -> None:
        """Have an application read, unless it stands still."""
        life = self._able(index)
        if life is not None:
            life.application.poll()
            self._run()

    def finish(self, index: int) -> None:
        """Have an application be done with what is in its hands."""
        life = self._able(index)
        if life is not None:
            life.application.finish()
            self._run()

    def commit_and_wait(self, index: int) -> None:
        """Have an application commit what is done, and do nothing else until it knows."""
        life = self._able(index)
        if life is None:
            return
        life.application.commit_done()
        waiting = life.member.commits.waiting
        if waiting:
            name = life.process.name
            if name not in self._patience:
                self._patience[name] = _Patience(life)
            self._patience[name].wait(waiting[-1].serial)
        self._run()

    def stop_waiting(self, index: int) -> None:
        """Have an application give up waiting for its commit."""
        life = self._able(index)
        patience = None if life is None else self._patience.get(life.process.name)
        if patience is not None:
            patience.end()
            self._run()

    def _able(self, index: int) -> Life | None:
        """Return the present life of a member, if it takes part and its process runs."""
        life = self.crew.living(index)
        if life is None or life.process.frozen_until > self.now:
            return None
        return life

    def _run(self) -> None:
        """Let everything happen that is due now."""
        self.advance(0.0)

    def _tell(self, kind: Kind, seconds: float) -> None:
        self.crew.tell_fault(Perturbation(self.now, kind, seconds=seconds))
        self._lasts(seconds)

    def _lasts(self, seconds: float) -> None:
        self._calm_at = max(self._calm_at, self.now + seconds)

    # -- verdicts --------------------------------------------------------------------------------

    def broken(self) -> list[Violation]:
        """Return every promise that is broken by now."""
        wrong = (stuck(life) for life in self.crew.everybody)
        return [*self.recorder.violations, *self._found, *(each for each in wrong if each)]

    def settle(self) -> list[Violation]:
        """Heal everything, give the group the time it needs, and return what is broken then."""
        self._heal()
        plan = self._plan
        self._quiet_at = max(self.now, self._calm_at)
        self.brokers.heap.run(self._quiet_at)
        ends_at = end_of_tail(self._quiet_at, plan.session_timeout, plan.rebalance_timeout)
        self._rest(self._quiet_at, ends_at)
        self._rest(ends_at, ends_at + reading_on(self.crew))
        self._found += at_rest(self.crew)
        self.recorder.finish()
        return self.broken()

    def _rest(self, at: float, until: float) -> None:
        """Let time pass until the group has been at rest for some heartbeats.

        The present is that of what happened last: where nothing does, it never comes to the end.
        """
        still = 0
        while at < until and still < _STILL:
            stood = self._standing()
            at = min(at + self._plan.heartbeat_interval, until)
            self.brokers.heap.run(at)
            restless = any(True for _ in at_rest(self.crew)) or stood != self._standing()
            still = 0 if restless else still + 1

    def _standing(self) -> list[tuple[MemberState, int | None]]:
        """Return where everybody stands, and in which generation."""
        values = [life.member.value for life in self.crew.everybody]
        generations = [value.identity.generation for value in values]
        return [
            (value.state, None if generation is None else generation.generation_id)
            for value, generation in zip(values, generations, strict=True)
        ]

    def _heal(self) -> None:
        brokers = self.brokers
        for node in brokers.core.cluster.nodes.values():
            if not node.alive:
                brokers.core.cluster.start(node.node_id)
        for post in brokers.pending():
            brokers.release(post)
        for patience in self._patience.values():
            patience.end()
        for life in self.crew.everybody:
            reach = life.process.reach
            self._lasts(max(reach.in_until, reach.out_until) - self.now)
            reach.lose.clear()
            reach.late.clear()
            reach.held.clear()
            life.application.raising_listener = False
            life.application.slow_listener = 0.0
            if life.member.value.changes:
                self._lasts(self._listening)

    def drawing(self) -> str:
        """Return the run as text."""
        quiet_at = min(self._quiet_at, self.now)
        plan = replace(
            self._plan, members=tuple(self._members), quiet_at=quiet_at, ends_at=self.now
        )
        outcome = Outcome(
            schedule=Schedule(Level.A, picks=()),
            plan=plan,
            picks=(),
            violations=tuple(self.broken()),
            digest=self.recorder.digest,
            events=self.brokers.heap.events,
            seconds=self.now,
            entries=tuple(self.recorder.entries),
        )
        return story(outcome)


def _oracles(known: Known) -> Mapping[str, Oracle]:
    """Return every oracle that fits applications that commit when a rule says so."""
    return simulation_oracles(
        partitions=known.partitions,
        ends=known.ends,
        clean_handover=False,
        without=("recovers",),  # L1 is judged on the living members: `at_rest`
    )

"""The rules: what may happen to a group, one after the other, as Hypothesis chooses.

Decides: which rules there are and what they may be given; what comes first is the tamest.
Never: does anything to the world by itself; the stage does.
"""

from typing import Final

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from kgroup.audit.oracles import Violation
from kgroup.codes import ApiKey
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import RebalanceProtocol
from tests.search.simulation.plan import CommitHabit, Kind, MemberPlan, Plan
from tests.search.simulation.stateful.stage import Stage

_MOST_MEMBERS: Final = 5
_TOPICS: Final = {"one": (3,), "two": (3, 2), "wide": (7,), "three": (2, 1, 1)}
_TIMING: Final = {
    "plain": (6.0, 9.0, 0.002),
    "short": (3.0, 3.0, 0.01),
    "patient": (3.0, 7.5, 0.002),
    "far": (6.0, 6.0, 0.05),
}
"""Session, rebalance timeout, one way; seconds."""
_FORMING: Final = 4.0
_HABITS: Final = {
    "plain": MemberPlan(0, None, None, ("t0", "t1", "t2"), poll_every=1.0),
    "commits each batch": MemberPlan(
        0, None, None, ("t0", "t1", "t2"), handling=0.3, habit=CommitHabit.EACH_BATCH, luck=0.0
    ),
    "slow": MemberPlan(
        0, None, None, ("t0", "t1", "t2"), handling=1.0, listener=0.5, commit_interval=1.0
    ),
    "one topic": MemberPlan(0, None, None, ("t0",), handling=0.05, luck=0.99),
}

_TIMES = st.sampled_from((0.01, 0.05, 0.2, 0.5, 1.0, 2.0, 3.5, 6.0))
_DURATIONS = st.sampled_from((0.05, 0.5, 1.5, 2.7, 3.3, 5.0, 7.0))
_BESIDE = st.sampled_from((0.0, -0.003, 0.003, -0.02, 0.02))
_LUCK = st.integers(0, 1 << 16)
_WHICH = st.integers(0, 5)
_APIS = st.sampled_from(
    (
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.OFFSET_COMMIT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_FETCH,
        ApiKey.FIND_COORDINATOR,
    )
)


class _Drawing:
    """A run as a diagram, drawn only when somebody is going to read it."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def __repr__(self) -> str:
        return self._stage.drawing()


class GroupMachine(RuleBasedStateMachine):
    """A group, its application, its brokers and the network between them."""

    members: Bundle[int] = Bundle("members")

    def __init__(self) -> None:
        super().__init__()
        self.stage: Stage | None = None
        self._broken = False

    @property
    def world(self) -> Stage:
        """Return the world, which `begin` has made."""
        assert self.stage is not None
        return self.stage

    @initialize(
        target=members,
        assignor=st.sampled_from(("cooperative-sticky", "range", "sticky", "roundrobin")),
        coordinator=st.sampled_from((CoordinatorKind.NEW, CoordinatorKind.OLD)),
        topics=st.sampled_from(tuple(_TOPICS)),
        timing=st.sampled_from(tuple(_TIMING)),
        size=st.sampled_from((0, 2, 3)),
    )
    def begin(
        self,
        assignor: str,
        coordinator: CoordinatorKind,
        topics: str,
        timing: str,
        size: int,
    ) -> MultipleResults[int]:
        """Make the world, and a group of some members that has formed.

        Without it, most of the rules would be spent on founding the group.
        """
        session, rebalance, latency = _TIMING[timing]
        cooperates = assignor == "cooperative-sticky"
        plan = Plan(
            protocol=RebalanceProtocol.COOPERATIVE if cooperates else RebalanceProtocol.EAGER,
            assignors=(assignor,),
            coordinator=coordinator,
            brokers=2,
            topics={f"t{number}": count for number, count in enumerate(_TOPICS[topics])},
            members=(),
            session_timeout=session,
            heartbeat_interval=session / 3,
            rebalance_timeout=rebalance,
            latency=latency,
            produce_every=2.0,
            perturbations=(),
            quiet_at=0.0,
            ends_at=0.0,
        )
        stage = self.stage = Stage(plan)
        founders = [stage.join(_HABITS["plain"], static=False) for _ in range(size)]
        if founders:
            stage.advance(_FORMING)
        return multiple(*founders)

    # -- time, and the order of messages ---------------------------------------------------------

    @rule(seconds=_TIMES, luck=_LUCK)
    def advance(self, seconds: float, luck: int) -> None:
        """Let time pass."""
        self.world.dice.deal(luck)
        self.world.advance(seconds)

    @rule(seconds=st.sampled_from((0.1, 0.7, 1.5, 4.0)))
    def wait(self, seconds: float) -> None:
        """Let time pass, a second rule of its kind: without time nothing comes of the others."""
        self.world.advance(seconds)

    @rule(who=members, beside=_BESIDE, luck=_LUCK)
    def advance_to_timer(self, who: int, beside: float, luck: int) -> None:
        """Let time pass to the next deadline of a member."""
        self.world.dice.deal(luck)
        self.world.advance_to_timer(who, beside)

    @rule(which=_WHICH, luck=_LUCK)
    def deliver(self, which: int, luck: int) -> None:
        """Let one message arrive before all others."""
        self.world.dice.deal(luck)
        self.world.deliver(which)

    @rule(which=_WHICH, seconds=_DURATIONS)
    def hold(self, which: int, seconds: float) -> None:
        """Let one message, and those behind it, be late."""
        self.world.hold(which, seconds)

    @rule(which=_WHICH)
    def reset(self, which: int) -> None:
        """Reset the connection on which a message is on its way."""
        self.world.reset(which)

    # -- members ---------------------------------------------------------------------------------

    @precondition(lambda self: len(self.world.crew.lives) < _MOST_MEMBERS)
    @rule(target=members, habits=st.sampled_from(tuple(_HABITS)), static=st.booleans())
    def join(self, habits: str, static: bool) -> int:
        """Start another member."""
        return self.world.join(_HABITS[habits], static=static)

    @rule(who=members)
    def rejoin(self, who: int) -> None:
        """Start a member again that has ended; a static one as the same instance."""
        self.world.rejoin(who)

    @rule(who=members)
    def leave(self, who: int) -> None:
        """Close a member."""
        self.world.strike(Kind.LEAVE, who)

    @rule(who=members)
    def kill(self, who: int) -> None:
        """End a member without a word."""
        self.world.strike(Kind.KILL, who)

    @rule(who=members, seconds=_DURATIONS)
    def restart(self, who: int, seconds: float) -> None:
        """Kill a member, and start it again as the same instance."""
        self.world.strike(Kind.RESTART, who, seconds=seconds)

    @rule(who=members)
    def twin(self, who: int) -> None:
        """Start a second process with the same instance id."""
        self.world.strike(Kind.TWIN, who)

    @rule(who=members, number=st.integers(0, 2))
    def subscribe(self, who: int, number: int) -> None:
        """Have a member subscribe to other topics."""
        self.world.strike(Kind.SUBSCRIBE, who, number=number)

    @rule(who=members)
    def unsubscribe(self, who: int) -> None:
        """Have a member want nothing."""
        self.world.unsubscribe(who)

    @rule(who=members)
    def resubscribe(self, who: int) -> None:
        """Have a member want again what it began with."""
        self.world.resubscribe(who)

    @rule(who=members, what=st.sampled_from((Kind.ENFORCE, Kind.EVICT)))
    def disturb(self, who: int, what: Kind) -> None:
        """Have a member ask for a rebalance, or be removed by an administrator."""
        self.world.strike(what, who)

    @rule(who=members, seconds=_DURATIONS)
    def jump(self, who: int, seconds: float) -> None:
        """Have a process stand still: its clock jumps."""
        self.world.strike(Kind.FREEZE, who, seconds=seconds)

    # -- the application -------------------------------------------------------------------------

    @rule(who=members)
    def poll(self, who: int) -> None:
        """Have an application read now."""
        self.world.poll(who)

    @rule(who=members)
    def finish(self, who: int) -> None:
        """Have an application be done with what is in its hands."""
        self.world.finish(who)

    @rule(who=members, seconds=_DURATIONS)
    def stall(self, who: int, seconds: float) -> None:
        """Have an application not read for a time."""
        self.world.strike(Kind.STALL, who, seconds=seconds)

    @rule(who=members)
    def commit_soon(self, who: int) -> None:
        """Have an application commit, and go on."""
        self.world.strike(Kind.COMMIT, who)

    @rule(who=members)
    def commit(self, who: int) -> None:
        """Have an application commit, and wait for it."""
        self.world.commit_and_wait(who)

    @rule(who=members)
    def cancel(self, who: int) -> None:
        """Have an application give up waiting for its commit."""
        self.world.stop_waiting(who)

    @rule(who=members, what=st.sampled_from((Kind.SEEK, Kind.PAUSE)), seconds=_DURATIONS)
    def move(self, who: int, what: Kind, seconds: float) -> None:
        """Have an application seek back, or pause for a time."""
        self.world.strike(what, who, seconds=seconds, number=2)

    @rule(who=members, seconds=_DURATIONS)
    def slow_listener(self, who: int, seconds: float) -> None:
        """Have the next call of a listener take its time."""
        self.world.strike(Kind.SLOW_LISTENER, who, seconds=seconds)

    @rule(who=members)
    def raising_listener(self, who: int) -> None:
        """Have the next call of a listener raise."""
        self.world.strike(Kind.RAISING_LISTENER, who)

    # -- the network -----------------------------------------------------------------------------

    @rule(who=members)
    def cut(self, who: int) -> None:
        """Reset all connections of a member."""
        self.world.strike(Kind.CUT, who)

    @rule(who=members, api=_APIS)
    def lose(self, who: int, api: ApiKey) -> None:
        """Lose the next answer to an API after it had its effect."""
        self.world.strike(Kind.LOSE, who, api=api)

    @rule(who=members, api=_APIS, seconds=_DURATIONS, what=st.sampled_from((Kind.DELAY, Kind.HOLD)))
    def late(self, who: int, api: ApiKey, seconds: float, what: Kind) -> None:
        """Have the next answer to an API, or request of it, be late."""
        self.world.strike(what, who, api=api, seconds=seconds)

    @rule(who=members, seconds=_DURATIONS, what=st.sampled_from((Kind.DEAF, Kind.BLACKHOLE)))
    def silence(self, who: int, seconds: float, what: Kind) -> None:
        """Have a member hear nothing for a time, or exchange nothing."""
        self.world.strike(what, who, seconds=seconds)

    # -- brokers and topics ----------------------------------------------------------------------

    @rule(seconds=_DURATIONS)
    def coordinator_crashes(self, seconds: float) -> None:
        """Kill the coordinator's broker; it comes back later."""
        self.world.strike(Kind.COORDINATOR_KILLED, seconds=seconds)

    @rule()
    def coordinator_migrates(self) -> None:
        """Have another broker coordinate."""
        self.world.strike(Kind.COORDINATOR_MOVED)

    @rule(seconds=_DURATIONS)
    def coordinator_loads(self, seconds: float) -> None:
        """Have the coordinator read its log anew."""
        self.world.strike(Kind.COORDINATOR_LOADS, seconds=seconds)

    @rule(which=st.integers(0, 2))
    def add_partition(self, which: int) -> None:
        """Have a topic get one more partition."""
        self.world.strike(Kind.ADD_PARTITIONS, which)

    @rule()
    def delete_topic(self) -> None:
        """Delete a topic, if another one is left."""
        self.world.strike(Kind.DELETE_TOPIC)

    # -- verdicts --------------------------------------------------------------------------------

    @invariant()
    def nothing_is_broken(self) -> None:
        """Look at what the oracles have found, and for members that wait for nothing."""
        if self.stage is not None:
            self._judge(self.stage.broken())

    def teardown(self) -> None:
        """Heal everything; the group must come to rest, with nothing lost."""
        if self.stage is not None and not self._broken:
            self._judge(self.stage.settle())

    def _judge(self, broken: list[Violation]) -> None:
        if broken:
            self._broken = True
            note(_Drawing(self.world))
            raise AssertionError("; ".join(f"{each.rule}: {each.text}" for each in broken))

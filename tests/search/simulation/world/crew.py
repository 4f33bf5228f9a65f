"""Everybody in one run: lives of members, the producer, and what is journalled of faults.

Decides: which life of a member is the present one, and when each hears of new metadata.
Never: decides what a member does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from kgroup.assignors import BUILT_IN, Assignor
from kgroup.journal import BROKER, FaultStep, Phase, Source
from kgroup.membership.settings import MembershipSettings
from kgroup.testing.broker.groups.group import Group
from kgroup.testing.broker.groups.member import Member as Joined
from kgroup.types import TopicPartition
from tests.search.simulation.choices import Choices
from tests.search.simulation.plan import MemberPlan, Perturbation, Plan
from tests.search.simulation.recorder import Known, MemberSink, Recorder
from tests.search.simulation.world.application import Application
from tests.search.simulation.world.cluster import GROUP, Brokers
from tests.search.simulation.world.leading import Faltering
from tests.search.simulation.world.member import Member
from tests.search.simulation.world.process import Process
from tests.search.simulation.world.reading import Logs

_MARGIN: Final = 0.5
_REQUEST_TIMEOUT: Final = 5.0
_METADATA_AGE: Final = (0.1, 0.5, 1.0, 2.0)
_BATCH: Final = 3


@dataclass(frozen=True, slots=True)
class Life:
    """One life of one member."""

    plan: MemberPlan
    process: Process
    member: Member
    application: Application


class Crew:
    """Everybody.

    Args:
        plan: of the run.
        brokers: they talk to.
        recorder: takes their events.
        choices: the run's chance.
        known: learns which partitions there are, and where logs end; None when no oracle asks.

    `on_idle` is called with each life that a step has left without a timer, `on_start` with each
    that begins, before it does anything.
    """

    def __init__(
        self,
        plan: Plan,
        brokers: Brokers,
        recorder: Recorder,
        choices: Choices,
        known: Known | None = None,
    ) -> None:
        self.group_id: str = GROUP
        self.plan = plan
        self.brokers = brokers
        self.logs: Logs = Logs()
        self.on_idle: Callable[[Life], None] = _nothing_of
        self.on_start: Callable[[Life], None] = _nothing_of
        self.lives: dict[int, list[Life]] = {each.index: [] for each in plan.members}
        self._known = Known() if known is None else known
        self._known.partitions.update(brokers.counts())
        self._recorder = recorder
        self._choices = choices
        self._sink = MemberSink(recorder, self._source("world", "world.0"))
        brokers.sink = MemberSink(recorder, self._source(BROKER, BROKER))

    @property
    def everybody(self) -> list[Life]:
        """Every life that is not over, in order of members."""
        return [life for lives in self.lives.values() for life in lives if not life.process.dead]

    def living(self, index: int) -> Life | None:
        """Return the present life of a member, None without one that takes part."""
        lives = self.lives[index]
        if not lives or lives[-1].process.dead or lives[-1].member.over:
            return None
        return lives[-1]

    # -- beginnings and ends ---------------------------------------------------------------------

    def start(self, plan: MemberPlan) -> None:
        """Begin a life of a member."""
        lives = self.lives[plan.index]
        name = f"{plan.label}.{len(lives)}"
        sink = MemberSink(self._recorder, self._source(plan.label, name))
        process = Process(self.brokers, name, sink)
        process.reach.tell = partial(self._tell_now, plan.label)
        member = Member(self.brokers, process, plan, self._settings(plan))
        life = Life(plan, process, member, Application(member, self.logs))
        lives.append(life)
        member.on_idle = partial(self._idle, life)
        self.on_start(life)
        life.application.start()

    def start_another(self, index: int, *, twin: bool) -> bool:
        """Begin the first life of a member, or another one; return whether there was one."""
        if twin:
            life = self.living(index)
            if life is None or life.plan.instance is None:
                return False
            self.start(life.plan)
            return True
        waiting = [each for each in self.plan.members if not self.lives[each.index]]
        waiting = [each for each in waiting if each.starts_at is None]
        if waiting:
            self.start(waiting[0])
        return bool(waiting)

    def _idle(self, life: Life) -> None:
        self.on_idle(life)

    def kill(self, life: Life) -> None:
        """End a life without a word."""
        life.process.kill()

    def evict(self, life: Life) -> None:
        """Remove a member from the group, as an administrator does."""
        known = self._joined(life)
        if known is not None:
            self.brokers.shard.rounds.drop(*known)

    def renew(self, life: Life) -> None:
        """Begin a member's session anew, as an answer does that only tells of a round."""
        known = self._joined(life)
        if known is not None:
            self.brokers.shard.rounds.renew(*known)

    def _joined(self, life: Life) -> tuple[Group, Joined] | None:
        group = self.brokers.shard.groups.get(self.group_id)
        member_id = life.member.value.identity.member_id or ""
        if group is None or member_id not in group.members:
            return None
        return group, group.members[member_id]

    def _settings(self, plan: MemberPlan) -> MembershipSettings:
        return MembershipSettings(
            group_id=self.group_id,
            group_instance_id=plan.instance,
            assignors=tuple(map(self._assignor, self.plan.assignors)),
            session_timeout=self.plan.session_timeout,
            heartbeat_interval=self.plan.heartbeat_interval,
            rebalance_timeout=self.plan.rebalance_timeout,
            request_timeout=_REQUEST_TIMEOUT,
            lease_margin=min(_MARGIN, self.plan.session_timeout / 10),
        )

    def _assignor(self, name: str) -> Assignor:
        plain = BUILT_IN[name]
        return Faltering(plain, self.brokers.agenda) if self.plan.ambushes else plain

    def _source(self, label: str, name: str) -> Source:
        return Source(host="simulation", process=name, member=label, group=self.group_id)

    # -- the world -------------------------------------------------------------------------------

    def produce(self, count: int = _BATCH) -> None:
        """Write records to every partition."""
        counts = self.brokers.counts()
        tps = [TopicPartition(name, n) for name, width in counts.items() for n in range(width)]
        self.logs.append(tps, count)

    def tell_counts(self) -> None:
        """Let everybody hear how many partitions there are, each when its metadata is renewed."""
        counts = self.brokers.counts()
        self._known.partitions.clear()
        self._known.partitions.update(counts)
        for life in self.everybody:
            age = _METADATA_AGE[
                self._choices.choose(f"{life.process.name}/metadata", len(_METADATA_AGE))
            ]
            life.process.at(self.brokers.now + age, self._refresh, life)

    def _refresh(self, life: Life) -> None:
        life.member.learn(self.brokers.counts())

    def tell_fault(self, what: Perturbation, life: Life | None = None) -> None:
        """Write a perturbation into the journal."""
        target = "" if life is None else life.plan.label
        self._sink.emit(FaultStep(Phase.BEGIN, what.kind.name, target))
        end = self.brokers.now + what.seconds
        self.brokers.at(end, self._sink.emit, FaultStep(Phase.END, what.kind.name, target))

    def tell_ambush(self, name: str, target: str, seconds: float) -> None:
        """Write into the journal what is done to somebody from now on; "" concerns everybody."""
        self._tell_now(target, name, seconds)

    def _tell_now(self, target: str, fault: str, seconds: float) -> None:
        """Write into the journal that something asked for earlier has come true."""
        self._sink.emit(FaultStep(Phase.BEGIN, fault, target))
        end = FaultStep(Phase.END, fault, target)
        if seconds:
            self.brokers.at(self.brokers.now + seconds, self._sink.emit, end)
        else:
            self._sink.emit(end)

    def must_have_read(self, tp: TopicPartition) -> None:
        """Note that somebody owned a partition when the run ended: all of it must be read."""
        self._known.ends[tp] = self.logs.ends.get(tp, 0)


def _nothing_of(_: Life) -> None:
    """Stand for an observer of members."""

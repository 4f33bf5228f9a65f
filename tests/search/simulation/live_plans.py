"""Small written plans for whole consumers, and what their journals say."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, Entry, Event, RequestSent, RoundStored
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import RebalanceProtocol
from tests.search.simulation.live.run import play_live
from tests.search.simulation.plan import Kind, MemberPlan, Perturbation, Plan
from tests.search.simulation.schedule import Level, Outcome, Schedule

E = TypeVar("E", bound=Event)

AT = 6.3
"""When what a test is about strikes."""
SESSION, HEARTBEAT, REBALANCE = 3.0, 0.75, 4.0


def member(index: int, **options: Any) -> MemberPlan:
    """Return a member that starts early and reads `t0`."""
    plain = MemberPlan(index, None, 0.1 * index, ("t0",), commit_interval=1.0)
    return replace(plain, **options)


def plan(*perturbations: Perturbation, **options: Any) -> Plan:
    """Return a plan of two members, with nothing else happening than what is given."""
    plain = Plan(
        protocol=RebalanceProtocol.COOPERATIVE,
        assignors=("cooperative-sticky",),
        coordinator=CoordinatorKind.NEW,
        brokers=1,
        topics={"t0": 4},
        members=(member(0), member(1)),
        session_timeout=SESSION,
        heartbeat_interval=HEARTBEAT,
        rebalance_timeout=REBALANCE,
        latency=0.002,
        produce_every=1.0,
        perturbations=perturbations,
        quiet_at=9.0,
        ends_at=20.0,
    )
    return replace(plain, **options)


def played(
    kind: Kind,
    *,
    index: int = 1,
    seconds: float = 0.0,
    api: ApiKey | None = None,
    number: int = 1,
    **options: Any,
) -> "Played":
    """Play a plan in which one thing happens, at `AT`."""
    what = Perturbation(AT, kind, index, seconds, api, number)
    schedule = Schedule(Level.B, picks=())
    return Played(play_live(schedule, plan=plan(what, **options), keep=True))


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a plan, for looking at."""

    outcome: Outcome

    def of(
        self, kind: type[E], who: str = "", since: float = 0.0, until: float = 1e9
    ) -> Iterator[tuple[float, E]]:
        """Yield instant and event of a kind, of a life (`m1.0`), a member (`m1`) or everybody."""
        for entry in self.entries(who, since, until):
            if isinstance(entry.event, kind):
                yield entry.at, entry.event

    def entries(self, who: str, since: float = 0.0, until: float = 1e9) -> Iterator[Entry]:
        """Yield what somebody wrote."""
        for entry in self.outcome.entries:
            if entry.source.process.startswith(who) and since <= entry.at <= until:
                yield entry

    def sent(self, api: ApiKey, who: str, since: float = 0.0) -> list[float]:
        """Return when requests of an API were sent."""
        return [at for at, event in self.of(RequestSent, who, since) if event.api is api]

    def answered(self, api: ApiKey, who: str, since: float = 0.0) -> list[tuple[float, int | None]]:
        """Return when, and with which error, requests of an API were answered."""
        found = self.of(AnswerReceived, who, since)
        return [(at, event.error) for at, event in found if event.api is api]

    def rounds(self, since: float = 0.0) -> list[tuple[float, int]]:
        """Return when rounds were stored, and how many members each had."""
        return [(at, len(event.members)) for at, event in self.of(RoundStored, "", since)]

    @property
    def last_round(self) -> RoundStored:
        """The round that stood in the end, before everybody closed."""
        return [event for _, event in self.of(RoundStored, "", 0.0, self.outcome.plan.ends_at)][-1]

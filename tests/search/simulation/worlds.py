"""Plans written by hand, and what their journals are asked."""

from dataclasses import replace
from typing import TypeVar

from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import RebalanceProtocol
from tests.search.simulation.plan import MemberPlan, Perturbation, Plan
from tests.search.simulation.schedule import Level, Outcome, Schedule
from tests.search.simulation.world.run import play_objects

E = TypeVar("E")

STATIC = 2


def calm() -> Plan:
    """Return a group of three, the last of them static, to which nothing happens."""
    members = [MemberPlan(n, f"i{n}" if n == STATIC else None, 0.1 * n, ("t0",)) for n in range(3)]
    members = [replace(each, commit_interval=1.0) for each in members]
    return Plan(
        protocol=RebalanceProtocol.COOPERATIVE,
        assignors=("cooperative-sticky",),
        coordinator=CoordinatorKind.NEW,
        brokers=2,
        topics={"t0": 6},
        members=(*members, MemberPlan(3, None, None, ("t0",))),
        session_timeout=6.0,
        heartbeat_interval=1.0,
        rebalance_timeout=9.0,
        latency=0.01,
        produce_every=0.5,
        perturbations=(),
        quiet_at=20.0,
        ends_at=45.0,
    )


def wide() -> Plan:
    """Return the calm group with a second topic, which all of them read."""
    plan, topics = calm(), {"t0": 6, "t1": 2}
    members = tuple(replace(each, topics=tuple(topics)) for each in plan.members)
    return replace(plan, topics=topics, members=members)


def struck(*what: Perturbation) -> Plan:
    """Return the calm group with perturbations."""
    return replace(calm(), perturbations=what)


def played(plan: Plan, level: Level = Level.A) -> Outcome:
    """Play a plan in which all chance is the tamest."""
    return play_objects(Schedule(level, picks=()), plan=plan, keep=True)


def events(outcome: Outcome, kind: type[E], member: str = "") -> list[E]:
    """Return events of a kind, in order.

    Args:
        outcome: of a run that kept its journal.
        kind: class of the events.
        member: label of the member, "" for all.
    """
    return [
        entry.event
        for entry in outcome.entries
        if isinstance(entry.event, kind) and member in ("", entry.source.member)
    ]

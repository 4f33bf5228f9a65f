"""What a named schedule is.

Decides: how one is written down: plans with exact instants for several kinds of groups, what must
have happened in each, what must hold besides the promises every run is judged by, and a fault that
shows that the schedule can fail.
Never: plays one; `test_named` does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import RebalanceProtocol
from tests.search.simulation.named.tale import Tale
from tests.search.simulation.plan import MemberPlan, Perturbation, Plan, end_of_tail
from tests.search.simulation.schedule import Level

_NEW, _OLD = CoordinatorKind.NEW, CoordinatorKind.OLD


@dataclass(frozen=True, slots=True)
class Setting:
    """The kind of group that a plan is made for.

    Args:
        protocol: eager or cooperative.
        latency: of one way, seconds; a round trip is twice that.
        static: whether members have an instance id.
        coordinator: old or new rules.
        level: A or A'.
    """

    protocol: RebalanceProtocol
    latency: float = 0.01
    static: bool = False
    coordinator: CoordinatorKind = _NEW
    level: Level = Level.A

    @property
    def eager(self) -> bool:
        """Whether all is given up in every round."""
        return self.protocol is RebalanceProtocol.EAGER

    def __str__(self) -> str:
        static = " static" if self.static else ""
        kind = self.coordinator.name.lower()
        return f"{self.protocol.value}{static} {kind} {self.latency:g} {self.level.value}"


EAGER: Final = Setting(RebalanceProtocol.EAGER)
COOPERATIVE: Final = Setting(RebalanceProtocol.COOPERATIVE)
STATIC: Final = replace(COOPERATIVE, static=True)

COOPERATIVES: Final = (
    COOPERATIVE,
    replace(COOPERATIVE, latency=0.05, coordinator=_OLD),
    replace(COOPERATIVE, latency=0.002, level=Level.A_BYTES),
)
EVERY: Final = (*COOPERATIVES, EAGER, replace(EAGER, latency=0.05, coordinator=_OLD), STATIC)
STATICS: Final = (STATIC, replace(EAGER, static=True), replace(STATIC, coordinator=_OLD))


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in one module, as `tests.search.mutants` writes it.

    Args:
        module: dotted name.
        old: source that occurs there exactly once.
        new: what stands there instead.
    """

    module: str
    old: str
    new: str


def _always(_: Tale) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One schedule with a name.

    Args:
        name: tells the symptom as a sentence; unlike any other's.
        of: keys of `catalogue` that it stands for, at least one.
        plan: makes the plan for a kind of group.
        happened: whether what it is about took place; judged in every setting.
        kept: what must hold besides the promises; judged in every setting.
        settings: kinds of groups.
        faults: with all of them at once at least one setting breaks one of the promises, or does
            not keep what must hold besides; each names a mutant in `tests.search.mutants.listed`.
        others: names of mutants, planted one by one, with which promises are broken as well.
        promises: ids of what a run is judged by; each is broken here by `faults` or by one of the
            others. None: the fault is seen by what must hold besides, and by nothing else that
            is about it.
    """

    name: str
    of: tuple[str, ...]
    plan: Callable[[Setting], Plan]
    happened: Callable[[Tale], bool]
    kept: Callable[[Tale], bool] = _always
    settings: tuple[Setting, ...] = EVERY
    faults: tuple[Fault | str, ...]
    others: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()


def member(
    setting: Setting, index: int, starts_at: float | None = 0.0, **habits: object
) -> MemberPlan:
    """Return a member that reads everything.

    Args:
        setting: says whether it is static.
        index: its number.
        starts_at: instant; None when a perturbation starts it.
        habits: as in `MemberPlan`.
    """
    instance = f"i{index}" if setting.static else None
    plain = MemberPlan(index, instance, starts_at, ("t0",))
    return replace(plain, **habits)  # type: ignore[arg-type]  # each has its own type


def group(
    setting: Setting,
    members: tuple[MemberPlan, ...],
    *perturbations: Perturbation,
    **fields: object,
) -> Plan:
    """Return a plan with session 6 s, heartbeats every 2 s and rebalance timeout 9 s.

    Args:
        setting: the kind of group.
        members: all of them; with the broker's initial delay the group stands at about 3.2 s.
        perturbations: in order of time.
        fields: of the plan that differ.
    """
    plan = Plan(
        protocol=setting.protocol,
        assignors=("range",) if setting.eager else ("cooperative-sticky",),
        coordinator=setting.coordinator,
        brokers=2,
        topics={"t0": 4},
        members=members,
        session_timeout=6.0,
        heartbeat_interval=2.0,
        rebalance_timeout=9.0,
        latency=setting.latency,
        produce_every=1.0,
        perturbations=tuple(sorted(perturbations, key=lambda each: each.at)),
        quiet_at=max((each.at + each.seconds for each in perturbations), default=0.0) + 2.0,
        ends_at=0.0,
    )
    plan = replace(plan, **fields)  # type: ignore[arg-type]
    if plan.ends_at:
        return plan
    ends_at = end_of_tail(plan.quiet_at, plan.session_timeout, plan.rebalance_timeout)
    return replace(plan, ends_at=ends_at)

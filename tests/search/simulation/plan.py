"""What is drawn for one run, before it begins: the group, its application, what will happen to it.

Decides: the values a run is made from.
Never: draws them (`drawing` does); says how a level carries them out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import Leave, RebalanceProtocol
from tests.search.simulation.ambush import Ambush
from tests.search.simulation.ordering import Order
from tests.search.simulation.perturbation import Perturbation

__all__ = ["CommitHabit", "MemberPlan", "Plan", "end_of_tail"]

_SETTLING: Final = 5.0


class CommitHabit(Enum):
    """When an application commits."""

    AUTO = "every `commit_interval`, and before it gives something up"
    EACH_BATCH = "after each batch"


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """One member and its application; times in seconds.

    Args:
        index: its number; its label is `m` and the number.
        instance: group.instance.id, None for a dynamic member.
        starts_at: instant; None when a `Kind.JOIN` starts it.
        topics: it subscribes to.
        poll_every: between two reads that found nothing.
        handling: that a batch is in the application's hands.
        listener: that each call of the listener takes.
        habit: when it commits.
        commit_interval: for `CommitHabit.AUTO`.
        luck: spreads its retries, in [0, 1).
        leave: what it tells the coordinator when it closes (KIP-1092).
    """

    index: int
    instance: str | None
    starts_at: float | None
    topics: tuple[str, ...]
    poll_every: float = 0.5
    handling: float = 0.0
    listener: float = 0.0
    habit: CommitHabit = CommitHabit.AUTO
    commit_interval: float = 5.0
    luck: float = 0.5
    leave: Leave = Leave.DEFAULT

    @property
    def label(self) -> str:
        """What it is called in the journal."""
        return f"m{self.index}"

    def __str__(self) -> str:
        starts = "later" if self.starts_at is None else f"{self.starts_at:.3f}"
        static = "" if self.instance is None else f" static {self.instance}"
        leaves = ", leaves when it closes" if self.leave is Leave.LEAVE else ""
        return (
            f"{starts} {self.label}{static} reads {', '.join(self.topics)}; in hand "
            f"{self.handling:g} s, listener {self.listener:g} s, commits {self.habit.value}{leaves}"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """One run; times in seconds.

    Args:
        protocol: eager or cooperative.
        assignors: names, the same for all members.
        coordinator: old or new rules.
        brokers: how many.
        topics: name -> partitions.
        members: those that start by themselves or by `Kind.JOIN`.
        session_timeout: of all members.
        heartbeat_interval: of all members.
        rebalance_timeout: of all members; also how long they may go without polling.
        latency: of one way, the plain one; jitter comes on top.
        produce_every: between two times that every partition is written to, until `quiet_at`:
            three records each at levels A and A', one at B and C.
        perturbations: in order of time.
        quiet_at: nothing is perturbed any more from here on.
        ends_at: by then the group must have come to rest.
        order: of members, by which messages are faster or slower; None = jitter decides. Level C
            has the network's own.
        ambushes: in order of the time at which they are laid; levels A and A'.
    """

    protocol: RebalanceProtocol
    assignors: tuple[str, ...]
    coordinator: CoordinatorKind
    brokers: int
    topics: Mapping[str, int]
    members: tuple[MemberPlan, ...]
    session_timeout: float
    heartbeat_interval: float
    rebalance_timeout: float
    latency: float
    produce_every: float
    perturbations: tuple[Perturbation, ...]
    quiet_at: float
    ends_at: float
    order: Order | None = None
    ambushes: tuple[Ambush, ...] = ()

    def __str__(self) -> str:
        times = (
            f"session {self.session_timeout:g} s, heartbeat {self.heartbeat_interval:g} s, "
            f"rebalance {self.rebalance_timeout:g} s, one way {self.latency:g} s"
        )
        lines = [
            f"{self.protocol.value}, {', '.join(self.assignors)}",
            f"{self.coordinator.name.lower()} coordinator, {self.brokers} broker(s); {times}",
            ", ".join(f"{topic}: {count}" for topic, count in self.topics.items()),
            *map(str, self.members),
            *([] if self.order is None else [str(self.order)]),
            *map(str, self.perturbations),
            *map(str, self.ambushes),
            f"quiet from {self.quiet_at:.3f} to {self.ends_at:.3f}",
        ]
        return "\n".join(lines)


def end_of_tail(quiet_at: float, session_timeout: float, rebalance_timeout: float) -> float:
    """Return when a group must have come to rest; seconds.

    Args:
        quiet_at: when the last perturbation is over.
        session_timeout: of its members; whoever is gone is noticed.
        rebalance_timeout: of its members; a round that waits for somebody, and part of the next.
    """
    return quiet_at + session_timeout + 1.5 * rebalance_timeout + _SETTLING

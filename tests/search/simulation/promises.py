"""Which promises are judged of a run.

Decides: which oracles fit a plan. What the group reads, and where logs end, is known only while a
run goes on; oracles look at it when they need it.
Never: judges.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.audit.oracles import Oracle
from kgroup.types import TopicPartition
from tests.search.oracles import simulation_oracles
from tests.search.oracles.commit_timing import AutoCommitBehindPoll
from tests.search.simulation.plan import CommitHabit, Plan

__all__ = ["Known", "promises"]

_BEHIND: Final = "auto_commit_behind_poll"


@dataclass(slots=True)
class Known:
    """What oracles are told while a run goes on.

    Args:
        partitions: topic -> partitions, of topics that are there.
        ends: partition -> offset after its last record, of those that must have been read.
    """

    partitions: dict[str, int] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)


def promises(plan: Plan, known: Known, without: Collection[str] = ()) -> Mapping[str, Oracle]:
    """Return fresh oracles for a plan.

    Args:
        plan: of the run.
        known: filled while the run goes on.
        without: names of oracles to leave out.
    """
    by_itself = all(member.habit is CommitHabit.AUTO for member in plan.members)
    judges = simulation_oracles(
        partitions=known.partitions,
        ends=known.ends,
        clean_handover=by_itself,
        # Judged on the living members, who may have subscribed to other topics.
        without=("recovers", *without),
    )
    if by_itself and _BEHIND in judges:
        # Nobody says that it is done with records but by the next poll.
        return {**judges, _BEHIND: AutoCommitBehindPoll()}
    return judges

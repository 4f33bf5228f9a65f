"""Which oracles suit which kind of run.

Decides: the sets; every call makes fresh oracles.
Never: judges.

Those of one set share what they follow, the periods of ownership: an entry is shown to all of them
before the next one is, as `Watch` and `judge` do.
"""

from collections.abc import Collection, Mapping

from kgroup.audit.oracles.answers import AnswersInTime, MemberIds
from kgroup.audit.oracles.balance import Balanced
from kgroup.audit.oracles.callbacks import (
    ListenerEnds,
    ListenerSerial,
    OwnershipAlternates,
    TakenBeforeAdded,
)
from kgroup.audit.oracles.closing import ClosesWell
from kgroup.audit.oracles.commit_done import CommitsOnlyDone
from kgroup.audit.oracles.commit_identity import CommitIdentity
from kgroup.audit.oracles.commit_order import CommitOrder
from kgroup.audit.oracles.commit_timing import AutoCommitBehindPoll, CommitsBeforeJoin
from kgroup.audit.oracles.cooperative import FewRounds, KeptUntouched
from kgroup.audit.oracles.coverage import NothingLost
from kgroup.audit.oracles.delivery_order import DeliveryOrder
from kgroup.audit.oracles.duplicates import BoundedDuplicates
from kgroup.audit.oracles.fairness import ServedInTurn
from kgroup.audit.oracles.fenced import FencedSilent
from kgroup.audit.oracles.gate import DeliveryGate, FetchedUnderClaim
from kgroup.audit.oracles.generations import OneOwnerPerGeneration
from kgroup.audit.oracles.handover import JoinClaims
from kgroup.audit.oracles.heartbeats import Heartbeats
from kgroup.audit.oracles.jumps import NoSilentJump
from kgroup.audit.oracles.lease import LeaseHeld
from kgroup.audit.oracles.outage import OutageUnnoticed
from kgroup.audit.oracles.outcomes import TrueOutcomes
from kgroup.audit.oracles.ownership import OneOwnerInTime
from kgroup.audit.oracles.pace import NoStorm
from kgroup.audit.oracles.poll_gap import PollGap
from kgroup.audit.oracles.recovery import Recovers
from kgroup.audit.oracles.rounds import RoundRules
from kgroup.audit.oracles.static import StaticUnnoticed
from kgroup.audit.oracles.static_leader import OnlyLeadersAssign
from kgroup.audit.oracles.stored import StoredCommits
from kgroup.audit.oracles.stored_done import StoredIsDone
from kgroup.audit.oracles.violation import Oracle
from kgroup.errors import ConfigError
from kgroup.journal.periods import Periods
from kgroup.types import TopicPartition

__all__ = ["at_least_once", "simulation_oracles"]


def at_least_once(
    *,
    ends: Mapping[TopicPartition, int] | None = None,
    sparse: frozenset[str] = frozenset(),
    clean_handover: bool = True,
    few_rounds: bool = True,
    slack: float = 0.0,
) -> tuple[Oracle, ...]:
    """Return fresh oracles for everything that at-least-once consumers promise.

    Args:
        ends: partition -> offset after its last record, for a run that has come to rest.
        sparse: topics with offsets that consumers do not see.
        clean_handover: judge D5; False when the application commits by hand, or not at all.
        few_rounds: judge K2; False on a real machine, where members that release at different
            moments may each need a round.
        slack: seconds forgiven to the lease, for logs of a real machine.
    """
    periods = Periods()
    return (
        OneOwnerPerGeneration(),
        OneOwnerInTime(periods),
        LeaseHeld(slack),
        JoinClaims(periods),
        DeliveryGate(periods),
        FetchedUnderClaim(),
        CommitIdentity(periods),
        CommitOrder(),
        CommitsOnlyDone(sparse),
        DeliveryOrder(sparse),
        NothingLost(ends, sparse),
        BoundedDuplicates(clean_handover=clean_handover, periods=periods),
        KeptUntouched(periods),
        *((FewRounds(),) if few_rounds else ()),
        StaticUnnoticed(),
        FencedSilent(),
        ListenerSerial(),
        OwnershipAlternates(),
    )


def simulation_oracles(
    *,
    partitions: Mapping[str, int] | None = None,
    ends: Mapping[TopicPartition, int] | None = None,
    ends_at: float | None = None,
    bound: float = 60.0,
    clean_handover: bool = True,
    without: Collection[str] = (),
) -> Mapping[str, Oracle]:
    """Return a fresh oracle for every promise that events can show, by name.

    What lives while a run goes on, `partitions` and `ends`, is looked at when it is needed: a
    simulation may go on changing what it gave.

    Args:
        partitions: topic -> how many partitions it has, of the topics the group reads. None: what
            needs it (that every partition is handed out, and owned in the end) is not judged.
        ends: partition -> offset after its last record, as it is when the run is over. None: the
            ends of logs are not judged.
        ends_at: monotonic seconds at which the run is over.
        bound: seconds after the last disturbance in which the group must have come back (L1).
        clean_handover: judge D5; False when an application commits by hand, or not at all.
        without: names to leave out.

    Raises:
        ConfigError: `without` names an oracle that there is not.
    """
    periods = Periods()
    oracles = {
        **_of_ownership(periods, partitions, ends_at),
        **_of_commits(periods),
        **_of_records(periods, ends, clean_handover=clean_handover),
        "recovers": Recovers(partitions, bound=bound, ends=ends, ends_at=ends_at, periods=periods),
        **_of_life(),
    }
    unknown = sorted(set(without) - oracles.keys())
    if unknown:
        raise ConfigError("without", ", ".join(unknown), f"names among {', '.join(oracles)}")
    return {name: oracle for name, oracle in oracles.items() if name not in without}


def _of_ownership(
    periods: Periods, partitions: Mapping[str, int] | None, ends_at: float | None
) -> dict[str, Oracle]:
    return {
        "one_owner_per_generation": OneOwnerPerGeneration(),
        "one_owner_in_time": OneOwnerInTime(periods),
        "lease_held": LeaseHeld(),
        "join_claims": JoinClaims(periods),
        "round_rules": RoundRules(partitions),
        "delivery_gate": DeliveryGate(periods),
        "fetched_under_claim": FetchedUnderClaim(),
        "answers_in_time": AnswersInTime(),
        "member_ids": MemberIds(),
        "kept_untouched": KeptUntouched(periods),
        "few_rounds": FewRounds(),
        "balanced": Balanced(ends_at=ends_at),
        "static_unnoticed": StaticUnnoticed(),
        "fenced_silent": FencedSilent(),
        "only_leaders_assign": OnlyLeadersAssign(),
    }


def _of_commits(periods: Periods) -> dict[str, Oracle]:
    return {
        "commit_identity": CommitIdentity(periods),
        "commit_order": CommitOrder(),
        "stored_commits": StoredCommits(),
        "commits_only_done": CommitsOnlyDone(),
        "commits_before_join": CommitsBeforeJoin(),
        "auto_commit_behind_poll": AutoCommitBehindPoll(explicit=True),
        "true_outcomes": TrueOutcomes(),
    }


def _of_records(
    periods: Periods, ends: Mapping[TopicPartition, int] | None, *, clean_handover: bool
) -> dict[str, Oracle]:
    return {
        "nothing_lost": NothingLost(ends),
        "stored_is_done": StoredIsDone(),
        "delivery_order": DeliveryOrder(),
        "bounded_duplicates": BoundedDuplicates(clean_handover=clean_handover, periods=periods),
        "no_silent_jump": NoSilentJump(),
        "served_in_turn": ServedInTurn(),
    }


def _of_life() -> dict[str, Oracle]:
    return {
        "heartbeats": Heartbeats(),
        "no_storm": NoStorm(),
        "poll_gap": PollGap(),
        "outage_unnoticed": OutageUnnoticed(),
        "closes_well": ClosesWell(),
        "listener_serial": ListenerSerial(),
        "ownership_alternates": OwnershipAlternates(),
        "taken_before_added": TakenBeforeAdded(),
        "listener_ends": ListenerEnds(),
    }

"""The catalogue of promises: each with the oracle that judges it, or where else it is judged.

Decides: nothing; it says who decides what.
Never: leaves a promise out, even one that events cannot show.

The ids are grouped by letter: S ownership, C commits, D delivery, K cooperative and T static
members, E the consumer protocol (KIP-848), L liveness and resources, B callbacks.
"""

from dataclasses import dataclass
from typing import Final

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
from kgroup.journal.events import Event

__all__ = ["CATALOGUE", "Promise", "kinds_of"]


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise and who judges it.

    Args:
        rule: its id.
        text: the promise in a few words.
        oracles: the classes that judge it by events; empty where events cannot show it.
        elsewhere: what of it is judged elsewhere, where and why; "" for nothing.
    """

    rule: str
    text: str
    oracles: tuple[type[Oracle], ...] = ()
    elsewhere: str = ""


def kinds_of(oracle: type[Oracle]) -> frozenset[type[Event]] | None:
    """Return the events an oracle looks at, None when it looks at all."""
    kinds: frozenset[type[Event]] | None = getattr(oracle, "KINDS", None)
    return kinds


_OWNERSHIP: Final = (
    Promise("S1", "one owner per partition and generation", (OneOwnerPerGeneration, RoundRules)),
    Promise("S2", "one owner per partition at any time", (OneOwnerInTime,)),
    Promise("S3", "no delivery after the lease", (LeaseHeld,)),
    Promise("S4", "what is held is handed back, or listed, before a join", (JoinClaims,)),
    Promise("S5", "a cooperative leader adds only what nobody owns", (RoundRules,)),
    Promise("S6", "delivery only while owned and not paused", (DeliveryGate,)),
    Promise(
        "S7", "records are delivered under the claim they were fetched under", (FetchedUnderClaim,)
    ),
    Promise("S8", "late answers change nothing but their own request", (AnswersInTime,)),
    Promise("S9", "after a loss nothing is claimed, under the right id", (JoinClaims, MemberIds)),
    Promise(
        "S10",
        "a round names only what the leader was given",
        (RoundRules,),
        "that an assignor fails its round: `tests/consumer/test_classic_backend_assigning.py`",
    ),
)

_COMMITS: Final = (
    Promise("C1", "accepted commits are of the present generation", (StoredCommits,)),
    Promise("C2", "no commit without generation and member id", (CommitIdentity,)),
    Promise("C3", "accepted offsets do not decrease", (CommitOrder, StoredCommits)),
    Promise("C4", "only what is done is committed", (CommitsOnlyDone,)),
    Promise("C5", "only what is owned is committed", (CommitIdentity,)),
    Promise("C6", "one outcome, and an unknown one is repeated with care", (CommitOrder,)),
    Promise("C7", "a new owner reads what was committed", (CommitOrder, StoredCommits)),
    Promise(
        "C8",
        "commits of what is revoked are settled before the join",
        (CommitsBeforeJoin,),
        "that REBALANCE_IN_PROGRESS is not fatal to a commit: "
        "`tests/consumer/test_classic_backend_commits.py`",
    ),
    Promise("C9", "automatic commits stay behind the newest poll", (AutoCommitBehindPoll,)),
    Promise(
        "C10",
        "outcomes are true for each partition, epochs survive",
        (TrueOutcomes,),
        "that metadata survives, which events do not carry: `tests/consumer/test_committing.py`",
    ),
)

_DELIVERY: Final = (
    Promise("D1", "nothing is lost, at the end and below each commit", (NothingLost, StoredIsDone)),
    Promise("D2", "offsets rise within a claim, without gaps", (DeliveryOrder,)),
    Promise("D3", "a claim starts at the offset that was read", (DeliveryOrder,)),
    Promise(
        "D4",
        "at most once, where the commit comes first",
        elsewhere="nowhere yet: there is no such mode of delivery",
    ),
    Promise("D5", "no duplicates after a clean handover", (BoundedDuplicates,)),
    Promise("D6", "duplicates after a crash lie above the last commit", (BoundedDuplicates,)),
    Promise(
        "D7",
        "no aborted or open record with read_committed",
        elsewhere="with records of real transactions, which events do not carry: "
        "`tests/real/test_logs.py`",
    ),
    Promise("D8", "positions never jump silently", (NoSilentJump,)),
    Promise(
        "D9",
        "the payload is what was produced",
        elsewhere="with records, which events do not carry: `tests/wire/records`, "
        "`tests/real/test_logs.py`",
    ),
)

_MODES: Final = (
    Promise("K1", "kept partitions see nothing of a round", (KeptUntouched,)),
    Promise("K2", "few generations per disturbance", (FewRounds,)),
    Promise(
        "K3",
        "a group at rest is balanced",
        (Balanced,),
        "the number of moves, against references: `tests/assignors`",
    ),
    Promise("T1", "a static restart within the session disturbs nobody", (StaticUnnoticed,)),
    Promise("T2", "a fenced member falls silent", (FencedSilent,)),
    Promise(
        "T3",
        "only leaders assign, and not when told to skip it",
        (OnlyLeadersAssign,),
        "that a leader that skipped it still notices new partitions: "
        "`tests/membership/test_static.py`",
    ),
    Promise("E1", "member epochs only rise", elsewhere="nowhere yet: KIP-848 is not spoken"),
    Promise(
        "E2",
        "nothing is delivered before it is acknowledged",
        elsewhere="nowhere yet: KIP-848 is not spoken",
    ),
    Promise(
        "E3",
        "fenced epochs are lost, stale ones refreshed",
        elsewhere="nowhere yet: KIP-848 is not spoken",
    ),
    Promise(
        "E4",
        "a newcomer waits for an unreleased instance id",
        elsewhere="nowhere yet: KIP-848 is not spoken",
    ),
)

_LIVENESS: Final = (
    Promise("L1", "after the last fault the group comes back", (Recovers,)),
    Promise(
        "L2",
        "nobody waits for nothing",
        elsewhere="on the living machine after each step of a simulation, whose timers and "
        "requests are no events: `tests/search/simulation/world/verdicts.py`",
    ),
    Promise("L3", "heartbeats come when they should", (Heartbeats,)),
    Promise(
        "L4",
        "no storm of requests",
        (NoStorm,),
        "that pauses grow, with jitter: `tests/net/test_decisions.py`",
    ),
    Promise("L5", "whoever does not poll gives up its place", (PollGap,)),
    Promise("L6", "a short outage of the coordinator costs no generation", (OutageUnnoticed,)),
    Promise("L7", "closing is bounded, and told", (ClosesWell,)),
    Promise(
        "L8",
        "cancelling is safe, and no answer is dropped",
        (TrueOutcomes,),
        "the cancelling itself: `tests/consumer/test_cancellation.py`",
    ),
    Promise(
        "L9",
        "every error has its reaction",
        elsewhere="one by one, from the table: `tests/bad_input/sweeps/test_errors.py`",
    ),
    Promise("L10", "no partition starves", (ServedInTurn,)),
    Promise(
        "L11",
        "nothing is left after close",
        elsewhere="with tasks and sockets, which end after the last event: every test fails on one "
        "that is left; that memory does not grow is judged nowhere yet",
    ),
)

_CALLBACKS: Final = (
    Promise(
        "B1", "calls are serial, and take before they give", (ListenerSerial, TakenBeforeAdded)
    ),
    Promise("B2", "assigned, then revoked or lost, in turn", (OwnershipAlternates,)),
    Promise("B3", "nothing is delivered meanwhile", (DeliveryGate,)),
    Promise("B4", "a listener that raises stops nothing", (ListenerSerial,)),
    Promise("B5", "heartbeats go on while a listener runs", (Heartbeats,)),
    Promise(
        "B6",
        "every call works inside a listener",
        elsewhere="with a listener that calls: `tests/consumer/test_listener.py`",
    ),
    Promise("B7", "cancelling a listener counts as raising", (ListenerEnds,)),
    Promise(
        "B8",
        "a loss commits nothing",
        (CommitIdentity,),
        "reported as C5: a claim that is lost is not committed",
    ),
)

CATALOGUE: Final = (
    *_OWNERSHIP,
    *_COMMITS,
    *_DELIVERY,
    *_MODES,
    *_LIVENESS,
    *_CALLBACKS,
)
"""Every promise, in the order of the documentation."""

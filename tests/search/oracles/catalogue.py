"""Every promise, one row each, and the sets of oracles for each kind of run.

Decides: which oracle judges which promise, and which sets of oracles there are.
Never: judges, or leaves a promise out, even one that events cannot show.

The rows of `kgroup.audit.oracles.promises` are part of this table; here stand the others, and what
the searches ask besides. The letter E groups the promises of the consumer protocol (KIP-848).
The oracles of one set share one follower of the periods of ownership: show an entry to all of them
before the next entry, as `Watch` and `judge` do.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from kgroup.audit.oracles import (
    Balanced,
    BoundedDuplicates,
    NothingLost,
    Oracle,
)
from kgroup.audit.oracles.promises import PROMISES, Promise, oracles_of
from kgroup.errors import ConfigError
from kgroup.types import TopicPartition
from tests.search.oracles.answers import AnswersInTime
from tests.search.oracles.closing import ClosesWell
from tests.search.oracles.commit_done import CommitsOnlyDone
from tests.search.oracles.commit_identity import CommitIdentity
from tests.search.oracles.commit_timing import AutoCommitBehindPoll, CommitsBeforeJoin
from tests.search.oracles.cooperative import KeptUntouched
from tests.search.oracles.fairness import ServedInTurn
from tests.search.oracles.fenced import FencedSilent
from tests.search.oracles.few_rounds import FewRounds
from tests.search.oracles.handover import JoinClaims
from tests.search.oracles.jumps import NoSilentJump
from tests.search.oracles.lease import LeaseHeld
from tests.search.oracles.listener_calls import ListenerEnds, ListenerSerial
from tests.search.oracles.member_ids import MemberIds
from tests.search.oracles.outage import OutageUnnoticed
from tests.search.oracles.outcomes import TrueOutcomes
from tests.search.oracles.ownership_changes import OwnershipAlternates, TakenBeforeAdded
from tests.search.oracles.pace import NoStorm
from tests.search.oracles.poll_gap import PollGap
from tests.search.oracles.recovery import Recovers
from tests.search.oracles.rounds import RoundRules
from tests.search.oracles.static_leader import OnlyLeadersAssign
from tests.search.oracles.stored import StoredCommits
from tests.search.oracles.stored_done import StoredIsDone

_SEARCHED: Final = (
    Promise("S3", "no delivery after the lease", (LeaseHeld,), real=True),
    Promise("S4", "what is held is given back or listed before a join", (JoinClaims,), real=True),
    Promise("S5", "a cooperative leader adds only what nobody owns", (RoundRules,)),
    Promise("S8", "late answers change nothing but their own request", (AnswersInTime,)),
    Promise("S9", "after a loss nothing is claimed, under the right id", (JoinClaims, MemberIds)),
    Promise(
        "S10",
        "a round names only what the leader was given",
        (RoundRules,),
        "that an assignor fails its round: `tests/consumer/test_classic_backend_assigning.py`",
    ),
    Promise("C1", "accepted commits are of the present generation", (StoredCommits,)),
    Promise("C2", "no commit without generation and member id", (CommitIdentity,), real=True),
    Promise("C4", "only what is done is committed", (CommitsOnlyDone,), real=True),
    Promise("C5", "only what is owned is committed", (CommitIdentity,)),
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
    Promise(
        "D4",
        "at most once, where the commit comes first",
        elsewhere="nowhere yet: there is no such mode of delivery",
    ),
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
    Promise("K1", "kept partitions see nothing of a round", (KeptUntouched,), real=True),
    Promise("K2", "few generations per disturbance", (FewRounds,), real=True),
    Promise("T2", "a fenced member falls silent", (FencedSilent,), real=True),
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
    Promise("L1", "after the last fault the group comes back", (Recovers,)),
    Promise(
        "L2",
        "nobody waits for nothing",
        elsewhere="on the living machine after each step of a simulation, whose timers and "
        "requests are no events: `tests/search/simulation/world/run.py`",
    ),
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
    Promise(
        "B1", "calls are serial, and take before they give", (ListenerSerial, TakenBeforeAdded)
    ),
    Promise("B2", "assigned, then revoked or lost, in turn", (OwnershipAlternates,), real=True),
    Promise("B4", "a listener that raises stops nothing", (ListenerSerial,), real=True),
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
"""Promises that only searches judge, or none by events."""

_BESIDES: Final[Mapping[str, tuple[type[Oracle], ...]]] = {
    "S1": (RoundRules,),
    "C3": (StoredCommits,),
    "C7": (StoredCommits,),
    "D1": (StoredIsDone,),
}
"""What searches ask about promises of the users' table besides: they know what was stored."""

_LETTERS: Final = "SCDKTELB"


def _place(promise: Promise) -> tuple[int, int]:
    return _LETTERS.index(promise.rule[0]), int(promise.rule[1:])


CATALOGUE: Final = tuple(
    replace(promise, oracles=(*promise.oracles, *_BESIDES.get(promise.rule, ())))
    for promise in sorted((*PROMISES, *_SEARCHED), key=_place)
)
"""Every promise, in the order of the documentation."""


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

    An oracle looks at `partitions` and `ends` when it needs them: a simulation may go on changing
    them.

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
        ConfigError: `without` names an oracle that does not exist.
    """
    oracles = oracles_of(
        CATALOGUE,
        {
            RoundRules: {"partitions": partitions},
            Balanced: {"ends_at": ends_at},
            AutoCommitBehindPoll: {"explicit": True},
            NothingLost: {"ends": ends},
            BoundedDuplicates: {"clean_handover": clean_handover},
            Recovers: {"partitions": partitions, "bound": bound, "ends": ends, "ends_at": ends_at},
        },
    )
    unknown = sorted(set(without) - oracles.keys())
    if unknown:
        raise ConfigError("without", ", ".join(unknown), f"names among {', '.join(oracles)}")
    return {name: oracle for name, oracle in oracles.items() if name not in without}


def members_oracles(
    *,
    ends: Mapping[TopicPartition, int] | None = None,
    clean_handover: bool = True,
    few_rounds: bool = True,
    slack: float = 0.0,
) -> Mapping[str, Oracle]:
    """Return a fresh oracle for everything that logs of real members prove, by name.

    Args:
        ends: partition -> offset after its last record, for a run that has come to rest.
        clean_handover: judge D5; False when the application commits by hand, or not at all.
        few_rounds: judge K2; False on a real machine, where members that release at different
            moments may each need a round.
        slack: seconds forgiven to the lease, and to the turn of an event loop in which a member is
            fenced, for logs of a real machine.
    """
    oracles = oracles_of(
        [promise for promise in CATALOGUE if promise.real],
        {
            FencedSilent: {"slack": slack},
            LeaseHeld: {"slack": slack},
            NothingLost: {"ends": ends},
            BoundedDuplicates: {"clean_handover": clean_handover},
        },
    )
    return {name: each for name, each in oracles.items() if few_rounds or name != "few_rounds"}

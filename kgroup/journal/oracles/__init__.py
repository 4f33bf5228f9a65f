"""The promises of a consumer group, each as an oracle over the event log.

Decides: which promises are judged, and which set suits a kind of run.
Never: reads a file or asks a broker; simulation shows entries as they happen, an audit afterwards.
"""

from kgroup.journal.oracles.answers import AnswersInTime, MemberIds
from kgroup.journal.oracles.balance import Balanced
from kgroup.journal.oracles.callbacks import (
    ListenerEnds,
    ListenerSerial,
    OwnershipAlternates,
    TakenBeforeAdded,
)
from kgroup.journal.oracles.closing import ClosesWell
from kgroup.journal.oracles.commit_done import CommitsOnlyDone
from kgroup.journal.oracles.commit_identity import CommitIdentity
from kgroup.journal.oracles.commit_order import CommitOrder
from kgroup.journal.oracles.commit_timing import AutoCommitBehindPoll, CommitsBeforeJoin
from kgroup.journal.oracles.cooperative import FewRounds, KeptUntouched
from kgroup.journal.oracles.coverage import NothingLost
from kgroup.journal.oracles.delivery_order import DeliveryOrder
from kgroup.journal.oracles.duplicates import BoundedDuplicates
from kgroup.journal.oracles.fairness import ServedInTurn
from kgroup.journal.oracles.fenced import FencedSilent
from kgroup.journal.oracles.gate import DeliveryGate, FetchedUnderClaim
from kgroup.journal.oracles.generations import OneOwnerPerGeneration
from kgroup.journal.oracles.handover import JoinClaims
from kgroup.journal.oracles.heartbeats import Heartbeats
from kgroup.journal.oracles.jumps import NoSilentJump
from kgroup.journal.oracles.lease import LeaseHeld
from kgroup.journal.oracles.outage import OutageUnnoticed
from kgroup.journal.oracles.outcomes import TrueOutcomes
from kgroup.journal.oracles.ownership import OneOwnerInTime
from kgroup.journal.oracles.pace import NoStorm
from kgroup.journal.oracles.poll_gap import PollGap
from kgroup.journal.oracles.recovery import Recovers
from kgroup.journal.oracles.rounds import RoundRules
from kgroup.journal.oracles.sets import at_least_once, simulation_oracles
from kgroup.journal.oracles.static import StaticUnnoticed
from kgroup.journal.oracles.static_leader import OnlyLeadersAssign
from kgroup.journal.oracles.stored import StoredCommits
from kgroup.journal.oracles.stored_done import StoredIsDone
from kgroup.journal.oracles.violation import Oracle, Violation
from kgroup.journal.oracles.watch import Watch, judge

__all__ = [
    "AnswersInTime",
    "AutoCommitBehindPoll",
    "Balanced",
    "BoundedDuplicates",
    "ClosesWell",
    "CommitIdentity",
    "CommitOrder",
    "CommitsBeforeJoin",
    "CommitsOnlyDone",
    "DeliveryGate",
    "DeliveryOrder",
    "FencedSilent",
    "FetchedUnderClaim",
    "FewRounds",
    "Heartbeats",
    "JoinClaims",
    "KeptUntouched",
    "LeaseHeld",
    "ListenerEnds",
    "ListenerSerial",
    "MemberIds",
    "NoSilentJump",
    "NoStorm",
    "NothingLost",
    "OneOwnerInTime",
    "OneOwnerPerGeneration",
    "OnlyLeadersAssign",
    "Oracle",
    "OutageUnnoticed",
    "OwnershipAlternates",
    "PollGap",
    "Recovers",
    "RoundRules",
    "ServedInTurn",
    "StaticUnnoticed",
    "StoredCommits",
    "StoredIsDone",
    "TakenBeforeAdded",
    "TrueOutcomes",
    "Violation",
    "Watch",
    "at_least_once",
    "judge",
    "simulation_oracles",
]

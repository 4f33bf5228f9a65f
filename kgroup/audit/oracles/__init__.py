"""The promises of a consumer group, each as an oracle over the event log.

Decides: which promises are judged, and which set suits a kind of run.
Never: reads a file or asks a broker; simulation shows entries as they happen, an audit afterwards.
"""

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
from kgroup.audit.oracles.sets import at_least_once, simulation_oracles
from kgroup.audit.oracles.static import StaticUnnoticed
from kgroup.audit.oracles.static_leader import OnlyLeadersAssign
from kgroup.audit.oracles.stored import StoredCommits
from kgroup.audit.oracles.stored_done import StoredIsDone
from kgroup.audit.oracles.violation import Oracle, Violation
from kgroup.audit.oracles.watch import Watch, judge

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

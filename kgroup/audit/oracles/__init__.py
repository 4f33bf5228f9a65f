"""The promises of a consumer group that an audit judges, each as an oracle over the event log.

Decides: which oracles users can ask.
Never: reads a file or asks a broker.

| question | file |
|---|---|
| Which promises are there, and which oracle judges which? | `promises` |
| What is an oracle, and how are many shown one log? | `watch` |
| Was a partition owned by two members? | `ownership`, `generations` |
| Was something delivered that was not owned, or paused? | `gate` |
| Was a record lost, repeated, or out of order? | `coverage`, `duplicates`, `delivery_order` |
| Did a commit go back? | `commit_order` |
| Did heartbeats come when they should? | `heartbeats` |
| Is the group balanced? | `balance` |
| Did the restart of a static member disturb others? | `static` |
"""

from kgroup.audit.oracles.balance import Balanced
from kgroup.audit.oracles.commit_order import CommitOrder
from kgroup.audit.oracles.coverage import NothingLost
from kgroup.audit.oracles.delivery_order import DeliveryOrder
from kgroup.audit.oracles.duplicates import BoundedDuplicates
from kgroup.audit.oracles.gate import DeliveryGate, FetchedUnderClaim
from kgroup.audit.oracles.generations import OneOwnerPerGeneration
from kgroup.audit.oracles.heartbeats import Heartbeats
from kgroup.audit.oracles.ownership import OneOwnerInTime
from kgroup.audit.oracles.promises import at_least_once
from kgroup.audit.oracles.static import StaticUnnoticed
from kgroup.audit.oracles.watch import Oracle, Violation, Watch, judge

__all__ = [
    "Balanced",
    "BoundedDuplicates",
    "CommitOrder",
    "DeliveryGate",
    "DeliveryOrder",
    "FetchedUnderClaim",
    "Heartbeats",
    "NothingLost",
    "OneOwnerInTime",
    "OneOwnerPerGeneration",
    "Oracle",
    "StaticUnnoticed",
    "Violation",
    "Watch",
    "at_least_once",
    "judge",
]

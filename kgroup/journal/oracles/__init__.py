"""The promises of a consumer group, each as an oracle over the event log.

Decides: which promises are judged, and which set suits a kind of run.
Never: reads a file or asks a broker; simulation shows entries as they happen, an audit afterwards.
"""

from collections.abc import Mapping

from kgroup.journal.oracles.callbacks import ListenerSerial, OwnershipAlternates
from kgroup.journal.oracles.commit_done import CommitsOnlyDone
from kgroup.journal.oracles.commit_identity import CommitIdentity
from kgroup.journal.oracles.commit_order import CommitOrder
from kgroup.journal.oracles.cooperative import FewRounds, KeptUntouched
from kgroup.journal.oracles.coverage import NothingLost
from kgroup.journal.oracles.delivery_order import DeliveryOrder
from kgroup.journal.oracles.duplicates import BoundedDuplicates
from kgroup.journal.oracles.gate import DeliveryGate, FetchedUnderClaim
from kgroup.journal.oracles.handover import JoinClaims
from kgroup.journal.oracles.lease import LeaseHeld
from kgroup.journal.oracles.ownership import OneOwnerInTime, OneOwnerPerGeneration
from kgroup.journal.oracles.static import FencedSilent, StaticUnnoticed
from kgroup.journal.oracles.violation import Oracle, Violation
from kgroup.journal.oracles.watch import Watch, judge
from kgroup.types import TopicPartition

__all__ = [
    "BoundedDuplicates",
    "CommitIdentity",
    "CommitOrder",
    "CommitsOnlyDone",
    "DeliveryGate",
    "DeliveryOrder",
    "FencedSilent",
    "FetchedUnderClaim",
    "FewRounds",
    "JoinClaims",
    "KeptUntouched",
    "LeaseHeld",
    "ListenerSerial",
    "NothingLost",
    "OneOwnerInTime",
    "OneOwnerPerGeneration",
    "Oracle",
    "OwnershipAlternates",
    "StaticUnnoticed",
    "Violation",
    "Watch",
    "at_least_once",
    "judge",
]


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
    return (
        OneOwnerPerGeneration(),
        OneOwnerInTime(),
        LeaseHeld(slack),
        JoinClaims(),
        DeliveryGate(),
        FetchedUnderClaim(),
        CommitIdentity(),
        CommitOrder(),
        CommitsOnlyDone(sparse),
        DeliveryOrder(sparse),
        NothingLost(ends, sparse),
        BoundedDuplicates(clean_handover=clean_handover),
        KeptUntouched(),
        *((FewRounds(),) if few_rounds else ()),
        StaticUnnoticed(),
        FencedSilent(),
        ListenerSerial(),
        OwnershipAlternates(),
    )

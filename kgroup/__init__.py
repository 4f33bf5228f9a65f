"""A Kafka consumer that implements the group protocol itself: fenced, cooperative, explained.

Decides: what `kgroup.<name>` offers; a name is loaded when it is first used.
Never: loads schemas, codecs or backends on `import kgroup`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgroup.admin.marshal.verbs import MarshalAdmin
    from kgroup.admin.marshal.watching import GroupChange, GroupChangeKind
    from kgroup.config import ConsumerConfig, ConsumerOptions
    from kgroup.consumer.api import Consumer, Listener
    from kgroup.consumer.reads.batch import Batch
    from kgroup.consumer.reads.record import Record, raw
    from kgroup.errors import (
        ArgumentError,
        AuthenticationError,
        BrokerError,
        ClosedError,
        CommitFailedError,
        ConfigError,
        CorruptRecordError,
        DeserializationError,
        FencedError,
        GroupError,
        IllegalStateError,
        KGroupError,
        LogTruncatedError,
        NoBrokerError,
        NoOffsetError,
        NotOwnedError,
        OffsetOutOfRangeError,
        UnauthorizedError,
    )
    from kgroup.types import (
        Cause,
        ChangeKind,
        Claim,
        CommitOutcome,
        CommitStatus,
        Generation,
        IsolationLevel,
        Leave,
        Membership,
        MemberState,
        OffsetAndMetadata,
        OffsetAndTimestamp,
        OwnershipChange,
        PartitionOutcome,
        Subscription,
        TopicPartition,
    )

__all__ = [
    "ArgumentError",
    "AuthenticationError",
    "Batch",
    "BrokerError",
    "Cause",
    "ChangeKind",
    "Claim",
    "ClosedError",
    "CommitFailedError",
    "CommitOutcome",
    "CommitStatus",
    "ConfigError",
    "Consumer",
    "ConsumerConfig",
    "ConsumerOptions",
    "CorruptRecordError",
    "DeserializationError",
    "FencedError",
    "Generation",
    "GroupChange",
    "GroupChangeKind",
    "GroupError",
    "IllegalStateError",
    "IsolationLevel",
    "KGroupError",
    "Leave",
    "Listener",
    "LogTruncatedError",
    "MarshalAdmin",
    "MemberState",
    "Membership",
    "NoBrokerError",
    "NoOffsetError",
    "NotOwnedError",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetOutOfRangeError",
    "OwnershipChange",
    "PartitionOutcome",
    "Record",
    "Subscription",
    "TopicPartition",
    "UnauthorizedError",
    "raw",
]

_ELSEWHERE = {
    "Batch": "kgroup.consumer.reads.batch",
    "Consumer": "kgroup.consumer.api",
    "ConsumerConfig": "kgroup.config",
    "ConsumerOptions": "kgroup.config",
    "GroupChange": "kgroup.admin.marshal.watching",
    "GroupChangeKind": "kgroup.admin.marshal.watching",
    "Listener": "kgroup.consumer.api",
    "MarshalAdmin": "kgroup.admin.marshal.verbs",
    "Record": "kgroup.consumer.reads.record",
    "raw": "kgroup.consumer.reads.record",
}
"""Name -> module, for those that are neither errors nor types."""


def __getattr__(name: str) -> object:
    """Load a public name (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _ELSEWHERE.get(name, "kgroup.errors" if name.endswith("Error") else "kgroup.types")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)

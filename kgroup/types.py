"""The values of the field: what every room of kgroup passes to every other.

Decides: shapes and names (Kafka's own words), nothing else.
Never: imports a room, validates against a broker, reads a clock.
KIPs: 62 (rebalance timeout), 320 (leader epochs), 345 (static members), 429 (cooperative).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Final, NamedTuple

from kgroup.values import dataclass
from kgroup.words import Word

__all__ = [
    "Backend",
    "Cause",
    "ChangeKind",
    "Claim",
    "CommitOutcome",
    "CommitStatus",
    "DeserializeErrorPolicy",
    "DoneAt",
    "Generation",
    "GroupProtocol",
    "IsolationLevel",
    "Leave",
    "MemberState",
    "Membership",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OwnershipChange",
    "PartitionOutcome",
    "PatternOn",
    "RebalanceProtocol",
    "Subscription",
    "TopicPartition",
]

_NAMED: Final = 5
"""Partitions of a commit that its `repr` names."""


class TopicPartition(NamedTuple):
    """One partition of one topic; equal to the tuple that aiokafka and kafka-python use."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetAndMetadata(NamedTuple):
    """A committed position: the next offset to read, free text, and a leader epoch.

    Args:
        offset: first offset that has not been handled; never negative.
        metadata: free text kept by the coordinator, at most 4,096 bytes by a broker's default.
        leader_epoch: epoch of the record before `offset`, None when not known (KIP-320).
    """

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


class OffsetAndTimestamp(NamedTuple):
    """The answer to "which offset was written at or after this time".

    Args:
        offset: first offset at or after the asked time.
        timestamp: timestamp of that record, milliseconds since the epoch.
        leader_epoch: leader epoch of that record, None when the broker did not say.
    """

    offset: int
    timestamp: int
    leader_epoch: int | None = None


class IsolationLevel(Enum):
    """Whether records of open and aborted transactions are seen (KIP-98)."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class DeserializeErrorPolicy(Enum):
    """What becomes of a record whose key or value the application's deserialiser refuses."""

    RAISE = "raise"
    SKIP = "skip"
    RAW = "raw"


class DoneAt(Enum):
    """When a record of `getone`, or of a loop over records, counts as done."""

    NEXT_READ = "next_read"
    DELIVERY = "delivery"


class Backend(Enum):
    """What coordinates a group: the brokers' group coordinator, or a log of claims."""

    CLASSIC = "classic"
    MARSHAL = "marshal"


class GroupProtocol(Enum):
    """Which protocol the group coordinator is spoken to in; CONSUMER is that of KIP-848.

    AUTO takes CONSUMER where brokers offer it and no option stands against it.
    """

    CLASSIC = "classic"
    CONSUMER = "consumer"
    AUTO = "auto"


class PatternOn(Enum):
    """Who matches a pattern with the names of topics: the client, or the coordinator (KIP-848)."""

    CLIENT = "client"
    BROKER = "broker"


class RebalanceProtocol(Word):
    """Whether a member hands back everything before it rejoins, or only what moves (KIP-429)."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"


class Leave(Word):
    """What `close()` tells the coordinator (KIP-1092); DEFAULT leaves unless static."""

    DEFAULT = "default"
    LEAVE = "leave"
    REMAIN = "remain"


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member asks for: topics, a pattern, or partitions; exactly one of them.

    Args:
        topics: topic names.
        pattern: regular expression matched from the start of a topic's name.
        exclude: regular expression of names the pattern must not take; only with `pattern`.
        partitions: partitions taken by hand, without a group's assignment.
    """

    topics: frozenset[str] | None = None
    pattern: str | None = None
    exclude: str | None = None
    partitions: frozenset[TopicPartition] | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """The identity by which brokers fence a member; replaced as a whole.

    Args:
        group_id: name of the group.
        generation_id: in a classic group the number of the round this identity was synced in; it
            can go back after a coordinator failure, so it orders nothing. In a Marshal group, of a
            batch or a record, the offset of the claim by which its partition is owned: it is higher
            for each later owner of that partition, as long as the log of claims is the same topic,
            and says nothing about other partitions. In a group of KIP-848 the member's epoch.
        member_id: the id the coordinator gave; in a Marshal group client id and instance id; in a
            group of KIP-848 an id that this client made (KIP-1082).
        group_instance_id: static identity (KIP-345), None for a dynamic member.
        protocol_name: the assignor the coordinator chose, None before the first round.
    """

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_name: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One period of ownership of one partition, valid while it is held without a break.

    Args:
        tp: the partition.
        serial: number of the period, rising within one member; never reused.
    """

    tp: TopicPartition
    serial: int

    def __hash__(self) -> int:
        return self.serial  # looked up at each hand-out, and hardly ever the same twice

    def __str__(self) -> str:
        return f"{self.tp}#{self.serial}"


class ChangeKind(Word):
    """Which listener callback a change of ownership is for."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


class Cause(Word):
    """Why ownership changes, in the words a person would use."""

    SUBSCRIBED = "the subscription changed"
    GROUP_REBALANCED = "the group is rebalancing"
    ASSIGNED = "the leader assigned it"
    GIVEN = "the coordinator assigned it"
    TOPICS_CHANGED = "topics or their partition counts changed"
    ENFORCED = "the application asked for a rebalance"
    REJOIN_DUE = "the assignor asked for another round after a time"
    ASSIGNMENT_FAILED = "the leader could not assign the round before"
    CLOSING = "the consumer is closing"
    UNSUBSCRIBED = "the application unsubscribed"
    POLL_TIMEOUT = "the application did not poll within max_poll_interval"
    SESSION_EXPIRED = "the session could not be confirmed in time"
    UNKNOWN_MEMBER = "the coordinator no longer knows this member"
    GENERATION_STALE = "the coordinator is at another generation"
    FENCED = "another member uses the same group instance id"
    FAILED = "a fatal error ended the membership"
    CLAIMED = "its claim stands in the log"
    TAKEN = "the log says that another member has it"
    LOG_LOST = "the log of claims is not what was read of it"
    SHARED = "other members have less of the topic than this one"
    GROUP_PAUSED = "the group is paused"


@dataclass(frozen=True, slots=True)
class OwnershipChange:
    """One call of the listener: what it gains, keeps and loses, and why.

    Args:
        kind: which callback it is.
        added: claims that begin with this change (ASSIGNED), in order of partition.
        kept: claims held before and after.
        removed: claims that end with this change (REVOKED, LOST).
        cause: why.
        generation: identity at the time; None when it is already gone.
        serial: number of the change, rising within one member.
    """

    kind: ChangeKind
    added: tuple[Claim, ...]
    kept: tuple[Claim, ...]
    removed: tuple[Claim, ...]
    cause: Cause
    generation: Generation | None
    serial: int


class MemberState(Word):
    """Where a member stands in the group protocol."""

    UNSUBSCRIBED = "unsubscribed"
    FINDING = "finding"
    PREPARING = "preparing"
    JOINING = "joining"
    ASSIGNING = "assigning"
    SYNCING = "syncing"
    RECONCILING = "reconciling"
    STABLE = "stable"
    BACKING_OFF = "backing_off"
    DORMANT = "dormant"
    RELEASING = "releasing"
    LEAVING = "leaving"
    LEFT = "left"
    FENCED = "fenced"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Membership:
    """What a member is at one moment; an immutable snapshot, safe to read from any thread.

    Args:
        group_id: name of the group, None for a consumer without one.
        state: place in the protocol.
        generation: identity the broker knows, None before the first join and after a loss.
        claims: everything owned, in order of partition.
        draining: owned partitions that are about to be given up.
        leader: whether this member computes the group's assignment.
        assignor: name of the chosen assignor, None before the first round.
        rebalances: completed rounds since the consumer was entered.
        cause: why the latest rebalance began, None before the first.
        coordinator: node id of the group coordinator, None while it is not known.
        trouble: what keeps it from its work and is tried again: an `AssignmentError` while it
            leads and cannot assign, an `UnauthorizedError` while the group is closed to it; None
            without.
    """

    group_id: str | None
    state: MemberState
    generation: Generation | None = None
    claims: tuple[Claim, ...] = ()
    draining: frozenset[TopicPartition] = frozenset()
    leader: bool = False
    assignor: str | None = None
    rebalances: int = 0
    cause: Cause | None = None
    coordinator: int | None = None
    trouble: Exception | None = None

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """All partitions that are owned."""
        return frozenset(claim.tp for claim in self.claims)


class CommitStatus(Word):
    """What is known about one partition of one commit."""

    COMMITTED = "committed"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PartitionOutcome:
    """What became of one partition of a commit.

    Args:
        status: COMMITTED only when the coordinator said so; UNKNOWN when no answer came.
        offset: what was asked to be committed.
        code: the broker's error code, None without one.
        reason: what a person should know, "" when committed.
    """

    status: CommitStatus
    offset: OffsetAndMetadata
    code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """What became of a commit, partition by partition; one bad partition never hides the others."""

    partitions: Mapping[TopicPartition, PartitionOutcome] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return how many there are of each kind, and some that were not committed, with why."""
        kinds = Counter(outcome.status for outcome in self.partitions.values())
        counts = ", ".join(f"{kinds[kind]} {kind.value}" for kind in CommitStatus if kinds[kind])
        failed = sorted(self.failed().items())
        named = [f"{tp} {each.status.value} ({each.reason})" for tp, each in failed[:_NAMED]]
        named += [f"{len(failed) - _NAMED} more"] if len(failed) > _NAMED else []
        details = f": {'; '.join(named)}" if named else ""
        return f"CommitOutcome({counts or 'nothing'}{details})"

    @property
    def ok(self) -> bool:
        """Whether every partition was committed."""
        return not self.failed()

    def failed(self) -> dict[TopicPartition, PartitionOutcome]:
        """Partitions that were refused, or whose outcome is not known."""
        return {
            tp: outcome
            for tp, outcome in self.partitions.items()
            if outcome.status is not CommitStatus.COMMITTED
        }

    @staticmethod
    def merged(outcomes: Iterable["CommitOutcome"]) -> "CommitOutcome":
        """Join outcomes of separate requests; a later one wins for the same partition."""
        joined: dict[TopicPartition, PartitionOutcome] = {}
        for outcome in outcomes:
            joined.update(outcome.partitions)
        return CommitOutcome(joined)

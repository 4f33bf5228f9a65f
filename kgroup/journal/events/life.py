"""A member's life: start, stop, states, generations, joins.

Decides: what is written when the membership machine moves.
Never: carries partitions that move; that is `ownership`.
KIPs: 345 (instance ids), 429 and 792 (owned partitions and their generation).
"""

from typing import ClassVar, Final, NamedTuple

from kgroup.journal.events.ownership import Phase
from kgroup.types import Leave, MemberState, RebalanceProtocol, TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStarted:
    """A consumer was entered; the first event of a member's log.

    Args:
        group_instance_id: static identity (KIP-345), None for a dynamic member.
        protocol: eager or cooperative, None when the assignors allow both.
        session_timeout: seconds; None for a consumer without a group, or where brokers decide.
        rebalance_timeout: seconds; None for a consumer without a group.
        lease_margin: seconds taken off the lease.
        heartbeat_interval: seconds; None when not known.
        max_poll_interval: seconds; None when it is the rebalance timeout.
        isolated_heartbeats: whether a thread sends heartbeats while the event loop is blocked.
        client: another client that printed what stands in the log, None for kgroup.
    """

    KIND: ClassVar[str] = "member_started"
    group_instance_id: str | None = None
    protocol: RebalanceProtocol | None = None
    session_timeout: float | None = None
    rebalance_timeout: float | None = None
    lease_margin: float = 0.0
    heartbeat_interval: float | None = None
    max_poll_interval: float | None = None
    isolated_heartbeats: bool = False
    client: str | None = None


@dataclass(frozen=True, slots=True)
class CloseAsked:
    """The application closes the consumer, or it ends after a failure.

    Args:
        timeout: seconds until `close()` returns, whatever happens.
    """

    KIND: ClassVar[str] = "close_asked"
    timeout: float


@dataclass(frozen=True, slots=True)
class MemberStopped:
    """A consumer was closed, or gave up; the last event of a member's log.

    Args:
        reason: "closed", or the text of the failure that ended it.
        left: whether a LeaveGroup was sent.
        mode: what `close()` was asked for; DEFAULT keeps a static member in the group.
    """

    KIND: ClassVar[str] = "member_stopped"
    reason: str
    left: bool = False
    mode: Leave = Leave.DEFAULT


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The member took a row of its table to another state.

    Args:
        before: state it left.
        after: state it entered.
        cause: what triggered it, in the words of the table.
    """

    KIND: ClassVar[str] = "state"
    before: MemberState
    after: MemberState
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationEntered:
    """SyncGroup was answered without error: the member is in this generation.

    Args:
        generation_id: number the coordinator gave the round.
        member_id: id the coordinator gave the member.
        leader: whether this member computed the assignment.
        protocol_name: the chosen assignor, None when not known.
        protocol: eager or cooperative, None when not known.
        assignment: every partition the round gave this member, in order.
    """

    KIND: ClassVar[str] = "generation"
    generation_id: int
    member_id: str
    leader: bool = False
    protocol_name: str | None = None
    protocol: RebalanceProtocol | None = None
    assignment: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinIssued:
    """A JoinGroup is about to be sent; says what the net's own `RequestSent` cannot see.

    Args:
        member_id: id it is sent under, None before the coordinator gave one.
        generation_id: generation named in the subscription, None after a loss (KIP-792).
        owned: partitions listed as owned (KIP-429).
        cause: why the member joins.
    """

    KIND: ClassVar[str] = "join"
    member_id: str | None
    generation_id: int | None
    owned: tuple[TopicPartition, ...]
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFailed:
    """This member leads and could not assign; nothing was sent, and it joins again after a pause.

    Args:
        generation_id: number the coordinator gave the round.
        protocol_name: the chosen assignor.
        reason: the text of the error.
        retry_after: seconds until it joins again.
    """

    KIND: ClassVar[str] = "round_failed"
    generation_id: int
    protocol_name: str | None
    reason: str
    retry_after: float


# -- coordinator -----------------------------------------------------------------------------------
#
# What the coordinator did: accepted commits and stored rounds, in its own order.
#
# Decides: the ground truth against which members' logs are judged.
# Never: comes from a member. Its source is one per group, of the process `BROKER`: a simulation's
# coordinator, or a reader of `__consumer_offsets`. An entry's place among others is its time.


BROKER: Final = "broker"
"""The process of a source that is no member but the coordinator."""


class RoundMember(NamedTuple):
    """One member of a stored round: what it had asked for, and what it was given.

    Args:
        member_id: id the coordinator knows it by.
        instance_id: static identity (KIP-345), None for a dynamic member.
        partitions: what the leader assigned to it.
        topics: what it subscribed to, empty when not known.
        owned: what it claimed to own when it joined (KIP-429).
        generation_id: generation of that claim (KIP-792), None when not sent.
    """

    member_id: str
    instance_id: str | None
    partitions: tuple[TopicPartition, ...]
    topics: tuple[str, ...] = ()
    owned: tuple[TopicPartition, ...] = ()
    generation_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStored:
    """The coordinator accepted a commit of one partition.

    Args:
        tp: which.
        offset: next offset to read, None when an administrator deleted the commit.
        member_id: of the member that committed, None for an administrator outside the group.
        generation_id: generation it was sent under, None for somebody outside the group.
        leader_epoch: epoch stored with it (KIP-320), None without one.
    """

    KIND: ClassVar[str] = "commit_stored"
    tp: TopicPartition
    offset: int | None
    member_id: str | None = None
    generation_id: int | None = None
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStored:
    """The coordinator accepted a leader's SyncGroup; with no members, the group became empty.

    Args:
        generation_id: number of the round.
        protocol_name: the chosen assignor, None for an empty group.
        members: all of them, each `[member_id, instance_id, partitions, topics, owned,
            generation_id]`; a reader allows the last three to be missing.
    """

    KIND: ClassVar[str] = "round_stored"
    generation_id: int
    protocol_name: str | None
    members: tuple[RoundMember, ...] = ()


# -- trouble ---------------------------------------------------------------------------------------
#
# Faults made on purpose, and events this version does not know.
#
# Decides: what a fault run leaves in the log.
# Never: counts as something a member promised.


@dataclass(frozen=True, slots=True)
class FaultStep:
    """A fault run began or ended a fault.

    Args:
        phase: begin or end.
        fault: what it is, e.g. "SIGKILL".
        target: label of the member or broker it is done to, "" for all.
    """

    KIND: ClassVar[str] = "fault"
    phase: Phase
    fault: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event of a later vocabulary, kept by name so that old readers can go on.

    Args:
        kind: its kind as written.
    """

    KIND: ClassVar[str] = "unknown"
    kind: str

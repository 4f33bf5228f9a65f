"""What the coordinator did: accepted commits and stored rounds, in its own order.

Decides: the ground truth against which members' logs are judged.
Never: comes from a member. Its source is one per group, of the process `BROKER`: a simulation's
coordinator, or a reader of `__consumer_offsets`. An entry's place among others is its time.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from kgroup.types import TopicPartition

__all__ = ["BROKER", "CommitStored", "RoundMember", "RoundStored"]

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
        generation_id: generation of that claim (KIP-792), None when not told.
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
        member_id: who committed, None for somebody outside the group (an administrator).
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

"""The leader's side of a round: from the members' bytes to a group, and back to bytes.

Decides: what a member that sent unreadable bytes gets, and that every member gets an entry.
Never: assigns; asks for metadata (it says which topics are needed).
KIPs: 54, 345 (the instance id comes from the coordinator, not from the blob), 429.
"""

from collections.abc import Iterable

from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member, TopicsMetadata
from kgroup.errors import AssignmentError, DecodeError
from kgroup.types import RebalanceProtocol
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    decode_subscription,
    encode_assignment,
)

__all__ = [
    "JoinedMember",
    "describe_group",
    "encode_group_assignment",
    "read_members",
    "subscribed_topics",
]

JoinedMember = tuple[str, str | None, bytes]
"""(member id, group instance id, metadata) as the coordinator lists it in JoinGroup."""


def read_members(joined: Iterable[JoinedMember], protocol: RebalanceProtocol) -> tuple[Member, ...]:
    """Read what the coordinator passed on from each member.

    Args:
        joined: one entry per member.
        protocol: what the members follow. An eager member with unreadable bytes is kept as one
            that subscribes to nothing, with the reason; a cooperative one may hold anything, so
            nothing can be given safely.

    Raises:
        AssignmentError: a cooperative member's bytes cannot be read; the round fails.
    """
    members: list[Member] = []
    for member_id, group_instance_id, metadata in joined:
        try:
            members.append(_read_member(member_id, group_instance_id, metadata))
        except DecodeError as error:
            if protocol is RebalanceProtocol.COOPERATIVE:
                raise AssignmentError(
                    f"member {member_id!r} (instance {group_instance_id!r}) sent {len(metadata)} "
                    f"bytes that are not a subscription, so what it holds is unknown and nothing "
                    f"can be given away safely; stop that member: {error}"
                ) from error
            members.append(
                Member(
                    member_id=member_id,
                    group_instance_id=group_instance_id,
                    topics=frozenset(),
                    unreadable=str(error),
                )
            )
    return tuple(members)


def subscribed_topics(members: Iterable[Member]) -> frozenset[str]:
    """Return all topics of the group: the leader needs their metadata, and watches it after."""
    return frozenset().union(*(member.topics for member in members))


def describe_group(
    joined: Iterable[JoinedMember], topics: TopicsMetadata, protocol: RebalanceProtocol
) -> GroupSubscription:
    """Read all members and put them together with the metadata of their topics.

    Args:
        joined: one entry per member, as the coordinator lists them.
        topics: metadata of the group's topics; others are ignored, missing ones skipped.
        protocol: what the members follow; see `read_members`.

    Raises:
        AssignmentError: a member is listed twice, or a cooperative one cannot be read.
    """
    return GroupSubscription(read_members(joined, protocol), topics)


def encode_group_assignment(
    group: GroupSubscription, assignment: GroupAssignment
) -> dict[str, bytes]:
    """Return member id -> bytes for SyncGroup, with an entry for every member.

    An entry without partitions is written out too: a coordinator gives a member that the leader
    left out no bytes at all, which some clients cannot read.
    """
    return {
        member.member_id: encode_assignment(
            MemberAssignment(
                assignment.of(member.member_id), assignment.user_data.get(member.member_id)
            )
        )
        for member in group.members
    }


def _read_member(member_id: str, group_instance_id: str | None, metadata: bytes) -> Member:
    read = decode_subscription(metadata)
    return Member(
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=frozenset(read.topics),
        rack=read.rack,
        owned=read.owned,
        generation_id=read.generation_id,
        user_data=read.user_data,
        version=read.version,
    )

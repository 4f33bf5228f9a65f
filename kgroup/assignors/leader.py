"""The leader's side of a round: from the members' bytes to a group, and back to bytes.

Decides: what a member that sent unreadable bytes gets, what an assignor that fails looks like,
and that every member gets an entry.
Never: assigns; asks for metadata (it says which topics are needed).
KIPs: 54, 345 (the instance id comes from the coordinator, not from the blob), 429.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Self

from kgroup.assignors.api import Assignor
from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member, TopicsMetadata
from kgroup.assignors.verify import verify
from kgroup.errors import AssignmentError, AssignorError, DecodeError
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)

JoinedMember = tuple[str, str | None, bytes]
"""(member id, group instance id, metadata) as the coordinator lists it in JoinGroup."""

_LONGEST_WORDS = 1000
"""Characters of a foreign exception that an error repeats."""


@dataclass(frozen=True, slots=True)
class SentAssignment:
    """What the coordinator last took from this leader: what members hold that cannot be read.

    A member that is not in it was given nothing in that round. Static members are known by their
    instance id: one that restarts gets its assignment back under another member id (KIP-345).

    Args:
        generation_id: the round it was sent in.
        given: member -> encoded assignment, for every member of that round.
    """

    generation_id: int
    given: Mapping[tuple[bool, str], bytes] = field(repr=False)

    @classmethod
    def of(
        cls,
        generation_id: int,
        members: Iterable[Member],
        assignments: Mapping[str, bytes],
        before: Self | None,
        withheld: Collection[TopicPartition] = (),
    ) -> Self:
        """Return what a leader has to remember of the assignment it is about to send.

        1. A member holds t-0 and becomes unreadable; 2. it is sent an empty assignment, and t-0
        is withheld; 3. another round begins before it has handed t-0 back. What it holds by then
        cannot be read, so it is taken to hold what it held before, until it leaves.

        Likewise: 1. a member holds t-0; 2. t-0 is withheld for another one; 3. the member never
        hears of it and joins again, unreadable by then. It may hold t-0 still.

        Args:
            generation_id: the round.
            members: of the round.
            assignments: member id -> encoded assignment.
            before: what was remembered until now.
            withheld: partitions that no member is given in this round.
        """
        given = {}
        for member in members:
            key = _key(member.member_id, member.group_instance_id)
            leaving = [tp for tp in member.owned if tp in withheld] if withheld else []
            given[key] = _with_more(assignments[member.member_id], leaving)
            if member.unreadable is not None:
                given[key] = b"" if before is None else before.given.get(key, b"")
        return cls(generation_id, MappingProxyType(given))

    def of_member(self, member_id: str, group_instance_id: str | None) -> MemberAssignment:
        """Return what a member was given, nothing when it was not in that round."""
        return decode_assignment(self.given.get(_key(member_id, group_instance_id), b""))


def read_members(
    joined: Iterable[JoinedMember],
    protocol: RebalanceProtocol,
    sent: SentAssignment | None = None,
) -> tuple[Member, ...]:
    """Read what the coordinator passed on from each member.

    Args:
        joined: one entry per member.
        protocol: what the members follow. A member with unreadable bytes is kept as one that
            subscribes to nothing, with the reason. An eager one holds nothing by now; a
            cooperative one is taken to claim what it was last given.
        sent: what this leader sent in the last round, None when it did not lead that.

    Raises:
        AssignmentError: a cooperative member's bytes cannot be read, and this leader does not
            know what it was last given, so nothing can be given to others; the round fails.
    """
    members: list[Member] = []
    names: dict[bytes, str] = {}
    for entry in joined:
        try:
            members.append(_read_member(entry, names))
        except DecodeError as error:
            members.append(_unreadable(entry, error, protocol, sent))
    return tuple(members)


def subscribed_topics(members: Iterable[Member]) -> frozenset[str]:
    """Return all topics of the group: the leader needs their metadata, and watches it after."""
    return frozenset().union(*(member.topics for member in members))


def describe_group(
    joined: Iterable[JoinedMember],
    topics: TopicsMetadata,
    protocol: RebalanceProtocol,
    *,
    now: float = 0.0,
    sent: SentAssignment | None = None,
) -> GroupSubscription:
    """Read all members and put them together with the metadata of their topics.

    Args:
        joined: one entry per member, as the coordinator lists them.
        topics: metadata of the group's topics; others are ignored, missing ones skipped.
        protocol: what the members follow; see `read_members`.
        now: the leader's wall clock, seconds since the epoch.
        sent: see `read_members`.

    Raises:
        AssignmentError: a member is listed twice, or a cooperative one cannot be read.
    """
    return GroupSubscription(read_members(joined, protocol, sent), topics, now)


def divide(
    assignor: Assignor, group: GroupSubscription, protocol: RebalanceProtocol
) -> GroupAssignment:
    """Have an assignor divide a group, and check what it returns.

    Args:
        assignor: possibly foreign code: whatever `Exception` it raises fails the round, no more.
        group: its members and partitions.
        protocol: what the members follow.

    Raises:
        AssignorError: it raised (that is the cause), or its result cannot be sent.
    """
    try:
        assignment = assignor.assign(group)
    except AssignorError:
        raise
    except Exception as error:
        raise AssignorError(assignor.name, [f"raised {_shown(error)}"]) from error
    try:
        verify(group, assignment, assignor=assignor.name, protocol=protocol)
    except AssignmentError:
        raise
    except Exception as error:
        offence = f"returned an assignment that cannot be read: {_shown(error)}"
        raise AssignorError(assignor.name, [offence]) from error
    return assignment


def encode_group_assignment(
    group: GroupSubscription, assignment: GroupAssignment
) -> dict[str, bytes]:
    """Return member id -> bytes for SyncGroup, with an entry for every member.

    An entry without partitions is written out too: a coordinator gives a member that the leader
    left out no bytes at all, which some clients cannot read.
    """
    names: dict[str, bytes] = {}
    return {
        member.member_id: encode_assignment(
            MemberAssignment(
                assignment.of(member.member_id), assignment.user_data.get(member.member_id)
            ),
            names=names,
        )
        for member in group.members
    }


def _read_member(entry: JoinedMember, names: dict[bytes, str]) -> Member:
    member_id, group_instance_id, metadata = entry
    read = decode_subscription(metadata, names)
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


def _unreadable(
    entry: JoinedMember,
    error: DecodeError,
    protocol: RebalanceProtocol,
    sent: SentAssignment | None,
) -> Member:
    member_id, group_instance_id, metadata = entry
    held = MemberAssignment()
    if protocol is RebalanceProtocol.COOPERATIVE:
        if sent is None:
            raise AssignmentError(
                f"member {member_id!r} (instance {group_instance_id!r}) sent {len(metadata)} "
                "bytes that are not a subscription, and this leader did not lead the last round: "
                "what that member holds is unknown and nothing can be given away safely; stop "
                f"that member, or upgrade its client: {error}"
            ) from error
        held = sent.of_member(member_id, group_instance_id)
    return Member(
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=frozenset(),
        owned=held.partitions,
        generation_id=None if sent is None or not held.partitions else sent.generation_id,
        unreadable=str(error),
    )


def _with_more(assignment: bytes, partitions: Sequence[TopicPartition]) -> bytes:
    """Return an encoded assignment with some more partitions."""
    if not partitions:
        return assignment
    read = decode_assignment(assignment)
    return encode_assignment(MemberAssignment((*read.partitions, *partitions), read.user_data))


def _key(member_id: str, group_instance_id: str | None) -> tuple[bool, str]:
    return (False, member_id) if group_instance_id is None else (True, group_instance_id)


def _shown(error: Exception) -> str:
    words = repr(error)
    return words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS]}..."

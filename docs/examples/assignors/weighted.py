"""Members with capacities: a machine with twice the cores gets twice the partitions.

Each member is made with its own capacity and sends it to the leader as user data. Sizes are as
nearly proportional to the capacities as whole partitions allow: no partition could go to another
member and make the largest size per capacity smaller. Members keep what they have.

The bytes come from other processes, of other versions, perhaps from another program that uses
the same assignor's name. What cannot be read counts as a capacity of 1, never as an error: an
assignor that raises stops the whole group.

Why every leader decides the same: capacities and claims are in the members' subscriptions, and
ties are broken by the group's own order. A leader's own capacity has no part in it but the one
its subscription tells. A member that changes its capacity has to be started anew: equal members
have to send equal bytes, because a coordinator begins a round when they change.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heapreplace
from struct import Struct
from typing import ClassVar

from kgroup.assignors import (
    Draft,
    GroupAssignment,
    GroupSubscription,
    LastAssignment,
    Member,
    RebalanceProtocol,
)
from kgroup.types import TopicPartition

__all__ = ["WeightedAssignor", "from_environment"]

FORMAT = 1
LAYOUT = Struct(">BI")  # format, capacity; what a later format appends is not looked at
MOST = 1_000_000


class WeightedAssignor:
    """Divide in proportion to what members say they can take.

    Args:
        capacity: of this member, 1 to 1,000,000, in any unit the group agrees on.

    Raises:
        ValueError: the capacity is out of bounds.
    """

    name: ClassVar[str] = "weighted"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (
        RebalanceProtocol.COOPERATIVE,
        RebalanceProtocol.EAGER,
    )

    def __init__(self, capacity: int = 1) -> None:
        if not 1 <= capacity <= MOST:
            raise ValueError(f"capacity {capacity} is not between 1 and {MOST}")
        self._capacity = capacity

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes:
        """Return this member's capacity; what it holds travels in its subscription anyway."""
        return LAYOUT.pack(FORMAT, self._capacity)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the topics that the same members subscribe to, in proportion."""
        draft = group.draft()
        owners = _owners(group)
        for audience in group.audiences:
            partitions = [tp for topic in audience.topics for tp in group.partitions_of(topic)]
            _divide(draft, audience.members, partitions, owners)
        return draft.freeze(RebalanceProtocol.COOPERATIVE)


def from_environment() -> WeightedAssignor:
    """Return an assignor for an entry point, which passes no arguments."""
    return WeightedAssignor(int(os.environ.get("CONSUMER_CAPACITY", "1")))


def capacity_of(member: Member) -> int:
    """Return what a member says it can take, 1 when that cannot be read."""
    data = member.user_data or b""
    if len(data) < LAYOUT.size or data[0] != FORMAT:
        return 1
    capacity: int = LAYOUT.unpack_from(data)[1]
    return min(max(capacity, 1), MOST)


def _owners(group: GroupSubscription) -> Mapping[TopicPartition, Member]:
    """Return who says it holds what; the newest generation is believed."""
    oldest_first = sorted(
        group.members, key=lambda m: -1 if m.generation_id is None else m.generation_id
    )
    return {partition: member for member in oldest_first for partition in member.owned}


def _divide(
    draft: Draft,
    members: Sequence[Member],
    partitions: Sequence[TopicPartition],
    owners: Mapping[TopicPartition, Member],
) -> None:
    """Give everybody its quota, first of what it has."""
    held = {member.member_id: 0 for member in members}
    for partition in partitions:
        owner = owners.get(partition)
        if owner is not None and owner.member_id in held:
            held[owner.member_id] += 1
    quota = _quotas(members, len(partitions), held)
    free: list[TopicPartition] = []
    for partition in partitions:
        owner = owners.get(partition)
        if owner is None or not quota.get(owner.member_id):
            free.append(partition)
            continue
        quota[owner.member_id] -= 1
        draft.give(partition, to=owner)
    for partition, member in zip(free, _left_over(members, quota), strict=True):
        draft.give(partition, to=member)


def _quotas(members: Sequence[Member], count: int, held: Mapping[str, int]) -> dict[str, int]:
    """Return member id -> how many partitions it gets.

    One by one each goes to the member whose size per capacity would be smallest with it, as
    seats are given to parties (D'Hondt). Ties go to who has one to keep, so that an assignment
    that is as good as this one stays; then to the first. Equal fractions are equal floats, on
    every machine: IEEE 754 rounds a quotient to the nearest number.
    """
    quota = dict.fromkeys(held, 0)
    capacity = [capacity_of(member) for member in members]

    def bid(place: int) -> tuple[float, bool, int]:
        member_id = members[place].member_id
        size = quota[member_id]
        return (size + 1) / capacity[place], size >= held[member_id], place

    bids = [bid(place) for place in range(len(members))]
    heapify(bids)
    for _ in range(count):
        place = bids[0][2]
        quota[members[place].member_id] += 1
        heapreplace(bids, bid(place))
    return quota


def _left_over(members: Sequence[Member], quota: Mapping[str, int]) -> Iterator[Member]:
    for member in members:
        for _ in range(quota[member.member_id]):
            yield member

"""Range: of each topic, every subscriber gets one contiguous stretch.

Decides: how many partitions of a topic a member may have, and which of them racks give first.
Never: depends on what members held, or on one topic for the numbers of another.
KIPs: 881 (racks; topics with equal subscribers and equal counts stay co-partitioned).
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import ClassVar

from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.racks import racks_matter
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.wire.classic_bytes import utf16_order

__all__ = ["RangeAssignor"]


class RangeAssignor:
    """Give each subscriber of a topic `n // k` partitions, and the first `n % k` one more."""

    name: ClassVar[str] = "range"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions, near replicas first where racks differ."""
        shares = [_TopicShares(group, topic) for topic in group.topics]
        if any(share.needs_racks for share in shares):
            for together in _co_partitioned(shares):
                if len(together) > 1:
                    _give_together(group, together)
                elif together[0].needs_racks:
                    together[0].give_near(group)
        given: dict[str, list[TopicPartition]] = {m.member_id: [] for m in group.members}
        for share in shares:
            share.give_rest()
            for place, tps in share.given.items():
                given[share.members[place].member_id].extend(tps)
        rank = {topic: index for index, topic in enumerate(group.topics)}
        for tps in given.values():
            tps.sort(key=lambda tp: (rank[tp.topic], tp.partition))
        return GroupAssignment(MappingProxyType({m: tuple(tps) for m, tps in given.items()}))


class _TopicShares:
    """One topic being divided: what is left, and how much each member may still take."""

    def __init__(self, group: GroupSubscription, topic: str) -> None:
        self.topic = topic
        self.members: Sequence[Member] = group.subscribers(topic)
        self.given: dict[int, list[TopicPartition]] = {}
        self.partitions = group.partitions_of(topic)
        self.taken = [False] * len(self.partitions)
        self.base, self.extra = divmod(len(self.partitions), len(self.members))
        racks = {member.rack for member in self.members if member.rack is not None}
        self.any_rack = bool(racks)
        self.needs_racks = self.any_rack and racks_matter(
            racks, {group.racks_of(tp) for tp in self.partitions}
        )

    def room(self, place: int) -> int:
        """How many partitions the member at this place may still take."""
        most = self.base + 1 if self.extra > 0 else self.base
        return max(0, most - len(self.given.get(place, ())))

    def give(self, place: int, indices: Sequence[int]) -> None:
        if not indices:
            return
        mine = self.given.setdefault(place, [])
        for index in indices:
            self.taken[index] = True
            mine.append(self.partitions[index])
        if len(mine) > self.base:
            self.extra -= 1

    def give_near(self, group: GroupSubscription) -> None:
        """Give members, in order, the first partitions that have a replica in their rack."""
        near: dict[str, list[int]] = {}
        for index in range(len(self.partitions) - 1, -1, -1):
            for rack in group.racks_of(self.partitions[index]):
                near.setdefault(rack, []).append(index)
        anywhere = list(range(len(self.partitions) - 1, -1, -1))
        for place, member in enumerate(self.members):
            queue = anywhere if member.rack is None else near.get(member.rack, [])
            self.give(place, self._next_free(queue, self.room(place)))

    def give_rest(self) -> None:
        """Give members, in order, the first partitions that are left."""
        free = [index for index, taken in enumerate(self.taken) if not taken]
        at = 0
        for place in range(len(self.members)):
            if at == len(free):
                break
            room = self.room(place)
            self.give(place, free[at : at + room])
            at += room

    def _next_free(self, queue: list[int], room: int) -> list[int]:
        """Take up to `room` free indices from the end of a queue; what is passed never returns."""
        found: list[int] = []
        while queue and len(found) < room:
            index = queue.pop()
            if not self.taken[index]:
                found.append(index)
        return found


def _co_partitioned(shares: Sequence[_TopicShares]) -> list[list[_TopicShares]]:
    """Group topics with equal subscribers and equal counts (0 when no subscriber has a rack)."""
    groups: dict[tuple[tuple[str, ...], int], list[_TopicShares]] = {}
    for share in shares:
        count = len(share.partitions) if share.any_rack else 0
        groups.setdefault((tuple(m.member_id for m in share.members), count), []).append(share)
    return list(groups.values())


def _give_together(group: GroupSubscription, shares: Sequence[_TopicShares]) -> None:
    """Give partition p of all topics to the first member that is near to each of them.

    All topics are at the same point all the time, so the room in the first is the room in all.
    """
    first = shares[0]
    if not first.any_rack:
        return
    queues: dict[str | None, list[int]] = {}
    for place in range(len(first.members) - 1, -1, -1):
        queues.setdefault(first.members[place].rack, []).append(place)
    for index in range(len(first.partitions)):
        racks = frozenset.intersection(
            *(group.racks_of(share.partitions[index]) for share in shares)
        )
        heads: list[int] = []
        for rack in (None, *sorted(racks, key=utf16_order)):
            queue = queues.get(rack, [])
            while queue and not first.room(queue[-1]):
                queue.pop()  # room only shrinks, so this member is through
            heads.extend(queue[-1:])
        if heads:
            for share in shares:
                share.give(min(heads), [index])

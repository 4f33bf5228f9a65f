"""Range: of each topic, every subscriber gets one contiguous stretch.

Decides: how many partitions of a topic a member may have.
Never: depends on what members held, or on one topic for the numbers of another. Where racks differ,
`divide_near` chooses near partitions first and divides the rest.
KIPs: 881 (racks; topics with equal subscribers and equal counts stay co-partitioned).
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from kgroup.assignors.assignment import GroupAssignment, assigned
from kgroup.assignors.group import GroupSubscription, racks_matter
from kgroup.assignors.member import Member
from kgroup.types import RebalanceProtocol
from kgroup.wire.classic_bytes import utf16_order


def divide_near(group: GroupSubscription) -> dict[str, list[int]] | None:
    """Return member id -> indices of its partitions; None when racks matter in no topic."""
    if all(member.rack is None for member in group.members):
        return None
    shares = [_TopicShares(group, topic) for topic in group.partitions.topics]
    if not any(share.needs_racks for share in shares):
        return None
    for together in _co_partitioned(shares):
        if len(together) > 1:
            _give_together(together)
        elif together[0].needs_racks:
            together[0].give_near()
    target: dict[str, list[int]] = {member.member_id: [] for member in group.members}
    for share in shares:
        share.give_rest()
        for place, mine in share.given.items():
            target[share.members[place].member_id].extend(sorted(mine))
    return target


class _TopicShares:
    """One topic being divided: what is left, and how much each member may still take."""

    def __init__(self, group: GroupSubscription, topic: str) -> None:
        self.members: Sequence[Member] = group.subscribers(topic)
        self.given: dict[int, list[int]] = {}
        self.partitions = group.partitions.span(topic)
        numbers = group.topics[topic]
        self.near = [numbers[tp.partition].replicas for tp in group.partitions_of(topic)]
        self.taken = [False] * len(self.partitions)
        self.base, self.extra = divmod(len(self.partitions), len(self.members))
        racks = {member.rack for member in self.members if member.rack is not None}
        self.any_rack = bool(racks)
        self.needs_racks = self.any_rack and racks_matter(racks, set(self.near))

    def room(self, place: int) -> int:
        """How many partitions the member at this place may still take."""
        most = self.base + 1 if self.extra > 0 else self.base
        return max(0, most - len(self.given.get(place, ())))

    def give(self, place: int, offsets: Sequence[int]) -> None:
        """Give partitions, counted from the topic's first one."""
        if not offsets:
            return
        mine = self.given.setdefault(place, [])
        for offset in offsets:
            self.taken[offset] = True
            mine.append(self.partitions[offset])
        if len(mine) > self.base:
            self.extra -= 1

    def give_near(self) -> None:
        """Give members, in order, the first partitions that have a replica in their rack."""
        near: dict[str, list[int]] = {}
        for offset in range(len(self.partitions) - 1, -1, -1):
            for rack in self.near[offset]:
                near.setdefault(rack, []).append(offset)
        anywhere = list(range(len(self.partitions) - 1, -1, -1))
        for place, member in enumerate(self.members):
            queue = anywhere if member.rack is None else near.get(member.rack, [])
            self.give(place, self._next_free(queue, self.room(place)))

    def give_rest(self) -> None:
        """Give members, in order, the first partitions that are left."""
        free = [offset for offset, taken in enumerate(self.taken) if not taken]
        at = 0
        for place in range(len(self.members)):
            if at == len(free):
                break
            room = self.room(place)
            self.give(place, free[at : at + room])
            at += room

    def _next_free(self, queue: list[int], room: int) -> list[int]:
        """Take up to `room` free offsets from the end of a queue; what is passed never returns."""
        found: list[int] = []
        while queue and len(found) < room:
            offset = queue.pop()
            if not self.taken[offset]:
                found.append(offset)
        return found


def _co_partitioned(shares: Sequence[_TopicShares]) -> list[list[_TopicShares]]:
    """Group topics with equal subscribers and equal counts (0 when no subscriber has a rack)."""
    groups: dict[tuple[tuple[str, ...], int], list[_TopicShares]] = {}
    for share in shares:
        count = len(share.partitions) if share.any_rack else 0
        groups.setdefault((tuple(m.member_id for m in share.members), count), []).append(share)
    return list(groups.values())


def _give_together(shares: Sequence[_TopicShares]) -> None:
    """Give partition p of all topics to the first member that is near to each of them.

    All topics are at the same point all the time, so the room in the first is the room in all.
    """
    first = shares[0]
    if not first.any_rack:
        return
    queues: dict[str | None, list[int]] = {}
    for place in range(len(first.members) - 1, -1, -1):
        queues.setdefault(first.members[place].rack, []).append(place)
    for offset in range(len(first.partitions)):
        racks = frozenset.intersection(*(share.near[offset] for share in shares))
        heads: list[int] = []
        for rack in (None, *sorted(racks, key=utf16_order)):
            queue = queues.get(rack, [])
            while queue and not first.room(queue[-1]):
                queue.pop()  # room only shrinks, so this member is through
            heads.extend(queue[-1:])
        if heads:
            for share in shares:
                share.give(min(heads), [offset])


class RangeAssignor:
    """Give each subscriber of a topic `n // k` partitions, and the first `n % k` one more."""

    name: ClassVar[str] = "range"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions, near replicas first where racks differ."""
        near = divide_near(group)
        target = _divide(group) if near is None else near
        return assigned(target, group.partitions)


def _divide(group: GroupSubscription) -> dict[str, list[int]]:
    """Divide without racks; topics with equal subscribers and equal counts are divided alike."""
    target: dict[str, list[int]] = {member.member_id: [] for member in group.members}
    several: set[str] = set()
    for members, count, starts in _alike(group):
        base, extra = divmod(count, len(members))
        for place, member in enumerate(members[: count if base == 0 else None]):
            low = place * base + min(place, extra)
            mine = target[member.member_id]
            if mine:
                several.add(member.member_id)
            end = low + base + (place < extra)
            mine.extend(
                _in_each(starts, range(low, end))
                if len(starts) > 1
                else range(starts[0] + low, starts[0] + end)
            )
    for member_id in several:
        target[member_id].sort()
    return target


def _alike(group: GroupSubscription) -> Iterator[tuple[tuple[Member, ...], int, list[int]]]:
    """Yield (subscribers, partition count, first indices) of topics that are divided alike."""
    for audience in group.audiences:
        by_count: dict[int, list[int]] = {}
        for topic in audience.topics:
            span = group.partitions.span(topic)
            by_count.setdefault(len(span), []).append(span.start)
        for count, starts in by_count.items():
            yield audience.members, count, starts


def _in_each(starts: Sequence[int], stretch: range) -> list[int]:
    """Return the same stretch of each topic, as indices."""
    first, end = stretch.start, stretch.stop
    if end - first == 1:
        return [start + first for start in starts]
    return [index for start in starts for index in range(start + first, start + end)]

"""Range: of each topic, every subscriber gets one contiguous stretch.

Decides: how many partitions of a topic a member may have.
Never: depends on what members held, or on one topic for the numbers of another; chooses by rack
(`range_racks` does, before what is left is divided here).
KIPs: 881 (racks; topics with equal subscribers and equal counts stay co-partitioned).
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from kgroup.assignors.assignment import GroupAssignment, assigned
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.range_racks import divide_near
from kgroup.types import RebalanceProtocol

__all__ = ["RangeAssignor"]


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

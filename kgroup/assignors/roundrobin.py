"""Round-robin: all partitions in order, dealt to the members in turn.

Decides: which member's turn it is.
Never: looks at racks or at what members held.

Partitions of topics with the same subscribers are dealt in one go: with k subscribers each gets
every k-th of them, which is a range.
"""

from bisect import bisect_left
from itertools import chain, groupby
from typing import ClassVar

from kgroup.assignors.assignment import GroupAssignment, assigned
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.types import RebalanceProtocol


class RoundRobinAssignor:
    """Deal out partitions in a circle, passing over members that do not subscribe."""

    name: ClassVar[str] = "roundrobin"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions."""
        place = {member.member_id: at for at, member in enumerate(group.members)}
        hands: list[list[range]] = [[] for _ in group.members]
        turn = 0
        for subscribers, stretch in _stretches(group):
            able = [place[member.member_id] for member in subscribers]
            first = bisect_left(able, turn)
            for dealt, index in enumerate(stretch[: len(able)]):
                hands[able[(first + dealt) % len(able)]].append(
                    range(index, stretch.stop, len(able))
                )
            turn = able[(first + len(stretch) - 1) % len(able)] + 1
        target = {
            member.member_id: hand[0] if len(hand) == 1 else list(chain.from_iterable(hand))
            for member, hand in zip(group.members, hands, strict=True)
        }
        return assigned(target, group.partitions)


def _stretches(group: GroupSubscription) -> list[tuple[tuple[Member, ...], range]]:
    """Return (subscribers, indices) of neighbouring topics that the same members subscribe to."""
    span = group.partitions.span
    found: list[tuple[tuple[Member, ...], range]] = []
    for _, alike in groupby(
        group.partitions.topics, key=lambda topic: id(group.subscribers(topic))
    ):
        topics = list(alike)
        whole = range(span(topics[0]).start, span(topics[-1]).stop)
        found.append((group.subscribers(topics[0]), whole))
    return found

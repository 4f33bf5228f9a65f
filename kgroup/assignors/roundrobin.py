"""Round-robin: partitions in order, members in turn.

Decides: which subscriber is next.
Never: looks at racks or at what members held.
"""

from bisect import bisect_left
from types import MappingProxyType
from typing import ClassVar

from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.types import RebalanceProtocol, TopicPartition

__all__ = ["RoundRobinAssignor"]


class RoundRobinAssignor:
    """Deal the partitions of all topics out in turn, skipping who does not subscribe."""

    name: ClassVar[str] = "roundrobin"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions.

        A pointer goes round all members; for each partition it moves to the next subscriber.
        """
        place = {member.member_id: index for index, member in enumerate(group.members)}
        given: dict[str, list[TopicPartition]] = {member_id: [] for member_id in place}
        pointer = 0
        for topic in group.topics:
            able = group.subscribers(topic)
            places = [place[member.member_id] for member in able]
            turn = bisect_left(places, pointer)
            for tp in group.partitions_of(topic):
                turn %= len(able)
                given[able[turn].member_id].append(tp)
                pointer = places[turn] + 1
                turn += 1
            pointer %= len(group.members)
        return GroupAssignment(MappingProxyType({m: tuple(tps) for m, tps in given.items()}))

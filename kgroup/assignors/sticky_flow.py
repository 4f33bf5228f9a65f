"""How many partitions of each topic each member has: the state of an unequal assignment.

Partitions of one topic are interchangeable except for who owns them, so the search for the best
assignment works on counts per (topic, member) and not on partitions.

Decides: nothing; keeps counts, sizes and ownership consistent.
Never: iterates in an order that depends on anything but the order of its input.
"""

from collections.abc import Sequence
from heapq import heapify, heapreplace

__all__ = ["Flow"]


class Flow:
    """Counts per topic and member; both are numbered from 0.

    Args:
        subscribers: per topic, the members that may have it.
        totals: per topic, its number of partitions.
        own: per topic, member -> how many of its partitions that member owns (never 0).
        members: number of members.

    Attributes:
        held: per topic, member -> how many of its partitions it gets (never 0).
        has: the same by member: topic -> how many.
        size: per member, how many partitions it gets.
    """

    def __init__(
        self,
        subscribers: Sequence[Sequence[int]],
        totals: Sequence[int],
        own: Sequence[dict[int, int]],
        members: int,
    ) -> None:
        self.subscribers = subscribers
        self.own = own
        self.subscribed: list[list[int]] = [[] for _ in range(members)]
        self.held = [dict(counts) for counts in own]
        self.has: list[dict[int, int]] = [{} for _ in range(members)]
        self.size = [0] * members
        self.totals = totals
        for topic, able in enumerate(subscribers):
            for member in able:
                self.subscribed[member].append(topic)
        for topic, counts in enumerate(own):
            for member, count in counts.items():
                self.has[member][topic] = count
                self.size[member] += count

    def add(self, topic: int, member: int, count: int = 1) -> None:
        """Give a member so many more partitions of a topic, or fewer when negative."""
        now = self.held[topic].get(member, 0) + count
        self.size[member] += count
        if now:
            self.held[topic][member] = self.has[member][topic] = now
        else:
            del self.held[topic][member], self.has[member][topic]

    def fill(self) -> None:
        """Give what nobody owns to the least loaded subscribers, scarcest topics first."""
        order = sorted(range(len(self.totals)), key=lambda topic: len(self.subscribers[topic]))
        for topic in order:
            missing = self.totals[topic] - sum(self.held[topic].values())
            if not missing:
                continue
            heap = [(self.size[member], member) for member in self.subscribers[topic]]
            heapify(heap)
            for _ in range(missing):
                _, member = heap[0]
                self.add(topic, member)
                heapreplace(heap, (self.size[member], member))

    def surplus(self, topic: int, member: int) -> int:
        """How many more of a topic a member has than it owned; negative when it loses some."""
        return self.held[topic].get(member, 0) - self.own[topic].get(member, 0)

    def lost(self) -> int:
        """How many partitions leave an owner."""
        return sum(
            max(0, count - self.held[topic].get(member, 0))
            for topic, counts in enumerate(self.own)
            for member, count in counts.items()
        )

"""The balance of an unequal assignment: the smallest sum of squared sizes there is.

Decides: how many partitions each member gets, by moving single partitions along paths from a
member to one that has at least two fewer, until there is no such path. Then every convex measure
of imbalance is at its minimum (Harvey, Ladner, Lovasz, Tamir, "Semi-matchings for bipartite
graphs and load balancing", J. Algorithms 59(1), 2006).
Never: counts what moves; see `sticky_moves`.

Members are served in order of size, smallest first. When nothing can reach the smallest one any
more, everything it could take from is closed: none of it is larger by two, no partition can come
into it, and members served later are at least as large. So each subscription is looked at once,
apart from the paths that are used.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace

from kgroup.assignors.sticky_flow import Flow

__all__ = ["balance"]


def balance(flow: Flow) -> None:
    """Move partitions until no path leads to a member from one with two more."""
    search = _Search(flow)
    waiting = [(size, member) for member, size in enumerate(flow.size)]
    heapify(waiting)
    largest = max(flow.size, default=0)
    while waiting:
        size, member = heappop(waiting)
        if size != flow.size[member] or member in search.closed:
            continue
        if size + 1 >= largest:
            return
        source = search.lift(member)
        if source is not None:
            heappush(waiting, (flow.size[member], member))
            heappush(waiting, (flow.size[source], source))


class _Search:
    """Breadth-first searches for a member to take from; closed parts are left out.

    The holders of each topic stand in a heap, largest first, with the size they had when they
    were put there. That is enough: whoever was raised once is never large enough to take from
    afterwards, and everybody else only shrinks, so no size in a heap is too small.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.closed: set[int] = set()
        self._closed_topics: set[int] = set()
        self._holders: list[list[tuple[int, int]]] = []
        for held in flow.held:
            heap = [(-flow.size[member], member) for member in held]
            heapify(heap)
            self._holders.append(heap)

    def lift(self, taker: int) -> int | None:
        """Give the taker one more, ultimately from a member with at least two more.

        Returns:
            The member that has one less now; None when there is none, and then everything that
            was reached is closed.
        """
        enough = self._flow.size[taker] + 2
        came: dict[int, tuple[int, int]] = {}  # member -> (who takes from it, of which topic)
        reached = {taker}
        takers: dict[int, int] = {}  # topic -> the member that would take of it
        layer = [taker]
        while layer:
            fresh: list[int] = []
            for topic in self._new_topics(layer, takers):
                giver = self._largest_holder(topic)
                if giver is not None and self._flow.size[giver] >= enough:
                    came[giver] = (takers[topic], topic)
                    self._shift(giver, came)
                    return giver
                fresh.append(topic)
            layer = []
            for member, topic in self._new_holders(fresh, reached):
                came[member] = (takers[topic], topic)
                layer.append(member)
        self.closed |= reached
        self._closed_topics.update(takers)
        return None

    def _new_topics(self, layer: Sequence[int], takers: dict[int, int]) -> Iterator[int]:
        """Yield the topics that the layer subscribes to and nobody before it, as they are found."""
        for member in layer:
            for topic in self._flow.subscribed[member]:
                if topic not in takers and topic not in self._closed_topics:
                    takers[topic] = member
                    yield topic

    def _new_holders(self, topics: Sequence[int], reached: set[int]) -> Iterator[tuple[int, int]]:
        """Yield (member, topic) for each holder that has not been reached before."""
        for topic in topics:
            for member in self._flow.held[topic]:
                if member not in reached and member not in self.closed:
                    reached.add(member)
                    yield member, topic

    def _largest_holder(self, topic: int) -> int | None:
        heap, held, size = self._holders[topic], self._flow.held[topic], self._flow.size
        while heap:
            known, member = heap[0]
            if member not in held:
                heappop(heap)
            elif -known != size[member]:
                heapreplace(heap, (-size[member], member))
            else:
                return member
        return None

    def _shift(self, giver: int, came: dict[int, tuple[int, int]]) -> None:
        while giver in came:
            to, topic = came[giver]
            self._flow.add(topic, giver, -1)
            if to not in self._flow.held[topic]:
                heappush(self._holders[topic], (-self._flow.size[to], to))
            self._flow.add(topic, to)
            giver = to

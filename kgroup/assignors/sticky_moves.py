"""The fewest moves of an unequal assignment that is balanced already.

Decides: which members keep their own, by exchanging partitions in cycles that leave the sizes as
they are, until no cycle saves a move. No such cycle left means that the assignment is a flow of
least cost: balanced, with the fewest partitions taken from an owner.
Never: changes how many members have how many partitions; searches without a bound.

The cycle search is Bellman-Ford from all members at once. An arc member -> topic gives one
partition back: -1 if the member has more of the topic than it owned. An arc topic -> member takes
one: 0 if the member has less than it owned, else 1. An arc from a member of size n to one of size
n + 1 costs nothing: both sizes change by one and change places.
"""

from collections import deque
from collections.abc import Iterator

from kgroup.assignors.sticky_flow import Flow

__all__ = ["save_moves"]

SEARCH_LIMIT = 4_000_000  # arcs looked at in one assignment; some two seconds of the leader


def save_moves(flow: Flow) -> None:
    """Exchange partitions until no exchange saves a move, or the limit is reached."""
    spent = 0
    while spent < SEARCH_LIMIT and flow.lost() > _fewest_imaginable(flow):
        search = _CycleSearch(flow, SEARCH_LIMIT - spent)
        cycle = search.run()
        spent += search.looked
        if cycle is None:
            return
        _exchange(flow, cycle, search.topics_at)


def _fewest_imaginable(flow: Flow) -> int:
    """A lower bound of the moves: sizes before and after, paired off by rank."""
    before = sorted(
        sum(flow.own[topic].get(m, 0) for topic in flow.subscribed[m])
        for m in range(len(flow.size))
    )
    return sum(max(0, had - has) for had, has in zip(before, sorted(flow.size), strict=True))


def _exchange(flow: Flow, cycle: list[int], topics_at: int) -> None:
    """Carry out a cycle of nodes, as often as each of its arcs goes on saving what it saves.

    Arcs to and from levels move nothing by themselves, and may be used only once.
    """
    levels_at = topics_at + len(flow.totals)
    arcs = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
    given = [(t - topics_at, m) for m, t in arcs if m < topics_at <= t < levels_at]
    taken = [(t - topics_at, m) for t, m in arcs if m < topics_at <= t < levels_at]
    times = 1
    if all(node < levels_at for node in cycle):
        gains = [(flow.surplus(topic, member), flow.held[topic][member]) for topic, member in given]
        lacks = [-flow.surplus(topic, member) for topic, member in taken]
        times = min(
            [gain if gain > 0 else held for gain, held in gains]
            + [lack for lack in lacks if lack > 0]
        )
    for topic, member in given:
        flow.add(topic, member, -times)
    for topic, member in taken:
        flow.add(topic, member, times)


class _CycleSearch:
    """One search for a cycle of negative cost.

    Nodes are numbers: members, then topics, then levels (a level stands for a size, so that
    pairs of members need no arcs of their own).
    """

    def __init__(self, flow: Flow, limit: int) -> None:
        self._flow = flow
        self._limit = limit
        self.looked = 0
        self.topics_at = len(flow.size)
        self._levels_at = self.topics_at + len(flow.totals)
        self._of_size: dict[int, list[int]] = {}
        for member, size in enumerate(flow.size):
            self._of_size.setdefault(size, []).append(member)
        self._lacking = [
            [m for m, count in counts.items() if flow.held[topic].get(m, 0) < count]
            for topic, counts in enumerate(flow.own)
        ]
        self._cost: dict[int, int] = {}
        self._parent: dict[int, int] = {}

    def run(self) -> list[int] | None:
        """Return the nodes of a cycle that saves moves, in order; None when there is none."""
        gaining = [
            member
            for member, counts in enumerate(self._flow.has)
            if any(self._flow.surplus(topic, member) > 0 for topic in counts)
        ]
        queue = deque(gaining)
        queued = set(gaining)
        changes = 0
        while queue and self.looked < self._limit:
            node = queue.popleft()
            queued.discard(node)
            base = self._cost.get(node, 0)
            for target, cost in self._arcs(node, base):
                self.looked += 1
                if base + cost >= self._cost.get(target, 0):
                    continue
                self._cost[target] = base + cost
                self._parent[target] = node
                changes += 1
                if target not in queued:
                    queued.add(target)
                    queue.append(target)
            if changes > len(self._parent):  # rarely enough to cost no more than the search
                changes = 0
                cycle = self._cycle_of_parents()
                if cycle is not None:
                    return cycle
        return None

    def _arcs(self, node: int, base: int) -> Iterator[tuple[int, int]]:
        if node < self.topics_at:
            return self._arcs_of_member(node)
        if node < self._levels_at:
            return self._arcs_of_topic(node - self.topics_at, base)
        above = self._of_size.get(node - self._levels_at + 1, [])
        return ((member, 0) for member in above)

    def _arcs_of_member(self, member: int) -> Iterator[tuple[int, int]]:
        for topic in self._flow.has[member]:
            gained = self._flow.surplus(topic, member) > 0
            yield self.topics_at + topic, -1 if gained else 0
        yield self._levels_at + self._flow.size[member], 0

    def _arcs_of_topic(self, topic: int, base: int) -> Iterator[tuple[int, int]]:
        for member in self._lacking[topic]:
            yield member, 0
        if base < -1:  # else the cost of 1 makes it no better than starting anew
            for member in self._flow.subscribers[topic]:
                yield member, 1

    def _cycle_of_parents(self) -> list[int] | None:
        """Return a cycle of parents, which always has negative cost; None when there is none."""
        visit: dict[int, int] = {}
        for start in self._parent:
            path: list[int] = []
            node: int | None = start
            while node is not None and node not in visit:
                visit[node] = start
                path.append(node)
                node = self._parent.get(node)
            if node is not None and visit[node] == start:
                return path[path.index(node) :][::-1]
        return None

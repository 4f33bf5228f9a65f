"""A flow of least cost, found by sending what is in the wrong place along the cheapest ways.

Decides: which arcs carry how much, so that no node has too much or too little and no flow costs
less. In each phase one search from all nodes that lack something finds the cheapest way from
every node to one of them, and as much as possible is sent along these ways (the primal-dual
method; Ford and Fulkerson, "Flows in Networks", 1962). Its phases are as many as there are
different costs of ways, which are few where costs are few.
Never: looks at more arcs than it was allowed to while it heeds costs; after that every way is as
good as any other, and the flow is still complete.

Numbers only, no Kafka: `sticky_balance` and `sticky_moves` say what nodes and arcs mean.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import chain, repeat

PLENTY = 1 << 60  # room of an arc that never fills


class Flow:
    """Nodes, numbered from 0, and arcs between them.

    Arcs come in pairs: an even one as it was joined, and after it its reverse, which takes back
    what was sent. Costs of what is sent already must fit the prices, which are 0 at first: an arc
    with room never costs less than the price of its tail minus that of its head.

    Args:
        nodes: how many there are.

    Attributes:
        excess: per node, how much has to go elsewhere; negative where something is lacking.
        price: per node, what a way from it costs, as far as is known.
        reached: per node, whether there was a way from it to one that lacks something when
            `route` ended.
    """

    __slots__ = ("_arcs", "_cost", "_heads", "_room", "excess", "price", "reached")

    def __init__(self, nodes: int) -> None:
        self.excess = [0] * nodes
        self.price = [0] * nodes
        self.reached = [False] * nodes
        self._arcs: list[list[int]] = [[] for _ in range(nodes)]
        self._heads: list[int] = []
        self._room: list[int] = []
        self._cost: list[int] = []

    def join(
        self, tail: int, head: int, *, room: int = PLENTY, cost: int = 0, sent: int = 0
    ) -> int:
        """Add an arc and return its number. Of equally cheap ones the first joined is used.

        Args:
            tail: node where it begins.
            head: node where it ends.
            room: how much it can carry.
            cost: of each that it carries.
            sent: how much it carries already; the excess of nodes does not count that.
        """
        arc = len(self._heads)
        self._heads += (head, tail)
        self._room += (room - sent, sent)
        self._cost += (cost, -cost)
        self._arcs[tail].append(arc)
        self._arcs[head].append(arc + 1)
        return arc

    def fan(self, tail: int, heads: Sequence[int], sent: Sequence[int]) -> range:
        """Add arcs with plenty of room, and free of cost, from one node to several.

        Args:
            tail: node where they begin.
            heads: nodes where they end, each once.
            sent: how much each carries already.

        Returns:
            Their numbers.
        """
        arcs = range(len(self._heads), len(self._heads) + 2 * len(heads), 2)
        self._heads += chain.from_iterable(zip(heads, repeat(tail)))
        self._room += chain.from_iterable((PLENTY - each, each) for each in sent)
        self._cost += [0] * (2 * len(heads))
        self._arcs[tail] += arcs
        for arc, head in zip(arcs, heads, strict=True):
            self._arcs[head].append(arc + 1)
        return arcs

    def send(self, arc: int, amount: int) -> None:
        """Send something along an arc, from what its tail has to what its head has."""
        self._room[arc] -= amount
        self._room[arc ^ 1] += amount
        self.excess[self._heads[arc ^ 1]] -= amount
        self.excess[self._heads[arc]] += amount

    def sent(self, arc: int) -> int:
        """Return how much an arc carries."""
        return self._room[arc ^ 1]

    def left(self, arc: int) -> int:
        """Return how much more an arc can carry."""
        return self._room[arc]

    def route(self, limit: int) -> int:
        """Send what is too much to where it is lacking, as cheaply as possible.

        Args:
            limit: arcs to look at, at most, before costs are forgotten.

        Returns:
            How many arcs it looked at. What has no way stays where it is.
        """
        looked = 0
        while True:
            if looked > limit:
                self._cost = [0] * len(self._cost)
                self.price = [0] * len(self.price)
            ranks = self._approach()
            looked += sum(len(arcs) for arcs, rank in zip(self._arcs, ranks, strict=True) if rank)
            if not self._push(ranks):
                self.reached = [rank > 0 for rank in ranks]
                return looked

    def _approach(self) -> list[int]:
        """Find the cheapest ways, backwards from where something is lacking; adapt the prices.

        Returns:
            Per node, when it was found, from 1; 0 if it was not. Ways lead to earlier nodes.
        """
        excess = self.excess
        ranks, paid = [0] * len(excess), [0] * len(excess)
        waiting = sum(left > 0 for left in excess)
        layer = [node for node, left in enumerate(excess) if left < 0]
        heap: list[tuple[int, int]] = []
        found = dear = 0
        while layer and waiting:
            for node in layer:  # grows while it is walked
                if ranks[node]:
                    continue
                found += 1
                ranks[node], paid[node] = found, dear
                waiting -= excess[node] > 0
                if not waiting:
                    break
                self._look(node, ranks, layer, heap, dear)
            layer = []
            while heap and waiting and not layer:
                dear, node = heappop(heap)
                if not ranks[node]:
                    layer.append(node)
        for node, rank in enumerate(ranks):
            self.price[node] += paid[node] if rank else dear
        return ranks

    def _look(
        self,
        node: int,
        ranks: list[int],
        layer: list[int],
        heap: list[tuple[int, int]],
        dear: int,
    ) -> None:
        """Note from where the node can be reached: at no further cost, or at some."""
        heads, room, cost, price = self._heads, self._room, self._cost, self.price
        base = price[node]
        for arc in self._arcs[node]:
            tail = heads[arc]
            if ranks[tail] or not room[arc ^ 1]:
                continue
            more = base - cost[arc] - price[tail]
            if more:
                heappush(heap, (dear + more, tail))
            else:
                layer.append(tail)

    def _push(self, ranks: list[int]) -> bool:
        """Send along ways that cost what their prices say; return whether there was any."""
        heads, room, excess = self._heads, self._room, self.excess
        tried = [0] * len(ranks)
        pushed = False
        for source in [node for node, left in enumerate(excess) if left > 0 and ranks[node]]:
            while excess[source]:
                way = self._way(source, ranks, tried)
                if not way:
                    break
                end = heads[way[-1]]
                amount = min(excess[source], -excess[end], *[room[arc] for arc in way])
                for arc in way:
                    room[arc] -= amount
                    room[arc ^ 1] += amount
                excess[source] -= amount
                excess[end] += amount
                pushed = True
        return pushed

    def _way(self, source: int, ranks: list[int], tried: list[int]) -> list[int]:
        """Return the arcs of a way to a node that lacks something, none if there is no way left.

        Args:
            source: where it begins.
            ranks: of nodes; a way goes down.
            tried: per node, how many of its arcs are of no more use.
        """
        heads, room, cost, price = self._heads, self._room, self._cost, self.price
        way: list[int] = []
        node = source
        while self.excess[node] >= 0:
            arcs, rank, worth = self._arcs[node], ranks[node], price[node]
            for place in range(tried[node], len(arcs)):
                arc = arcs[place]
                head = heads[arc]
                if room[arc] and 0 < ranks[head] < rank and cost[arc] + price[head] == worth:
                    tried[node] = place
                    way.append(arc)
                    node = head
                    break
            else:
                if not way:
                    return []
                tried[node] = len(arcs)
                node = heads[way.pop() ^ 1]
                tried[node] += 1
        return way

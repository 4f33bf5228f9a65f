"""The best balance of an unequal group: how many partitions each member gets, give or take one.

Decides: the levels of a group. A level is a number n, some audiences and some kinds of members:
in every assignment with the least sum of squared sizes the partitions of these audiences go to
members of these kinds, and each of those has n or n + 1 of them. So the levels can be settled one
by one, and whatever else is wanted of an assignment can be sought within them.
Never: asks which member owns what, or where; counts members or partitions one by one.

The least sum of squares is also the least of every other convex measure of imbalance (Harvey,
Ladner, Lovasz, Tamir, "Semi-matchings for bipartite graphs and load balancing", J. Algorithms
59(1), 2006).

1. Partitions are poured over kinds, scarcest audiences first; mostly that is the best already.
2. With n the mean of some kinds, what they have above n + 1 each is sent to those with less. What
cannot be sent shows two groups of kinds: those that it cannot leave have at least n + 1 each
however it is done, and the others at most n + 1. Each group is looked at by itself.
3. Else what is lacking up to n each is fetched from those with more, with the same two groups if
there is not enough of it. If there is, this is a level.
"""

from collections.abc import Mapping, Sequence
from itertools import compress
from operator import not_
from sys import maxsize

from kgroup.assignors.sticky_census import Census
from kgroup.assignors.sticky_flow import Flow
from kgroup.assignors.sticky_shares import pour
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """Members that have equally many partitions, or one more, and what they have.

    Args:
        size: each member has so many partitions, or one more.
        audiences: of the partitions that they have.
        kinds: of the members.
        found: per audience, in the order of `audiences`, kind -> how many of its partitions the
            members of that kind have in the assignment by which the level was found.
    """

    size: int
    audiences: Sequence[int]
    kinds: Sequence[int]
    found: Sequence[Mapping[int, int]]


def find_levels(census: Census) -> list[Level]:
    """Return the levels of a group; every audience and every kind is in one of them."""
    loads = _Loads(census)
    levels: list[Level] = []
    waiting = [(list(range(len(census.kinds))), list(range(len(census.members))))]
    while waiting:
        audiences, kinds = waiting.pop()
        size = sum(loads.totals[each] for each in audiences) // sum(loads.widths[k] for k in kinds)
        groups = loads.even_out(audiences, kinds, size)
        if groups is None:
            found = [loads.given[audience] for audience in audiences]
            levels.append(Level(size, audiences, kinds, found))
        else:
            waiting.extend(groups)
    return levels


Part = tuple[list[int], list[int]]  # audiences, kinds


class _Loads:
    """How many partitions of each audience each kind of members has."""

    def __init__(self, census: Census) -> None:
        self._kinds = census.kinds
        self.widths = [len(members) for members in census.members]
        self.totals = [0] * len(census.kinds)
        for number, audience in enumerate(census.audience_of):
            self.totals[audience] += census.totals[number]
        self._load = [0] * len(census.members)
        self.given: list[dict[int, int]] = [{} for _ in census.kinds]
        for audience in sorted(range(len(census.kinds)), key=self._subscribers):
            kinds = census.kinds[audience]
            loads, widths = [self._load[k] for k in kinds], [self.widths[k] for k in kinds]
            for kind, more in zip(kinds, pour(self.totals[audience], loads, widths), strict=True):
                self._load[kind] += more
                self.given[audience][kind] = more

    def _subscribers(self, audience: int) -> int:
        return sum(self.widths[kind] for kind in self._kinds[audience])

    def even_out(
        self, audiences: list[int], kinds: list[int], size: int
    ) -> tuple[Part, Part] | None:
        """Give each member of these kinds `size` or one more; else name who cannot.

        Returns:
            None when it is done, else two groups that no partition has to pass between.
        """
        if self._is_even(kinds, size):
            return None
        flow = Flow(len(kinds) + len(audiences))
        place = {kind: node for node, kind in enumerate(kinds)}
        arcs = {
            audience: flow.fan(
                node,
                [place[kind] for kind in self.given[audience]],
                [*self.given[audience].values()],
            )
            for node, audience in enumerate(audiences, len(kinds))
        }
        apart = None
        for bound in (size + 1, size):
            flow.excess[:] = [self._load[kind] - self.widths[kind] * bound for kind in kinds]
            flow.excess += [0] * len(audiences)
            flow.route(maxsize)
            for node, kind in enumerate(kinds):
                self._load[kind] = self.widths[kind] * bound + flow.excess[node]
            left = flow.excess if bound > size else [-each for each in flow.excess]
            if max(left) > 0:
                apart = flow.reached
                break
        for audience, fan in arcs.items():
            self.given[audience] = dict(zip(self.given[audience], map(flow.sent, fan), strict=True))
        return None if apart is None else self._parted(audiences, kinds, apart)

    def _is_even(self, kinds: list[int], size: int) -> bool:
        return all(
            size * self.widths[kind] <= self._load[kind] <= (size + 1) * self.widths[kind]
            for kind in kinds
        )

    def _parted(
        self, audiences: list[int], kinds: list[int], reached: list[bool]
    ) -> tuple[Part, Part]:
        """Part them into those from which there was a way to one that lacked something."""
        kind_reached, audience_reached = reached[: len(kinds)], reached[len(kinds) :]
        below = list(compress(audiences, audience_reached)), list(compress(kinds, kind_reached))
        above = (
            list(compress(audiences, map(not_, audience_reached))),
            list(compress(kinds, map(not_, kind_reached))),
        )
        apart = set(above[1])
        for audience in below[0]:  # nothing of it is with the others, nor need it ever be
            given = self.given[audience]
            self.given[audience] = {kind: n for kind, n in given.items() if kind not in apart}
        return below, above

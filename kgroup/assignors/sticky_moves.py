"""The cheapest way to settle one level: fewest moves, then most partitions near their replicas.

Decides: how many partitions of each class each member keeps of its own, and how many it takes of
others, when every member of a level gets `size` partitions or one more (see `sticky_balance`).
With the weights exchanged racks come before moves.
Never: says which partitions these are (see `sticky_deal`); takes longer than its limit, after
which the level is as balanced, but may have moves or distances that it could do without.
KIPs: 54, 881.

The flow goes from classes to members, either straight: a member keeps its own; or by a market
and a group: it takes what others leave. A market is an audience and a rack; what comes to it will
be in that rack. A group is all members of one kind in one rack, who can take each other's place
as takers. What a member has beyond `size` it passes on, at most one, to a node called BONUS, which
wants what is left when all have `size`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from kgroup.assignors.sticky_balance import Level
from kgroup.assignors.sticky_census import Census
from kgroup.assignors.sticky_flow import Flow
from kgroup.assignors.sticky_water import pour

__all__ = ["SEARCH_LIMIT", "Shares", "Trade", "Weights", "settle_level"]

SEARCH_LIMIT = 20_000_000  # arcs looked at in one assignment; some five seconds of the leader

BONUS = 0

Place = tuple[int, int]  # a kind and a rack: a group; an audience and a rack: a market


@dataclass(frozen=True, slots=True)
class Weights:
    """What is worse.

    Args:
        move: what it costs that a partition does not stay where it is.
        far: what it costs that a partition is in a rack without replica of it.
    """

    move: int
    far: int


@dataclass(frozen=True, slots=True)
class Trade:
    """Partitions of topics of one audience that are taken by members in one rack.

    Args:
        classes: class -> how many of it, never 0.
        takers: member -> how many it takes, of whichever; never 0.
    """

    classes: Mapping[int, int]
    takers: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Shares:
    """What the members of a level have.

    Args:
        kept: member -> class -> how many of its own it keeps.
        trades: what they take of others.
        looked: how much work it was, in arcs looked at.
    """

    kept: Mapping[int, Mapping[int, int]]
    trades: Sequence[Trade]
    looked: int


def settle_level(
    census: Census,
    level: Level,
    own: Sequence[Mapping[int, int]],
    weights: Weights,
    limit: int = SEARCH_LIMIT,
) -> Shares:
    """Return the cheapest shares.

    Args:
        census: who and what there is.
        level: which of them it is about.
        own: per member, class -> how many it owns; what is not of the level has to move anyway.
        weights: what is cheap.
        limit: arcs to look at, at most, while it matters what is cheap.
    """
    board = _Board(census, level)
    board.join_owners(own, weights)
    board.join_takers(weights)
    board.spread()
    looked = board.flow.route(limit)
    if looked > limit:
        board.take_back()
    return Shares(board.kept(), board.trades(), looked)


class _Board:
    """The flow of one level, and what its nodes and arcs mean."""

    def __init__(self, census: Census, level: Level) -> None:
        self._census = census
        audiences = set(level.audiences)
        self._groups: dict[Place, list[int]] = {}
        self._markets: dict[Place, list[Place]] = {}
        for kind in level.kinds:
            for member in census.members[kind]:
                self._groups.setdefault((kind, census.rack_of[member]), []).append(member)
        for kind, rack in self._groups:
            for audience in census.audiences[kind]:
                if audience in audiences:
                    self._markets.setdefault((audience, rack), []).append((kind, rack))
        members = sorted(member for group in self._groups.values() for member in group)
        classes = [c for c, audience in enumerate(census.audience_of) if audience in audiences]
        nodes = count(BONUS + 1)
        self._member = {member: next(nodes) for member in members}
        self._class = {number: next(nodes) for number in classes}
        self._group = {place: next(nodes) for place in self._groups}
        self._market = {place: next(nodes) for place in self._markets}
        self.flow = Flow(next(nodes))
        self._bonus = {m: self.flow.join(node, BONUS, room=1) for m, node in self._member.items()}
        self._keeping: dict[Place, int] = {}  # (member, class) -> arc
        self._stalls: dict[Place, int] = {}  # (class, rack) -> arc to the market
        self._doors: dict[tuple[Place, Place], int] = {}  # (market, group) -> arc
        self._seats: dict[int, int] = {}  # member -> arc from its group
        for member in members:
            self.flow.excess[self._member[member]] = -level.size
        for number in classes:
            self.flow.excess[self._class[number]] = census.totals[number]
        self.flow.excess[BONUS] = -sum(self.flow.excess)

    def join_owners(self, own: Sequence[Mapping[int, int]], weights: Weights) -> None:
        """Let every member keep what it owns, as far as keeping costs nothing.

        What all of a class pays is left out of the costs: with moves as the worse, the distance.
        """
        census, flow = self._census, self.flow
        spared = weights.far if weights.move > weights.far else 0
        for member, node in self._member.items():
            rack = census.rack_of[member]
            mine = [(c, held) for c, held in own[member].items() if c in self._class]
            # what it has most of goes first, and of equal classes every member gives another
            mine.sort(key=lambda each: (-each[1], (each[0] - member) % len(census.totals)))
            for number, held in mine:
                cost = (0 if rack in census.near[number] else weights.far) - spared
                arc = flow.join(self._class[number], node, room=held, cost=cost)
                self._keeping[member, number] = arc
                if cost <= 0:
                    flow.send(arc, held)

    def join_takers(self, weights: Weights) -> None:
        """Let everybody take of what others leave; set prices to what the first of that costs."""
        census, flow = self._census, self.flow
        spared = weights.far if weights.move > weights.far else 0
        for group, members in self._groups.items():
            for member in members:
                self._seats[member] = flow.join(self._group[group], self._member[member])
        racks: dict[int, list[int]] = {}
        for market, groups in self._markets.items():
            racks.setdefault(market[0], []).append(market[1])
            for group in groups:
                self._doors[market, group] = flow.join(self._market[market], self._group[group])
        for number, node in self._class.items():
            audience = census.audience_of[number]
            for rack in racks[audience]:
                far = 0 if rack in census.near[number] else weights.far
                cost = weights.move + far - spared
                head = self._market[audience, rack]
                self._stalls[number, rack] = flow.join(node, head, cost=cost)
            flow.price[node] = flow.cheapest(node)

    def spread(self) -> None:
        """Do at once what is cheapest of all and would be done first.

        Who has one more may keep it. What nobody owns goes to those that have least, near if
        possible, so that each topic is spread over many members, as far as nothing else matters.
        """
        flow = self.flow
        for member, node in self._member.items():
            if flow.excess[node] > 0 > flow.excess[BONUS]:
                flow.send(self._bonus[member], 1)
        stalls: dict[int, list[int]] = {}
        for (number, rack), arc in self._stalls.items():
            if flow.is_open(arc):
                stalls.setdefault(number, []).append(rack)
        for number in sorted(stalls, key=lambda number: (self._subscribers(number), number)):
            if flow.excess[self._class[number]] > 0:
                self._spread_class(number, stalls[number])

    def _subscribers(self, number: int) -> int:
        audience = self._census.audience_of[number]
        return sum(len(self._census.members[kind]) for kind in self._census.kinds[audience])

    def _spread_class(self, number: int, racks: Sequence[int]) -> None:
        flow, audience = self.flow, self._census.audience_of[number]
        groups = [group for rack in racks for group in self._markets[audience, rack]]
        group_of = {member: group for group in groups for member in self._groups[group]}
        able = sorted(group_of)
        left = flow.excess[self._class[number]]
        lacking = [m for m in able if flow.excess[self._member[m]] < 0]
        loads = [flow.excess[self._member[m]] for m in lacking]
        parts = pour(min(left, -sum(loads)), loads) if lacking else []
        for member, part in zip(lacking, parts, strict=True):
            if part:
                self._give(number, group_of[member], member, part)
        for member in able if left > sum(parts) else ():
            if not flow.excess[self._class[number]] or not flow.excess[BONUS]:
                break
            if not flow.sent(self._bonus[member]) and not flow.excess[self._member[member]]:
                self._give(number, group_of[member], member, 1)
                flow.send(self._bonus[member], 1)

    def _give(self, number: int, group: Place, member: int, amount: int) -> None:
        audience, rack = self._census.audience_of[number], group[1]
        self.flow.send(self._stalls[number, rack], amount)
        self.flow.send(self._doors[(audience, rack), group], amount)
        self.flow.send(self._seats[member], amount)

    def take_back(self) -> None:
        """Let members keep what they would only exchange for others of the same class."""
        flow, census = self.flow, self._census
        kind_of = {member: place for place, group in self._groups.items() for member in group}
        for (member, number), arc in self._keeping.items():
            group = kind_of[member]
            audience, rack = census.audience_of[number], group[1]
            taken = min(
                flow.left(arc),
                flow.sent(self._seats[member]),
                flow.sent(self._stalls[number, rack]),
                flow.sent(self._doors[(audience, rack), group]),
            )
            if taken:
                self._give(number, group, member, -taken)
                flow.send(arc, taken)

    def kept(self) -> dict[int, dict[int, int]]:
        """Return member -> class -> how many of its own it keeps."""
        kept: dict[int, dict[int, int]] = {member: {} for member in self._member}
        for (member, number), arc in self._keeping.items():
            kept[member][number] = self.flow.sent(arc)
        return kept

    def trades(self) -> list[Trade]:
        """Return what is taken, market by market; in a group, evenly of every market."""
        sent = self.flow.sent
        wanting = {member: sent(seat) for member, seat in self._seats.items()}
        classes: dict[Place, dict[int, int]] = {market: {} for market in self._markets}
        for (number, rack), arc in self._stalls.items():
            if sent(arc):
                classes[self._census.audience_of[number], rack][number] = sent(arc)
        trades: list[Trade] = []
        for market, groups in self._markets.items():
            takers: dict[int, int] = {}
            for group in groups if classes[market] else ():
                members = self._groups[group]
                parts = pour(sent(self._doors[market, group]), [-wanting[m] for m in members])
                for member, part in zip(members, parts, strict=True):
                    wanting[member] -= part
                    takers[member] = part
            if classes[market]:
                trades.append(Trade(classes[market], {m: n for m, n in takers.items() if n}))
        return trades

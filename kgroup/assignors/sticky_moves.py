"""The cheapest way to settle one level: fewest moves, then most partitions near their replicas.

Decides: how many partitions of each class each member keeps of its own, and how many it takes of
others, when every member of a level gets `size` partitions or one more (see `sticky_balance`).
With the weights exchanged racks come before moves.
Never: says which partitions these are (see `sticky_deal`); takes longer than its limit, after
which the level is as balanced, but may have moves or distances that it could do without.
KIPs: 54, 881.

The flow goes from classes to members, either straight: a member keeps its own; or by a market
and a group: it takes what others leave. A market is an audience and a rack; what comes to it will
be in that rack. A group is all members of one kind in one rack, which can take each other's place
as takers. What a member has beyond `size` it passes on, at most one, to a node called BONUS, which
wants what is left when all have `size`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product

from kgroup.assignors.sticky_balance import Level
from kgroup.assignors.sticky_census import Census
from kgroup.assignors.sticky_flow import Flow
from kgroup.assignors.sticky_opening import Opening
from kgroup.assignors.sticky_shares import Shares, Trade, Weights, pour

SEARCH_LIMIT = 20_000_000  # arcs looked at in one assignment; some five seconds of the leader

BONUS = 0

Place = tuple[int, int]  # two numbers that together name something


def settle_level(
    census: Census,
    level: Level,
    own: Sequence[Mapping[int, int]],
    weights: Weights,
    limit: int = SEARCH_LIMIT,
) -> Shares:
    """Return the cheapest shares.

    Args:
        census: the group in numbers.
        level: which of them it is about.
        own: per member, class -> how many it owns; what is not of the level has to move anyway.
        weights: what is cheap.
        limit: arcs to look at, at most, while it matters what is cheap.
    """
    opening = Opening(census, level, own, weights)
    shares = opening.shares()
    if shares is not None:
        return shares
    board = _Board(census, level, opening)
    board.join_owners(own, weights)
    board.join_takers(weights)
    looked = board.flow.route(limit)
    if looked > limit:
        board.take_back()
    return Shares(board.kept(), board.trades(), looked)


class _Board:
    """The flow of one level, and what its nodes and arcs mean.

    Groups and markets go by the numbers of their nodes, members and classes by their own.
    """

    def __init__(self, census: Census, level: Level, opening: Opening) -> None:
        self._census = census
        self._opening = opening
        nodes = count(BONUS + 1)
        self._member = {member: next(nodes) for member in opening.members}
        self._class = {number: next(nodes) for number in opening.left}
        self._members: dict[int, list[int]] = {}  # of a group
        self._groups: dict[int, list[int]] = {}  # of a market
        self._group_of: dict[int, int] = {}  # a member's
        self._market: dict[Place, int] = {}  # by audience and rack
        self._place(level, nodes)
        self._keeping: dict[Place, int] = {}  # (member, class) -> arc
        self._stalls: dict[Place, int] = {}  # (class, market) -> arc
        self._doors: dict[int, Sequence[int]] = {}  # market -> arcs to its groups
        self._seats: dict[int, int] = {}  # member -> arc from its group
        self.flow = Flow(next(nodes))
        self.flow.excess[BONUS] = -opening.bonuses
        for member, node in self._member.items():
            self.flow.excess[node] = opening.excess[member]
            self.flow.join(node, BONUS, room=1, sent=int(member in opening.bonus))
        for number, node in self._class.items():
            self.flow.excess[node] = opening.left[number]
            self.flow.price[node] = opening.prices[number]

    def _place(self, level: Level, nodes: Iterator[int]) -> None:
        """Put members into groups, and groups before markets."""
        census, audiences = self._census, set(level.audiences)
        for kind in level.kinds:
            groups: dict[int, int] = {}  # by rack
            for member in census.members[kind]:
                rack = census.rack_of[member]
                if rack not in groups:
                    groups[rack] = next(nodes)
                self._group_of[member] = groups[rack]
                self._members.setdefault(groups[rack], []).append(member)
            mine = [audience for audience in census.audiences[kind] if audience in audiences]
            for place in product(mine, groups):
                if place not in self._market:
                    self._market[place] = next(nodes)
                self._groups.setdefault(self._market[place], []).append(groups[place[1]])

    def join_owners(self, own: Sequence[Mapping[int, int]], weights: Weights) -> None:
        """Let every member keep what it owns."""
        census = self._census
        for member, node in self._member.items():
            rack, kept = census.rack_of[member], self._opening.kept[member]
            mine = [(c, held) for c, held in own[member].items() if c in self._class]
            # what it has most of goes first, and of equal classes every member gives another
            mine.sort(key=lambda each: (-each[1], (each[0] - member) % len(census.totals)))
            for number, held in mine:
                self._keeping[member, number] = self.flow.join(
                    self._class[number],
                    node,
                    room=held,
                    cost=weights.keeping(near=rack in census.near[number]),
                    sent=kept.get(number, 0),
                )

    def join_takers(self, weights: Weights) -> None:
        """Let everybody take of what others leave."""
        seats, doors, stalls = self._given()
        for group, members in self._members.items():
            fan = self.flow.fan(
                group, [self._member[m] for m in members], [seats[m] for m in members]
            )
            self._seats.update(zip(members, fan, strict=True))
        racks: dict[int, list[int]] = {}
        for (audience, rack), market in self._market.items():
            racks.setdefault(audience, []).append(rack)
            groups = self._groups[market]
            self._doors[market] = self.flow.fan(market, groups, [doors[market, g] for g in groups])
        for number, node in self._class.items():
            audience = self._census.audience_of[number]
            for rack in racks[audience]:
                market = self._market[audience, rack]
                self._stalls[number, market] = self.flow.join(
                    node,
                    market,
                    cost=weights.taking(near=rack in self._census.near[number]),
                    sent=stalls[number, market],
                )

    def _given(self) -> tuple[Counter[int], Counter[Place], Counter[Place]]:
        """Return what the opening sends along seats, doors and stalls."""
        seats: Counter[int] = Counter()
        doors: Counter[Place] = Counter()
        stalls: Counter[Place] = Counter()
        for number, gifts in self._opening.gifts.items():
            for member, amount in gifts.items():
                market = self._market_for(number, member)
                seats[member] += amount
                doors[market, self._group_of[member]] += amount
                stalls[number, market] += amount
        return seats, doors, stalls

    def _market_for(self, number: int, member: int) -> int:
        return self._market[self._census.audience_of[number], self._census.rack_of[member]]

    def take_back(self) -> None:
        """Let members keep what they would only exchange for others of the same class."""
        flow = self.flow
        for (member, number), arc in self._keeping.items():
            market = self._market_for(number, member)
            door = self._doors[market][self._groups[market].index(self._group_of[member])]
            way = self._stalls[number, market], door, self._seats[member]
            taken = min(flow.left(arc), *map(flow.sent, way))
            if taken:
                flow.send(arc, taken)
                for each in way:
                    flow.send(each, -taken)

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
        classes: dict[int, dict[int, int]] = {market: {} for market in self._doors}
        for (number, market), arc in self._stalls.items():
            if sent(arc):
                classes[market][number] = sent(arc)
        trades: list[Trade] = []
        for market, doors in self._doors.items():
            takers: dict[int, int] = {}
            for group, amount in zip(self._groups[market], map(sent, doors), strict=True):
                if amount:
                    takers |= self._takers(group, amount, wanting)
            if takers:
                trades.append(Trade(classes[market], takers))
        return trades

    def _takers(self, group: int, amount: int, wanting: dict[int, int]) -> dict[int, int]:
        """Divide what comes to a group among its members, first to those that want most."""
        members = [member for member in self._members[group] if wanting[member]]
        parts = pour(amount, [-wanting[member] for member in members])
        for member, part in zip(members, parts, strict=True):
            wanting[member] -= part
        return {member: part for member, part in zip(members, parts, strict=True) if part}

"""The first and cheapest steps to settle a level; mostly they are all it needs.

Decides: what members keep, and which free partitions they get, as long as neither costs anything
that could be saved: owners keep what they have, and free partitions go to the members that have
least, near ones if possible, so that each topic is spread over many members. When nothing is left
over and no member is short, the result is the best there is.
Never: takes from an owner what it could keep; that is weighed in `sticky_moves`.
KIPs: 54, 881.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.sticky_balance import Level
from kgroup.assignors.sticky_census import Census
from kgroup.assignors.sticky_shares import Shares, Trade, Weights, pour


class Opening:
    """A level, settled as far as that costs nothing more than it must.

    Args:
        census: the group in numbers.
        level: which of them it is about.
        own: per member, class -> how many it owns.
        weights: what costs what.

    Attributes:
        members: of the level, in order.
        kept: member -> class -> how many of its own it keeps: all or nothing.
        gifts: class -> member -> how many it takes.
        left: class -> how many of it are still free.
        excess: member -> how many it has beyond what it should; negative if it lacks some.
        bonus: members that have one more than `size`, which is not counted as excess.
        bonuses: how many more may have one more.
        prices: class -> what it costs that one more of it is given to somebody.
    """

    def __init__(
        self,
        census: Census,
        level: Level,
        own: Sequence[Mapping[int, int]],
        weights: Weights,
    ) -> None:
        self._census = census
        self._level = level
        self._weights = weights
        audiences = set(level.audiences)
        kinds = set(level.kinds)
        classes = [c for c, audience in enumerate(census.audience_of) if audience in audiences]
        self._kinds = {a: [k for k in census.kinds[a] if k in kinds] for a in level.audiences}
        self._able: dict[tuple[int, frozenset[int]], list[int]] = {}
        self.members = sorted(m for kind in level.kinds for m in census.members[kind])
        self.kept: dict[int, dict[int, int]] = {}
        self.gifts: dict[int, dict[int, int]] = {}
        self.left = {number: census.totals[number] for number in classes}
        self.excess: dict[int, int] = {}
        self.bonus: set[int] = set()
        self.bonuses = sum(self.left.values()) - level.size * len(self.members)
        self.prices: dict[int, int] = {}
        refused: set[int] = set()
        for member in self.members:
            refused |= self._keep(member, own[member], level.size)
        racks = self._racks()
        for number in sorted(classes, key=lambda number: (self._subscribers(number), number)):
            self._open(number, racks[census.audience_of[number]], refused=number in refused)

    def shares(self) -> Shares | None:
        """Return the shares if nothing is left over and no member is short, else None."""
        if self.bonuses or any(self.left.values()) or any(self.excess.values()):
            return self._found() if self._is_fresh() else None
        trades = [Trade({c: sum(gifts.values())}, gifts) for c, gifts in self.gifts.items()]
        return Shares(self.kept, trades, 0)

    def _is_fresh(self) -> bool:
        """Whether one balanced assignment is as good as another: no owner, no racks."""
        return not self._census.racks and not any(self.kept.values())

    def _found(self) -> Shares:
        """Return the assignment by which the level was found."""
        class_of = {self._census.audience_of[number]: number for number in self.left}
        loads = dict.fromkeys(self.members, 0)
        trades: list[Trade] = []
        for audience, found in zip(self._level.audiences, self._level.found, strict=True):
            takers: dict[int, int] = {}
            for kind, amount in found.items():
                if not amount:
                    continue
                members = self._census.members[kind]
                parts = pour(amount, [loads[member] for member in members])
                for member, part in zip(members, parts, strict=True):
                    loads[member] += part
                    takers[member] = part
            takers = {member: part for member, part in takers.items() if part}
            trades.append(Trade({class_of[audience]: sum(takers.values())}, takers))
        return Shares({member: {} for member in self.members}, trades, 0)

    def _keep(self, member: int, owned: Mapping[int, int], size: int) -> set[int]:
        """Let a member keep what it owns, and one beyond `size`; return what it better leaves."""
        census, rack = self._census, self._census.rack_of[member]
        kept: dict[int, int] = {}
        refused: set[int] = set()
        for number, count in owned.items():
            if number not in self.left:
                continue
            if self._weights.keeping(near=rack in census.near[number]) > 0:
                refused.add(number)
            else:
                kept[number] = count
                self.left[number] -= count
        self.kept[member] = kept
        excess = sum(kept.values()) - size
        if excess > 0 and self.bonuses:
            self.bonus.add(member)
            self.bonuses -= 1
            excess -= 1
        self.excess[member] = excess
        return refused

    def _racks(self) -> dict[int, frozenset[int]]:
        """Return, per audience, the racks of its members."""
        census = self._census
        of_kind = {
            kind: {census.rack_of[member] for member in census.members[kind]}
            for kinds in self._kinds.values()
            for kind in kinds
        }
        return {
            audience: frozenset().union(*(of_kind[kind] for kind in kinds))
            for audience, kinds in self._kinds.items()
        }

    def _subscribers(self, number: int) -> int:
        kinds = self._kinds[self._census.audience_of[number]]
        return sum(len(self._census.members[kind]) for kind in kinds)

    def _open(self, number: int, racks: frozenset[int], *, refused: bool) -> None:
        """Set the price of a class; give its rest to members for which it costs no more than that.

        Args:
            number: of the class.
            racks: of the members that may take it.
            refused: whether an owner could keep more of it, if only it were nearer.
        """
        near = racks & self._census.near[number]
        self.prices[number] = self._weights.taking(near=bool(near))
        if refused and self._weights.keeping(near=False) < self.prices[number]:
            self.prices[number] = self._weights.keeping(near=False)
        elif self.left[number]:
            self._give(number, self._able_in(self._census.audience_of[number], near or racks))

    def _able_in(self, audience: int, racks: frozenset[int]) -> list[int]:
        able = self._able.get((audience, racks))
        if able is None:
            census = self._census
            able = self._able[audience, racks] = sorted(
                member
                for kind in self._kinds[audience]
                for member in census.members[kind]
                if census.rack_of[member] in racks
            )
        return able

    def _give(self, number: int, able: Sequence[int]) -> None:
        """Give what is left of a class to the members that lack most, one more to the first."""
        excess = self.excess
        lacking = [member for member in able if excess[member] < 0]
        loads = [excess[member] for member in lacking]
        gifts: dict[int, int] = {}
        amount = min(self.left[number], -sum(loads))
        for member, part in zip(lacking, pour(amount, loads), strict=True) if amount else ():
            if part:
                gifts[member] = part
                excess[member] += part
        more = min(self.left[number] - amount, self.bonuses)
        if more:
            full = [m for m in able if not excess[m] and m not in self.bonus][:more]
            self.bonus.update(full)
            self.bonuses -= len(full)
            amount += len(full)
            for member in full:
                gifts[member] = gifts.get(member, 0) + 1
        self.left[number] -= amount
        self.gifts[number] = gifts

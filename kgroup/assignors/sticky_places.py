"""How many partitions each member of an equal group still gets.

Decides: the two lists of members with room, `short` (fewer than `least`) and `even` (exactly
`least`, and one of them may become one of the `larger` members that get one more).
Never: looks at which partitions they are.
KIPs: 54.
"""

from collections.abc import Sequence

from kgroup.assignors.member import Member
from kgroup.wire.classic_bytes import utf16_order

__all__ = ["Places"]


class Places:
    """The members of a group whose subscriptions are equal, being served.

    Args:
        members: in the order in which they keep what they hold.
        total: number of partitions.

    Attributes:
        least: what everybody gets, so many partitions or one more.
        larger: how many members get one more.
        full: how many of those have it already.
        short, even: members with room.
        given: member id -> indices of its partitions so far.
    """

    def __init__(self, members: Sequence[Member], total: int) -> None:
        self.members = members
        self.least, self.larger = divmod(total, len(members))
        self.most = self.least + 1 if self.larger else self.least
        self.full = 0
        self.short: list[Member] = []
        self.even: list[Member] = []
        self.given: dict[str, Sequence[int]] = {m.member_id: () for m in members}

    def room_to_keep(self, count: int) -> int:
        """Return how many of so many partitions the next member may keep."""
        if count < self.least:
            return count
        if count >= self.most and self.full < self.larger:
            return self.most
        return self.least

    def keep(self, member: Member, kept: Sequence[int]) -> None:
        """Let a member keep what `room_to_keep` allows."""
        if len(kept) < self.least:
            self.short.append(member)
        elif len(kept) > self.least:
            self.count_full()
        elif self.full < self.larger:
            self.even.append(member)
        self.given[member.member_id] = list(kept) if kept else ()

    def count_full(self) -> None:
        """One more member has `most`; with the last of them nobody else may grow."""
        self.full += 1
        if self.full == self.larger:
            self.even.clear()

    def sort(self) -> None:
        """Put both lists into the order of member ids."""
        self.short.sort(key=lambda member: utf16_order(member.member_id))
        self.even.sort(key=lambda member: utf16_order(member.member_id))

    def give(self, member: Member, indices: Sequence[int]) -> int:
        """Give a member more; return how many it has then."""
        mine = self.given[member.member_id]
        if isinstance(mine, list):
            mine.extend(indices)
            return len(mine)
        # A member that begins with nothing may be dealt one range, and keeps it as such.
        self.given[member.member_id] = [*mine, *indices] if mine else indices
        return len(mine) + len(indices)

    def give_rest(self, free: Sequence[int]) -> None:
        """Deal out what is left: in turn to those that are short, then one each to the even.

        Between two moments at which somebody has enough, the turns of the others do not change,
        so each of them gets every n-th partition of that stretch at once.
        """
        at = 0
        while self.short and at < len(free):
            turns = self.least - max(len(self.given[m.member_id]) for m in self.short)
            stretch = free[at : at + turns * len(self.short)]
            at += len(stretch)
            waiting: list[Member] = []
            for place, member in enumerate(self.short):
                has = self.give(member, stretch[place :: len(self.short)])
                (waiting if has < self.least else self.even).append(member)
            self.short = waiting
        for member, index in zip(self.even, free[at:], strict=False):
            self.give(member, (index,))

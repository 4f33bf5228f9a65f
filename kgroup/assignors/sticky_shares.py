"""What the members of a level have, in counts, and what is the worse of two ways to share.

Decides: how moves and distances weigh against each other.
Never: counts what all ways have in common.
KIPs: 54, 881.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgroup.assignors.sticky_census import Census

__all__ = ["Shares", "Trade", "Weights"]


@dataclass(frozen=True, slots=True)
class Weights:
    """What it costs that a partition does not stay, and that it is far from its replicas.

    Whichever comes first has to weigh more than the other for all partitions together.

    Args:
        move: for a partition that goes to another member than its owner.
        far: for a partition in a rack without replica of it.
    """

    move: int
    far: int

    def keeping(self, *, near: bool) -> int:
        """Return what it costs that a member keeps a partition; not more than 0 if it should."""
        return (0 if near else self.far) - self._spared()

    def taking(self, *, near: bool) -> int:
        """Return what it costs that a member takes a partition; more than 0."""
        return self.move + (0 if near else self.far) - self._spared()

    def _spared(self) -> int:
        """Return what is taken off all costs, so that keeping is free when moves are worse."""
        return self.far if self.move > self.far else 0


@dataclass(frozen=True, slots=True)
class Trade:
    """Partitions that change hands: of one class, or to members in one rack.

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
        trades: what they take of others, and of what nobody owns.
        looked: how much work it was, in arcs looked at.
    """

    kept: Mapping[int, Mapping[int, int]]
    trades: Sequence[Trade]
    looked: int

    def far(self, census: Census) -> int:
        """Return how many partitions will be in a rack without replica of them."""
        rack_of, near = census.rack_of, census.near
        far = 0
        for member, classes in self.kept.items():
            far += sum(n for number, n in classes.items() if rack_of[member] not in near[number])
        for trade in self.trades:
            racks = Counter[int]()
            for member, amount in trade.takers.items():
                racks[rack_of[member]] += amount
            if len(trade.classes) == 1:
                (number,) = trade.classes
                far += sum(n for rack, n in racks.items() if rack not in near[number])
            else:
                (rack,) = racks
                far += sum(n for number, n in trade.classes.items() if rack not in near[number])
        return far

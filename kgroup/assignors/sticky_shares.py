"""What the members of a level have, in counts, and which of two ways to share is the worse.

Decides: how moves and distances weigh against each other; how much each vessel gets when an
amount is poured (`pour`), as partitions that go one by one to the member that has least.
Never: counts what all ways have in common; pours one by one: a million cost as much as ten.
KIPs: 54, 881.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from kgroup.assignors.sticky_census import Census
from kgroup.values import dataclass


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


def pour(amount: int, loads: Sequence[int], widths: Sequence[int] | None = None) -> list[int]:
    """Return how much each vessel gets.

    Args:
        amount: how much to pour, not negative.
        loads: what each vessel holds already; may be negative; at least one vessel.
        widths: how much raises each vessel by one, at least 1; None when that is 1 for all.

    Returns:
        Per vessel its part of the amount. Afterwards no vessel that got something stands higher
        by more than one than any other; what does not make a whole layer goes to the first ones.
    """
    wide = widths or [1] * len(loads)
    floors = [load // width for load, width in zip(loads, wide, strict=True)]
    order = sorted(range(len(loads)), key=floors.__getitem__)
    width, below = 0, 0  # of the vessels that the water has reached
    for vessel in order:
        if width and width * floors[vessel] - below >= amount:
            break
        width += wide[vessel]
        below += loads[vessel]
    top = (amount + below) // width
    parts = [max(0, top * each - load) for load, each in zip(loads, wide, strict=True)]
    rest = amount - sum(parts)
    for vessel, (load, each) in enumerate(zip(loads, wide, strict=True)):
        if rest <= 0:
            break
        more = min(rest, max(0, (top + 1) * each - load - parts[vessel]))
        parts[vessel] += more
        rest -= more
    return parts

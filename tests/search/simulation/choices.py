"""Where all chance of a simulation comes from.

Decides: what `choose(site, n)` gives, and how it is remembered: by the name of the site and how
often that site was asked before. 0 is, by convention of all callers, the tamest pick: no fault, the
plain latency, the first in order. So a schedule is its picks that are not 0, a pick that is taken
out of it is a 0, and what is left stays where it was: replay does not slip.
Never: draws anything else; knows what a site is about.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, order=True)
class Pick:
    """One choice that was not 0.

    Args:
        site: name of the question.
        index: how often that site had been asked before, from 0.
        value: what it got, at least 1.
    """

    site: str
    index: int
    value: int


class Choices:
    """One schedule's chance: drawn anew, replayed, or both.

    Args:
        dice: draws what `given` does not say; None = 0.
        given: what is picked at a site's n-th question.
        beside: draws for `aside`; None = 0.
    """

    def __init__(
        self,
        dice: Random | None,
        given: Mapping[tuple[str, int], int] | None = None,
        beside: Random | None = None,
    ) -> None:
        self._dice = dice
        self._given = given
        self._beside = beside
        self._asked: dict[str, int] = {}
        self._picks: list[Pick] = []

    @staticmethod
    def drawn(seed: int) -> "Choices":
        """Return the chance of a seed."""
        return Choices(Random(seed), beside=_beside(seed))

    @staticmethod
    def replayed(picks: Iterable[Pick]) -> "Choices":
        """Return exactly these picks; everything else is 0."""
        return Choices(None, {(pick.site, pick.index): pick.value for pick in picks})

    def choose(self, site: str, n: int) -> int:
        """Pick a number from 0 to n - 1.

        Args:
            site: names the question; its answers do not depend on how often others were asked
                when a schedule is replayed.
            n: how many possibilities, at least 1.
        """
        index = self._asked.get(site, 0)
        self._asked[site] = index + 1
        if self._given is None and self._dice is not None and n > 1:
            value = int(self._dice.random() * n)  # as most are
        else:
            value = self._value(self._dice, site, index, n)
        if value:
            self._picks.append(Pick(site, index, value))
        return value

    def aside(self, site: str, n: int) -> int:
        """Pick a number as `choose` does, with dice that no other site uses.

        What a seed draws elsewhere is what it drew before there was this site.
        """
        index = self._asked.get(site, 0)
        self._asked[site] = index + 1
        value = self._value(self._beside, site, index, n)
        if value:
            self._picks.append(Pick(site, index, value))
        return value

    def _value(self, dice: Random | None, site: str, index: int, n: int) -> int:
        if n < 2:
            return 0
        if self._given is not None:
            given = self._given.get((site, index))
            if given is not None:
                return given % n
        return 0 if dice is None else int(dice.random() * n)

    @property
    def picks(self) -> tuple[Pick, ...]:
        """What was picked so far that is not 0, in order."""
        return tuple(self._picks)

    @property
    def asked(self) -> int:
        """How many choices were made so far."""
        return sum(self._asked.values())


def _beside(seed: int) -> Random:
    return Random(f"beside {seed}")

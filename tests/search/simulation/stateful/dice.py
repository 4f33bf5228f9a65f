"""The small chance between two rules: latencies, and which broker is asked.

Decides: that it comes from a number which Hypothesis draws, and that 0 means no chance at all.
Never: draws from anything else.
"""

from random import Random

__all__ = ["Dice"]


class Dice(Random):
    """Dice that are cast anew by each rule that lets time pass."""

    tame = True

    def deal(self, number: int) -> None:
        """Go on with the chance of a number; 0 gives the tamest pick everywhere."""
        self.tame = number == 0
        if number:
            self.seed(number)

    def random(self) -> float:
        """Return the next chance, in [0, 1)."""
        return 0.0 if self.tame else super().random()

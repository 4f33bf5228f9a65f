"""How long to wait before trying again.

Decides: the pause after the n-th failure in a row: exponential, capped, with jitter (KIP-580).
Never: sleeps, reads a clock, draws chance or keeps state of its own; a `Backoff` is a value.
"""

from dataclasses import replace
from typing import Final

from kgroup.values import dataclass

_DOUBLINGS: Final = 32
"""No pause doubles more often than this: the cap is reached long before, and no float overflows."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Failures in a row, and the pause they cost.

    Args:
        initial: pause after the first failure, seconds.
        maximum: longest pause before jitter, seconds.
        jitter: share of the pause that chance may add or take away, 0 to 1.
        failures: failures since the last success.
    """

    initial: float
    maximum: float
    jitter: float = 0.2
    failures: int = 0

    def failed(self) -> "Backoff":
        """Return the value after one more failure."""
        return replace(self, failures=self.failures + 1)

    def reset(self) -> "Backoff":
        """Return the value after a success."""
        return replace(self, failures=0) if self.failures else self

    def pause(self, chance: float = 0.5) -> float:
        """Return the seconds to wait now; 0 when nothing failed since the last success.

        Args:
            chance: a number drawn from 0 to 1, the same for all values between; 0.5 adds nothing.
        """
        if not self.failures:
            return 0.0
        doublings = min(self.failures - 1, _DOUBLINGS)
        pause = min(self.initial * 2.0**doublings, self.maximum)
        low, high = 1 - self.jitter, 1 + self.jitter
        return pause * (low + (high - low) * chance)

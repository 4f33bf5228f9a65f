"""What an error code of an answer asks of whoever sent the request.

Decides: for whoever sends one request until it works: which of four moves a reaction means.
Never: has cells of its own; `kgroup.machine.reactions` is the one table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.ports import Dice

__all__ = ["Backoff", "Verdict", "refusal", "verdict"]


class Verdict(Enum):
    """What to do next."""

    DONE = "done"
    AGAIN = "ask the same broker again, after a pause"
    ELSEWHERE = "find out anew who is responsible, then ask again"
    REFUSED = "tell the caller"


def verdict(api: ApiKey, code: int) -> Verdict:
    """Decide what follows from an error code of an API; a code nobody knows is a refusal."""
    match reaction(api, code):
        case Reaction.SUCCEED | Reaction.IGNORE:
            return Verdict.DONE
        case Reaction.RETRY | Reaction.RETRY_BOUNDED:
            return Verdict.AGAIN
        case Reaction.REFRESH | Reaction.MISSING | Reaction.FIND_COORDINATOR | Reaction.REBOOTSTRAP:
            return Verdict.ELSEWHERE
        case _:
            return Verdict.REFUSED


def refusal(
    api: ApiKey, code: int, resources: Sequence[str], message: str | None = None
) -> BrokerError:
    """Make the error for a code.

    Args:
        api: what was asked.
        code: the error code.
        resources: the topics, groups or other names it was about.
        message: the broker's own text, None without one.
    """
    match code:
        case (
            ErrorCode.TOPIC_AUTHORIZATION_FAILED
            | ErrorCode.GROUP_AUTHORIZATION_FAILED
            | ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            | ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ):
            return UnauthorizedError(api.name, code, resources, message or "")
        case _:
            named = ", ".join(resources)
            return BrokerError(api.name, code, f"{named}: {message}" if message else named)


# -- backoff ---------------------------------------------------------------------------------------
#
# How long to wait before trying again.
#
# Decides: the pause after the n-th failure in a row: exponential, capped, with jitter (KIP-580).
# Never: sleeps, reads a clock, or keeps state of its own; a `Backoff` is a value.


_DOUBLINGS = 32
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

    def pause(self, dice: Dice) -> float:
        """Return the seconds to wait now; 0 when nothing failed since the last success."""
        if not self.failures:
            return 0.0
        doublings = min(self.failures - 1, _DOUBLINGS)
        pause = min(self.initial * 2.0**doublings, self.maximum)
        return pause * dice.uniform(1 - self.jitter, 1 + self.jitter)

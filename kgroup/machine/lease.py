"""How long ownership can be proved: the lease.

Decides: until when records may be handed out, from the sending times of answered requests.
Never: reads a clock; expiry is judged against an instant the caller gives.

Two deadlines, both counted from *sending*, the safe side:
  A + session timeout: the coordinator expels a member it has not heard from. A is the sending
    time of the last heartbeat answered OK or REBALANCE_IN_PROGRESS (both renew the session).
  B + rebalance timeout: the coordinator completes a round without a member that did not rejoin,
    session or not. B is the latest sending time of a heartbeat answered OK while the current
    generation is synced, of an answered JoinGroup, or of a SyncGroup answered 0. (OK before the
    sync proves nothing: a member that does not sync within the rebalance timeout is expelled.)
Deadlines only extend; expiry is final: a coordinator that is loading says OK to anybody. What may
outlive it (`lapse`) is proved anew by an answered JoinGroup or SyncGroup alone.
"""

from kgroup.frozen import replace
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Lease:
    """The proof of one membership.

    Args:
        session_timeout: seconds.
        rebalance_timeout: seconds.
        margin: seconds taken off for clocks and scheduling.
        confirmed_at: A, None before the first answered heartbeat.
        synced_at: B, None before the first answered JoinGroup.
        lapsed: whether it is over by the clock, and no coordinator has answered since.
    """

    session_timeout: float
    rebalance_timeout: float
    margin: float
    confirmed_at: float | None = None
    synced_at: float | None = None
    lapsed: bool = False

    def expires_at(self) -> float | None:
        """Return the instant after which nothing may be handed out; None before any proof."""
        if self.confirmed_at is None or self.synced_at is None:
            return None
        session_end = self.confirmed_at + self.session_timeout
        round_end = self.synced_at + self.rebalance_timeout
        return min(session_end, round_end) - self.margin

    @property
    def longest(self) -> float:
        """Seconds from a confirmation to the end of what it proves."""
        return min(self.session_timeout, self.rebalance_timeout) - self.margin

    @property
    def proved(self) -> bool:
        """Whether there is a proof, however old."""
        return self.expires_at() is not None

    def holds(self, now: float) -> bool:
        """Tell whether records may be handed out at `now`."""
        until = self.expires_at()
        return until is not None and now < until

    def limit(self) -> float | None:
        """Return when ownership must be reported lost, also before the first heartbeat answer."""
        if self.synced_at is None:
            return None
        until = self.expires_at()
        unproved = self.synced_at + min(self.session_timeout, self.rebalance_timeout)
        return unproved - self.margin if until is None else until

    def confirmed(self, sent_at: float, *, synced: bool) -> "Lease":
        """Count a heartbeat answered OK; `synced` says the present generation is synced."""
        return replace(
            self,
            confirmed_at=_later(self.confirmed_at, sent_at),
            synced_at=_later(self.synced_at, sent_at) if synced else self.synced_at,
        )

    def signalled(self, sent_at: float) -> "Lease":
        """Count a heartbeat answered REBALANCE_IN_PROGRESS: the session is renewed, no more."""
        confirmed_at = _later(self.confirmed_at, sent_at)
        return replace(self, confirmed_at=confirmed_at, lapsed=False)

    def rejoined(self, sent_at: float) -> "Lease":
        """Count an answered JoinGroup, or a SyncGroup answered 0."""
        return replace(self, synced_at=_later(self.synced_at, sent_at), lapsed=False)

    def ended(self) -> "Lease":
        """Forget all proof: expired, lost, or another member id."""
        return replace(self, confirmed_at=None, synced_at=None, lapsed=False)

    def lapse(self) -> "Lease":
        """Forget all proof, but not that the coordinator may still have the membership."""
        return replace(self.ended(), lapsed=True)


def _later(known: float | None, instant: float) -> float:
    return instant if known is None else max(known, instant)

"""How a consumer is doing at one moment, in numbers.

Decides: what can be measured of a consumer from outside.
Never: judges; `stalls` and `health` do.
"""

from typing import Protocol

from kgroup.types import Claim, Membership, TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Pulse:
    """What a member can prove of its membership; instants are of the consumer's clock.

    Args:
        until: when the first of its claims ends unless it is confirmed, None without any.
        confirmed_at: when the heartbeat that was answered last was sent, None where none was, or
            where keys have heartbeats of their own.
        lease: seconds that a claim lasts without being confirmed, None without a group.
        heartbeat_interval: seconds between two heartbeats, None where keys have their own.
    """

    until: float | None = None
    confirmed_at: float | None = None
    lease: float | None = None
    heartbeat_interval: float | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One partition that is owned.

    Args:
        claim: the period of ownership.
        done: first offset that is not done, None while no position is known.
        handed: next offset to hand out; likewise.
        end: of what can be read, None before the first fetch.
        paused: whether it is held back by the application.
    """

    claim: Claim
    done: int | None
    handed: int | None
    end: int | None
    paused: bool

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return self.claim.tp

    @property
    def behind(self) -> int | None:
        """How many offsets are not done, None while that is not known."""
        if self.done is None or self.end is None:
            return None
        return max(self.end - self.done, 0)

    @property
    def is_at_work(self) -> bool:
        """Whether something is expected to come of it: in hand, or there to be read."""
        if self.done is None or self.handed is None:
            return False
        return self.handed > self.done or (not self.paused and bool(self.behind))


@dataclass(frozen=True, slots=True)
class Vitals:
    """A consumer at one moment; instants are of its clock, in seconds.

    Args:
        at: the moment.
        membership: what the member is.
        parts: what is owned.
        pulse: what is proved of the membership.
        polled_at: when the application read last, None before the first read.
        poll_interval: the longest it may go without reading, None without a group.
        isolated: whether heartbeats go on while the event loop is blocked.
        listener: name and number of the callback that runs, None without one.
        failure: what ended the consumer's work, None while nothing did.
        closed: whether it is closing, or closed.
    """

    at: float
    membership: Membership
    parts: tuple[Part, ...] = ()
    pulse: Pulse = Pulse()
    polled_at: float | None = None
    poll_interval: float | None = None
    isolated: bool = False
    listener: tuple[str, int] | None = None
    failure: Exception | None = None
    closed: bool = False


class Watched(Protocol):
    """What can be watched: a consumer."""

    def vitals(self) -> Vitals:
        """Return how it is doing; called on its event loop."""
        ...

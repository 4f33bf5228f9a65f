"""How a member of a room and its application behave, apart from what goes wrong.

Decides: names and units; times in seconds.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Habits:
    """One application.

    Args:
        poll_every: between two polls.
        batch: records of one batch.
        work: a batch is in hand.
        commits: share of batches that are committed when they are done.
        rewinds: share of commits that go back.
        listens: a call of the listener takes.
        read_delay: at most, from a record's appending to its reading.
        skew: of the clock, ahead.
        may_claim: whether its claims are written; they are refused otherwise.
        may_read: whether it gets the position at which a partition begins.
    """

    poll_every: float = 1.0
    batch: int = 5
    work: float = 0.5
    commits: float = 1.0
    rewinds: float = 0.0
    listens: float = 0.05
    read_delay: float = 0.05
    skew: float = 0.0
    may_claim: bool = True
    may_read: bool = True

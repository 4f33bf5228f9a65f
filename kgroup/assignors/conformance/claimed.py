"""What an author claims of an assignor beyond what every assignor has to keep.

Decides: which further promises the kit judges, and their bounds.
Never: guesses: what is not claimed is not judged.
"""

from dataclasses import dataclass

from kgroup.errors import ArgumentError

__all__ = ["NO_CLAIMS", "Claims"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What an assignor is said to do beyond giving everything to somebody.

    Args:
        balance: by how many partitions two members of a group with equal subscriptions may
            differ, at least 1; None claims nothing. Partitions that are withheld count for the
            member that is to have them.
        optimal: with any subscriptions, no other assignment is better balanced: none has a
            smaller sum of squared sizes.
        sticky: members keep what they have: everything while nothing changes; and with equal
            subscriptions and no racks, everything when another one leaves, and when one joins,
            all but what that one gets.
        rounds: after how many rounds a group that follows the cooperative protocol has settled
            after a single change, at least 2. Not a claim to be made: an assignor that supports
            COOPERATIVE is always judged by it.

    Raises:
        ArgumentError: a bound is too small.
    """

    balance: int | None = None
    optimal: bool = False
    sticky: bool = False
    rounds: int = 4

    def __post_init__(self) -> None:
        if self.balance is not None and self.balance < 1:
            raise ArgumentError("balance", self.balance, "a difference of at least 1, or None")
        if self.rounds < 2:
            raise ArgumentError("rounds", self.rounds, "at least 2: one to revoke, one to give")


NO_CLAIMS = Claims()

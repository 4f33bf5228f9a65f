"""What an assignor promises, sentence by sentence.

Decides: the promises, their names, which assignors they bind, and how many of the kit's groups
each is judged by.
Never: judges; see `checks`.
KIPs: 54 (balance, stickiness), 345, 429 (two phases), 881.
"""

import re
from enum import Enum

from kgroup.assignors.conformance.subject import Subject
from kgroup.errors import ArgumentError
from kgroup.types import RebalanceProtocol
from kgroup.values import dataclass


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


class Binds(Enum):
    """Which assignors a promise binds."""

    ALL = "every assignor"
    USER_DATA = "it has no encode_user_data"
    COOPERATIVE = "it does not support COOPERATIVE"
    BALANCE = "no balance is claimed"
    OPTIMAL = "no optimal balance is claimed"
    STICKY = "it is not claimed to be sticky"


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing an assignor can be held to.

    Args:
        name: in a word, for tables and programs.
        says: the promise as a sentence.
        binds: which assignors are held to it.
        share: its part of the kit's groups, compared with the shares of the others.
    """

    name: str
    says: str
    binds: Binds = Binds.ALL
    share: int = 5

    @property
    def test_name(self) -> str:
        """What the promise is called as a test."""
        return "test_" + re.sub(r"\W+", "_", self.says)


PROMISES = (
    Promise("answers", "every group gets an answer, odd ones too", share=8),
    Promise("hostile", "no claim and no user data makes it raise", share=12),
    Promise("sendable", "its answers are made of values that can be sent"),
    Promise("entries", "every member has an entry, be it an empty one"),
    Promise("complete", "every partition is given or listed as withheld", share=8),
    Promise("disjoint", "no partition is given twice", share=8),
    Promise("subscribers", "only subscribers are given partitions", share=8),
    Promise("known", "only members and partitions of the group are named", share=8),
    Promise("twins", "a member id listed twice never reaches it", share=1),
    Promise("repeatable", "equal groups get equal answers", share=4),
    Promise("memoryless", "it remembers nothing from one call to the next", share=4),
    Promise("orderless", "the order of members topics and claims changes nothing", share=6),
    Promise("anywhere", "another process gives the same answers", share=2),
    Promise("untouched", "it leaves the group as it was", share=4),
    Promise("user-data", "user data is stable bytes that it reads itself", Binds.USER_DATA, 4),
    Promise("rejoin", "the time until the next round is finite and positive", share=2),
    Promise("fed", "for everything withheld a next round is sure to come", share=2),
    Promise("released", "in time everything held back is given", share=2),
    Promise("handover", "nothing is handed over before it was revoked", Binds.COOPERATIVE, 8),
    Promise("settles", "the rounds end soon after a single change", Binds.COOPERATIVE, 4),
    Promise("balance", "with equal subscriptions sizes differ no more than claimed", Binds.BALANCE),
    Promise("optimal", "no assignment is better balanced", Binds.OPTIMAL),
    Promise("keeps", "while nothing changes everybody keeps everything", Binds.STICKY, 2),
    Promise("survivors", "a member that stays loses nothing when one leaves", Binds.STICKY, 3),
    Promise("newcomer", "when one joins only what it gets moves", Binds.STICKY, 3),
)
"""All promises, in the order in which they are judged and shown."""


def why_not(promise: Promise, subject: Subject, claims: Claims) -> str | None:
    """Return why an assignor is not held to a promise, None when it is."""
    bound = {
        Binds.ALL: True,
        Binds.USER_DATA: subject.has_user_data,
        Binds.COOPERATIVE: RebalanceProtocol.COOPERATIVE in subject.protocols,
        Binds.BALANCE: claims.balance is not None,
        Binds.OPTIMAL: claims.optimal,
        Binds.STICKY: claims.sticky,
    }[promise.binds]
    return None if bound else promise.binds.value

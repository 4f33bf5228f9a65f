"""K1: a rebalance touches only what moves (KIP-429).

K1: a partition that is in a cooperative member's assignment before and after a round keeps its
    claim, unless the member gave it up by its own doing. Its committed offset is not read again.

Decides: whether kept partitions were left alone.
Never: judges where partitions went.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    GenerationEntered,
    JoinIssued,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    Source,
)
from kgroup.journal.periods import Ending, Period, PeriodKey, Periods
from kgroup.types import Cause, Claim, RebalanceProtocol, TopicPartition
from tests.search.oracles import excuses

OWN_ACCORD: Final = frozenset(
    cause.value
    for cause in (
        Cause.SUBSCRIBED,
        Cause.TOPICS_CHANGED,
        Cause.ENFORCED,
        Cause.REJOIN_DUE,
        Cause.ASSIGNMENT_FAILED,
        Cause.UNSUBSCRIBED,
    )
)
"""Causes for which a member joins although nobody else did anything."""


@dataclass(frozen=True, slots=True)
class _Holding:
    """What a member was given by a generation, and what it gave back since."""

    entry: Entry
    partitions: frozenset[TopicPartition]
    revoked: tuple[Period, ...] = ()


class KeptUntouched:
    """K1: kept partitions see nothing of a cooperative round.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {Delivered, GenerationEntered, JoinIssued, MemberStopped, OffsetRead, OwnershipStep}
    )

    __slots__ = ("_delivered", "_holdings", "_periods")

    def __init__(self, periods: Periods | None = None) -> None:
        self._periods = Periods() if periods is None else periods
        self._holdings: dict[Source, _Holding] = {}
        self._delivered: dict[PeriodKey, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        if isinstance(entry.event, Delivered):
            key = (entry.source, entry.event.claim)
            if key not in self._delivered:
                self._delivered[key] = entry
            return ()
        for period in self._periods.observe(entry):
            if period.ended is entry:
                self._ended(period)
        match entry.event:
            case GenerationEntered() as event:
                return self._entered(entry, event)
            case JoinIssued(member_id=None):
                self._holdings.pop(entry.source, None)  # it comes back as somebody new
            case OffsetRead(claim=claim):
                return self._read_again(entry, claim)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _ended(self, period: Period) -> None:
        holding = self._holdings.get(period.source)
        if holding is None:
            return
        if period.ending is Ending.LOST:
            del self._holdings[period.source]
        elif period.revoking is not None and _by_round(period.revoking, holding.entry):
            revoked = (*holding.revoked, period)
            self._holdings[period.source] = replace(holding, revoked=revoked)

    def _entered(self, entry: Entry, event: GenerationEntered) -> tuple[Violation, ...]:
        source = entry.source
        before = self._holdings.pop(source, None)
        if event.protocol is not RebalanceProtocol.COOPERATIVE:
            return ()
        now = frozenset(event.assignment)
        self._holdings[source] = _Holding(entry, now)
        if before is None:
            return ()
        kept = before.partitions & now
        return tuple(
            Violation(
                "K1",
                f"{source} keeps {period.claim.tp} over a round, but gave {period.claim} up",
                (before.entry, period.ended or entry, entry),
                period.claim.tp,
            )
            for period in before.revoked
            if period.claim.tp in kept
        )

    def _read_again(self, entry: Entry, claim: Claim) -> tuple[Violation, ...]:
        delivered = self._delivered.get((entry.source, claim))
        if delivered is None:
            return ()
        text = f"{entry.source} read the committed offset of {claim} again while it holds it"
        return (Violation("K1", text, (delivered, entry), claim.tp),)


def _by_round(revoking: Entry, generation: Entry) -> bool:
    """Tell whether a generation revoked what it had given, not the member by its own doing."""
    event = revoking.event
    if not isinstance(event, OwnershipStep) or event.cause in OWN_ACCORD:
        return False
    return not excuses.revoked_by_an_earlier_round(revoking, generation)

"""S6, S7 and B3: records pass only under a claim that is held.

Decides: whether a delivery was allowed when it was made.
Never: looks at offsets' order.

S6: deliver only while the claim is owned, not in or after its revocation or loss, not paused.
S7: what is delivered was fetched under the same claim.
B3: nothing is delivered while the listener runs for the partition; for revoked and lost that is
    S6, for assigned it is reported as B3.
"""

from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    FetchAnswered,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    PauseCause,
    Paused,
    Resumed,
    Source,
)
from kgroup.journal.periods import Intervals, Period, PeriodKey, Periods, total
from kgroup.types import Claim


class DeliveryGate:
    """S6 and B3: deliveries and ownership.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {Delivered, MemberStopped, OwnershipStep, Paused, Resumed}
    )

    ONE_PARTITION: ClassVar[bool] = True
    __slots__ = ("_paused", "_periods")

    def __init__(self, periods: Periods | None = None) -> None:
        self._periods = Periods() if periods is None else periods
        self._paused: dict[Source, dict[tuple[Claim, PauseCause], Entry]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        if isinstance(entry.event, Delivered):
            return self._delivered(entry, entry.event)
        self._periods.observe(entry)
        match entry.event:
            case Paused(claims=claims, cause=cause):
                for claim in claims:
                    self._paused.setdefault(entry.source, {})[claim, cause] = entry
            case Resumed(claims=claims, cause=cause):
                for claim in claims:
                    self._paused.get(entry.source, {}).pop((claim, cause), None)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _delivered(self, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        period = self._periods.get(entry.source, event.claim)
        refused = _refusal(period)
        if refused is None and self._paused:
            known = self._paused.get(entry.source, {})
            found = (known.get((event.claim, cause)) for cause in PauseCause)
            paused = next((each for each in found if each is not None), None)
            if paused is not None:
                refused = ("S6", "while it was paused", (paused,))
        if refused is None:
            return ()
        rule, when, proofs = refused
        text = (
            f"{event.claim}: {event.count} records from {event.first} to {event.last} were "
            f"delivered to {entry.source} {when}"
        )
        return (Violation(rule, text, (*proofs, entry), event.claim.tp),)


def _refusal(period: Period | None) -> tuple[str, str, tuple[Entry, ...]] | None:
    """Return rule, words and proofs against a delivery under this period, None when it is fine."""
    if period is None:
        return "S6", "which never owned it under this claim", ()
    if period.ended is not None and period.ending is not None:
        return "S6", f"after its end ({period.ending.value})", (period.ended,)
    if period.revoking is not None:
        return "S6", "after its revocation had begun", (period.revoking,)
    if period.began is None:
        return "B3", "before the listener had returned from its assignment", (period.assigning,)
    return None


class FetchedUnderClaim:
    """S7: a batch is delivered under the claim it was fetched under.

    The log of another client tells of no fetch, and proves nothing here.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({Delivered, FetchAnswered, MemberStarted})

    ONE_PARTITION: ClassVar[bool] = True
    __slots__ = ("_fetched", "_foreign")

    def __init__(self) -> None:
        self._foreign: set[Source] = set()
        self._fetched: dict[PeriodKey, Intervals] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, FetchAnswered):
            key = (entry.source, event.claim)
            fetched = self._fetched.get(key)
            if fetched is None:
                fetched = self._fetched[key] = Intervals()
            fetched.add(event.offset, event.next_offset)
        elif isinstance(event, MemberStarted) and event.client is not None:
            self._foreign.add(entry.source)
        elif isinstance(event, Delivered) and entry.source not in self._foreign:
            return self._delivered(entry, event)
        return ()

    def _delivered(self, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        claim, first, last = event.claim, event.first, event.last
        fetched = self._fetched.get((entry.source, claim)) or Intervals()
        foreign = fetched.missing(first, last + 1)
        if not foreign:
            return ()
        text = (
            f"{claim}: {total(foreign)} offsets of {first} to {last} were delivered to "
            f"{entry.source} but not fetched under that claim"
        )
        return (Violation("S7", text, (entry,), claim.tp),)

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

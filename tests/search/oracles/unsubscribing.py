"""Since when a member that unsubscribed has been waiting for what it gives up.

Decides: since when the application has wanted nothing of what on_revoked runs for.
Never: says how long that may take, or what follows; S2 and S4 do.

1. The application unsubscribes while a batch is in hand; 2. the batch is done with, and on_revoked
is called; 3. the listener hangs. Java's client leaves max.poll.interval.ms after the last poll,
whatever runs then: the batch and the listener share that time (KIP-62). It began at 1, not at 2.
"""

from math import inf
from typing import ClassVar

from kgroup.journal.events import (
    Entry,
    Event,
    GenerationEntered,
    MemberStopped,
    OwnershipStep,
    Phase,
    Source,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.types import ChangeKind, Claim, MemberState

__all__ = ["Unsubscribing"]


class Unsubscribing:
    """Follows what members give up because nothing is wanted; show it entries in order of time."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {GenerationEntered, MemberStopped, OwnershipStep, StateChanged}
    )
    """Events it follows; no other needs to be shown."""

    __slots__ = ("_began", "_revoking")

    def __init__(self) -> None:
        self._began: dict[Source, float] = {}
        self._revoking: dict[Source, dict[Claim, float]] = {}

    def since(self, source: Source, claim: Claim) -> float:
        """Return when the application unsubscribed from what on_revoked runs for; inf if not."""
        return self._revoking.get(source, {}).get(claim, inf)

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        source = entry.source
        match entry.event:
            case StateChanged(after=MemberState.RELEASING, cause=StateCause.UNSUBSCRIBED):
                # Who closes has a time of its own.
                self._began[source] = entry.at
                revoking = self._revoking.get(source, {})
                for claim, since in revoking.items():
                    revoking[claim] = min(since, entry.at)
            case GenerationEntered():
                # What is revoked from now on is revoked for another reason.
                self._began.pop(source, None)
            case OwnershipStep(kind=ChangeKind.REVOKED, phase=Phase.BEGIN, claims=claims):
                began = self._began.get(source, inf)
                self._revoking.setdefault(source, {}).update(dict.fromkeys(claims, began))
            case OwnershipStep(kind=ChangeKind.REVOKED, phase=Phase.END, claims=claims):
                for claim in claims:
                    self._revoking.get(source, {}).pop(claim, None)
            case MemberStopped():
                self._began.pop(source, None)
                self._revoking.pop(source, None)
            case _:
                pass

"""S4 and S9: a JoinGroup claims exactly what its member holds.

S4: an eager member holds nothing when it joins; a cooperative one lists what it holds.
S9: after a loss JoinGroup lists nothing and does not name the lost generation (KIP-792).

Decides: whether a JoinGroup lists what its member holds.
Never: looks at the assignment that comes back, or at when the listener hears of a loss.
KIPs: 429, 792.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    AnswerReceived,
    Delivered,
    Entry,
    Event,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    OwnershipStep,
    Phase,
    Source,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.journal.periods import Period, Periods
from kgroup.types import Cause, ChangeKind, RebalanceProtocol

__all__ = ["EXCUSES", "JoinClaims"]

EXCUSES: Final = {
    "all lost": "A JoinGroup that lists nothing and names no generation says that all is lost; of "
    "what was entered before it nothing need be listed. 1. A generation is lost while the listener "
    "is busy; 2. JoinGroup names nothing; 3. the listener hears of the loss.",
    "unreadable": "A JoinGroup that lists nothing after an assignment that could not be read says "
    "the same. 1. SYNCING: the assignment cannot be read; 2. the member has lost what it had; "
    "3. it joins again, and its listener hears of the loss.",
    "loss repaired": "A loss that such a JoinGroup reported is over when its answer came. "
    "1. JoinGroup names nothing; 2. its answer gives the same generation again; 3. the listener "
    "hears of the loss of 1, or the member joins again and names the generation.",
    "joined, not entered": "A JoinGroup may name a generation that was joined and not entered. "
    "1. JoinGroup is out, and the process stands still beyond its lease; 2. it wakes: what it had "
    "is lost, and the answer names the next generation; 3. it joins again and names that one.",
}
"""Situations that look like a breach and are none, with the steps that make each true."""

_Generation = tuple[str | None, int | None]


@dataclass(slots=True)
class _Life:
    """What one member life may claim.

    Args:
        protocol: eager or cooperative, None while not known.
        entered: the generation that was entered last, None before.
        since: generations that were entered since JoinGroup said that all is lost; None before
            any did.
        lost: the loss after which no generation was entered, None otherwise.
        unread: the last assignment could not be read.
        answered: a JoinGroup was answered since the loss.
        untold: the listener has not heard yet of what a JoinGroup said to be lost.
    """

    protocol: RebalanceProtocol | None = None
    entered: _Generation | None = None
    since: set[_Generation] | None = None
    lost: Entry | None = None
    unread: bool = False
    answered: bool = False
    untold: bool = False


class JoinClaims:
    """S4 and S9: the owned list of a JoinGroup.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = Periods.KINDS | {
        AnswerReceived,
        Delivered,
        JoinIssued,
        MemberStarted,
    }

    APIS: ClassVar[frozenset[ApiKey]] = frozenset({ApiKey.JOIN_GROUP})

    __slots__ = ("_lives", "_periods")

    def __init__(self, periods: Periods | None = None) -> None:
        self._periods = Periods() if periods is None else periods
        self._lives: dict[Source, _Life] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        life = self._lives.get(entry.source)
        if life is None:
            life = self._lives[entry.source] = _Life()
        match entry.event:
            case Delivered():
                life.untold = False
            case AnswerReceived(error=error):
                life.answered |= not error
            case MemberStarted(protocol=protocol):
                life.protocol = protocol
            case JoinIssued() as event:
                return self._joins(life, entry, event)
            case event:
                self._periods.observe(entry)
                _follow(life, entry, event)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _joins(self, life: _Life, entry: Entry, event: JoinIssued) -> tuple[Violation, ...]:
        unread, life.unread = life.unread, False
        if not event.owned and (event.generation_id is None or unread):  # "all lost", "unreadable"
            life.since = set()
            life.untold = bool(self._periods.held(entry.source))
            return ()
        entered = None if life.entered is None else life.entered[1]
        if life.answered and event.generation_id != entered:  # "joined, not entered"
            return ()
        named = event.generation_id == entered and not life.answered  # "loss repaired"
        if life.lost is not None and (event.owned or named):
            text = (
                f"{entry.source} joins after a loss with {len(event.owned)} owned partitions "
                f"and generation {event.generation_id}; both must be absent"
            )
            return (Violation("S9", text, (life.lost, entry)),)
        return self._hidden(life, entry, event)

    def _hidden(self, life: _Life, entry: Entry, event: JoinIssued) -> tuple[Violation, ...]:
        """Find what is held and not said."""
        if life.protocol is RebalanceProtocol.EAGER:
            hidden, why = self._periods.held(entry.source), "an eager member joins while it holds"
        elif life.protocol is RebalanceProtocol.COOPERATIVE:
            held = self._periods.held(entry.source)
            hidden = tuple(each for each in held if each.claim.tp not in event.owned)
            why = "a cooperative member joins without listing"
        else:
            return ()
        return tuple(
            Violation(
                "S4",
                f"{why} {each.claim} ({entry.source})",
                (each.began or each.assigning, entry),
                each.claim.tp,
            )
            for each in hidden
            if life.since is None or _generation(each) in life.since  # "all lost"
        )


def _generation(period: Period) -> _Generation:
    return period.member_id, period.generation_id


def _follow(life: _Life, entry: Entry, event: Event) -> None:
    match event:
        case GenerationEntered():
            life.entered = (event.member_id, event.generation_id)
            life.lost, life.unread, life.answered = None, False, False
            life.protocol = event.protocol or life.protocol
            if life.since is not None:
                life.since.add(life.entered)
        case StateChanged(cause=StateCause.ASSIGNMENT_UNREADABLE):
            life.unread = True
        case OwnershipStep(kind=ChangeKind.LOST, phase=Phase.BEGIN):
            newest = life.entered in (None, (event.member_id, event.generation_id))
            if newest and event.cause != Cause.ASSIGNED.value and not life.untold:
                life.lost, life.answered = entry, False
        case _:
            pass

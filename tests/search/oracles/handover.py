"""S4 and S9: a JoinGroup claims exactly what its member holds.

S4: an eager member holds nothing when it joins; a cooperative one lists what it holds.
S9: after a loss JoinGroup lists nothing and does not name the lost generation (KIP-792).

Decides: whether a JoinGroup lists what its member holds, by what the member decided.
Never: looks at the assignment that comes back, or at when the listener hears of a loss.
KIPs: 429, 792.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    AnswerReceived,
    ClaimsEnded,
    Entry,
    Event,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    Source,
    StateChanged,
)
from kgroup.journal.periods import Periods
from kgroup.types import ChangeKind, Claim, RebalanceProtocol
from tests.search.oracles import excuses


@dataclass(slots=True)
class _Life:
    """What one member life may claim.

    Args:
        protocol: eager or cooperative, None while not known.
        lost: the loss after which no generation was entered, None otherwise.
        answered: the member is in a generation again, or still, since the loss.
        ended: claims that are over, of which the listener may not have heard yet.
    """

    protocol: RebalanceProtocol | None = None
    lost: Entry | None = None
    answered: bool = False
    ended: set[Claim] = field(default_factory=set)


class JoinClaims:
    """S4 and S9: the owned list of a JoinGroup.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = Periods.KINDS | {
        AnswerReceived,
        ClaimsEnded,
        JoinIssued,
        MemberStarted,
        StateChanged,
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
            case AnswerReceived(error=error):
                life.answered |= excuses.joined_and_not_entered(error)
            case ClaimsEnded(kind=ChangeKind.LOST, claims=claims):
                life.ended.update(claims)
                life.lost, life.answered = entry, False
            case StateChanged(cause=cause):
                life.answered |= excuses.assignment_unreadable(cause)
                if excuses.listener_not_awaited(cause):
                    life.ended.update(each.claim for each in self._periods.held(entry.source))
            case MemberStarted(protocol=protocol):
                life.protocol = protocol
            case JoinIssued() as event:
                return self._joins(life, entry, event)
            case event:
                self._periods.observe(entry)
                if isinstance(event, GenerationEntered):
                    life.lost = None
                    life.protocol = event.protocol or life.protocol
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _joins(self, life: _Life, entry: Entry, event: JoinIssued) -> tuple[Violation, ...]:
        names = event.generation_id is not None and not life.answered
        if life.lost is not None and (event.owned or names):
            text = (
                f"{entry.source} joins after a loss with {len(event.owned)} owned partitions "
                f"and generation {event.generation_id}; both must be absent"
            )
            return (Violation("S9", text, (life.lost, entry)),)
        return self._hidden(life, entry, event)

    def _hidden(self, life: _Life, entry: Entry, event: JoinIssued) -> tuple[Violation, ...]:
        """Find what is held and not said."""
        periods = self._periods.held(entry.source)
        life.ended &= {each.claim for each in periods}
        if life.protocol is RebalanceProtocol.EAGER:
            listed: tuple[object, ...] = ()
            why = "an eager member joins while it holds"
        elif life.protocol is RebalanceProtocol.COOPERATIVE:
            listed, why = event.owned, "a cooperative member joins without listing"
        else:
            return ()
        return tuple(
            Violation(
                "S4",
                f"{why} {each.claim} ({entry.source})",
                (each.began or each.assigning, entry),
                each.claim.tp,
            )
            for each in periods
            if each.claim not in life.ended and each.claim.tp not in listed
        )

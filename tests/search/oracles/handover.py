"""S4 and S9: what a member still claims when it joins again.

Decides: whether a JoinGroup lists exactly what the member holds.
Never: looks at the assignment that comes back.

S4: an eager member has given everything back before JoinGroup; a cooperative one lists every
    partition whose revocation has not ended (KIP-429).
S9: after a loss JoinGroup lists nothing, and names no generation until one was joined anew
    (KIP-792).

A JoinGroup that lists nothing and names no generation says itself that all is lost: it may be
sent before the listener hears of the loss, but nothing may be delivered, or gained, in between.
So does one that lists nothing after an assignment that could not be read: it names the generation
it has joined, of which it has nothing.
What a busy listener is told late of a generation before the loss is no gain: calls come one by one,
in the order of what they tell (B1). The JoinGroup waits for a listener that gives partitions up:
what it works on would be handed over (S4); but no longer than the rebalance timeout, for then the
coordinator hands it over by itself. Of who unsubscribes that time begins with it: what is in hand
and the listener share it, as in Java's client (KIP-62).
A process that wakes beyond its lease loses what it has, and hears in the same step which generation
its JoinGroup has joined: the next one names that, though the loss is told later.
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    AnswerReceived,
    Delivered,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    Source,
    StateChanged,
)
from kgroup.journal.faults import Faults, StateCause
from kgroup.journal.periods import Period, PeriodKey, Periods
from kgroup.types import Cause, ChangeKind, Claim, RebalanceProtocol
from tests.search.oracles.unsubscribing import Unsubscribing

__all__ = ["JoinClaims"]


@dataclass(slots=True)
class _Owed:
    """A loss that a JoinGroup has told of, and the listener has not heard of yet.

    Args:
        generation: member id and number of the generation that was entered last.
        entered: number of the entry that entered it.
        answered: whether a JoinGroup was answered since: another generation may be named.
    """

    generation: tuple[str | None, int]
    entered: int
    answered: bool = False


class JoinClaims:
    """S4 and S9: the owned list of a JoinGroup.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            AnswerReceived,
            Delivered,
            FaultStep,
            GenerationEntered,
            JoinIssued,
            MemberStarted,
            MemberStopped,
            OwnershipStep,
            StateChanged,
        }
    )

    APIS: ClassVar[frozenset[ApiKey]] = frozenset({ApiKey.JOIN_GROUP})

    __slots__ = (
        "_entered",
        "_faults",
        "_given_up",
        "_joined",
        "_lost",
        "_named",
        "_owed",
        "_periods",
        "_protocols",
        "_renewed",
        "_rounds",
        "_since",
        "_unlisted",
        "_unread",
        "_unsubscribing",
    )

    def __init__(self, periods: Periods | None = None) -> None:
        self._periods = Periods() if periods is None else periods
        self._protocols: dict[Source, RebalanceProtocol | None] = {}
        self._lost: dict[Source, Entry] = {}
        self._given_up: dict[Source, Entry] = {}
        self._renewed: dict[Source, None] = {}
        self._joined: dict[Source, int | None] = {}
        self._unlisted: dict[PeriodKey, tuple[int, Violation]] = {}
        self._entered: dict[Source, tuple[int, int]] = {}
        self._named: dict[Source, str | None] = {}
        self._owed: dict[Source, list[_Owed]] = {}
        self._rounds: dict[Source, float] = {}
        self._since: dict[Source, tuple[int, set[tuple[str | None, int | None]]]] = {}
        self._unread: set[Source] = set()
        self._unsubscribing = Unsubscribing()
        self._faults = Faults()

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        source, event = entry.source, entry.event
        if isinstance(event, Delivered):
            # Calls come one by one: of what was lost before the listener has heard by now.
            self._owed.pop(source, None)
            found = self._unlisted.pop((source, event.claim), None) if self._unlisted else None
            hidden = () if found is None else (found[1],)
            return (*hidden, *self._untold(entry)) if self._given_up else hidden
        if isinstance(event, AnswerReceived):
            self._answered(source, event)
            return ()
        return self._group(entry)

    def finish(self) -> tuple[Violation, ...]:
        """Report what was not listed, and never told as lost before, though its member lives."""
        found = self._unlisted.items()
        return tuple(each for key, (_, each) in found if not self._faults.is_dead(key[0]))

    def _group(self, entry: Entry) -> tuple[Violation, ...]:
        source, event = entry.source, entry.event
        self._periods.observe(entry)
        self._unsubscribing.observe(entry)
        match event:
            case FaultStep():
                self._faults.observe(entry)
            case MemberStarted(protocol=protocol, rebalance_timeout=timeout):
                self._faults.observe(entry)
                self._protocols[source] = protocol
                self._rounds[source] = inf if timeout is None else timeout
            case GenerationEntered(protocol=protocol, generation_id=generation_id):
                self._entered[source] = (generation_id, entry.seq)
                self._named[source] = event.member_id
                self._unread.discard(source)
                if source in self._since:
                    self._since[source][1].add((event.member_id, generation_id))
                self._lost.pop(source, None)
                if protocol is not None:
                    self._protocols[source] = protocol
            case OwnershipStep():
                return (*self._told(entry, event), *self._moved(entry, event))
            case StateChanged(cause=StateCause.ASSIGNMENT_UNREADABLE):
                self._unread.add(source)
            case MemberStopped():
                self._stopped(source)
            case JoinIssued():
                return self._joins(entry, event)
            case _:
                pass
        return ()

    def _stopped(self, source: Source) -> None:
        # 1. The loss waits for a busy listener; 2. that is broken off: it is told no more.
        for key in [key for key in self._unlisted if key[0] == source]:
            del self._unlisted[key]

    def _joins(self, entry: Entry, event: JoinIssued) -> tuple[Violation, ...]:
        unread = entry.source in self._unread
        self._unread.discard(entry.source)
        if not event.owned and event.generation_id is None:
            self._owe(entry.source)
            return self._given_up_all(entry)
        found = self._after_loss(entry, event)
        if unread and not event.owned:
            # 1. on_revoked runs; 2. what the next round assigns cannot be read; 3. on_revoked
            # returns, and the member joins anew; 4. on_lost, which waited behind it, is called.
            return (*found, *self._given_up_all(entry))
        return (*found, *self._held_back(entry, event))

    def _moved(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        source = entry.source
        match event.kind, event.phase:
            case ChangeKind.LOST, Phase.BEGIN:
                # 1. a generation is lost while the listener is busy; 2. the next one is entered;
                # 3. the listener hears of the loss. Of the next one nothing is lost.
                if self._is_of_the_newest(source, event) and not self._is_known(source, event):
                    self._lost[source] = entry
                    self._renewed.pop(source, None)
                self._given_up.pop(source, None)
            case ChangeKind.REVOKED, Phase.BEGIN:
                return self._revoked_late(entry, event)
            case ChangeKind.REVOKED, Phase.END:
                # Lost while its listener was giving it up already: that is all it hears.
                if not self._periods.held(source):
                    self._given_up.pop(source, None)
            case ChangeKind.ASSIGNED, Phase.BEGIN if self._is_gain(source, event):
                return self._untold(entry)
            case _:
                pass
        return ()

    def _is_of_the_newest(self, source: Source, event: OwnershipStep) -> bool:
        """Tell whether a loss is one of the generation that was entered last.

        A group that begins anew gives the same number again, under another member id. Who cannot
        read what it was assigned loses what it had, and is of that generation all the same.
        """
        if event.cause == Cause.ASSIGNED.value:
            return False
        if event.generation_id is None or source not in self._entered:
            return True
        if event.member_id != self._named[source]:
            return False
        return event.generation_id >= self._entered[source][0]

    def _is_known(self, source: Source, event: OwnershipStep) -> bool:
        """Tell whether a loss is one that was made good before the listener heard of it.

        1. A lease ends while the listener is busy; 2. JoinGroup says that all is lost; 3. its
        answer, and the sync, give the same generation again, or the next one; 4. the listener
        hears of the loss of step 1. It hears of losses in their order.
        """
        owed = self._owed.pop(source, [])
        of = (event.member_id, event.generation_id)
        place = next((n for n, each in enumerate(owed) if each.generation == of), None)
        if place is None:
            return False
        self._owed[source] = owed[place + 1 :]
        return owed[place].answered

    def _is_gain(self, source: Source, event: OwnershipStep) -> bool:
        """Tell whether a member that joined as one who has lost everything gains something here.

        1. on_revoked runs, and a round goes on: its on_assigned waits; 2. all is lost, and on_lost
        waits behind it; 3. on_revoked returns, and the member joins anew; 4. it is told what that
        round gave, and then that it is gone.
        """
        joined, entered = self._given_up.get(source), self._entered.get(source)
        if joined is None or entered is None:
            return True
        newest, since = entered
        return since > joined.seq and event.generation_id == newest

    def _given_up_all(self, entry: Entry) -> tuple[Violation, ...]:
        self._since[entry.source] = (entry.seq, set())
        held = self._periods.held(entry.source)
        patience = self._rounds.get(entry.source, inf)
        if held:
            self._given_up[entry.source] = entry
        return tuple(
            _unfinished(period.claim, period.revoking, entry)
            for period in held
            if period.revoking is not None
            and entry.at < self._asked(period, period.revoking) + patience
        )

    def _owe(self, source: Source) -> None:
        """Note a loss that is to be told; who asks again before it is answered has lost no more."""
        if source not in self._entered or source in self._lost:
            return
        generation_id, entered = self._entered[source]
        owed = self._owed.setdefault(source, [])
        if not owed or owed[-1].entered != entered:
            owed.append(_Owed((self._named[source], generation_id), entered))

    def _told_late(self, source: Source, period: Period) -> bool:
        """Tell whether what was lost is only told of: first that it came, then that it is gone.

        1. Two rounds are entered while the listener is busy, and all is lost; 2. the member joins
        as one who has nothing, and enters a third; 3. the listener hears of the first, and of its
        loss, and of the second, but not yet of that loss; 4. it joins once more.
        """
        joined, entered = self._since.get(source, (inf, set()))
        event = period.assigning.event
        if period.assigning.seq < joined or not isinstance(event, OwnershipStep):
            return False
        return (event.member_id, event.generation_id) not in entered

    def _asked(self, period: Period, revoking: Entry) -> float:
        return min(revoking.at, self._unsubscribing.since(*period.key))

    def _revoked_late(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        """Find what is revoked, not lost, after a JoinGroup that says that all is lost.

        1. A listener is slow to take a partition; 2. it is to give it up next; 3. all is lost.
        """
        joined = self._given_up.get(entry.source)
        if joined is None:
            return ()
        return tuple(_unfinished(claim, entry, joined) for claim in event.claims)

    def _answered(self, source: Source, event: AnswerReceived) -> None:
        if event.api is not ApiKey.JOIN_GROUP or event.error:
            return
        self._joined[source] = event.generation_id
        for each in self._owed.get(source, ()):
            each.answered = True
        if source in self._lost:
            self._renewed[source] = None

    def _after_loss(self, entry: Entry, event: JoinIssued) -> tuple[Violation, ...]:
        lost = self._lost.get(entry.source)
        named = event.generation_id is not None and entry.source not in self._renewed
        if lost is not None and self._was_joined(entry.source, event):
            # 1. JoinGroup is out, and the process stands still; 2. it wakes beyond its lease: one
            # generation is lost, and then the answer heard, of the next; 3. on_lost is called.
            assert isinstance(lost.event, OwnershipStep)
            named = named and lost.event.generation_id == event.generation_id
        if lost is None or not (event.owned or named):
            return ()
        text = (
            f"{entry.source} joins after a loss with {len(event.owned)} owned partitions "
            f"and generation {event.generation_id}; both must be absent"
        )
        return (Violation("S9", text, (lost, entry)),)

    def _untold(self, entry: Entry) -> tuple[Violation, ...]:
        joined = self._given_up.pop(entry.source, None)
        if joined is None:
            return ()
        text = (
            f"{entry.source} joined as one who has lost everything, and goes on before its "
            "listener has heard of the loss"
        )
        return (Violation("S9", text, (joined, entry)),)

    def _held_back(self, entry: Entry, event: JoinIssued) -> tuple[Violation, ...]:
        protocol = self._protocols.get(entry.source)
        if protocol is RebalanceProtocol.EAGER:
            hidden, why = self._periods.held(entry.source), "an eager member joins while it holds"
        elif protocol is RebalanceProtocol.COOPERATIVE:
            held = self._periods.held(entry.source)
            hidden = tuple(period for period in held if period.claim.tp not in event.owned)
            why = "a cooperative member joins without listing"
        else:
            return ()
        # 1. everything is lost while the listener is busy; 2. the member joins as one who has
        # nothing, and enters the next generation; 3. it has a reason to join once more, before its
        # listener has heard of the loss.
        lost = self._given_up.get(entry.source)
        if lost is not None:
            hidden = tuple(each for each in hidden if each.assigning.seq > lost.seq)
        hidden = tuple(each for each in hidden if not self._told_late(entry.source, each))
        found = {
            period.key: Violation(
                "S4",
                f"{why} {period.claim} ({entry.source})",
                (period.began or period.assigning, entry),
                period.claim.tp,
            )
            for period in hidden
        }
        if protocol is RebalanceProtocol.EAGER or not self._was_joined(entry.source, event):
            return tuple(found.values())
        # As in S9, but the listener is busy: what comes next of the partition tells.
        assert event.generation_id is not None
        for key, violation in found.items():
            self._unlisted.setdefault(key, (event.generation_id, violation))
        return ()

    def _was_joined(self, source: Source, event: JoinIssued) -> bool:
        """Tell whether a JoinGroup names a generation that was joined, and not entered."""
        named, entered = event.generation_id, self._entered.get(source)
        newer = named is not None and entered is not None and named > entered[0]
        return newer and named == self._joined.get(source)

    def _told(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        """Find what was not listed, and was not lost before the generation that was named."""
        if not self._unlisted or event.phase is not Phase.BEGIN:
            return ()
        found = [self._unlisted.pop((entry.source, claim), None) for claim in event.claims]
        lost_in = event.generation_id if event.kind is ChangeKind.LOST else None
        return tuple(
            violation
            for named, violation in filter(None, found)
            if lost_in is None or lost_in >= named
        )


def _unfinished(claim: Claim, revoking: Entry, joined: Entry) -> Violation:
    text = f"{joined.source} joins as one who has lost {claim}, which its listener still gives up"
    return Violation("S4", text, (joined, revoking), claim.tp)

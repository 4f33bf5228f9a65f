"""The work of one step: the member so far, the effects so far, what was raised inside.

Decides: how a ticket is drawn and a change is queued; small moves every action needs.
Never: outlives the step; what goes in and what comes out are frozen.
"""

from dataclasses import field
from types import MappingProxyType
from typing import Any

from kgroup.consumer_group.events import Effect, Note
from kgroup.consumer_group.triggers import Action, Guard, Trigger
from kgroup.consumer_group.value import ConsumerGroupMember, Place
from kgroup.frozen import replace
from kgroup.machine.backoff import Backoff
from kgroup.machine.claims import Holdings
from kgroup.machine.coordinator import CoordinatorTrigger
from kgroup.machine.rows import Row
from kgroup.machine.wishes import CallListener, Errand, Moment, Tell, Ticket
from kgroup.types import Cause, ChangeKind, Claim, MemberState, OwnershipChange
from kgroup.values import dataclass

MemberRow = Row[MemberState, Trigger, Guard, Action]


@dataclass(slots=True)
class Turn:
    """One step in the making.

    Args:
        member: the value, replaced as the step goes on.
        moment: when, and with which luck.
        cause: why, should ownership change.
        effects: in the order they are to be carried out.
        raised: triggers the actions raised for the member, in order.
        asked: triggers the actions raised for the coordinator table, in order.
        fired: rows that fired.
        ignored: what was raised in a state that has no row for it; seldom anything.
        given: the assignment of the answer being applied, None without one.
        error: the error being applied.
    """

    member: ConsumerGroupMember
    moment: Moment
    cause: Cause = Cause.GROUP_REBALANCED
    effects: list[Effect] = field(default_factory=list)
    raised: list[Trigger] = field(default_factory=list)
    asked: list[CoordinatorTrigger] = field(default_factory=list)
    fired: list[MemberRow] = field(default_factory=list)
    ignored: tuple[tuple[MemberState, Trigger], ...] = ()
    given: frozenset[Place] | None = None
    error: Exception | None = None

    @property
    def now(self) -> float:
        """The instant of the step."""
        return self.moment.now

    def put(self, **parts: Any) -> None:  # noqa: ANN401 - each part has the type of its field
        """Replace parts of the member."""
        self.member = replace(self.member, **parts)

    def put_assigned(self, **parts: Any) -> None:  # noqa: ANN401 - as above
        """Replace parts of what was assigned."""
        self.put(assigned=replace(self.member.assigned, **parts))

    def put_pace(self, **parts: Any) -> None:  # noqa: ANN401 - as above
        """Replace parts of the pace."""
        self.put(pace=replace(self.member.pace, **parts))

    def put_holdings(self, holdings: Holdings) -> None:
        """Replace what is owned; what ends is neither acknowledged nor called by an id any more."""
        assigned, states = self.member.assigned, holdings.states
        over = assigned.taken.keys() - states.keys()
        if over:
            taken = {claim: each for claim, each in assigned.taken.items() if claim in states}
            places = frozenset(self.member.place_of(claim) for claim in over)
            if places & assigned.target:
                # 1. p goes with its topic; 2. the topic is asked for again. The coordinator may
                # never have noticed: only another answer can say whether p is this member's.
                self.say_everything()
            self.put_assigned(
                taken=MappingProxyType(taken),
                acknowledged=assigned.acknowledged - over,
                target=assigned.target - places,
            )
        self.put(holdings=holdings)

    def say_everything(self) -> None:
        """Have the next heartbeat say everything; the answer of one in flight does not replace it.

        The coordinator answers it with the whole assignment. Until then nothing is taken: 1. an
        answer is lost, with which it took p; 2. p is taken because an older one said so.
        """
        self.put(said=None, saying=None)

    def draw(self, errand: Errand) -> Ticket:
        """Draw a ticket."""
        ticket = Ticket(errand, self.member.next_ticket, self.now)
        self.put(next_ticket=ticket.serial + 1)
        return ticket

    def beat_soon(self) -> None:
        """Have a heartbeat sent as soon as the pace allows."""
        member = self.member
        at = max(self.now, member.beat_due_at())
        if at < member.heartbeat_at:
            until = max(member.pace.beats_until, self.now) + member.settings.turn_interval
            self.put_pace(beats_until=until)
            self.put(heartbeat_at=at)

    def call_listener(
        self, kind: ChangeKind, *, added: tuple[Claim, ...] = (), removed: tuple[Claim, ...] = ()
    ) -> None:
        """Queue one call of the listener; calls are made in the order they were queued."""
        member = self.member
        change = OwnershipChange(
            kind=kind,
            added=added,
            kept=member.holdings.kept_beside(added),
            removed=removed,
            cause=self.cause,
            generation=member.identity.generation,
            serial=member.next_change,
        )
        self.put(changes=(*member.changes, change), next_change=change.serial + 1)
        self.effects.append(CallListener(change))

    def tell_once(self, note: Note, detail: str) -> None:
        """Tell something, and not again while it lasts."""
        if note.name not in self.member.told:
            self.put(told=self.member.told | {note.name})
            self.effects.append(Tell(note, detail))

    def may_tell(self, note: Note) -> None:
        """Have something told once more should it come again."""
        self.put(told=self.member.told - {note.name})

    def backoff(self, attempts: int) -> float:
        """Return the pause after `attempts` failures in a row, spread by a fifth either way."""
        settings = self.member.settings
        pause = Backoff(settings.retry_backoff, settings.retry_backoff_max, failures=attempts)
        return pause.pause(self.moment.chance)

    def longest_backoff(self) -> float:
        """Return the pause that the others grow to, spread like them."""
        longest = self.member.settings.retry_backoff_max
        return Backoff(longest, longest, failures=1).pause(self.moment.chance)

"""B1, B2, B4 and B7: the listener is called in order, once, and may raise.

Decides: whether the calls of one member's listener make sense to the application.
Never: judges what the listener does. (B3, nothing delivered meanwhile, is judged by the gate.)

B1: calls are serial and their numbers rise; what a round takes away is given back, or lost, before
    what it adds is assigned, in an eager round. A cooperative one gives each partition back as soon
    as it is out of hand, and what it adds does not wait for that.
B2: per partition assigned and exactly one of revoked or lost alternate, each with both edges.
B4: a listener that raises is reported once, and ownership changes all the same; unless the process
    is killed meanwhile, within the rebalance timeout: what was asked to be committed in the call is
    answered before the change ends.
B7: a listener that was called has returned or raised before its member stops; cancelling it
    counts as raising.
"""

from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    CallbackStage,
    CallbackStep,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    Source,
)
from kgroup.journal.faults import Faults
from kgroup.types import ChangeKind, Claim, RebalanceProtocol, TopicPartition

__all__ = ["ListenerEnds", "ListenerSerial", "OwnershipAlternates", "TakenBeforeAdded"]


_CALLS: Final = frozenset({CallbackStep, FaultStep, MemberStarted, MemberStopped, OwnershipStep})


class ListenerSerial:
    """B1 and B4: one call at a time, and none forgotten."""

    __slots__ = ("_faults", "_inside", "_last", "_latest", "_raised", "_rounds")

    def __init__(self) -> None:
        self._faults = Faults()
        self._rounds: dict[Source, float] = {}
        self._inside: dict[Source, Entry] = {}
        self._last: dict[Source, tuple[int, Entry]] = {}
        self._raised: dict[Source, dict[int, Entry]] = {}
        self._latest: dict[Source, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        if self._raised and entry.source in self._raised:
            self._latest[entry.source] = entry
        if type(entry.event) not in _CALLS:
            return ()
        match entry.event:
            case CallbackStep(stage=CallbackStage.ENTER) as step:
                return self._enter(entry, step)
            case CallbackStep(stage=CallbackStage.OVERDUE):
                pass
            case CallbackStep() as step:
                return self._return(entry, step)
            case OwnershipStep(phase=Phase.END, serial=serial):
                self._settled(entry.source, serial)
            case MemberStopped():
                return self._unsettled(entry.source)
            case MemberStarted(rebalance_timeout=rebalance_timeout):
                self._faults.observe(entry)
                self._rounds[entry.source] = rebalance_timeout or 0.0
            case FaultStep():
                self._faults.observe(entry)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Report changes that a raising listener held up."""
        return tuple(
            violation
            for source in tuple(self._raised)
            for violation in self._unsettled(source, self._latest[source])
        )

    def _settled(self, source: Source, serial: int) -> None:
        raised = self._raised.get(source)
        if raised is not None:
            raised.pop(serial, None)
            if not raised:
                del self._raised[source]

    def _enter(self, entry: Entry, step: CallbackStep) -> tuple[Violation, ...]:
        inside = self._inside.get(entry.source)
        last = self._last.get(entry.source)
        self._inside[entry.source] = entry
        self._last[entry.source] = (step.serial, entry)
        if inside is not None:
            text = f"{entry.source}: {step.kind.value} was called while the listener was running"
            return (Violation("B1", text, (inside, entry)),)
        if last is not None and step.serial <= last[0]:
            text = f"{entry.source}: change {step.serial} was told after change {last[0]}"
            return (Violation("B1", text, (last[1], entry)),)
        return ()

    def _return(self, entry: Entry, step: CallbackStep) -> tuple[Violation, ...]:
        inside = self._inside.pop(entry.source, None)
        if inside is None:
            text = f"{entry.source}: the listener returned from a call that was not made"
            return (Violation("B1", text, (entry,)),)
        if step.stage is CallbackStage.RAISE:
            self._raised.setdefault(entry.source, {})[step.serial] = entry
            self._latest[entry.source] = entry
        return ()

    def _unsettled(self, source: Source, latest: Entry | None = None) -> tuple[Violation, ...]:
        """Report raises without an end; one that is the log's last entry may have been cut off."""
        return tuple(
            Violation(
                "B4", f"{source}: change {serial} never ended after the listener raised", (e,)
            )
            for serial, e in self._raised.pop(source, {}).items()
            if e is not latest and not self._was_killed(source, e, latest)
        )

    def _was_killed(self, source: Source, raised: Entry, latest: Entry | None) -> bool:
        """Tell whether a process was killed before a change had to end.

        1. on_revoked commits, and raises; 2. the coordinator is away, and the change waits for the
        answer; 3. the process is killed: nobody knows how it would have ended.
        """
        if latest is None or not self._faults.is_dead(source):
            return False
        return latest.at <= raised.at + self._rounds.get(source, 0.0)


class OwnershipAlternates:
    """B2: assigned, then revoked or lost, then assigned again."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({OwnershipStep})

    __slots__ = ("_edges", "_held")

    def __init__(self) -> None:
        self._held: dict[tuple[Source, TopicPartition], tuple[Claim, Entry]] = {}
        self._edges: dict[tuple[Source, Claim, ChangeKind], Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if not isinstance(event, OwnershipStep):
            return ()
        if event.phase is Phase.BEGIN:
            step = self._take if event.kind is ChangeKind.ASSIGNED else self._give
        else:
            step = self._close
        return tuple(v for claim in event.claims for v in step(entry, event, claim))

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing: what is open belongs to a member that was killed or still runs."""
        return ()

    def _take(self, entry: Entry, event: OwnershipStep, claim: Claim) -> tuple[Violation, ...]:
        held = self._held.get((entry.source, claim.tp))
        self._held[entry.source, claim.tp] = (claim, entry)
        self._edges[entry.source, claim, event.kind] = entry
        if held is None:
            return ()
        text = f"{claim} is assigned to {entry.source}, which still holds {held[0]}"
        return (Violation("B2", text, (held[1], entry), claim.tp),)

    def _give(self, entry: Entry, event: OwnershipStep, claim: Claim) -> tuple[Violation, ...]:
        held = self._held.pop((entry.source, claim.tp), None)
        self._edges[entry.source, claim, event.kind] = entry
        if held is not None and held[0] == claim:
            return ()
        text = f"{claim} is {event.kind.value} at {entry.source}, which does not hold it"
        proofs = (entry,) if held is None else (held[1], entry)
        return (Violation("B2", text, proofs, claim.tp),)

    def _close(self, entry: Entry, event: OwnershipStep, claim: Claim) -> tuple[Violation, ...]:
        if self._edges.pop((entry.source, claim, event.kind), None) is not None:
            return ()
        text = f"{claim}: {event.kind.value} ends at {entry.source} without having begun"
        return (Violation("B2", text, (entry,), claim.tp),)


class TakenBeforeAdded:
    """B1: what an eager round takes away goes before what it adds comes.

    What an earlier round added may be told when a later one has been entered, and taken away after
    that: on_assigned is called, and then on_lost, when a listener that runs has returned. So an
    addition counts for the round that it names.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({GenerationEntered, OwnershipStep})

    __slots__ = ("_added", "_rounds")

    def __init__(self) -> None:
        self._rounds: dict[Source, GenerationEntered] = {}
        self._added: dict[Source, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, GenerationEntered):
            # What a cooperative round takes away may be in hand, and what it adds does not wait.
            if event.protocol is RebalanceProtocol.EAGER:
                self._rounds[entry.source] = event
            else:
                self._rounds.pop(entry.source, None)
            self._added.pop(entry.source, None)
        elif isinstance(event, OwnershipStep) and event.phase is Phase.BEGIN and event.claims:
            if event.kind is not ChangeKind.ASSIGNED:
                return self._taken(entry, event)
            entered = self._rounds.get(entry.source)
            if entered is not None and _round(event) == _round(entered):
                self._added[entry.source] = entry
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _taken(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        added = self._added.get(entry.source)
        entered = self._rounds.get(entry.source)
        if added is None or entered is None:
            return ()
        return tuple(
            Violation(
                "B1",
                f"{claim} is {event.kind.value} at {entry.source} after the round that took it "
                "away had added partitions",
                (added, entry),
                claim.tp,
            )
            for claim in event.claims
            if claim.tp not in entered.assignment
        )


def _round(event: GenerationEntered | OwnershipStep) -> tuple[str | None, int | None]:
    return event.member_id, event.generation_id


class ListenerEnds:
    """B7: a listener that was called ends before its member does."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({CallbackStep, MemberStopped})

    __slots__ = ("_inside",)

    def __init__(self) -> None:
        self._inside: dict[Source, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, CallbackStep) and event.stage is CallbackStage.ENTER:
            self._inside[entry.source] = entry
            return ()
        if isinstance(event, CallbackStep) and event.stage is CallbackStage.OVERDUE:
            return ()
        inside = self._inside.pop(entry.source, None)
        if inside is None or isinstance(event, CallbackStep):
            return ()
        text = f"{entry.source} stopped, but its listener has neither returned nor raised"
        return (Violation("B7", text, (inside, entry)),)

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing: a member that was killed inside its listener says no more."""
        return ()

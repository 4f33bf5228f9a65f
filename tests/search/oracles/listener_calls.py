"""B1, B4 and B7: a listener is called once at a time, in order, and each call ends.

B1: calls are serial and their numbers rise; `ownership_changes` judges what they tell.
B4: a listener that raises is reported once, and ownership changes all the same, within the
    rebalance timeout: what was asked to be committed in the call is answered before the change
    ends.
B7: a listener that was called has returned or raised before its member stops; cancelling it
    counts as raising.

Decides: whether the calls of one member's listener come one after the other, and end.
Never: judges what the listener does. (B3, nothing delivered meanwhile, is judged by the gate.)
"""

from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    CallbackStage,
    CallbackStep,
    Entry,
    Event,
    FaultStep,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    Source,
)
from kgroup.journal.faults import Faults
from tests.search.oracles import excuses

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
        """Tell whether a process was killed before a change had to end."""
        dead, timeout = self._faults.is_dead(source), self._rounds.get(source, 0.0)
        return latest is not None and excuses.killed_before_it_had_to_end(
            dead, raised.at, latest.at, timeout
        )


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

"""What the machine of a Marshal member wants done, done.

Decides: which room carries out which effect, and which caller waits for which answer.
Never: decides when something is written, or what it means that it was.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, is_
from typing import Final, TypeAlias, TypeVar, assert_never

import anyio
from anyio.abc import TaskGroup

from kgroup.backends.conductor import Conductor
from kgroup.backends.marshal.appender import Appender
from kgroup.backends.marshal.offset_commits import OffsetCommits
from kgroup.backends.marshal.start_positions import StartPositions
from kgroup.backends.marshal.trace import ClaimTrace
from kgroup.journal import Sink
from kgroup.machine.wishes import CallListener, Done, Moment, Raise
from kgroup.marshal.events import (
    Admitted,
    Append,
    CommitOffsets,
    Committed,
    Effect,
    Event,
    FindPosition,
    Note,
    Tell,
)
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.rules import MarshalSettings
from kgroup.marshal.step import Step, next_deadline, step
from kgroup.types import (
    Claim,
    CommitStatus,
    Membership,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)

log = logging.getLogger("kgroup.marshal")

_SAY_AGAIN: Final = 600.0
"""Seconds after which the same trouble is logged again."""

A = TypeVar("A", Committed, Admitted)


class Waiters:
    """Calls that wait for an answer of the machine, by serial."""

    def __init__(self) -> None:
        self._answers: dict[int, Committed | Admitted | None] = {}
        self._events: dict[int, anyio.Event] = {}
        self._heard: dict[int, Callable[[Committed], None]] = {}
        self._left: set[int] = set()
        self._next = 1
        self._over = False

    def draw(self, heard: Callable[[Committed], None] | None = None) -> int:
        """Return a serial to ask under; the step that settles a commit calls `heard`."""
        serial, self._next = self._next, self._next + 1
        self._events[serial] = anyio.Event()
        if heard is not None:
            self._heard[serial] = heard
        return serial

    def event(self, serial: int) -> anyio.Event:
        """Return what is set when a question has its answer; the asker may have gone."""
        return self._events[serial]

    def answer(self, answer: Committed | Admitted) -> None:
        """Wake the caller that waits for it; one that was cancelled does not take it."""
        event = self._events.pop(answer.serial, None)
        heard = self._heard.pop(answer.serial, None)
        if event is None:
            return
        if heard is not None and isinstance(answer, Committed):
            heard(answer)
        if answer.serial in self._left:
            self._left.discard(answer.serial)
        else:
            self._answers[answer.serial] = answer
        event.set()

    def end(self) -> None:
        """Wake everybody: no answer comes any more."""
        self._over = True
        for event in self._events.values():
            event.set()

    async def wait(self, serial: int, kind: type[A]) -> A | None:
        """Wait for the answer to a question; None when the membership has ended before it."""
        event = self._events.get(serial)
        try:
            if event is not None and not self._over:
                await event.wait()
        except BaseException:
            if serial in self._events:
                self._left.add(serial)
            self._answers.pop(serial, None)
            raise
        answer = self._answers.pop(serial, None)
        assert answer is None or isinstance(answer, kind)
        return answer


def outcomes_of(
    offsets: Mapping[Claim, OffsetAndMetadata], answer: Committed
) -> dict[TopicPartition, PartitionOutcome]:
    """Return what became of each claim of a commit."""
    return {claim.tp: _outcome(each, answer, claim) for claim, each in offsets.items()}


def _outcome(asked: OffsetAndMetadata, answer: Committed, claim: Claim) -> PartitionOutcome:
    reason = answer.refused.get(claim)
    if reason is None:
        return PartitionOutcome(CommitStatus.COMMITTED, asked)
    status = CommitStatus.UNKNOWN if answer.unknown else CommitStatus.REFUSED
    return PartitionOutcome(status, asked, None, reason)


class MarshalEffects:
    """Carries the effects of one member out; implements `conductor.EffectRunner`.

    Args:
        appender: writes messages.
        positions: finds out where to begin.
        commits: commits with the group coordinator.
        waiters: the tasks that asked, and what.
        apply: takes what an effect came to.
        timeout: seconds for one question.
    """

    def __init__(
        self,
        appender: Appender,
        positions: StartPositions,
        commits: OffsetCommits,
        waiters: Waiters,
        apply: Callable[[Event], None],
        *,
        timeout: float,
    ) -> None:
        self._appender = appender
        self._positions = positions
        self._commits = commits
        self._waiters = waiters
        self._apply = apply
        self._timeout = timeout
        self._said: dict[tuple[Note, str], float] = {}

    def carry_out(self, effects: tuple[Effect, ...], tasks: TaskGroup) -> None:
        """Begin all of `effects`, in order."""
        sought = [effect for effect in effects if isinstance(effect, FindPosition)]
        if sought:
            tasks.start_soon(self._find, sought)
        for effect in effects:
            match effect:
                case Append():
                    self._appender.append(effect)
                case CommitOffsets():
                    self._commits.commit(effect)
                case Committed() | Admitted():
                    self._waiters.answer(effect)
                case Tell():
                    self._tell(effect)
                case FindPosition() | CallListener() | Raise() | Done():
                    pass
                case _:
                    assert_never(effect)

    def _tell(self, what: Tell[Note]) -> None:
        """Log it: as a warning with its traceback once in a while, else at level DEBUG."""
        now, key = anyio.current_time(), (what.note, what.detail)
        self._said = {said: at for said, at in self._said.items() if now - at < _SAY_AGAIN}
        if key in self._said:
            log.debug("%s: %s", what.note.value, what.detail)
            return
        self._said[key] = now
        log.warning("%s: %s", what.note.value, what.detail, exc_info=what.error)

    async def _find(self, sought: Sequence[FindPosition]) -> None:
        for found in await self._positions.find(sought, timeout=self._timeout):
            self._apply(found)


# -- machine ---------------------------------------------------------------------------------------
#
# The machine of a Marshal member, as a conductor steps it.
#
# Decides: which changes of the value somebody may wait for.
# Never: waits; steps other than by `kgroup.marshal.step`.


_SHOWN: Final = attrgetter(
    "wishes.closing",
    "holdings",
    "flowing",
    "changes",
    "trouble_of_reads",
    "delay",
    "failure",
    "left",
    "dormant",
)
"""What somebody may wait for; heartbeats change none of it, and are most of the steps."""


def held_topics(member: MarshalMember) -> frozenset[str]:
    """Return the topics of keys of which something is under way, also if nobody asks for them."""
    return frozenset(tp.topic for tp, life in member.lives.items() if not life.is_idle)


class MarshalMachine:
    """One member; implements `conductor.Machine`.

    Args:
        settings: of the member.
        sink: takes the journal's events.
    """

    def __init__(self, settings: MarshalSettings, sink: Sink) -> None:
        self._settings = settings
        self._trace = ClaimTrace(settings, sink)

    def new(self, now: float) -> MarshalMember:
        """Return the first value."""
        return MarshalMember.new(self._settings, now)

    def step(self, member: MarshalMember, event: Event, moment: Moment) -> Step:
        """Return what `event` makes of `member`, and tell the journal."""
        result = step(member, event, moment)
        self._trace.stepped(member, event, result)
        return result

    def next_deadline(self, member: MarshalMember) -> float:
        """Return the instant of the next `Tick`, infinity while no timer runs."""
        return next_deadline(member)

    def delivers_until(self, member: MarshalMember, claim: Claim) -> float:
        """Return the instant from which records of a claim may not be handed out any more."""
        return member.delivers_until(claim)

    def shows_more(self, before: MarshalMember, after: MarshalMember) -> bool:
        """Tell whether a waiting caller could see a difference."""
        same = all(map(is_, _SHOWN(before), _SHOWN(after)))
        return not same or before.state is not after.state

    def snapshot(self, member: MarshalMember) -> Membership:
        """Return what the outside may know."""
        return member.snapshot()


MarshalConductor: TypeAlias = Conductor[MarshalMember, Event, Effect]
"""The only writer of a Marshal member's value."""

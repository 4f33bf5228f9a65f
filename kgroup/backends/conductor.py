"""The conductor: the only writer of a member's value, whichever machine makes it.

Decides: nothing about the group; it steps the machine, wakes it at its next deadline, and hands
what its steps want done to the effects' runner.
Never: changes the value other than through `step`; never awaits inside `apply`; never knows what
an effect is, but for the two that end the membership.

`apply` may be called from anywhere on the consumer's loop: it steps at once, so a caller that asks
afterwards sees the new value; what the step wants done is done by the conductor's own task.
"""

import math
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import anyio
from anyio.abc import TaskGroup

from kgroup.machine.wishes import Done, Moment, Raise, Tick
from kgroup.net.ports import Notifier, Ports
from kgroup.types import Claim, Membership

_LONGEST_NAP = 1.0
"""The machine's clock may count suspend where the loop's does not; look at least this often."""

_INSTANT = 1e-6
"""What happens within a microsecond happens at once."""

_FAREWELL = 1.0
"""Seconds a failed member waits for what it says last to be sent."""

M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)
E = TypeVar("E")
E_contra = TypeVar("E_contra", contravariant=True)
F = TypeVar("F")
F_co = TypeVar("F_co", covariant=True)
F_contra = TypeVar("F_contra", contravariant=True)


class Stepped(Protocol[M_co, F_co]):
    """What one step came to."""

    @property
    def member(self) -> M_co:
        """The next value."""
        ...

    @property
    def effects(self) -> tuple[F_co, ...]:
        """What is to be carried out, in order."""
        ...


class Machine(Protocol[M, E_contra, F_co]):
    """Makes one member's values: M from events E, with effects F."""

    def new(self, now: float) -> M:
        """Return the first value."""
        ...

    def step(self, member: M, event: E_contra | Tick, moment: Moment) -> Stepped[M, F_co]:
        """Return what `event` makes of `member`, and tell the journal; never waits."""
        ...

    def next_deadline(self, member: M) -> float:
        """Return the instant of the next `Tick`, infinity while no timer runs."""
        ...

    def shows_more(self, before: M, after: M) -> bool:
        """Tell whether a waiting caller could see a difference."""
        ...

    def snapshot(self, member: M) -> Membership:
        """Return what the outside may know."""
        ...

    def delivers_until(self, member: M, claim: Claim) -> float:
        """Return the instant from which records of a claim may not be handed out any more."""
        ...


class EffectRunner(Protocol[F_contra]):
    """Carries effects out; what they come to is applied as events."""

    def carry_out(self, effects: tuple[F_contra, ...], tasks: TaskGroup) -> None:
        """Begin all of `effects`, in order; must not wait.

        Args:
            effects: what the steps since the last call asked for, those that the conductor or the
                backend sees to included.
            tasks: owns what takes longer. It is cancelled when the membership is over.
        """
        ...


class Conductor(Generic[M, E, F]):
    """Steps one member's machine.

    Args:
        machine: makes the values.
        ports: clock and dice.
    """

    def __init__(self, machine: Machine[M, E, F], ports: Ports) -> None:
        self._machine = machine
        self._ports = ports
        self._dice = ports.dice_for("machine")
        self._drawn_at, self._chance = -math.inf, 0.0
        self._member: M | None = None
        self._permit: tuple[M | None, Claim | None, float] = None, None, -math.inf
        self._shown: Membership | None = None
        self._outbox: list[F] = []
        self._moved = Notifier()
        self._wake = Notifier()
        self._sleeps_until = -math.inf
        self._finished = False
        self.failure: Exception | None = None
        """What ended the membership for good, None while nothing did."""
        self.on_move: Callable[[M], None] | None = None
        """Called after each step that changed what it shows; must not wait."""
        self.lend: Callable[[M], None] | None = None
        """Called after each step, before anything that it wants is begun; must not wait."""
        self.heard: Callable[[], E | None] | None = None
        """Returns what happened beside the loop and nobody has heard of, None for nothing."""

    @property
    def member(self) -> M:
        """The present value."""
        if self._member is None:
            self._member = self._machine.new(self._ports.clock())
        return self._member

    @property
    def finished(self) -> bool:
        """Whether the membership has ended and nothing more will come."""
        return self._finished

    @property
    def now(self) -> float:
        """The machine's instant."""
        return self._ports.clock()

    def may_deliver(self, claim: Claim) -> bool:
        """Tell whether records may be handed out under a claim at this moment.

        Asked for each record of a loop: what the machine says of a value is asked once.
        """
        if self.heard is not None:
            self.catch_up()
        member, asked, until = self._permit
        if member is not self._member or asked is not claim or member is None:
            member = self.member
            until = self._machine.delivers_until(member, claim)
            self._permit = member, claim, until
        return self._ports.clock() < until

    def held_until(self) -> float | None:
        """Return when the first of its claims ends unless it is confirmed, None without any."""
        self.catch_up()
        member = self.member
        ends = (self._machine.delivers_until(member, each) for each in self.snapshot().claims)
        return min((end for end in ends if end > -math.inf), default=None)

    def snapshot(self) -> Membership:
        """Return what the outside may know.

        It is kept as long as it is the same: it lists everything owned, and callers ask for it once
        for each partition.
        """
        if self._shown is None:
            self._shown = self._machine.snapshot(self.member)
        return self._shown

    def _now(self) -> Moment:
        """Return the present moment; events of one instant come in any order: they share a chance.

        A clock in virtual time may tell two instants apart that are one but for rounding.
        """
        now = self._ports.clock()
        if now >= self._drawn_at + _INSTANT:
            self._drawn_at, self._chance = now, self._dice.getrandbits(16) / 65536
        return Moment(now, self._chance)

    def apply(self, event: E | Tick) -> None:
        """Step the machine; effects are carried out by the conductor's task."""
        self.catch_up()
        self._step(event)

    def catch_up(self) -> None:
        """Hear first what happened beside the loop: by the clock alone, it may be too late."""
        while self.heard is not None and (event := self.heard()) is not None:
            self._step(event)

    def _step(self, event: E | Tick) -> None:
        before = self.member
        result = self._machine.step(before, event, self._now())
        self._member = result.member
        if self.lend is not None:
            self.lend(result.member)
        self._outbox.extend(result.effects)
        for effect in result.effects:
            if isinstance(effect, Raise):
                self.failure = effect.error
            elif isinstance(effect, Done):
                self._finished = True
        if self._outbox or self._machine.next_deadline(result.member) < self._sleeps_until:
            self._wake.notify()
        if self._machine.shows_more(before, result.member):
            self._shown = None
            self._announce()

    async def moved(self) -> None:
        """Wait until the value shows something else; when it was polled last is no part of that."""
        await self._moved.wait()

    async def run(self, effects: EffectRunner[F]) -> None:
        """Have effects carried out and wake the machine until the membership has ended or failed.

        Args:
            effects: of every effect, those of steps before this call included.
        """
        async with anyio.create_task_group() as tasks:
            while not self._finished and self.failure is None:
                self._hand_over(effects, tasks)
                if not self._outbox:
                    await self._nap()
            self._hand_over(effects, tasks)
            # A farewell may be on its way; nothing else is worth waiting for.
            patience = 0.0 if self._finished else _FAREWELL
            tasks.cancel_scope.deadline = anyio.current_time() + patience

    def _hand_over(self, runner: EffectRunner[F], tasks: TaskGroup) -> None:
        effects = tuple(self._outbox)
        self._outbox.clear()
        runner.carry_out(effects, tasks)

    def _announce(self) -> None:
        self._moved.notify()
        if self.on_move is not None:
            self.on_move(self.member)

    async def _nap(self) -> None:
        deadline, now = self._machine.next_deadline(self.member), self._ports.clock()
        if deadline > now:
            # A deadline that is put off wakes nobody: the nap ends at the old one, and begins anew.
            self._sleeps_until = deadline
            with anyio.move_on_after(min(deadline - now, _LONGEST_NAP)):
                await self._wake.wait()
            self._sleeps_until = -math.inf
        if self._ports.clock() >= self._machine.next_deadline(self.member):
            self.apply(Tick())

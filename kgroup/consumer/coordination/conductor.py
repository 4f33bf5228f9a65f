"""The conductor: the only writer of the membership machine.

Decides: nothing about the group; it steps the machine, carries its effects out, and wakes it at
its next deadline.
Never: changes the machine's value other than through `step`; never awaits inside `apply`.

`apply` may be called from anywhere on the consumer's loop: it steps at once, so whoever asks
afterwards sees the new value; what the step wants done is done by the conductor's own task.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter, is_
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ErrorCode
from kgroup.consumer.coordination.interest import TopicInterest
from kgroup.consumer.coordination.leading import Leading
from kgroup.consumer.coordination.looking_back import in_use, remembered
from kgroup.consumer.coordination.trace import MemberTrace
from kgroup.errors import BrokerError, KGroupError
from kgroup.journal import Sink
from kgroup.machine.tickets import Errand
from kgroup.membership.events import (
    Answered,
    CallListener,
    CoordinatorFound,
    Disconnect,
    Done,
    Effect,
    Event,
    GroupResponse,
    Moment,
    Raise,
    RequestFailed,
    RunAssignor,
    Send,
    Tell,
    Tick,
)
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.step import next_deadline, step
from kgroup.membership.value import GroupMember
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.coordinator import coordinator_of
from kgroup.net.pulse import Pulse
from kgroup.types import Membership
from kgroup.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse, JoinGroupResponse
from kgroup.wire.schema import Request

__all__ = ["Conductor"]

log = logging.getLogger(__name__)

_LONGEST_NAP = 1.0
"""The machine's clock may count suspend where the loop's does not; look at least this often."""

_FAREWELL = 1.0
"""Seconds a failed member waits for its LeaveGroup to be sent."""

_SHOWN: Final = attrgetter(
    "state", "identity", "coordinator", "round", "lead", "holdings", "trouble", "changes"
)
"""What somebody may wait for. Polls, heartbeats and a lease that goes on change none of it, and are
most of the steps."""


@dataclass(frozen=True, slots=True, eq=False)
class _Beat:
    """One heartbeat under way.

    Args:
        effect: what is sent, with what is left of the patience.
        scope: ends the wait for it.
        deadline: instant of the loop's clock at which its connection is given up.
    """

    effect: Send
    scope: anyio.CancelScope
    deadline: float


class Conductor:
    """Steps one member's machine.

    Args:
        settings: of the member.
        cluster: connections; not owned. Time and chance are its ports'.
        interest: told which topics the group has.
        sink: takes the journal's events.
    """

    def __init__(
        self, settings: MembershipSettings, cluster: Cluster, interest: TopicInterest, sink: Sink
    ) -> None:
        self._cluster = cluster
        self._ports = cluster.ports
        self._trace = MemberTrace(sink)
        self._leading = Leading(cluster, interest, settings)
        self._settings = settings
        self._member: GroupMember | None = None
        self._shown: Membership | None = None
        self._outbox: list[Effect] = []
        self._beat: _Beat | None = None
        self._moved = Pulse()
        self._wake = Pulse()
        self._sleeps_until = -math.inf
        self._finished = False
        self.failure: Exception | None = None
        """What ended the membership for good, None while nothing did."""
        self.on_move: Callable[[GroupMember], None] | None = None
        """Called after each step that changed what it shows; must not wait."""

    @property
    def member(self) -> GroupMember:
        """The present value."""
        if self._member is None:
            self._member = GroupMember.new(self._settings, self._ports.clock())
        return self._member

    @property
    def finished(self) -> bool:
        """Whether the membership has ended and nothing more will come."""
        return self._finished

    @property
    def now(self) -> float:
        """The machine's instant."""
        return self._ports.clock()

    def snapshot(self) -> Membership:
        """Return what the outside may know.

        It is kept as long as it is the same: it lists everything owned, and is asked for by who
        does something with each of that.
        """
        if self._shown is None:
            self._shown = self.member.snapshot()
        return self._shown

    def apply(self, event: Event) -> None:
        """Step the machine; effects are carried out by the conductor's task."""
        before = self.member
        chance = self._ports.dice.getrandbits(16) / 65536
        moment = Moment(self._ports.clock(), chance)
        result = step(before, event, moment)
        self._member = result.member
        self._outbox.extend(result.effects)
        self._trace.stepped(before, result, moment.now)
        for effect in result.effects:
            self._note_end(effect)
        if self._outbox or next_deadline(result.member) < self._sleeps_until:
            self._wake.fire()
        if _shows_more(before, result.member):
            self._shown = None
            self._announce()

    async def moved(self) -> None:
        """Wait until the value shows something else; when it was polled last is no part of that."""
        await self._moved.wait()

    async def run(self) -> None:
        """Carry effects out and wake the machine until the membership has ended or failed."""
        async with anyio.create_task_group() as tasks:
            while not self._finished and self.failure is None:
                self._carry_out(tasks)
                if not self._outbox:
                    await self._nap()
            self._carry_out(tasks)
            # A farewell may be on its way; nothing else is worth waiting for.
            patience = 0.0 if self._finished else _FAREWELL
            tasks.cancel_scope.deadline = anyio.current_time() + patience

    def _announce(self) -> None:
        self._moved.fire()
        if self.on_move is not None:
            self.on_move(self.member)

    def _note_end(self, effect: Effect) -> None:
        match effect:
            case Raise():
                self.failure = effect.error
            case Done():
                self._finished = True
            case _:
                pass

    async def _nap(self) -> None:
        deadline, now = next_deadline(self.member), self._ports.clock()
        if deadline > now:
            # A deadline that is put off wakes nobody: the nap ends at the old one, and begins anew.
            self._sleeps_until = deadline
            with anyio.move_on_after(min(deadline - now, _LONGEST_NAP)):
                await self._wake.wait()
            self._sleeps_until = -math.inf
        if self._ports.clock() >= next_deadline(self.member):
            self.apply(Tick())

    # -- effects ---------------------------------------------------------------------------

    def _carry_out(self, tasks: TaskGroup) -> None:
        outbox, self._outbox = self._outbox, []
        for effect in outbox:
            match effect:
                case Send() if effect.ticket.errand is Errand.HEARTBEAT:
                    tasks.start_soon(self._send_heartbeat, self._next_beat(effect))
                case Send():
                    tasks.start_soon(self._send, effect)
                case RunAssignor():
                    tasks.start_soon(self._assign, effect)
                case Disconnect():
                    self._cluster.drop(effect.node_id, Lane.JOIN)
                    if not effect.parked_only:
                        self._cluster.drop(effect.node_id, Lane.HEARTBEAT)
                case Tell():
                    log.warning("%s: %s", effect.note.value, effect.detail, exc_info=effect.error)
                case CallListener() | Raise() | Done():
                    pass

    def _next_beat(self, effect: Send) -> _Beat:
        """End the wait for the heartbeat before this one; the machine awaits the last one only.

        1. SyncGroup is out, and a heartbeat waits for its connection; 2. the generation stands, and
        a heartbeat has to prove it; 3. the connection is there, and both would go out together.

        What is left of its patience passes on: 1. a heartbeat is written on a connection that is
        dead, which nobody has noticed; 2. a round takes the next one, on the same connection. Until
        an answer is heard, the connection is given up when the first of them would have given up.
        """
        now = anyio.current_time()
        deadline, before = now + effect.timeout, self._beat
        if before is not None:
            before.scope.cancel()
            # One that goes on beyond its time was given more by the broker, which wants silence.
            if before.effect.node_id == effect.node_id and before.deadline > now:
                deadline = min(deadline, before.deadline)
        self._beat = _Beat(replace(effect, timeout=deadline - now), anyio.CancelScope(), deadline)
        return self._beat

    async def _send_heartbeat(self, beat: _Beat) -> None:
        with beat.scope:
            await self._send(beat.effect)
        if self._beat is beat:
            self._beat = None

    async def _send(self, effect: Send) -> None:
        try:
            event = await self._ask(effect)
        except TimeoutError as error:
            if effect.node_id is not None:
                self._cluster.drop(effect.node_id, _lane(effect))
            event = RequestFailed(effect.ticket, error)
        except KGroupError as error:
            event = RequestFailed(effect.ticket, error)
        self.apply(event)

    async def _ask(self, effect: Send) -> Event:
        request = effect.request
        if isinstance(request, FindCoordinatorRequest):
            found = await self._cluster.send_any(request, timeout=effect.timeout)
            return await self._found(effect, found)
        assert effect.node_id is not None
        asked: Request[GroupResponse] = request
        answer = await self._cluster.send(
            effect.node_id, asked, lane=_lane(effect), timeout=effect.timeout
        )
        keeps_out = answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if keeps_out and isinstance(answer, JoinGroupResponse):
            who = await in_use(self._cluster, effect.node_id, self._settings)
            return Answered(effect.ticket, answer, who)
        return Answered(effect.ticket, answer)

    async def _found(self, effect: Send, answer: FindCoordinatorResponse) -> Event:
        try:
            found = coordinator_of(answer, self._settings.group_id)
        except BrokerError as error:
            return CoordinatorFound(effect.ticket, None, error.code)
        self._cluster.learn_node(found.node_id, found.host, found.port)
        before = None
        if effect.recall:
            before = await remembered(self._cluster, found.node_id, self._settings)
        return CoordinatorFound(effect.ticket, found.node_id, remembered=before)

    async def _assign(self, effect: RunAssignor) -> None:
        self.apply(await self._leading.run(effect))


def _shows_more(before: GroupMember, after: GroupMember) -> bool:
    """Tell whether somebody who waits could see a difference."""
    same = all(map(is_, _SHOWN(before), _SHOWN(after)))
    return not same or before.lease.proved is not after.lease.proved


def _lane(effect: Send) -> Lane:
    """Parked requests have a connection of their own: the broker answers one at a time."""
    parked = effect.ticket.errand in (Errand.JOIN_GROUP, Errand.SYNC_GROUP)
    return Lane.JOIN if parked else Lane.HEARTBEAT

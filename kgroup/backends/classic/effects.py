"""What the membership machine of a classic group wants done, done.

Decides: which connection a request takes, and how long a heartbeat is waited for beside another.
Never: what is sent, or sent again; the machine does. Each request is answered by one event.
KIPs: 62 (heartbeats beside parked requests), 345, 814 (what a static member asked for before).
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from operator import attrgetter, is_
from typing import Final, TypeAlias, assert_never

import anyio
from anyio.abc import TaskGroup

from kgroup.backends.classic.leading import Leading
from kgroup.backends.classic.looking_back import in_use, remembered
from kgroup.backends.classic.trace import MemberTrace
from kgroup.backends.conductor import Conductor
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, KGroupError
from kgroup.journal import Sink
from kgroup.machine.wishes import Errand, Moment
from kgroup.membership.events import (
    Answered,
    CallListener,
    CoordinatorFound,
    Disconnect,
    Done,
    Effect,
    Event,
    GroupResponse,
    Raise,
    RequestFailed,
    RunAssignor,
    Send,
    Tell,
)
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.step import Step, next_deadline, step
from kgroup.membership.value import GroupMember
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.coordinator import coordinator_of
from kgroup.types import Claim, Membership
from kgroup.values import dataclass
from kgroup.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse, JoinGroupResponse
from kgroup.wire.schema import Request

log = logging.getLogger(__name__)


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


class ClassicEffects:
    """Carries the effects of one classic member out; implements `conductor.EffectRunner`.

    Args:
        settings: of the member.
        cluster: connections; not owned.
        leading: runs assignors.
        apply: takes what an effect came to.
        before_joining: awaited before the machine hears that a round began without it.
    """

    def __init__(
        self,
        settings: MembershipSettings,
        cluster: Cluster,
        leading: Leading,
        apply: Callable[[Event], None],
        before_joining: Callable[[], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._leading = leading
        self._apply = apply
        self._before_joining = before_joining
        self._beat: _Beat | None = None
        self.said_goodbye: bool = False
        """Whether a LeaveGroup was sent, and no JoinGroup since."""

    def carry_out(self, effects: tuple[Effect, ...], tasks: TaskGroup) -> None:
        """Begin all of `effects`, in order; see `conductor.EffectRunner`."""
        for effect in effects:
            match effect:
                case Send() if effect.ticket.errand is Errand.HEARTBEAT:
                    tasks.start_soon(self._send_heartbeat, self._next_beat(effect))
                case Send():
                    self._note(effect.ticket.errand)
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
                    pass  # the backend shows the member's changes, the conductor its end
                case _:
                    assert_never(effect)

    def _note(self, errand: Errand) -> None:
        if errand in (Errand.JOIN_GROUP, Errand.LEAVE_GROUP):
            self.said_goodbye = errand is Errand.LEAVE_GROUP

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
        self._apply(event)

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
        if answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            await self._before_joining()
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
        self._apply(await self._leading.run(effect))


def _lane(effect: Send) -> Lane:
    """Parked requests have a connection of their own: the broker answers one at a time."""
    parked = effect.ticket.errand in (Errand.JOIN_GROUP, Errand.SYNC_GROUP)
    return Lane.JOIN if parked else Lane.HEARTBEAT


# -- machine ---------------------------------------------------------------------------------------
#
# The membership machine of classic groups, as a conductor steps it.
#
# Decides: which changes of the value somebody may wait for.
# Never: waits; steps other than by `kgroup.membership.step`.


_SHOWN: Final = attrgetter(
    "state", "identity", "coordinator", "round", "lead", "holdings", "trouble", "changes"
)
"""What somebody may wait for. Polls, heartbeats and a lease that goes on change none of it, and are
most of the steps."""


class ClassicMachine:
    """One classic member; implements `conductor.Machine`.

    Args:
        settings: of the member.
        sink: takes the journal's events.
    """

    def __init__(self, settings: MembershipSettings, sink: Sink) -> None:
        self._settings = settings
        self._trace = MemberTrace(sink)

    def new(self, now: float) -> GroupMember:
        """Return the first value."""
        return GroupMember.new(self._settings, now)

    def step(self, member: GroupMember, event: Event, moment: Moment) -> Step:
        """Return what `event` makes of `member`, and tell the journal."""
        result = step(member, event, moment)
        self._trace.stepped(member, result, moment.now)
        return result

    def next_deadline(self, member: GroupMember) -> float:
        """Return the instant of the next `Tick`, infinity while no timer runs."""
        return next_deadline(member)

    def delivers_until(self, member: GroupMember, claim: Claim) -> float:
        """Return the instant from which records of a claim may not be handed out any more."""
        return member.delivers_until(claim)

    def shows_more(self, before: GroupMember, after: GroupMember) -> bool:
        """Tell whether a waiting caller could see a difference."""
        same = all(map(is_, _SHOWN(before), _SHOWN(after)))
        return not same or before.lease.proved is not after.lease.proved

    def snapshot(self, member: GroupMember) -> Membership:
        """Return what the outside may know."""
        return member.snapshot()


ClassicConductor: TypeAlias = Conductor[GroupMember, Event, Effect]
"""The only writer of a classic member's value."""

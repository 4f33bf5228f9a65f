"""What the machine of a KIP-848 member wants done, done.

Decides: which connection a request takes, and what is asked beside FindCoordinator.
Never: what is sent, or sent again; the machine does. Each request is answered by one event.
KIPs: 848.
"""

import logging
from collections.abc import Callable
from operator import attrgetter, is_
from typing import Final, TypeAlias, assert_never

from anyio.abc import TaskGroup

from kgroup.backends.conductor import Conductor
from kgroup.backends.consumer_group.session_time import session_of
from kgroup.backends.consumer_group.trace import MemberTrace
from kgroup.consumer_group.events import (
    Answered,
    CoordinatorFound,
    Disconnect,
    Effect,
    Event,
    LookForTopics,
    RequestFailed,
    Send,
)
from kgroup.consumer_group.settings import ConsumerGroupSettings
from kgroup.consumer_group.step import Step, next_deadline, step
from kgroup.consumer_group.value import ConsumerGroupMember
from kgroup.errors import BrokerError, KGroupError
from kgroup.journal import Sink
from kgroup.machine.wishes import CallListener, Done, Moment, Raise, Tell
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.coordinator import coordinator_of
from kgroup.types import Claim, Membership
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

log = logging.getLogger(__name__)


class ConsumerGroupEffects:
    """Carries the effects of one member out; implements `conductor.EffectRunner`.

    Args:
        settings: of the member.
        cluster: connections; not owned.
        apply: takes what an effect came to.
    """

    def __init__(
        self, settings: ConsumerGroupSettings, cluster: Cluster, apply: Callable[[Event], None]
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._apply = apply
        self.said_goodbye: bool = False
        """Whether a farewell was sent, and no join since."""

    def carry_out(self, effects: tuple[Effect, ...], tasks: TaskGroup) -> None:
        """Begin all of `effects`, in order; see `conductor.EffectRunner`."""
        for effect in effects:
            match effect:
                case Send():
                    self._note(effect)
                    tasks.start_soon(self._send, effect)
                case Disconnect():
                    self._cluster.drop(effect.node_id, Lane.HEARTBEAT)
                case LookForTopics():
                    self._cluster.invalidate()
                case Tell():
                    log.warning("%s: %s", effect.note.value, effect.detail, exc_info=effect.error)
                case CallListener() | Raise() | Done():
                    pass  # the backend shows the member's changes, the conductor its end
                case _:
                    assert_never(effect)

    def _note(self, effect: Send) -> None:
        if isinstance(effect.request, ConsumerGroupHeartbeatRequest):
            self.said_goodbye = effect.request.member_epoch < 0

    async def _send(self, effect: Send) -> None:
        try:
            event = await self._ask(effect)
        except TimeoutError as error:
            if effect.node_id is not None:
                self._cluster.drop(effect.node_id, Lane.HEARTBEAT)
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
        answer = await self._cluster.send(
            effect.node_id, request, lane=Lane.HEARTBEAT, timeout=effect.timeout
        )
        return Answered(effect.ticket, answer)

    async def _found(self, effect: Send, answer: FindCoordinatorResponse) -> Event:
        try:
            found = coordinator_of(answer, self._settings.group_id)
        except BrokerError as error:
            return CoordinatorFound(effect.ticket, None, error.code)
        self._cluster.learn_node(found.node_id, found.host, found.port)
        session = None
        if effect.look:
            session = await session_of(
                self._cluster,
                found.node_id,
                self._settings.group_id,
                timeout=effect.timeout,
            )
        return CoordinatorFound(effect.ticket, found.node_id, session=session)


# -- machine ---------------------------------------------------------------------------------------
#
# The machine of KIP-848's members, as a conductor steps it.
#
# Decides: which changes of the value somebody may wait for.
# Never: waits; steps other than by `kgroup.consumer_group.step`.


_SHOWN: Final = attrgetter(
    "state", "identity", "coordinator", "assigned", "holdings", "trouble", "changes"
)
"""What somebody may wait for. Polls, heartbeats and a lease that goes on change none of it."""


class ConsumerGroupMachine:
    """One member; implements `conductor.Machine`.

    Args:
        settings: of the member.
        sink: takes the journal's events.
    """

    def __init__(self, settings: ConsumerGroupSettings, sink: Sink) -> None:
        self._settings = settings
        self._trace = MemberTrace(sink)

    def new(self, now: float) -> ConsumerGroupMember:
        """Return the first value."""
        return ConsumerGroupMember.new(self._settings, now)

    def step(self, member: ConsumerGroupMember, event: Event, moment: Moment) -> Step:
        """Return what `event` makes of `member`, and tell the journal."""
        result = step(member, event, moment)
        self._trace.stepped(member, result)
        return result

    def next_deadline(self, member: ConsumerGroupMember) -> float:
        """Return the instant of the next `Tick`, infinity while no timer runs."""
        return next_deadline(member)

    def delivers_until(self, member: ConsumerGroupMember, claim: Claim) -> float:
        """Return the instant from which records of a claim may not be handed out any more."""
        return member.delivers_until(claim)

    def shows_more(self, before: ConsumerGroupMember, after: ConsumerGroupMember) -> bool:
        """Tell whether a waiting caller could see a difference."""
        same = all(map(is_, _SHOWN(before), _SHOWN(after)))
        return not same or before.lease.proved is not after.lease.proved

    def snapshot(self, member: ConsumerGroupMember) -> Membership:
        """Return what the outside may know."""
        return member.snapshot()


ConsumerGroupConductor: TypeAlias = Conductor[ConsumerGroupMember, Event, Effect]
"""The only writer of a member's value."""

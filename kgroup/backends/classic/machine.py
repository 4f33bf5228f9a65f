"""The membership machine of classic groups, as a conductor steps it.

Decides: which changes of the value somebody may wait for.
Never: waits; steps other than by `kgroup.membership.step`.
"""

from operator import attrgetter, is_
from typing import Final, TypeAlias

from kgroup.backends.classic.trace import MemberTrace
from kgroup.backends.conductor import Conductor
from kgroup.journal import Sink
from kgroup.machine.wishes import Moment
from kgroup.membership.events import Effect, Event
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.step import Step, next_deadline, step
from kgroup.membership.value import GroupMember
from kgroup.types import Membership

__all__ = ["ClassicConductor", "ClassicMachine"]

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

    def shows_more(self, before: GroupMember, after: GroupMember) -> bool:
        """Tell whether somebody who waits could see a difference."""
        same = all(map(is_, _SHOWN(before), _SHOWN(after)))
        return not same or before.lease.proved is not after.lease.proved

    def snapshot(self, member: GroupMember) -> Membership:
        """Return what the outside may know."""
        return member.snapshot()


ClassicConductor: TypeAlias = Conductor[GroupMember, Event, Effect]
"""The only writer of a classic member's value."""

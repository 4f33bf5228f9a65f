"""The machine of a Marshal member, as a conductor steps it.

Decides: which changes of the value somebody may wait for.
Never: waits; steps other than by `kgroup.marshal.step`.
"""

from operator import attrgetter, is_
from typing import Final, TypeAlias

from kgroup.backends.conductor import Conductor
from kgroup.backends.marshal.trace import ClaimTrace
from kgroup.journal import Sink
from kgroup.machine.wishes import Moment
from kgroup.marshal.events import Effect, Event
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.settings import MarshalSettings
from kgroup.marshal.step import Step, next_deadline, step
from kgroup.types import Membership

__all__ = ["MarshalConductor", "MarshalMachine", "held_topics"]

_SHOWN: Final = attrgetter(
    "wishes.closing",
    "holdings",
    "flowing",
    "changes",
    "told_trouble",
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

    def shows_more(self, before: MarshalMember, after: MarshalMember) -> bool:
        """Tell whether somebody who waits could see a difference."""
        same = all(map(is_, _SHOWN(before), _SHOWN(after)))
        return not same or before.state is not after.state

    def snapshot(self, member: MarshalMember) -> Membership:
        """Return what the outside may know."""
        return member.snapshot()


MarshalConductor: TypeAlias = Conductor[MarshalMember, Event, Effect]
"""The only writer of a Marshal member's value."""

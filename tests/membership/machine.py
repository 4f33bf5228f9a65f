"""The driver of the group machine that all tests and searches share: one step, and its effects.

Decides: the order of a step: the port keeps the new value, then takes each effect, in order, by the
method that is named after it.
Never: keeps anything, reads a clock, or answers. Each world does that behind its own port: members
driven by hand (`tests.membership.driver`), simulated processes (`tests.search.simulation.world`),
every state of a small group (`tests.search.exhaustive`), fuzzed lives (`tests.search.fuzz`).
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias, assert_never

from kgroup.membership.events import (
    CallListener,
    Disconnect,
    Done,
    Event,
    Moment,
    Raise,
    RunAssignor,
    Send,
    Tell,
)
from kgroup.membership.step import Step, step
from kgroup.membership.value import GroupMember

Machine: TypeAlias = Callable[[GroupMember, Event, Moment], Step]
"""`kgroup.membership.step.step`, or what a test plants in its place."""


class Port(Protocol):
    """What a world does with a step and its effects."""

    def stepped(self, before: GroupMember, event: Event, result: Step) -> None:
        """Keep the new value; the effects come after this."""
        ...

    def send(self, effect: Send) -> None:
        """Take a request; its ticket comes back with the answer."""
        ...

    def run_assignor(self, effect: RunAssignor) -> None:
        """Take a leader's errand, or a look at what stands."""
        ...

    def disconnect(self, effect: Disconnect) -> None:
        """Close connections to a broker."""
        ...

    def call_listener(self, effect: CallListener) -> None:
        """Take a change of ownership that the application hears of."""
        ...

    def end(self, error: Exception | None) -> None:
        """End the membership, for good with an error."""
        ...


def drive(
    port: Port,
    member: GroupMember,
    event: Event,
    moment: Moment,
    machine: Machine | None = None,
) -> Step:
    """Step the machine and hand its effects to the port, in order.

    Args:
        port: keeps the new value and takes the effects.
        member: the present value.
        event: what happens.
        moment: when, and how lucky it is.
        machine: None = kgroup's.
    """
    result = (machine or step)(member, event, moment)
    port.stepped(member, event, result)
    for effect in result.effects:
        match effect:
            case Send():
                port.send(effect)
            case RunAssignor():
                port.run_assignor(effect)
            case Disconnect():
                port.disconnect(effect)
            case CallListener():
                port.call_listener(effect)
            case Raise():
                port.end(effect.error)
            case Done():
                port.end(None)
            case Tell():
                pass
            case _:
                assert_never(effect)
    return result

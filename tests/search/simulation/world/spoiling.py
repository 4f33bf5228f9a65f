"""Assignors that fail: what a leader's errand comes to when an ambush has spoilt it.

Decides: how each failure looks to the machine.
Never: decides when; the ambush does.
"""

from dataclasses import dataclass, field, replace

from kgroup.assignors import Assignor, GroupAssignment, GroupSubscription, LastAssignment
from kgroup.assignors.api import UserDataAssignor
from kgroup.errors import AssignorError
from kgroup.membership.events import AssignorDone, AssignorFailed
from kgroup.testing.broker.agenda import Agenda
from kgroup.types import RebalanceProtocol
from tests.search.simulation.ambush import Ploy

__all__ = ["Faltering", "Led", "spoilt"]

Led = AssignorDone | AssignorFailed

_UNREADABLE = b"\x00"
_SOON = 0.3


def spoilt(led: Led, ploy: Ploy) -> Led:
    """Return what an errand comes to instead.

    Args:
        led: what it would have come to.
        ploy: what is done to the assignor.
    """
    match ploy:
        case Ploy.FAIL:
            return AssignorFailed(led.ticket, AssignorError("ambush", ["raised on purpose"]))
        case Ploy.LATE:
            return AssignorFailed(led.ticket, TimeoutError("no metadata"))
        case Ploy.GARBLE if isinstance(led, AssignorDone):
            garbled = tuple((member_id, _UNREADABLE) for member_id, _ in led.assignments)
            return replace(led, assignments=garbled, sent=None)
        case Ploy.AGAIN if isinstance(led, AssignorDone):
            return replace(led, rejoin_after=_SOON)
        case _:
            return led


@dataclass(slots=True)
class Faltering:
    """An assignor as another, whose user data cannot be written for a time.

    Args:
        inner: that other.
        clock: of the run.
    """

    inner: Assignor
    clock: Agenda
    mute_until: float = field(default=-1.0)

    @property
    def name(self) -> str:
        """Of the other."""
        return self.inner.name

    @property
    def supported_protocols(self) -> tuple[RebalanceProtocol, ...]:
        """Of the other."""
        return self.inner.supported_protocols

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide as the other does."""
        return self.inner.assign(group)

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes | None:
        """Return what the other sends, or raise."""
        if self.clock.now <= self.mute_until:
            raise AssignorError(self.name, ["cannot write user data, on purpose"])
        if isinstance(self.inner, UserDataAssignor):
            return self.inner.encode_user_data(owned, generation_id)
        return owned.user_data

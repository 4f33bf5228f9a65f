"""What every part of an in-process cluster shares: its clock, its answers, its settings.

Decides: nothing.
Never: holds topics, logs or groups.
"""

from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Outbox
from kgroup.testing.broker.mint import Mint
from kgroup.testing.broker.releases import CoordinatorKind, Release
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.values import dataclass


@dataclass(slots=True)
class Context:
    """One cluster's surroundings.

    Args:
        agenda: its clock and timers.
        outbox: where answers to parked requests leave.
        settings: of all brokers.
        release: the Kafka it passes for.
        coordinator: rule set of the group coordinator.
        mint: makes ids.
        calendar_start: seconds since the epoch when the agenda reads 0; set anew when another clock
            takes over.
    """

    agenda: Agenda
    outbox: Outbox
    settings: BrokerSettings
    release: Release
    coordinator: CoordinatorKind
    mint: Mint
    calendar_start: float = 0.0

    def milliseconds(self, skew: float = 0.0) -> int:
        """Read a broker's calendar: milliseconds since the epoch.

        Args:
            skew: seconds by which its clock is ahead.
        """
        return int((self.calendar_start + self.agenda.now + skew) * 1000)

    @property
    def is_old(self) -> bool:
        """Whether the group coordinator is the old one."""
        return self.coordinator is CoordinatorKind.OLD

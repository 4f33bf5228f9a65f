"""The two ways one part of a consumer wakes others.

Decides: who is woken by what.
Never: carries data: whoever wakes looks at the state itself.
"""

from dataclasses import dataclass, field

from kgroup.net.ports import Pulse

__all__ = ["Pulses"]


@dataclass(frozen=True, slots=True)
class Pulses:
    """Two pulses.

    Args:
        work: something may be asked of brokers that could not before; wakes fetching and
            positioning.
        news: something came, or may be handed out now; wakes readers.
    """

    work: Pulse = field(default_factory=Pulse)
    news: Pulse = field(default_factory=Pulse)

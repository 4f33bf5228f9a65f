"""The two ways one part of a consumer wakes others.

Decides: who is woken by what.
Never: carries data: whoever wakes looks at the state itself.
"""

from dataclasses import dataclass, field

from kgroup.net.ports import Notifier

__all__ = ["Notifiers"]


@dataclass(frozen=True, slots=True)
class Notifiers:
    """Two notifiers.

    Args:
        work: something may be asked of brokers that could not before; wakes fetching and
            positioning.
        news: something came, or may be handed out now; wakes readers.
    """

    work: Notifier = field(default_factory=Notifier)
    news: Notifier = field(default_factory=Notifier)

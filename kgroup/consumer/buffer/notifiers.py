"""The two ways one part of a consumer wakes others.

Decides: which parts each of them wakes.
Never: carries data: a part that wakes looks at the state itself.
"""

from dataclasses import field

from kgroup.net.ports import Notifier
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Notifiers:
    """Two notifiers.

    Args:
        work: a request may be sent that could not be sent before; wakes fetching and positioning.
        news: records came, or may be handed out now; wakes readers.
    """

    work: Notifier = field(default_factory=Notifier)
    news: Notifier = field(default_factory=Notifier)

"""When metadata is asked again.

Decides: the instant of the next refresh: soon after somebody asked, at a growing pace while
answers fail or show nothing new, slowly while a topic or a leader is missing, and by age.
Never: asks, sleeps or reads a clock; instants come in as arguments.
KIPs: 526 and 580 (growing pace).
"""

import math

from kgroup.net.backoff import Backoff
from kgroup.net.ports import Dice
from kgroup.net.settings import NetSettings

__all__ = ["RefreshPlan"]


class RefreshPlan:
    """The due time of the next refresh, and the facts it follows from.

    However often somebody asks, two refreshes keep the pause of `retry_backoff` to
    `retry_backoff_max` between them, growing while they bring nothing new.
    """

    __slots__ = ("_age", "_chase", "_dice", "_not_before", "_pace", "_soon", "_until")

    def __init__(self, settings: NetSettings, dice: Dice) -> None:
        self._dice = dice
        self._age = settings.metadata_max_age
        self._pace = Backoff(settings.retry_backoff, settings.retry_backoff_max)
        self._chase = Backoff(settings.retry_backoff, settings.incomplete_backoff_max)
        self._soon = False
        self._not_before = -math.inf
        self._until = math.inf

    def ask(self) -> None:
        """Note that somebody wants a refresh as soon as the pace allows."""
        self._soon = True

    def began(self) -> None:
        """Note that a refresh begins; who asks from now on wants another one."""
        self._soon = False

    def succeeded(self, now: float, *, changed: bool, incomplete: bool) -> None:
        """Note an answer.

        Args:
            now: instant.
            changed: whether it showed anything new.
            incomplete: whether something is missing that may be there soon.
        """
        calm = now > self._not_before + self._pace.maximum
        self._pace = (self._pace.reset() if changed or calm else self._pace).failed()
        self._not_before = now + self._pace.pause(self._dice)
        self._chase = (self._chase.reset() if changed else self._chase).failed()
        pause = self._chase.pause(self._dice) if incomplete else self._age
        self._until = max(now + pause, self._not_before)

    def failed(self, now: float) -> None:
        """Note that nobody answered, or nobody that could be believed."""
        self._pace = self._pace.failed()
        self._not_before = self._until = now + self._pace.pause(self._dice)

    def due_at(self) -> float:
        """Return the instant of the next refresh; infinity before anybody ever asked."""
        return self._not_before if self._soon else self._until

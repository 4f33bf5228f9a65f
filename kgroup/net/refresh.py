"""When metadata is asked again.

Decides: the instant of the next refresh: soon after somebody asked, at a growing pace while
answers fail or show nothing new, slowly while a topic or a leader is missing or an entry makes no
sense (N12), and by age. What nobody has asked about yet is no retry, and waits for a second or so
at most, however long pauses are. A topic that is waited for shows within `incomplete_backoff_max`
at first; later within a tenth of the time it has been waited for, never later than
`metadata_max_age`.
Never: asks, sleeps or reads a clock; instants come in as arguments.
KIPs: 526 and 580 (growing pace).
"""

import math
from typing import Final, assert_never

from kgroup.machine.backoff import Backoff
from kgroup.net.metadata import Lack
from kgroup.net.ports import Dice
from kgroup.net.settings import NetSettings

_FIRST_LOOK: Final = 1.2
"""Longest pause before a first look, seconds: what pauses grow to unless other ones are asked for,
the jitter included. A leader must know the group's topics while the round lasts."""
_SHARE_OF_WAIT: Final = 0.1
"""Part of the time something has been missing that may pass before it is asked for again."""


class RefreshPlan:
    """The due time of the next refresh, and the facts it follows from.

    However often somebody asks, two refreshes keep the pause of `retry_backoff` to
    `retry_backoff_max` between them, growing while they bring nothing new; a first look cuts it
    short.
    """

    __slots__ = (
        "_age",
        "_chase",
        "_dice",
        "_lacking_since",
        "_look_by",
        "_not_before",
        "_pace",
        "_soon",
        "_until",
    )

    def __init__(self, settings: NetSettings, dice: Dice) -> None:
        self._dice = dice
        self._age = settings.metadata_max_age
        self._pace = Backoff(settings.retry_backoff, settings.retry_backoff_max)
        self._chase = Backoff(settings.retry_backoff, settings.incomplete_backoff_max)
        self._lacking_since: float | None = None
        self._soon = False
        self._look_by = math.inf
        self._not_before = -math.inf
        self._until = math.inf

    def ask(self) -> None:
        """Note that somebody wants a refresh as soon as the pace allows."""
        self._soon = True

    def look(self, now: float) -> None:
        """Note that something is wanted that nobody has asked about yet.

        1. A refresh is under way; 2. something else is wanted; 3. the refresh has its answer, which
        begins a pause: the look is still due by then.

        Args:
            now: instant.
        """
        self._soon = True
        self._look_by = min(self._look_by, now + _FIRST_LOOK)

    def began(self) -> None:
        """Note that a refresh begins; a caller that asks from now on wants another one."""
        self._soon = False
        self._look_by = math.inf

    def succeeded(self, now: float, *, changed: bool, lack: Lack) -> None:
        """Note an answer.

        Args:
            now: instant.
            changed: whether it showed anything new.
            lack: what is missing that may be there soon.
        """
        calm = now > self._not_before + self._pace.maximum
        self._pace = (self._pace.reset() if changed or calm else self._pace).failed()
        self._not_before = now + self._pace.pause(self._dice.uniform(0, 1))
        if changed or lack is Lack.NOTHING:
            self._chase, self._lacking_since = self._chase.reset(), now
        self._chase = self._chase.failed()
        self._until = max(now + self._pause(now, lack), self._not_before)

    def _pause(self, now: float, lack: Lack) -> float:
        match lack:
            case Lack.NOTHING:
                return self._age
            case Lack.LEADER:
                return self._chase.pause(self._dice.uniform(0, 1))
            case Lack.ENTRY | Lack.TOPIC:
                chase = self._chase.pause(self._dice.uniform(0, 1))
                since = now if self._lacking_since is None else self._lacking_since
                return min(max(chase, (now - since) * _SHARE_OF_WAIT), self._age)
            case _:
                assert_never(lack)

    def failed(self, now: float) -> None:
        """Note that nobody answered, or nobody that could be believed."""
        self._pace = self._pace.failed()
        self._not_before = self._until = now + self._pace.pause(self._dice.uniform(0, 1))

    def due_at(self) -> float:
        """Return the instant of the next refresh; infinity before anybody ever asked."""
        return min(self._not_before, self._look_by) if self._soon else self._until

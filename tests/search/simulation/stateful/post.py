"""Requests and answers on their way, and the chance between two rules.

Decides: which messages wait until a rule delivers them. Hypothesis draws a number for each rule
that lets time pass; all chance comes from it, and 0 means no chance at all.
Never: draws from anything else.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.search.simulation.choices import Choices
from tests.search.simulation.plan import Plan
from tests.search.simulation.world.cluster import Brokers
from tests.search.simulation.world.network import Link

_MOMENT: Final = 1e-6
"""Seconds between the message that passes and those that are held for it."""

_Message = tuple[float, int, Callable[..., None], tuple[Any, ...]]


@dataclass(slots=True)
class Post:
    """What is on its way on one connection.

    Args:
        link: the connection.
        messages: a heap, by the instant of arrival; those of one instant as they were sent.
        held_until: nothing of it arrives before.
    """

    link: Link
    messages: list[_Message] = field(default_factory=list)
    held_until: float = 0.0

    @property
    def due(self) -> tuple[float, int]:
        """When the first message would arrive, and its number."""
        instant, number, *_ = self.messages[0]
        return instant, number


class HeldBrokers(Brokers):
    """Brokers behind a network whose connections can be held, each by itself.

    Args:
        plan: as for `Brokers`.
        choices: likewise.
    """

    def __init__(self, plan: Plan, choices: Choices) -> None:
        super().__init__(plan, choices, through_bytes=False)
        self._posts: dict[int, Post] = {}
        self._sent = 0

    def at(self, instant: float, act: Callable[..., None], *args: Any) -> None:
        """Do something at an instant; what a connection does is a message that may be held."""
        link = getattr(act, "__self__", None)
        if not isinstance(link, Link):
            super().at(instant, act, *args)
            return
        post = self._posts.get(link.number)
        if post is None:
            post = self._posts[link.number] = Post(link)
        self._sent += 1
        heapq.heappush(post.messages, (max(instant, self.now), self._sent, act, args))
        super().at(instant, self._pass, post)

    def _pass(self, post: Post) -> None:
        if post.held_until > self.now:
            super().at(post.held_until, self._pass, post)
            return
        while post.messages and post.messages[0][0] <= self.now:
            _, _, act, args = heapq.heappop(post.messages)
            act(*args)
        if not post.messages:
            self._posts.pop(post.link.number, None)

    def pending(self) -> list[Post]:
        """Return the connections on which something is on its way, the next arrival first."""
        return sorted((post for post in self._posts.values() if post.messages), key=_due)

    def let_pass(self, chosen: Post) -> None:
        """Let time pass to the next arrival of one connection, and hold all others until then."""
        arrival = max(self.now, chosen.due[0])
        for post in self.pending():
            if post is not chosen:
                self.hold(post, arrival + _MOMENT)
        self.release(chosen)
        self.heap.run(arrival)

    def hold(self, post: Post, until: float) -> None:
        """Have nothing of a connection arrive before an instant."""
        post.held_until = max(post.held_until, until)

    def release(self, post: Post) -> None:
        """Hold a connection no longer."""
        post.held_until = 0.0
        super().at(max(self.now, post.due[0]), self._pass, post)


def _due(post: Post) -> tuple[float, int]:
    return post.due


# -- dice ------------------------------------------------------------------------------------------


class Dice(Random):
    """Dice that are cast anew by each rule that lets time pass."""

    tame = True

    def deal(self, number: int) -> None:
        """Go on with the chance of a number; 0 gives the tamest pick everywhere."""
        self.tame = number == 0
        if number:
            self.seed(number)

    def random(self) -> float:
        """Return the next chance, in [0, 1)."""
        return 0.0 if self.tame else super().random()

"""What the parts of one processor share: who owns what, whether work ends, and how it fails.

Decides: when nothing more may be begun of a partition.
Never: handles a record.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from kgroup.consumer import Consumer
from kgroup.net.ports import Notifier
from kgroup.types import Claim, Membership, TopicPartition

AFTER_TROUBLE: Final = 0.5
"""Seconds until a partition is read again of which something was refused."""
_LOOK_AGAIN: Final = 1.0
_A_TURN: Final = 0.01


class Shop:
    """The common ground of a processor's parts.

    Args:
        consumer: entered.
        end: called when work has to end: with an error, or with None to step back for a while.
    """

    def __init__(
        self, consumer: Consumer[Any, Any], end: Callable[[Exception | None], None]
    ) -> None:
        self.consumer = consumer
        self._end = end
        self.tasks: TaskGroup | None = None
        self.ending = False
        """Whether nothing more is begun, for good."""
        self.away = False
        """Whether nothing more is begun until this member has stepped back."""
        self.stopped: dict[Claim, Exception] = {}
        """Partitions that wait for somebody to mend what could not be written."""
        self.news = Notifier()
        """Fired when work has ended, or may begin."""
        self._over = Notifier()
        self._seen: Membership | None = None
        self._held: frozenset[Claim] = frozenset()
        self._paused: set[Claim] = set()

    def start(self, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """Have a task do some work."""
        assert self.tasks is not None
        self.tasks.start_soon(work, *args)

    def fail(self, error: Exception) -> None:
        """End the processor with an error; the first counts."""
        self._end(error)

    def wind_up(self) -> None:
        """Begin nothing more, for good."""
        self.ending = True
        self._over.notify()

    def step_back(self) -> None:
        """Begin nothing more until this member has given its partitions up for a while."""
        self.away = True
        self._end(None)

    # -- ownership -------------------------------------------------------------------------

    def holds(self, claim: Claim) -> bool:
        """Tell whether a period of ownership goes on, as far as this member knows."""
        self._look()
        return claim in self._held

    def is_leaving(self, claim: Claim) -> bool:
        """Tell whether nothing more may be begun under a claim."""
        if self.away or self.ending:
            return True
        return claim.tp in self._look().draining or claim not in self._held

    def _look(self) -> Membership:
        """Return the membership; this is asked before and after each record."""
        membership = self.consumer.membership
        if membership is not self._seen:
            self._seen, self._held = membership, frozenset(membership.claims)
        return membership

    async def catch_up(self, claim: Claim) -> None:
        """Let the member hear that its lease is over, if it is: the loop may have been blocked.

        1. A handler blocks the loop; 2. the lease ends, and with it what this member owns; 3. the
        handler returns: the member knows nothing of step 2 until its own tasks have had a turn.
        """
        with anyio.move_on_after(_LOOK_AGAIN):
            while self.holds(claim) and self._lease_is_over():  # noqa: ASYNC110 - a turn is all
                await anyio.sleep(_A_TURN)

    def _lease_is_over(self) -> bool:
        vitals = self.consumer.vitals()
        return vitals.pulse.until is not None and vitals.at >= vitals.pulse.until

    async def pause(self, seconds: float) -> None:
        """Wait, but not beyond the end."""
        with anyio.move_on_after(seconds):
            while not self.ending:
                await self._over.wait()

    async def pause_work(self, seconds: float, claim: Claim) -> None:
        """Wait, but not beyond the end, or beyond the time when a claim is asked for."""
        ends = anyio.current_time() + seconds
        while not self.is_leaving(claim) and (left := ends - anyio.current_time()) > 0:
            await self.pause(min(left, _LOOK_AGAIN))

    # -- reading ---------------------------------------------------------------------------

    def hold_back(self, claim: Claim) -> None:
        """Read nothing more of a claim."""
        if self.holds(claim) and self.consumer.owns(claim.tp):
            self._paused.add(claim)
            self.consumer.pause(claim.tp)

    def resume(self, claim: Claim) -> None:
        """Read on, if it was paused here and not stopped."""
        if claim not in self._paused or claim in self.stopped:
            return
        self._paused.discard(claim)
        if self.holds(claim) and self.consumer.owns(claim.tp):
            self.consumer.resume(claim.tp)

    async def resume_later(self, claim: Claim) -> None:
        """Read on after a while."""
        await self.pause(AFTER_TROUBLE)
        self.resume(claim)

    def go_on(self, tp: TopicPartition) -> bool:
        """Read a partition on that was stopped; tell whether it was."""
        claims = [claim for claim in self.stopped if claim.tp == tp]
        for claim in claims:
            del self.stopped[claim]
            self.resume(claim)
        return bool(claims)

    def forget_ended(self) -> None:
        """Forget claims that are over."""
        self._look()
        self._paused &= self._held
        stopped = self.stopped.items()
        self.stopped = {claim: error for claim, error in stopped if claim in self._held}

"""How a member leaves a partition, or all it has, to others for a while.

Decides: whether one partition can be given up alone, and for how long.
Never: commits; the hand of the partition has committed the prefix before.

One partition can be given up alone when the group has chosen an assignor that can be told so.
Otherwise the member unsubscribes. It stays away twice as long each time the same record is why.
"""

from contextlib import suppress
from typing import Final

from kgroup.errors import KGroupError
from kgroup.processing.choices import Relinquish
from kgroup.processing.shop import Shop
from kgroup.processing.yielding import YieldingAssignor
from kgroup.types import Claim, TopicPartition

_WHY: Final = "a record cannot finish here"
_DOUBLINGS: Final = 16


class Absences:
    """Steps back on behalf of one processor.

    Args:
        shop: says who owns what.
        strategy: for how long.
        yielding: the consumer's, None where it has none.
    """

    def __init__(self, shop: Shop, strategy: Relinquish, yielding: YieldingAssignor | None) -> None:
        self._shop = shop
        self._strategy = strategy
        self._yielding = yielding
        self._times: dict[TopicPartition, tuple[int, int]] = {}
        self._longest = 0.0

    def begin(self, claim: Claim, offset: int) -> None:
        """Give a partition up, alone when that can be.

        Args:
            claim: nothing of it is in hand any more.
            offset: of the record that cannot finish.
        """
        before, times = self._times.get(claim.tp, (-1, 0))
        times = times + 1 if before == offset else 1
        self._times[claim.tp] = (offset, times)
        strategy = self._strategy
        doubled = strategy.away * 2 ** min(times - 1, _DOUBLINGS)
        away = min(doubled, max(strategy.away, strategy.away_max))
        yielding = self._yielding
        if yielding is not None and self._shop.consumer.membership.assignor == yielding.name:
            self._shop.hold_back(claim)
            self._shop.start(self._leave_one, yielding, claim, away)
        else:
            self._longest = max(self._longest, away)
            self._shop.resume(claim)
            self._shop.step_back()

    async def _leave_one(self, yielding: YieldingAssignor, claim: Claim, away: float) -> None:
        yielding.leave(claim.tp)
        self._ask_for_a_round()
        await self._shop.pause(away)
        yielding.want(claim.tp)
        if self._shop.ending:
            return
        if self._shop.holds(claim):
            self._shop.resume(claim)  # nobody else was there to have it
        else:
            self._ask_for_a_round()

    def _ask_for_a_round(self) -> None:
        with suppress(KGroupError):  # no group, no round
            self._shop.consumer.enforce_rebalance(_WHY)

    async def leave_all(self) -> None:
        """Give everything up, and subscribe again after a while; nothing is in hand any more."""
        consumer, away = self._shop.consumer, self._longest
        self._longest = 0.0
        wanted = consumer.subscription()
        consumer.unsubscribe()
        await self._shop.pause(away)
        self._shop.away = False
        if wanted is not None and not self._shop.ending:
            if wanted.partitions is not None:
                consumer.assign(wanted.partitions)
            else:
                consumer.subscribe(
                    *(wanted.topics or ()), pattern=wanted.pattern, exclude=wanted.exclude
                )

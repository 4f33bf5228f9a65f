"""The stream of a consumer's memberships.

Decides: that the first one is the present one, that a slow reader misses what came between, and
that it ends with the consumer: by its error when it has failed.
Never: keeps the consumer from closing; it ends then.
"""

from typing import Self

import anyio

from kgroup.consumer.stock.gate import Gate
from kgroup.types import Membership

__all__ = ["MembershipStream"]

_LOOK_AGAIN = 1.0


class MembershipStream:
    """`async for membership in consumer.membership_changes()`.

    Args:
        gate: knows the backend, and whether the consumer is closed.
    """

    __slots__ = ("_gate", "_seen")

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._seen: Membership | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Membership:
        """Wait for a membership that differs from the one before.

        Raises:
            KGroupError: the fatal error after which nothing will change any more.
        """
        await anyio.lowlevel.checkpoint()
        while (now := self._gate.backend.membership) == self._seen:
            if self._gate.closed:
                raise StopAsyncIteration
            self._gate.check_failure()
            with anyio.move_on_after(_LOOK_AGAIN):
                await self._gate.backend.membership_changed(now)
        self._seen = now
        return now

"""Many members of one group in one process, on asyncio.

Decides: that the group is formed when each member has a share and all partitions are held, and
that it has to stay so for `STEADY` seconds before the idle time begins.
Never: counts the time in which it only looks whether the group stays formed.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from kgroup.bench.clients.measuring import mark

STEADY = 3.0
LOOK = 0.05
PATIENCE = 120.0


class Crowd:
    """Members that start at once, and then wait for records that never come.

    Args:
        make: builds a consumer.
        poll: asks it for records and waits at most half a second.
        job: says how many members and partitions there are, and how long they stand idle.
        formed: is told when the group stands.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        poll: Callable[[Any], Awaitable[object]],
        job: dict[str, Any],
        formed: Callable[[], None],
    ) -> None:
        self._make = make
        self._poll = poll
        self._count = job["members"]
        self._partitions = job["partitions"]
        self._idle = job["idle_s"]
        self._told = formed
        self._members: list[Any] = []
        self._over = False

    async def measure(self) -> dict[str, Any]:
        """Form the group, let it stand idle, and end it."""
        began, began_wall = mark(), time.time()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._count):
                tasks.create_task(self._live())
            formed = await self._formed()
            before, ago = mark(), time.time() - time.monotonic()
            self._told()
            await asyncio.sleep(self._idle)
            after = mark()
            held = len(self._held())
            self._over = True
        return {
            "held": held,
            "form_s": formed["at"] - began["at"],
            "wall": [began_wall, ago + formed["at"]],
            "form_cpu_s": formed["cpu_s"] - began["cpu_s"],
            "idle_s": after["at"] - before["at"],
            "idle_cpu_s": after["cpu_s"] - before["cpu_s"],
        }

    async def _live(self) -> None:
        async with self._make() as consumer:
            self._members.append(consumer)
            while not self._over:
                await self._poll(consumer)

    def _held(self) -> list[tuple[str, int]]:
        """Return what is held by a complete group, nothing when it is not complete."""
        shares = [member.assignment() for member in self._members]
        every = {(tp.topic, tp.partition) for share in shares for tp in share}
        alone = sum(map(len, shares)) == len(every) == self._partitions
        return sorted(every) if alone and len(shares) == self._count and all(shares) else []

    async def _formed(self) -> dict[str, float]:
        deadline = time.monotonic() + PATIENCE
        since: dict[str, float] | None = None
        while time.monotonic() < deadline:
            await asyncio.sleep(LOOK)
            if not self._held():
                since = None
            elif since is None:
                since = mark()
            elif time.monotonic() - since["at"] >= STEADY:
                return since
        raise TimeoutError("the group did not form")

"""The group that is formed: its size, and when it is complete.

Decides: what counts: real time from the first byte that reaches the broker to the last assignment.
Never: counts a group in which not every partition has exactly one owner.
"""

import asyncio
import time
from dataclasses import dataclass, field

from kgroup.types import TopicPartition

MEMBERS = 4
PARTITIONS = 8
TOPIC = "orders"
GROUP = "bench"


@dataclass(slots=True)
class Watch:
    """When the first byte went out, and when each member had its share.

    Args:
        began: real seconds, and CPU seconds of this thread; None before.
        ended: the same at the last assignment.
        shares: member number -> partitions.
        complete: set when all have as many as they will get.
    """

    began: tuple[float, float] | None = None
    ended: tuple[float, float] = (0.0, 0.0)
    shares: dict[int, frozenset[TopicPartition]] = field(default_factory=dict)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def first_byte(self) -> None:
        """Note that a byte goes out."""
        if self.began is None:
            self.began = time.perf_counter(), time.thread_time()

    def share(self, member: int, partitions: frozenset[TopicPartition]) -> None:
        """Note what a member owns now."""
        self.ended = time.perf_counter(), time.thread_time()
        self.shares[member] = partitions
        sizes = [len(owned) for owned in self.shares.values()]
        if sizes == [PARTITIONS // MEMBERS] * MEMBERS:
            self.complete.set()

    def seconds(self) -> tuple[float, float]:
        """Return how long it took: real seconds, and CPU seconds.

        Raises:
            SystemExit: a partition has no owner, or two.
        """
        owned = sorted(tp for share in self.shares.values() for tp in share)
        if owned != [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]:
            raise SystemExit(f"the group formed wrongly: {self.shares}")
        assert self.began is not None
        return self.ended[0] - self.began[0], self.ended[1] - self.began[1]

"""Partitions that members keep are read on while another member's `on_revoked` takes long."""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import OwnershipChange, TopicPartition
from tests.consumer.entered import GROUP, Bytes, config_for
from tests.consumer.ground import ground
from tests.contracts.application import until

pytestmark = pytest.mark.anyio

PARTITIONS = 6
EACH = 0.25
"""Seconds between two records of a partition."""
HUNG = 3.0
"""Seconds that `on_revoked` of the second member takes."""
TURNS = 0.05
"""Seconds that a commit and a SyncGroup may take, at 2 ms for each answer."""


@dataclass
class Member:
    """Listens, and notes when each partition was read."""

    number: int
    took: list[float] = field(default_factory=list)
    gone: set[TopicPartition] = field(default_factory=set)
    at: dict[TopicPartition, list[float]] = field(default_factory=lambda: defaultdict(list))

    async def on_revoked(
        self, consumer: Consumer[Bytes, Bytes], change: OwnershipChange, /
    ) -> None:
        began = anyio.current_time()
        self.gone.update(claim.tp for claim in change.removed)
        await anyio.sleep(HUNG if self.number == 1 else 0.0)
        self.took.append(anyio.current_time() - began)

    async def live(self, broker: InProcessBroker, *, commits: bool) -> None:
        options = {**GROUP, "client_id": f"m{self.number}", "enable_auto_commit": not commits}
        ports = virtual_ports(broker.dial)
        config = config_for(broker, ports=ports, **options)
        async with Consumer("t", config=config, listener=self) as consumer:
            while True:
                found = await consumer.getmany(timeout=1.0)
                for tp in found:
                    self.at[tp].append(anyio.current_time())
                if commits and found:
                    await consumer.commit()

    def longest(self, since: float, to: float) -> float:
        """Return the longest time without a record of any partition that was kept."""
        kept = {tp: times for tp, times in self.at.items() if tp not in self.gone}
        assert kept
        spans = ([since, *(at for at in times if since < at < to), to] for times in kept.values())
        return max(b - a for each in spans for a, b in pairwise(each))


async def write(broker: InProcessBroker) -> None:
    while True:
        for number in range(PARTITIONS):
            broker.partition("t", number).append("x")
        await anyio.sleep(EACH)


@pytest.mark.parametrize("commits", [False, True], ids=["by itself", "awaited commits"])
async def test_what_is_kept_stands_still_for_no_listener_of_another_member(commits: bool) -> None:
    broker = ground(0, t=PARTITIONS)
    broker.node(1).slow(0.002)
    group = broker.group("g")
    crew = [Member(number) for number in range(3)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write, broker)
        for each in crew[:2]:
            tasks.start_soon(partial(each.live, broker, commits=commits))
        await until(lambda: group.has_settled(2), 30.0, "two members share the topic")
        await anyio.sleep(2.0)
        began = anyio.current_time()
        tasks.start_soon(partial(crew[2].live, broker, commits=commits))
        await until(lambda: group.has_settled(3) and crew[1].took, 30.0, "a third one has a share")
        await anyio.sleep(1.0)
        ended = anyio.current_time()
        longest = [each.longest(began, ended) for each in crew[:2]]
        tasks.cancel_scope.cancel()
    assert crew[1].took[0] > HUNG - TURNS
    assert max(longest) <= EACH + TURNS

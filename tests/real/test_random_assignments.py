"""After any assignment every assigned partition delivers its next record, on a real broker.

Symptom 15 (some partitions are never delivered after a rebalance):
https://github.com/dpkp/kafka-python/issues/3131. As many as fit into the time; the thousand are in
`tests/consumer/test_random_assignments.py`.
"""

import random
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.real.ground import Ground, eventually, fresh, lay_ground
from tests.real.members import FAST, Group, group_on

pytestmark = [pytest.mark.real, pytest.mark.faults]

BY_HAND_FOR = 8.0
IN_GROUP_FOR = 10.0
"""Seconds; each runs on both async backends."""
PATIENCE = 10.0
PARTITIONS = 6


class Places:
    """Where each partition stands."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._next = dict.fromkeys(sorted(ground.all_partitions), 0)

    async def write(self, tps: set[TopicPartition]) -> None:
        """See that each has something undelivered."""
        short = [tp.partition for tp in tps if self._left(tp) == 0]
        if short:
            await self._ground.fill(2, partitions=short)

    async def deliver(self, consumer: Consumer[Any, Any], tps: set[TopicPartition]) -> None:
        """Read until each has delivered its next record."""
        wanted = set(tps)
        with anyio.fail_after(PATIENCE):
            while wanted:
                for tp, batch in (await consumer.getmany(timeout=1, max_records=5)).items():
                    assert batch.first == self._next[tp]
                    self._next[tp] = batch.next_offset
                    wanted.discard(tp)

    def _left(self, tp: TopicPartition) -> int:
        return self._ground.sent.get(tp.partition, 0) - self._next[tp]


async def test_partitions_assigned_by_hand_go_on_where_they_were(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, PARTITIONS)
    dice, places, rounds = random.Random(15), Places(ground), 0
    options = {**FAST, "bootstrap_servers": kafka.bootstrap, "group_id": fresh("by-hand")}
    async with Consumer(**{**options, "enable_auto_commit": False}) as consumer:
        ends = time.monotonic() + BY_HAND_FOR
        while time.monotonic() < ends:
            chosen = set(dice.sample(sorted(ground.all_partitions), dice.randint(1, PARTITIONS)))
            consumer.assign(chosen)
            await places.write(chosen)
            await places.deliver(consumer, chosen)
            assert (await consumer.commit()).ok
            rounds += 1
    assert rounds >= 20


async def test_partitions_of_a_group_that_comes_and_goes_go_on_where_they_were(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, PARTITIONS)
    dice, rounds = random.Random(16), 0
    async with group_on(ground, tmp_path) as group:
        await group.join("m0")
        ends = time.monotonic() + IN_GROUP_FOR
        while time.monotonic() < ends:
            if len(group.members) > 1 and dice.random() < 0.5:
                await group.leave(dice.choice(group.members))
            elif len(group.members) < 4:
                await group.join(f"m{rounds + 1}")
            await settled(group)
            await everything_comes(group)
            rounds += 1
    assert rounds >= 3
    total = (await group.verdict()).total
    assert (total.lost, total.duplicated) == (0, 0)


async def settled(group: Group) -> None:
    share, more = divmod(PARTITIONS, len(group.members))
    await group.settled(*(share + (number < more) for number in range(len(group.members))))


async def everything_comes(group: Group) -> None:
    """Write to every partition and see that its owner reads it."""
    await group.ground.fill(1)
    newest = {(tp, group.ground.sent[tp.partition] - 1) for tp in group.ground.all_partitions}
    await eventually(
        lambda: newest <= {place for member in group.members for place in member.seen},
        "every partition delivers its next record",
        timeout=PATIENCE,
    )

"""After any assignment every assigned partition delivers its next record.

Symptom 15 (some partitions are never delivered after a rebalance):
https://github.com/dpkp/kafka-python/issues/3131
"""

import random
from collections.abc import Collection
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.types import TopicPartition
from tests.consumer.entered import by_hand, entered
from tests.consumer.shelf import Shelf

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PARTITIONS = 8
FEW, MANY = 30, 470
"""Assignments, in a hurry and else; by hand and by a group: a thousand in all, on each backend."""
RUNS = [(1, FEW), pytest.param(2, MANY, marks=pytest.mark.slow)]

ALL = [TopicPartition("t", number) for number in range(PARTITIONS)]


class Ground:
    """Logs that get a record whenever one is expected, and the delivered records of each.

    Args:
        seed: of every choice.
    """

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.shelf = Shelf(brokers=2, t=PARTITIONS)
        self.next = dict.fromkeys(ALL, 0)

    def draw(self) -> list[TopicPartition]:
        """Return some partitions; each draw keeps a part of the one before by chance."""
        return sorted(self.dice.sample(ALL, self.dice.randint(1, PARTITIONS)))

    def write(self, tps: Collection[TopicPartition]) -> None:
        """See that each partition has something undelivered."""
        for tp in tps:
            if self.next[tp] == self.shelf.logs[tp].end:
                self.shelf.fill(tp, self.dice.randint(1, 3), per_batch=2)

    async def deliver(self, consumer: Consumer[Any, Any], tps: Collection[TopicPartition]) -> None:
        """Read until each partition has delivered its next record, in whatever way."""
        wanted = set(tps)
        with anyio.fail_after(10.0):
            while wanted:
                if self.dice.random() < 0.5:
                    record = await consumer.getone()
                    self._take(record.tp, record.offset)
                    wanted.discard(record.tp)
                    continue
                wanted -= await self.read(consumer, timeout=5)

    async def read(self, consumer: Consumer[Any, Any], *, timeout: float) -> set[TopicPartition]:
        """Take what there is; return which partitions it was of."""
        limit = self.dice.choice([None, 1, 4])
        found = await consumer.getmany(timeout=timeout, max_records=limit)
        for tp, batch in found.items():
            for each in batch:
                self._take(tp, each.offset)
        return set(found)

    def _take(self, tp: TopicPartition, offset: int) -> None:
        assert offset == self.next[tp], f"{tp}: {offset} came, {self.next[tp]} is next"
        self.next[tp] += 1


@pytest.mark.parametrize(("seed", "count"), RUNS)
async def test_partitions_assigned_by_hand_go_on_where_they_were(seed: int, count: int) -> None:
    ground = Ground(seed)
    async with by_hand(ground.shelf, fetch_max_wait=0.05, enable_auto_commit=False) as stage:
        for _ in range(count):
            chosen = ground.draw()
            stage.consumer.assign(chosen)
            assert stage.consumer.assignment() == set(chosen)
            ground.write(chosen)
            await ground.deliver(stage.consumer, chosen)
            assert (await stage.consumer.commit()).ok


@pytest.mark.parametrize(("seed", "count"), RUNS)
async def test_partitions_given_and_taken_by_a_group_go_on_where_they_were(
    seed: int, count: int
) -> None:
    ground = Ground(seed)
    async with entered(ground.shelf, fetch_max_wait=0.05) as stage:
        for _ in range(count):
            chosen, held = set(ground.draw()), stage.consumer.assignment()
            if ground.dice.random() < 0.1:
                assert (await stage.consumer.commit()).ok  # else what is lost would come again
                stage.group.lose()
                held = frozenset()
            elif held - chosen:
                stage.group.take_away(*(held - chosen))
            stage.group.give(*(chosen - held))
            await ground.read(stage.consumer, timeout=0)  # what is in hand is done
            await anyio.sleep(0.05)
            assert stage.consumer.assignment() == chosen
            ground.write(chosen)
            await ground.deliver(stage.consumer, chosen)

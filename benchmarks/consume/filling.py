"""The topics, and what a reader must find in them.

Decides: that values are text of a record of some shop, different from each other, so that a codec
has something to do and does not shrink them to nothing; and that a batch holds 50 kB of values, as
a producer's might.
Never: draws chance but from the plan's seed.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import anyio

from benchmarks.consume.scenarios import Data
from kgroup.net.cluster import Cluster
from kgroup.net.ports import system_ports
from kgroup.net.producer import Producer, ProducerSettings
from kgroup.net.settings import NetSettings
from kgroup.testing.kafka import create_topic
from kgroup.types import TopicPartition
from kgroup.wire.records import Codec, NewRecord

PARTITIONS: Final = 8
BATCH_BYTES: Final = 50_000
_DIFFERENT: Final = 64
"""Batches that differ; then they come again."""
_WORDS: Final = ("order", "paid", "shipped", "Lisbon", "Osaka", "return", "blue", "gift", "urgent")


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic and its records.

    Args:
        name: of the topic.
        data: what its records are like.
        records: how many, of all partitions.
        partitions: how many.
        seed: of the values.
    """

    name: str
    data: Data
    records: int
    partitions: int
    seed: int

    def expected(self) -> dict[str, int]:
        """Return what a reader must find."""
        per_partition = self.records // self.partitions
        crcs = [[crc32(record.value or b"") for record in batch] for batch in self._batches()]
        return {
            "records": self.records,
            "offset_sum": self.partitions * (per_partition * (per_partition - 1) // 2),
            "value_bytes": self.records * self.data.value_bytes,
            "crc_sum": sum(
                sum(crcs[which][:count])
                for partition in range(self.partitions)
                for which, count in self._sequence(partition)
            ),
        }

    def fill(self, bootstrap: str) -> None:
        """Make the topic and write its records."""
        create_topic(bootstrap, self.name, self.partitions)
        if self.records:
            anyio.run(self._fill, bootstrap)

    async def _fill(self, bootstrap: str) -> None:
        pairs = (each.rpartition(":") for each in bootstrap.split(","))
        addresses = tuple((host, int(port)) for host, _, port in pairs)
        settings = ProducerSettings(codec=Codec[self.data.codec.upper()])
        batches = self._batches()
        async with anyio.create_task_group() as tasks:
            cluster = Cluster(NetSettings(bootstrap=addresses), system_ports())
            await tasks.start(cluster.run)
            await cluster.bootstrap(10.0)
            producer = Producer(cluster, settings)

            async def fill_one(partition: int) -> None:
                place = TopicPartition(self.name, partition)
                for which, count in self._sequence(partition):
                    await producer.send(place, batches[which][:count])

            async with anyio.create_task_group() as filling:
                for partition in range(self.partitions):
                    filling.start_soon(fill_one, partition)
            tasks.cancel_scope.cancel()

    def _sequence(self, partition: int) -> Iterator[tuple[int, int]]:
        """Yield which batch comes next, and how many of its records are written."""
        left, number = self.records // self.partitions, partition
        while left:
            count = min(left, self._per_batch)
            yield number % _DIFFERENT, count
            left -= count
            number += 1

    @property
    def _per_batch(self) -> int:
        return BATCH_BYTES // self.data.value_bytes

    def _batches(self) -> list[list[NewRecord]]:
        chance = random.Random(f"{self.seed} {self.data.value_bytes}")
        return [
            [NewRecord(None, _value(chance, self.data.value_bytes)) for _ in range(self._per_batch)]
            for _ in range(_DIFFERENT)
        ]


def _value(chance: random.Random, size: int) -> bytes:
    """Return text that a codec makes about a third of."""
    parts = []
    length = 0
    while length < size:
        part = f'{{"id":"{chance.getrandbits(32):08x}","state":"{chance.choice(_WORDS)}"}}'
        parts.append(part)
        length += len(part)
    return "".join(parts)[:size].encode()


def rounded(records: int) -> int:
    """Return the next number of records that all partitions can share, at least one each."""
    return max(1, round(records / PARTITIONS)) * PARTITIONS

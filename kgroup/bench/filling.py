"""The topics, and what a reader must find in them.

Decides: that values are text of a record of some shop, different from each other, so that a codec
has something to do and does not shrink them to nothing; and that a batch holds 50 kB of values, as
a producer's might.
Never: draws chance but from the plan's seed.
"""

import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final
from zlib import crc32

import anyio

from kgroup.bench.cells import Data
from kgroup.errors import IllegalStateError
from kgroup.net.admin import delete_topics
from kgroup.net.cluster import Cluster
from kgroup.net.ports import system_ports
from kgroup.net.producer import Producer, ProducerSettings
from kgroup.net.settings import NetSettings
from kgroup.testing.kafka import create_topic, read_bounds
from kgroup.types import TopicPartition
from kgroup.values import dataclass
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
        """Make the topic, write its records, and have the broker count them.

        Raises:
            IllegalStateError: the broker holds more or fewer.
        """
        create_topic(bootstrap, self.name, self.partitions)
        if self.records:
            anyio.run(self._fill, bootstrap)
            self.check(read_bounds(bootstrap, [self.name]))

    def check(self, bounds: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Compare what was written with where each log begins and ends.

        Raises:
            IllegalStateError: the broker holds more or fewer, so nothing can be judged by it.
        """
        share = self.records // self.partitions
        other = {str(tp): each for tp, each in bounds.items() if each != (0, share)}
        if other or len(bounds) != self.partitions:
            raise IllegalStateError(f"{share} records were written to each partition, not {other}")

    async def _fill(self, bootstrap: str) -> None:
        settings = ProducerSettings(codec=Codec[self.data.codec.upper()])
        batches = self._batches()
        async with connected(bootstrap) as cluster:
            producer = Producer(cluster, settings)

            async def fill_one(partition: int) -> None:
                place = TopicPartition(self.name, partition)
                for which, count in self._sequence(partition):
                    await producer.send(place, batches[which][:count])

            async with anyio.create_task_group() as filling:
                for partition in range(self.partitions):
                    filling.start_soon(fill_one, partition)

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
        seed = f"{self.seed} {self.data.value_bytes}"
        chance = random.Random(seed)  # noqa: S311 - values of records, no secret
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


@asynccontextmanager
async def connected(bootstrap: str) -> AsyncIterator[Cluster]:
    """Connect to brokers for the length of a block.

    Args:
        bootstrap: `host:port` of each, separated by commas.

    Raises:
        NoBrokerError: none of them answers.
    """
    pairs = (each.rpartition(":") for each in bootstrap.split(","))
    addresses = tuple((host, int(port)) for host, _, port in pairs)
    async with anyio.create_task_group() as tasks:
        cluster = Cluster(NetSettings(bootstrap=addresses), system_ports())
        await tasks.start(cluster.run)
        await cluster.bootstrap(10.0)
        yield cluster
        tasks.cancel_scope.cancel()


def remove(bootstrap: str, topics: Sequence[str]) -> None:
    """Delete topics of one's own; one that is not there is no error.

    Raises:
        BrokerError: a broker refuses.
        NoBrokerError: none answers.
        TimeoutError: they are not gone in time.
    """

    async def drop() -> None:
        async with connected(bootstrap) as cluster:
            await delete_topics(cluster, topics, timeout=30.0)

    if topics:
        anyio.run(drop)


def rounded(records: int) -> int:
    """Return the next number of records that all partitions can share, at least one each."""
    return max(1, round(records / PARTITIONS)) * PARTITIONS

"""What a test of the source stands on: a topic with known records, and a query that reads it."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from kgroup.sync import Consumer
from kgroup.testing.kafka import RealKafka
from tests.real.ground import Ground, committed, describe, fresh, lay_ground

PATIENCE = 60.0

Place = tuple[int, int]
"""Partition and offset."""


@dataclass
class Reads:
    """One topic, a group, and folders for a sink and its checkpoint.

    Args:
        spark: the session.
        kafka: the brokers.
        folder: for the sink and the checkpoint.
        ground: the topic.
        group: its name.
    """

    spark: Any
    kafka: RealKafka
    folder: Path
    ground: Ground
    group: str = field(default_factory=lambda: fresh("spark"))

    def fill(self, count: int) -> None:
        """Store `count` more records in each partition."""
        anyio.run(self.ground.fill, count)

    def expected(self) -> set[Place]:
        """Return the places of all records that were stored."""
        return {(tp.partition, offset) for tp, offset in self.ground.expected()}

    def _options(self, reader: Any, options: dict[str, Any]) -> Any:
        named = {
            "kafka.bootstrap.servers": self.kafka.bootstrap,
            "subscribe": self.ground.topic,
            **options,
        }
        for name, value in named.items():
            if value is not None:
                reader = reader.option(name, value)
        return reader.load()

    def batch(self, **options: Any) -> Any:
        """Return a data frame of the topic."""
        return self._options(self.spark.read.format("kgroup"), options)

    def stream(self, **options: Any) -> Any:
        """Return a streaming data frame of the topic, read by the group from the earliest."""
        given = {"kafka.group.id": self.group, "startingOffsets": "earliest", **options}
        return self._options(self.spark.readStream.format("kgroup"), given)

    def start(
        self,
        *,
        checkpoint: str = "checkpoint",
        sink: str = "sink",
        now: bool = False,
        **options: Any,
    ) -> Any:
        """Start a query into the Parquet sink; at once again and again, or until what is there."""
        trigger = {"availableNow": True} if now else {"processingTime": "0 seconds"}
        return (
            self.stream(**options)
            .writeStream.format("parquet")
            .option("path", str(self.folder / sink))
            .option("checkpointLocation", str(self.folder / checkpoint))
            .trigger(**trigger)
            .start()
        )

    def drain(self, **options: Any) -> Any:
        """Run a query until it has read what is there; return it."""
        query = self.start(now=True, **options)
        assert query.awaitTermination(PATIENCE)
        assert query.exception() is None
        return query

    def sunk(self, sink: str = "sink") -> list[Place]:
        """Return the places of all records in the sink."""
        rows = self.spark.read.parquet(str(self.folder / sink)).select("partition", "offset")
        return sorted((row[0], row[1]) for row in rows.collect())

    def committed(self) -> dict[int, int]:
        """Return partition -> committed offset, as another client reads it."""
        return committed(self.kafka, self.group)

    def ends(self) -> dict[int, int]:
        """Return partition -> offset behind its last record."""
        return dict(self.ground.sent)

    def members(self) -> int:
        """Return how many members the group has."""
        return len(describe(self.kafka, self.group).members)


def made(spark: Any, kafka: RealKafka, folder: Path, *, partitions: int = 3) -> Reads:
    """Return a new topic, and what reads it."""
    return Reads(spark, kafka, folder, anyio.run(lay_ground, kafka, partitions))


def places(frame: Any) -> list[Place]:
    """Return the places of the rows of a data frame."""
    return sorted((row[0], row[1]) for row in frame.select("partition", "offset").collect())


def wait(is_so: Callable[[], object], what: str, *, timeout: float = PATIENCE) -> None:
    """Wait until something holds: Spark and other clients do not report their changes."""
    until = time.monotonic() + timeout
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError(f"waited {timeout:g} s in vain until {what}")
        anyio.run(anyio.sleep, 0.1)


def once(found: Iterable[Place], expected: set[Place]) -> None:
    """Check that every record is there, once."""
    listed = list(found)
    assert set(listed) == expected
    assert len(listed) == len(expected)


def handle(plain: Consumer[Any, Any], reads: Reads) -> list[Place]:
    """Read and commit until everything is committed, by whichever member; return what was read."""
    handled: list[Place] = []
    while reads.committed() != reads.ends():
        for batch in plain.getmany(timeout=0.2).values():
            handled += [(record.partition, record.offset) for record in batch]
        plain.commit()
    return handled


def beside(reads: Reads, **options: Any) -> list[Place]:
    """Have a plain consumer in the group for a while; return what it handled."""
    with Consumer(
        bootstrap_servers=reads.kafka.bootstrap,
        group_id=reads.group,
        auto_offset_reset="earliest",
        **options,
    ) as plain:
        plain.subscribe(reads.ground.topic)
        wait(plain.assignment, "the consumer has partitions")
        reads.fill(50)
        return handle(plain, reads)

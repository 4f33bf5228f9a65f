"""A steady stream of records in a process of its own: `python -m kgroup.bench.stream`.

Decides: when each record is made and what its value is (`kgroup.bench.deliveries.value_of`); its
timestamp (CreateTime) is that moment.
Never: makes up for time it has lost: records that are late are made late.

The first line of standard input is the job, and `{"stop": true}` or its end ends it; each line of
standard output says what was stored, when the broker has said so::

    {"bootstrap": "127.0.0.1:9092", "topic": "t", "partitions": 12, "rate": 1200, "batch": 5,
     "value_bytes": 100}
    {"sent": [[partition, first offset, records, made at], ...]}
    {"result": {"records": 6000}}
"""

import json
import sys
import threading
import time
from typing import Any

import anyio

from kgroup.bench.deliveries import value_of
from kgroup.bench.filling import connected
from kgroup.net.producer import Producer
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord


class Stream:
    """Writes records until it is told to stop.

    Args:
        job: as above.
        over: set when it is to stop.
    """

    def __init__(self, job: dict[str, Any], over: threading.Event) -> None:
        self._job = job
        self._over = over
        self._written = [0] * job["partitions"]

    async def run(self) -> None:
        """Write every partition in its own time: one whose leader is gone holds up no other."""
        async with connected(self._job["bootstrap"]) as cluster:
            producer = Producer(cluster)
            async with anyio.create_task_group() as tasks:
                for partition in range(self._job["partitions"]):
                    tasks.start_soon(self._write, producer, partition)
        _say({"result": {"records": sum(self._written)}})

    async def _write(self, producer: Producer, partition: int) -> None:
        job = self._job
        tick = job["partitions"] * job["batch"] / job["rate"]
        # Evenly spread, so that no two partitions are written at the same moment.
        due = time.monotonic() + tick * partition / job["partitions"]
        while not self._over.is_set():
            await anyio.sleep(max(0.0, due - time.monotonic()))
            _say({"sent": [await self._batch(producer, partition)]})
            due = max(due + tick, time.monotonic())

    async def _batch(self, producer: Producer, partition: int) -> list[float]:
        first, count, size = self._written[partition], self._job["batch"], self._job["value_bytes"]
        values = [value_of(partition, first + number, size) for number in range(count)]
        at = time.time()
        records = [NewRecord(None, value, timestamp=int(at * 1000)) for value in values]
        stored = await producer.send(TopicPartition(self._job["topic"], partition), records)
        if stored is not None and stored != first:
            raise RuntimeError(f"offset {stored} of partition {partition} should be {first}")
        self._written[partition] += count
        return [partition, first, count, at]


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Do the job of standard input."""
    job = json.loads(sys.stdin.readline())
    over = threading.Event()

    def listen() -> None:
        sys.stdin.readline()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    anyio.run(Stream(job, over).run)


if __name__ == "__main__":
    main()

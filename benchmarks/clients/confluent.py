"""confluent-kafka: librdkafka in C, with threads of its own.

Decides: which calls each level stands for, and that one level has one setting changed: without it
the default rate is limited by a pause of librdkafka's, not by its work.
Never: counts less than all its threads.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from zlib import crc32

from benchmarks.clients.measuring import Commits, Pass

Job = dict[str, Any]

BATCH = 500
TUNED = {"fetch.queue.backoff.ms": 10}


class Confluent:
    """Makes `confluent_kafka.Consumer`."""

    packages = ("confluent-kafka",)

    def __init__(self, _job: Job) -> None:
        import confluent_kafka  # noqa: PLC0415 - what it takes is measured

        self._make: Any = confluent_kafka.Consumer

    def read(self, job: Job, run: Pass) -> None:
        """Read the topic to its end."""
        level, settings = LEVELS[job["level"]]
        with self._consumer(job, run.group, settings) as consumer:
            level(consumer, run, job["records"])
            run.complete()

    def commit(self, job: Job, commits: Commits) -> int:
        """Read and commit record after record; return what is committed at the end."""
        with self._consumer(job, job["group"], {}) as consumer:
            for number in range(commits.total):
                commits.begin(number)
                message = _next(consumer)
                began = time.perf_counter()
                consumer.commit(message=message, asynchronous=False)
                commits.took(time.perf_counter() - began)
            [committed] = consumer.committed(consumer.assignment())
            return int(committed.offset)

    def members(self, job: Job) -> dict[str, Any]:  # noqa: ARG002 - as all clients
        """Refuse: each consumer has threads of its own."""
        raise ImportError("its consumers block: there are no 100 in one thread")

    @contextmanager
    def _consumer(self, job: Job, group: str, settings: dict[str, Any]) -> Iterator[Any]:
        made = self._make(
            {
                "bootstrap.servers": job["bootstrap"],
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **settings,
            }
        )
        with closing(made) as consumer:
            consumer.subscribe([job["topic"]])
            yield consumer


def _next(consumer: Any) -> Any:  # noqa: ANN401
    """Return the next message."""
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(str(message.error()))
        return message


def _consume(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    proof = run.tally.proof
    while run.tally.records < expected:
        messages = consumer.consume(BATCH, 1.0)
        if messages:
            run.arrived(len(messages))
        records = offsets = size = crc = 0
        for message in messages:
            value = message.value()
            records += 1
            offsets += message.offset()
            size += len(value)
            if proof:
                crc += crc32(value)
        run.tally.add(records, offsets, size, crc)


def _poll(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    proof = run.tally.proof
    records = offsets = size = crc = 0
    while records < expected:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if not records:
            run.arrived(1)
        value = message.value()
        records += 1
        offsets += message.offset()
        size += len(value)
        if proof:
            crc += crc32(value)
    run.tally.add(records, offsets, size, crc)


LEVELS: dict[str, tuple[Callable[[Any, Pass, int], None], dict[str, Any]]] = {
    "consume": (_consume, {}),
    "consume, tuned": (_consume, TUNED),
    "poll": (_poll, {}),
}

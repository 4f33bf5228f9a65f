"""confluent-kafka: librdkafka in C, with threads of its own.

Decides: which calls each level stands for, and that one level has one setting changed: without it
the default rate is limited by a pause of librdkafka's, not by its work.
Never: counts less than all its threads.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any
from zlib import crc32

from kgroup.bench.clients.following import POLL, Following
from kgroup.bench.clients.measuring import Commits, Pass

Job = dict[str, Any]

BATCH = 500
TUNED = {"fetch.queue.backoff.ms": 10}


class Confluent:
    """Makes `confluent_kafka.Consumer`."""

    packages = ("confluent-kafka",)

    def __init__(self, _job: Job) -> None:
        self._make: Any = import_module("confluent_kafka").Consumer

    def read(self, job: Job, run: Pass) -> None:
        """Read the topic to its end."""
        level, settings = LEVELS[job["level"]]
        with self._consumer(job, run.group, settings) as consumer:
            level(consumer, run, job)
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

    def members(self, job: Job, formed: Callable[[], None]) -> dict[str, Any]:  # noqa: ARG002 - as all clients
        """Refuse: each consumer has threads of its own."""
        raise ImportError("its consumers block: there are no 100 in one thread")

    def follow(self, job: Job, told: Following) -> None:
        """Be a member of a group, and tell what is delivered until it is over."""
        settings = {
            "enable.auto.commit": True,
            "auto.commit.interval.ms": int(job["auto_commit_s"] * 1000),
        }
        if job["protocol"] == "consumer":
            settings["group.remote.assignor"] = job["level"]
        else:
            settings |= {
                "partition.assignment.strategy": job["level"],
                "session.timeout.ms": int(job["session_timeout_s"] * 1000),
                "heartbeat.interval.ms": int(job["heartbeat_interval_s"] * 1000),
            }
        if job["instance"] is not None:
            settings["group.instance.id"] = job["instance"]
        slow = job["slow_revoke_s"]
        with self._consumer(job, job["group"], settings) as consumer:
            if slow:
                consumer.subscribe([job["topic"]], on_revoke=lambda *_: time.sleep(slow))
            while not told.over.is_set():
                messages = [each for each in _some(consumer, POLL) if not each.error()]
                told.took((each.partition(), each.offset(), each.value()) for each in messages)

    @contextmanager
    def _consumer(self, job: Job, group: str, settings: dict[str, Any]) -> Iterator[Any]:
        made = self._make(
            {
                "bootstrap.servers": job["bootstrap"],
                "group.id": group,
                "group.protocol": job["protocol"],
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


def _some(consumer: Any, wait: float) -> list[Any]:  # noqa: ANN401
    """Return the messages there are; `consume` alone would wait for as many as it was asked."""
    first = consumer.poll(wait)
    return [] if first is None else [first, *consumer.consume(BATCH - 1, 0)]


def _consume(consumer: Any, run: Pass, job: Job) -> None:  # noqa: ANN401
    proof, expected = run.tally.proof, job["records"]
    while run.tally.records < expected:
        messages = _some(consumer, 1.0)
        if messages:
            run.arrived(len(messages))
        elif run.is_late(job["limit_s"]):
            break
        records = offsets = size = crc = 0
        for message in messages:
            value = message.value()
            records += 1
            offsets += message.offset()
            size += len(value)
            if proof:
                crc += crc32(value)
        run.tally.add(records, offsets, size, crc)


def _poll(consumer: Any, run: Pass, job: Job) -> None:  # noqa: ANN401
    proof, expected = run.tally.proof, job["records"]
    records = offsets = size = crc = 0
    while records < expected:
        message = consumer.poll(1.0)
        if message is None:
            if run.is_late(job["limit_s"]):
                break
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


LEVELS: dict[str, tuple[Callable[[Any, Pass, Job], None], dict[str, Any]]] = {
    "consume": (_consume, {}),
    "consume, tuned": (_consume, TUNED),
    "poll": (_poll, {}),
}

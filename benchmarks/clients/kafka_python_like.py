"""kafka-python, and kgroup's drop-in for it: one program, whose import alone differs.

Decides: which calls each level stands for.
Never: treats the two differently.
"""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any
from zlib import crc32

from benchmarks.clients.measuring import Commits, Pass

Job = dict[str, Any]


class KafkaPythonLike:
    """Makes a `KafkaConsumer`.

    Args:
        module: where it is imported from.
        packages: whose versions are told.
        _job: says nothing to it.
    """

    def __init__(self, module: str, packages: tuple[str, ...], _job: Job) -> None:
        self.packages = packages
        self._make: Any = import_module(module).KafkaConsumer

    def read(self, job: Job, run: Pass) -> None:
        """Read the topic to its end."""
        level = {"poll": _poll, "iterate": _iterate}[job["level"]]
        with self._consumer(job, run.group) as consumer:
            level(consumer, run, job["records"])
            run.complete()

    def commit(self, job: Job, commits: Commits) -> int:
        """Read and commit record after record; return what is committed at the end."""
        with self._consumer(job, job["group"]) as consumer:
            for number in range(commits.total):
                commits.begin(number)
                tp = _one(consumer)
                began = time.perf_counter()
                consumer.commit()
                commits.took(time.perf_counter() - began)
            return int(consumer.committed(tp))

    def members(self, job: Job) -> dict[str, Any]:  # noqa: ARG002 - as all clients
        """Refuse: a consumer blocks its thread."""
        raise ImportError("its consumers block: there are no 100 in one thread")

    @contextmanager
    def _consumer(self, job: Job, group: str) -> Iterator[Any]:
        made = self._make(
            job["topic"],
            bootstrap_servers=job["bootstrap"],
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        with closing(made) as consumer:
            yield consumer


def _one(consumer: Any) -> Any:  # noqa: ANN401
    """Read a single record, and return its partition."""
    while True:
        for tp in consumer.poll(timeout_ms=1000, max_records=1):
            return tp


def _poll(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    tally = run.tally
    while tally.records < expected:
        batches = consumer.poll(timeout_ms=1000)
        if batches:
            run.arrived(sum(map(len, batches.values())))
        for records in batches.values():
            tally.add_records(records)


def _iterate(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    proof = run.tally.proof
    records = offsets = size = crc = 0
    for record in consumer:
        if not records:
            run.arrived(1)
        records += 1
        offsets += record.offset
        size += len(record.value)
        if proof:
            crc += crc32(record.value)
        if records == expected:
            break
    run.tally.add(records, offsets, size, crc)

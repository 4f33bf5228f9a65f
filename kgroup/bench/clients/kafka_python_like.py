"""kafka-python, and kgroup's drop-in for it: one program, whose import alone differs.

Decides: which calls each level stands for.
Never: treats the two differently.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any
from zlib import crc32

from kgroup.bench.clients.following import POLL, Following, strategy
from kgroup.bench.clients.measuring import Commits, Pass

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
        self._module = module
        self._make: Any = import_module(module).KafkaConsumer

    def read(self, job: Job, run: Pass) -> None:
        """Read the topic to its end."""
        level = {"poll": _poll, "iterate": _iterate}[job["level"]]
        with self._consumer(job, run.group) as consumer:
            level(consumer, run, job)
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

    def members(self, job: Job, formed: Callable[[], None]) -> dict[str, Any]:  # noqa: ARG002 - as all clients
        """Refuse: a consumer blocks its thread."""
        raise ImportError("its consumers block: there are no 100 in one thread")

    def follow(self, job: Job, told: Following) -> None:
        """Be a member of a group, and tell what is delivered until it is over."""
        options = {
            "partition_assignment_strategy": [strategy("kafka", job["level"])],
            "group_instance_id": job["instance"],
            "session_timeout_ms": int(job["session_timeout_s"] * 1000),
            "heartbeat_interval_ms": int(job["heartbeat_interval_s"] * 1000),
            "enable_auto_commit": True,
            "auto_commit_interval_ms": int(job["auto_commit_s"] * 1000),
        }
        wait = int(POLL * 1000)
        with self._consumer(job, job["group"], **options) as consumer:
            if job["slow_revoke_s"]:
                consumer.subscribe([job["topic"]], listener=_slow(job["slow_revoke_s"]))
            while not told.over.is_set():
                batches = consumer.poll(timeout_ms=wait)
                told.took(
                    (tp.partition, record.offset, record.value)
                    for tp, records in batches.items()
                    for record in records
                )

    def assign(self, job: Job) -> dict[str, Any]:
        """Lead a group that is not there."""
        from kgroup.bench.clients.leading import KafkaPythonLeader, led  # noqa: PLC0415 - rare

        if self._module != "kafka":
            raise ImportError("its assignors are kgroup's own")
        return led(KafkaPythonLeader(job["level"]), job)

    @contextmanager
    def _consumer(self, job: Job, group: str, **more: object) -> Iterator[Any]:
        options = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **more}
        made = self._make(
            job["topic"], bootstrap_servers=job["bootstrap"], group_id=group, **options
        )
        with closing(made) as consumer:
            yield consumer


def _slow(seconds: float) -> object:
    """Return a listener that takes its time when partitions are revoked."""
    base: Any = import_module("kafka").ConsumerRebalanceListener
    methods = {
        "on_partitions_revoked": lambda _self, _partitions: time.sleep(seconds),
        "on_partitions_assigned": lambda _self, _partitions: None,
    }
    return type("Slow", (base,), methods)()


def _one(consumer: Any) -> Any:  # noqa: ANN401
    """Read a single record, and return its partition."""
    while True:
        for tp in consumer.poll(timeout_ms=1000, max_records=1):
            return tp


def _poll(consumer: Any, run: Pass, job: Job) -> None:  # noqa: ANN401
    tally, expected = run.tally, job["records"]
    while tally.records < expected:
        batches = consumer.poll(timeout_ms=1000)
        if batches:
            run.arrived(sum(map(len, batches.values())))
        elif run.is_late(job["limit_s"]):
            break
        for records in batches.values():
            tally.add_records(records)


def _iterate(consumer: Any, run: Pass, job: Job) -> None:  # noqa: ANN401
    proof, expected = run.tally.proof, job["records"]
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

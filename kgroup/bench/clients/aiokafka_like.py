"""aiokafka, and kgroup's drop-in for it: one program, whose import alone differs.

Decides: which calls each level stands for.
Never: treats the two differently.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from kgroup.bench.clients.following import POLL, Following, strategy
from kgroup.bench.clients.loops import load
from kgroup.bench.clients.measuring import Commits, Pass, read_each

Job = dict[str, Any]


class AiokafkaLike:
    """Makes an `AIOKafkaConsumer`.

    Args:
        module: where it is imported from.
        packages: whose versions are told.
        job: says the loop.
    """

    def __init__(self, module: str, packages: tuple[str, ...], job: Job) -> None:
        self.packages = packages
        self._module = module
        self._make: Any = import_module(module).AIOKafkaConsumer
        self._run = load(job["loop"])

    def read(self, job: Job, run: Pass) -> None:
        """Read the topic to its end."""
        level = {"getmany": _getmany, "async for": read_each}[job["level"]]

        async def main() -> None:
            async with self._consumer(job, run.group) as consumer:
                with suppress(TimeoutError):
                    async with asyncio.timeout(job["limit_s"]):
                        await level(consumer, run, job["records"])
                run.complete()

        self._run(main)

    def commit(self, job: Job, commits: Commits) -> int:
        """Read and commit record after record; return what is committed at the end."""

        async def main() -> int:
            async with self._consumer(job, job["group"]) as consumer:
                for number in range(commits.total):
                    commits.begin(number)
                    record = await consumer.getone()
                    [tp] = consumer.assignment()
                    began = time.perf_counter()
                    await consumer.commit({tp: record.offset + 1})
                    commits.took(time.perf_counter() - began)
                return int(await consumer.committed(tp))

        return int(self._run(main))

    def members(self, job: Job, formed: Callable[[], None]) -> dict[str, Any]:
        """Start many members of one group, tell when it is formed, and let them wait."""
        from kgroup.bench.clients.crowd import Crowd  # noqa: PLC0415 - the other jobs do not need it

        crowd = Crowd(
            lambda: self._consumer(job, job["group"]),
            lambda consumer: consumer.getmany(timeout_ms=500),
            job,
            formed,
        )
        found: dict[str, Any] = self._run(crowd.measure)
        return found

    def follow(self, job: Job, told: Following) -> None:
        """Be a member of a group, and tell what is delivered until it is over."""
        options = {
            "partition_assignment_strategy": (strategy("aiokafka", job["level"]),),
            "group_instance_id": job["instance"],
            "session_timeout_ms": int(job["session_timeout_s"] * 1000),
            "heartbeat_interval_ms": int(job["heartbeat_interval_s"] * 1000),
            "enable_auto_commit": True,
            "auto_commit_interval_ms": int(job["auto_commit_s"] * 1000),
        }
        wait = int(POLL * 1000)

        async def main() -> None:
            consumer = self._consumer(job, job["group"], **options)
            if job["slow_revoke_s"]:
                consumer.subscribe([job["topic"]], listener=_slow(job["slow_revoke_s"]))
            watching = asyncio.ensure_future(told.watch(asyncio.sleep))
            async with consumer:
                while not told.over.is_set():
                    batches = await consumer.getmany(timeout_ms=wait)
                    told.took(
                        (tp.partition, record.offset, record.value)
                        for tp, records in batches.items()
                        for record in records
                    )
            watching.cancel()

        self._run(main)

    def assign(self, job: Job) -> dict[str, Any]:
        """Lead a group that is not there."""
        from kgroup.bench.clients.leading import AiokafkaLeader, led  # noqa: PLC0415 - rarely used

        if self._module != "aiokafka":
            raise ImportError("its assignors are kgroup's own")
        return led(AiokafkaLeader(job["level"]), job)

    def _consumer(self, job: Job, group: str, **more: object) -> Any:  # noqa: ANN401
        options = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **more}
        return self._make(
            job["topic"], bootstrap_servers=job["bootstrap"], group_id=group, **options
        )


def _slow(seconds: float) -> object:
    """Return a listener that takes its time when partitions are revoked."""
    base: Any = import_module("aiokafka").ConsumerRebalanceListener

    async def revoked(_self: object, _partitions: object) -> None:
        await asyncio.sleep(seconds)

    async def assigned(_self: object, _partitions: object) -> None:
        pass

    methods = {"on_partitions_revoked": revoked, "on_partitions_assigned": assigned}
    return type("Slow", (base,), methods)()


async def _getmany(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    tally = run.tally
    while tally.records < expected:
        batches = await consumer.getmany(timeout_ms=1000)
        if batches:
            run.arrived(sum(map(len, batches.values())))
        for records in batches.values():
            tally.add_records(records)

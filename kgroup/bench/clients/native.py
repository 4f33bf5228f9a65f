"""kgroup's own consumer, by each way to read.

Decides: which public call each level stands for.
Never: uses what is not public.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from kgroup.bench.clients.following import POLL, Following
from kgroup.bench.clients.loops import load
from kgroup.bench.clients.measuring import Commits, Pass, read_each

Job = dict[str, Any]


class Native:
    """Makes `kgroup.Consumer`."""

    packages = ("kgroup", "aiokafka", "anyio")

    def __init__(self, job: Job) -> None:
        from kgroup import Consumer  # noqa: PLC0415 - what it takes is measured

        self._make: Any = Consumer
        self._run = load(job["loop"])

    def read(self, job: Job, run: Pass) -> None:
        """Read the topic to its end."""
        level = LEVELS[job["level"]]

        async def main() -> None:
            async with self._consumer(job, run.group) as consumer:
                with anyio.move_on_after(job["limit_s"]):
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
                    began = time.perf_counter()
                    await consumer.commit(record)
                    commits.took(time.perf_counter() - began)
                [committed] = (await consumer.committed()).values()
                return int(committed.offset)

        return int(self._run(main))

    def members(self, job: Job, formed: Callable[[], None]) -> dict[str, Any]:
        """Start many members of one group, tell when it is formed, and let them wait."""
        from kgroup.bench.clients.crowd import Crowd  # noqa: PLC0415 - needs asyncio, others do not

        crowd = Crowd(
            lambda: self._consumer(job, job["group"]),
            lambda consumer: consumer.getmany(timeout=0.5),
            job,
            formed,
        )
        found: dict[str, Any] = self._run(crowd.measure)
        return found

    def follow(self, job: Job, told: Following) -> None:
        """Be a member of a group, and tell what is delivered until it is over."""
        options: Job = {
            **_spoken(job),
            "group_instance_id": job["instance"],
            "enable_auto_commit": True,
            "auto_commit_interval": job["auto_commit_s"],
        }

        if job["slow_revoke_s"]:
            options["listener"] = _Slow(job["slow_revoke_s"])

        self._run(lambda: followed(lambda: self._consumer(job, job["group"], **options), told))

    def assign(self, job: Job) -> dict[str, Any]:
        """Lead a group that is not there."""
        from kgroup.bench.clients.leading import KgroupLeader, led  # noqa: PLC0415 - rarely used

        return led(KgroupLeader(job["level"]), job)

    def _consumer(self, job: Job, group: str, **more: object) -> Any:  # noqa: ANN401
        options = {
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "group_protocol": job["protocol"],
            **more,
        }
        return self._make(
            job["topic"], bootstrap_servers=job["bootstrap"], group_id=group, **options
        )


def _spoken(job: Job) -> Job:
    """Return the options of a protocol; a member of KIP-848 leaves times to its coordinator."""
    if job["protocol"] == "consumer":
        return {"server_assignor": job["level"]}
    return {
        "assignors": [job["level"]],
        "session_timeout": job["session_timeout_s"],
        "heartbeat_interval": job["heartbeat_interval_s"],
    }


class _Slow:
    """A listener that takes its time.

    Args:
        seconds: how long.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def on_revoked(self, _consumer: object, _change: object, /) -> None:
        """Take the time."""
        await anyio.sleep(self._seconds)


async def followed(make: Callable[[], Any], told: Following) -> None:
    """Follow with a consumer until it is over.

    Args:
        make: builds it.
        told: what is delivered is told to.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(told.watch, anyio.sleep)
        async with make() as consumer:
            while not told.over.is_set():
                batches = await consumer.getmany(timeout=POLL)
                told.took(
                    (tp.partition, record.offset, record.value)
                    for tp, batch in batches.items()
                    for record in batch
                )
        tasks.cancel_scope.cancel()


async def _columns(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    tally = run.tally
    async for batch in consumer.batches():
        run.arrived(len(batch))
        batch.columns()
        if tally.proof:
            tally.add_values(batch.first, batch.next_offset, batch.values())
        else:
            tally.add_untouched(batch.first, batch.next_offset, len(batch))
        if tally.records >= expected:
            break


async def _arrow(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    tally = run.tally
    async for batch in consumer.batches():
        run.arrived(len(batch))
        if not hasattr(batch, "to_arrow"):
            raise ImportError("this kgroup has no Batch.to_arrow()")
        table = batch.to_arrow()
        if tally.proof:
            tally.add_values(batch.first, batch.next_offset, table.column("value").to_pylist())
        else:
            tally.add_untouched(batch.first, batch.next_offset, table.num_rows)
        if tally.records >= expected:
            break


async def _values(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    tally = run.tally
    async for batch in consumer.batches():
        run.arrived(len(batch))
        tally.add_values(batch.first, batch.next_offset, batch.values())
        if tally.records >= expected:
            break


async def _records(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    tally = run.tally
    async for batch in consumer.batches():
        run.arrived(len(batch))
        tally.add_records(batch)
        if tally.records >= expected:
            break


async def _getmany(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    tally = run.tally
    while tally.records < expected:
        batches = await consumer.getmany(timeout=1.0)
        if batches:
            run.arrived(sum(map(len, batches.values())))
        for batch in batches.values():
            tally.add_records(batch)


LEVELS: dict[str, Callable[[Any, Pass, int], Awaitable[None]]] = {
    "columns": _columns,
    "arrow": _arrow,
    "values": _values,
    "records": _records,
    "getmany": _getmany,
    "async for": read_each,
}

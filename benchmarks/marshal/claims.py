"""What claims cost on a real broker: how long one takes, what a thousand cost, one batch each.

Decides: nothing; it measures whole consumers, as an application has them.
    latency: from `subscribe` to `on_assigned`, one group and one partition each time: the log is
        opened, and a sign, a claim and a heartbeat are written and read back; nobody is waited for
    standing: processor time and messages of a member that has 1,000 claims and no records to read
    at most once: batches a second of one partition, each committed and read back before it is
        handed out
Never: reports a figure of a member that has less than all partitions, or missed a record.
"""

import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median, quantiles
from typing import Any, Final, TypeAlias

import anyio

from benchmarks.marshal.ground import connected
from kgroup import Consumer
from kgroup.backends.marshal.log_fetch import LogFetch, LogQuestion, fetch_log
from kgroup.errors import BrokerError
from kgroup.net.producer import Producer
from kgroup.testing.kafka import create_topic, read_bounds
from kgroup.types import OwnershipChange, TopicPartition
from kgroup.wire.records import NewRecord, iter_batches

SETTINGS: Final = {"message.timestamp.type": "LogAppendTime"}
STANDING: Final = 1_000
INTERVAL: Final = 60
BATCHES: Final = 300
_PATIENCE: Final = 240.0
_DAY: Final = 86_400

_SETTLED: Final = 0.2
"""Seconds that a consumer stands first: it asks for metadata again no sooner than that."""

Reader: TypeAlias = Consumer[bytes | None, bytes | None]


class _Listener:
    """Waits until a number of partitions is owned."""

    def __init__(self, wanted: int) -> None:
        self.owned = 0
        self.at = 0.0
        self.complete = anyio.Event()
        self._wanted = wanted

    def on_assigned(self, _consumer: object, change: OwnershipChange) -> None:
        """Count; the change names all that are owned from now on."""
        self.owned = len(change.kept) + len(change.added)
        if self.owned == self._wanted:
            self.at = time.perf_counter()
            self.complete.set()


@asynccontextmanager
async def _member(bootstrap: str, log: str, group: str, **more: object) -> AsyncIterator[Reader]:
    options: Any = more
    consumer = Consumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        backend="marshal",
        coordination_topic=log,
        auto_offset_reset="earliest",
        **options,
    )
    with anyio.fail_after(_PATIENCE):
        async with consumer:
            yield consumer


def summary(samples: list[float]) -> dict[str, Any]:
    """Return what is said of times, milliseconds; at least two of them."""
    tenths = quantiles(samples, n=10, method="inclusive")
    return {
        "p50 ms": round(median(samples), 1),
        "p90 ms": round(tenths[-1], 1),
        "most ms": round(max(samples), 1),
        "samples": [round(each, 1) for each in samples],
    }


def claim_latencies(bootstrap: str, claims: int) -> dict[str, Any]:
    """Claim a partition so many times, in a group of its own each time; the first is warm-up."""
    create_topic(bootstrap, "bench-claims", 1, settings=SETTINGS)
    create_topic(bootstrap, "bench-claimed", 1)
    found = [anyio.run(_claim, bootstrap, number) for number in range(claims + 1)]
    result = summary(found[1:])
    print(f"claim latency: p50 {result['p50 ms']} ms", file=sys.stderr)
    return result


async def _claim(bootstrap: str, number: int) -> float:
    listener = _Listener(1)
    async with _member(bootstrap, "bench-claims", f"group-{number}") as consumer:
        await anyio.sleep(_SETTLED)
        began = time.perf_counter()
        consumer.subscribe("bench-claimed", listener=listener)
        await listener.complete.wait()
    return (listener.at - began) * 1000


def standing_cost(bootstrap: str, seconds: float) -> dict[str, Any]:
    """Own 1,000 partitions without a record, and look at what that takes for a while."""
    create_topic(bootstrap, "bench-standing", 1, settings=SETTINGS)
    create_topic(bootstrap, "bench-owned", STANDING)
    found = anyio.run(_stand, bootstrap, seconds)
    print(f"{STANDING} claims: {found}", file=sys.stderr)
    return found


async def _stand(bootstrap: str, seconds: float) -> dict[str, Any]:
    listener = _Listener(STANDING)
    options = {"claim_policy": "greedy", "marshal_heartbeat_interval": INTERVAL}
    async with _member(bootstrap, "bench-standing", "standing", **options) as consumer:
        began = time.perf_counter()
        consumer.subscribe("bench-owned", listener=listener)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_poll, consumer)
            await listener.complete.wait()
            until = listener.at - began
            await anyio.sleep(INTERVAL / 2)  # what was begun by the claims is over
            first = await _end(bootstrap, "bench-standing")
            cpu, wall = time.process_time(), time.perf_counter()
            await anyio.sleep(seconds)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            last = await _end(bootstrap, "bench-standing")
            if listener.owned != STANDING:
                raise SystemExit(f"{listener.owned} of {STANDING} partitions are owned")
            tasks.cancel_scope.cancel()
        size = await _bytes_a_message(bootstrap, "bench-standing", first)
    rate = (last - first) / wall
    return {
        "seconds until all are owned": round(until, 2),
        "interval": INTERVAL,
        "processor %": round(100 * cpu / wall, 2),
        "messages a second": round(rate, 1),
        "bytes a message": round(size, 1),
        "megabytes a day": round(rate * size * _DAY / 1e6, 1),
        "processor us a message": round(cpu / max(last - first, 1) * 1e6, 1),
    }


async def _poll(consumer: Reader) -> None:
    while True:
        try:
            await consumer.getmany(timeout=1.0)
        except BrokerError as error:
            if not error.retriable:
                raise


async def _end(bootstrap: str, topic: str) -> int:
    bounds = await anyio.to_thread.run_sync(read_bounds, bootstrap, [topic])
    return bounds[TopicPartition(topic, 0)][1]


async def _bytes_a_message(bootstrap: str, topic: str, offset: int) -> float:
    """Return how many bytes of the log a message takes, with its share of the batch."""
    async with connected(bootstrap) as cluster:
        tp = TopicPartition(topic, 0)
        cluster.watch(frozenset({topic}))
        view = await cluster.refresh(10.0)
        leader = view.leader(tp)
        assert leader is not None
        fetch = LogFetch(topic, [LogQuestion(0, offset)], 0.5, 1 << 20)
        _, found = await fetch_log(cluster, leader, view, fetch, timeout=10.0)
    data = bytes(found[0].records or b"")
    batches = list(iter_batches(data))
    records = sum(len(batch.columns()) for batch in batches if batch.base_offset >= offset)
    return len(data) / max(records, 1)


def at_most_once(bootstrap: str, batches: int = BATCHES) -> dict[str, Any]:
    """Consume a partition of so many batches, each of one record."""
    create_topic(bootstrap, "bench-once", 1, settings=SETTINGS)
    create_topic(bootstrap, "bench-read", 1)
    found = anyio.run(_once, bootstrap, batches)
    print(f"at most once: {found}", file=sys.stderr)
    return found


async def _once(bootstrap: str, batches: int) -> dict[str, Any]:
    async with connected(bootstrap) as cluster:
        producer = Producer(cluster)
        for number in range(batches):
            record = NewRecord(None, b"%d" % number)
            await producer.send(TopicPartition("bench-read", 0), [record])
    listener = _Listener(1)
    seen: list[int] = []
    handed = 0
    options = {"guarantee": "at_most_once", "max_poll_records": 1}
    async with _member(bootstrap, "bench-once", "once", **options) as consumer:
        consumer.subscribe("bench-read", listener=listener)
        await listener.complete.wait()
        cpu, wall = time.process_time(), time.perf_counter()
        while len(seen) < batches:
            for records in (await consumer.getmany(timeout=5.0)).values():
                seen += [record.offset for record in records]
                handed += 1
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if seen != list(range(batches)):
        raise SystemExit("at most once: not every record came exactly once")
    return {
        "batches a second": round(handed / wall, 1),
        "records a batch": round(batches / handed, 2),
        "processor ms a batch": round(cpu / handed * 1e3, 2),
    }

"""What a running job costs: the way of a commit from its log to a table, and live alarms.

Decides: that a commit counts from the broker's timestamp of its record until its batch is done;
that alarms are counted right before they are timed.
Never: starts two brokers.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute, dataset

from benchmarks.spark_source.session import Session
from kgroup.cli.connecting import Common, perform
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.spark.coordination import asking
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.alarms import Alarms
from kgroup.spark.coordination.beating import Limits
from kgroup.spark.coordination.job import Job
from kgroup.spark.coordination.schema import Row
from kgroup.spark.coordination.store import Store
from kgroup.spark.coordination.tables import TOPICS, arrow_of
from kgroup.spark.counting import Span
from kgroup.sync import Consumer
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.types import TopicPartition
from tests.spark.coordinator import T0

_PARTITIONS: Final = 100
"""That one commit is about; each is a record."""
_TRIGGER: Final = 2.0
_GOLD: Final = 30.0
_KEYS: Final = 1000
_BATCH: Final = 10_000


class _Asked:
    def __init__(self, bootstrap: str) -> None:
        self._common = Common(bootstrap=bootstrap, timeout=30.0)

    def logs(self) -> Mapping[TopicPartition, Span]:
        return perform(self._common, partial(asking.logs, topics=TOPICS, timeout=30.0))

    def ends(self, topics: Collection[str]) -> list[Row]:
        ask = partial(asking.ends, topics=topics, timeout=30.0)
        return perform(self._common, ask) if topics else []


def tail(session: Session, path: Path, rate: int, seconds: float) -> dict[str, Any]:
    """Have groups commit at a rate, and a job follow; return what became of the commits.

    Args:
        session: warm.
        path: an empty folder.
        rate: commits a second.
        seconds: how long.
    """
    with RealKafka.start() as kafka:
        create_topic(kafka.bootstrap, "orders", _PARTITIONS)
        job, brokers = (
            Job(session.spark, Store(session.spark, path), _hush, gold_every=_GOLD),
            _Asked(kafka.bootstrap),
        )
        options = {"kafka.bootstrap.servers": kafka.bootstrap}
        done: dict[int, float] = {}
        committed: list[int] = []
        with _committing(kafka.bootstrap, rate, []) as stop:  # the session gets warm
            time.sleep(1.0)
            stop()
        while _follow(job, brokers, options, done):
            pass
        job.settle()
        warm = max(done)
        with _committing(kafka.bootstrap, rate, committed) as stop:
            job_until(partial(_follow, job, brokers, options, done), seconds)
            stop()
        while _follow(job, brokers, options, done):
            pass
        job.settle()
    return _latencies(path, {b: at for b, at in done.items() if b > warm}, sum(committed))


def _hush(_: str) -> None:
    return


def job_until(step: Callable[[], bool], seconds: float) -> None:
    """Step at each trigger for some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        step()
        time.sleep(max(began + _TRIGGER - time.monotonic(), 0))


def _follow(job: Job, brokers: _Asked, options: dict[str, str], done: dict[int, float]) -> bool:
    plan = job.step(brokers, options)
    if plan is not None:
        done[plan.batch] = time.time()
    return plan is not None and bool(plan.ranges)


class _committing:  # noqa: N801 - it reads as a function
    """Commits in a thread for one block."""

    def __init__(self, bootstrap: str, rate: int, committed: list[int]) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(bootstrap, rate, committed))

    def _run(self, bootstrap: str, rate: int, committed: list[int]) -> None:
        places = [TopicPartition("orders", number) for number in range(_PARTITIONS)]
        pause, turn, began = _PARTITIONS / rate, 0, time.monotonic()
        with Consumer(
            bootstrap_servers=bootstrap, group_id="billing", enable_auto_commit=False
        ) as one:
            one.assign(places)
            while not self._over.is_set():
                turn += 1
                one.commit(dict.fromkeys(places, turn))
                committed.append(_PARTITIONS)
                time.sleep(max(began + turn * pause - time.monotonic(), 0))

    def __enter__(self) -> Callable[[], None]:
        self._thread.start()
        return self._end

    def _end(self) -> None:
        self._over.set()
        self._thread.join()

    def __exit__(self, *_: object) -> None:
        self._end()


def _latencies(path: Path, done: Mapping[int, float], committed: int) -> dict[str, Any]:
    table = dataset.dataset(path / d.COMMIT_LOG.name, partitioning="hive").to_table(
        columns=["append_ts", "batch"], filter=dataset.field("batch") >= min(done)
    )
    ends = pa.array([done[batch] for batch in table.column("batch").to_pylist()])
    waits = compute.subtract(ends, compute.divide(table.column("append_ts"), 1000.0))
    p50, p99, most = compute.quantile(waits, [0.5, 0.99, 1.0]).to_pylist()
    return {
        "right": len(table) == committed,
        "commits": committed,
        "p50_s": p50,
        "p99_s": p99,
        "most_s": most,
        "batches": len(done),
    }


# -- alarms ----------------------------------------------------------------------------------------


def lay_claims(path: Path, count: int) -> int:
    """Write heartbeats as a job would have; a member of a hundred falls silent. Return alarms."""
    store, random = Store(None, path), Random(1)
    keys = list(range(_KEYS))
    epochs = {key: key for key in keys}
    offset, at = 0, T0
    rows: list[Row] = []
    silent = set(random.sample(keys, _KEYS // 100))
    batches = max(count // _BATCH, 1)
    for batch in range(batches):
        alive = [key for key in keys if batch == 0 or key not in silent]
        for turn in range(_BATCH):
            key = alive[turn % len(alive)]
            first = batch == 0 and turn < _KEYS
            at += 1
            rows.append(_record(offset, at, key, None if first else epochs[key]))
            offset += 1
        store.append(d.RAW, arrow_of(d.RAW, rows), batch)
        looks = [{"topic": "__marshal", "partition": 0, "ts": at, "low": 0, "high": offset}]
        store.append(d.LOOKS, arrow_of(d.LOOKS, looks), batch)
        rows = []
    at += 1
    looks = [{"topic": "__marshal", "partition": 0, "ts": at, "low": 0, "high": offset}]
    store.append(d.LOOKS, arrow_of(d.LOOKS, looks), batches)
    return len(silent)


def _record(offset: int, at: int, key: int, epoch: int | None) -> Row:
    kind = Kind.CLAIMING_PARTITION if epoch is None else Kind.HEARTBEAT
    client = b"member-%d" % (key % 50)
    message = Message(kind, at // 1000, b"1", client, b"billing", b"orders", key, offset)
    headers = write_extension(Extension(epoch=epoch, started=T0, interval=30))
    return {
        "src": "__marshal",
        "log_partition": 0,
        "log_offset": offset,
        "append_ts": at,
        "append_time": True,
        "value": encode(message),
        "headers": [{"key": name, "value": value} for name, value in headers],
    }


def look_once(session: Session, path: Path) -> int:
    """Have alarms look at all there is; return how many there were."""
    said: list[str] = []
    query = Alarms(session.spark, Store(session.spark, path), said.append, Limits()).start(
        once=True
    )
    query.awaitTermination()
    return len(said)

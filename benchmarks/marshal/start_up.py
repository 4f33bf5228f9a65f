"""How long a member reads before it may claim: a log of 1,000,000 messages, to its end.

Decides: nothing; it measures a `LogReader` from its first request to the moment it tells what it
found: with the window of an hour (`window`), and from the first record on (`whole`).
Never: reports a time unless every key has the owner and the position that the log gives it.

Timestamps are the producers': those of a broker could not be laid back over five hours. So the
window is searched for by the times inside the messages, which takes more requests than the other.
"""

import sys
import time
from collections.abc import Iterable
from statistics import median
from typing import Any, Final

import anyio

from benchmarks.marshal.ground import connected
from benchmarks.marshal.logs import GROUP, TOPIC, Log, cut, records_of
from kgroup.backends.marshal.followed_log import LogEvent
from kgroup.backends.marshal.log_reader import LogReader, ReaderSettings
from kgroup.marshal.events import LogOpened
from kgroup.net.producer import Producer
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition

LOG: Final = "bench-marshal-log"
SETTINGS: Final = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}
_IN_A_BATCH: Final = 500
_PATIENCE: Final = 120.0
_WHOLE: Final = "whole"


def in_process(log: Log) -> InProcessBroker:
    """Return a broker in this process that has the log."""
    broker = InProcessBroker(topics={})
    broker.create_topic(LOG, 1, configs=SETTINGS)
    partition = broker.partition(LOG, 0)
    for rows in cut(log.rows, _IN_A_BATCH):
        partition.append(*records_of(rows))
    return broker


async def fill(bootstrap: str, log: Log) -> None:
    """Write the log to a topic that is there and empty."""
    async with connected(bootstrap) as cluster:
        producer = Producer(cluster)
        for rows in cut(log.rows, _IN_A_BATCH):
            await producer.send(TopicPartition(LOG, 0), records_of(rows))


def start_ups(bootstrap: str, log: Log, rounds: int, where: str) -> dict[str, Any]:
    """Measure several times, each with a connection of its own.

    Args:
        bootstrap: of the broker that has the log.
        log: what it has.
        rounds: how often.
        where: the broker's name, for the report.
    """
    found: dict[str, Any] = {}
    for name in ("window", _WHOLE):
        seconds: list[float] = []
        processor: list[float] = []
        for _ in range(rounds):
            cpu = time.process_time()
            seconds.append(round(anyio.run(_start_up, bootstrap, log, name), 3))
            processor.append(round(time.process_time() - cpu, 3))
        found[name] = {"seconds": median(seconds), "samples": seconds, "processor": processor}
        print(f"start-up, {where}, {name}: {seconds} s", file=sys.stderr)
    return found


async def _start_up(bootstrap: str, log: Log, how: str) -> float:
    told: list[LogEvent] = []
    opened = anyio.Event()

    def tell(event: LogEvent) -> None:
        told.append(event)
        opened.set()

    settings = ReaderSettings(GROUP, LOG, interval=20.0, append_time=False, whole=how == _WHOLE)
    async with connected(bootstrap) as cluster:
        reader = LogReader(settings, cluster, tell)
        reader.follow(frozenset({TOPIC}))
        with anyio.fail_after(_PATIENCE):
            async with anyio.create_task_group() as tasks:
                began = time.perf_counter()
                tasks.start_soon(reader.run)
                await opened.wait()
                took = time.perf_counter() - began
                tasks.cancel_scope.cancel()
    _checked(told, log, whole=how == _WHOLE)
    return took


def _checked(told: Iterable[LogEvent], log: Log, *, whole: bool) -> None:
    for event in told:
        if not isinstance(event, LogOpened):
            raise SystemExit(f"the log was read, and then: {event}")
        keys = event.keys.items()
        seen = {tp.partition: (each.client_id, each.offset) for tp, each in keys if each.owned}
        # Who has only claimed a key so far is known for sure to those alone who read the claim of
        # the owner before: it may stand in front of the window, and then the key is in doubt.
        expected = {
            key.partition: owner
            for key, owner in log.owners.items()
            if owner[1] >= 0 and (whole or key not in log.silent)
        }
        if any(seen.get(number) != owner for number, owner in expected.items()):
            raise SystemExit("a key is not where the log says")

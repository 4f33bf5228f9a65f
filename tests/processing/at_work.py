"""Processors for tests: at work on members of a real group, on a Kafka in the process."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from kgroup.consumer import Consumer, Record
from kgroup.processing import Drain, Locked, Processor, Report, ReportKind, Semantics, Strategy
from kgroup.testing import InProcessBroker
from kgroup.types import OffsetAndMetadata, TopicPartition
from tests.consumer.entered import GROUP, config_for
from tests.consumer.ground import ground
from tests.contracts.application import until

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Trouble(Exception):
    """What handlers of tests raise."""


@dataclass
class Handler:
    """Writes down what it gets, and does what the test wants.

    Args:
        act: what it does with each record, None for nothing.
        work: seconds that each record takes.
    """

    act: Callable[[Record[Any, Any]], Awaitable[None]] | None = None
    work: float = 0.0
    begun: list[tuple[TopicPartition, int]] = field(default_factory=list)
    ended: list[tuple[TopicPartition, int]] = field(default_factory=list)

    async def __call__(self, record: Record[Any, Any], *_: object) -> None:
        place = (record.tp, record.offset)
        self.begun.append(place)
        if self.work:
            await anyio.sleep(self.work)
        if self.act is not None:
            await self.act(record)
        self.ended.append(place)

    def offsets(self, tp: TopicPartition = A) -> list[int]:
        """Return the offsets that it is through with."""
        return [offset for at, offset in self.ended if at == tp]


@dataclass
class Work:
    """A processor at work."""

    consumer: Consumer[Any, Any]
    processor: Processor
    broker: InProcessBroker
    reports: list[Report] = field(default_factory=list)
    over: anyio.Event = field(default_factory=anyio.Event)
    error: Exception | None = None

    def told(self, kind: ReportKind) -> list[Report]:
        """Return the reports of a kind."""
        return [report for report in self.reports if report.kind is kind]

    async def committed(self, offset: int, tp: TopicPartition = A, within: float = 60.0) -> None:
        """Wait until so much is committed."""
        await until(lambda: at(self.broker, tp) >= offset, within, f"{tp} at {offset}")

    async def ends(self, within: float = 60.0) -> None:
        """Wait until the processor has ended."""
        with anyio.fail_after(within):
            await self.over.wait()

    async def _run(self) -> None:
        try:
            await self.processor.run()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.error = error
        finally:
            self.over.set()


def at(broker: InProcessBroker, tp: TopicPartition = A) -> int:
    """Return what is committed, 0 where nothing is."""
    return broker.group("g").offsets.get(tp, OffsetAndMetadata(0)).offset


def stored(count: int = 10, *, width: int = 1) -> InProcessBroker:
    """Return a cluster whose topic `t` has so many records in each partition."""
    return ground(count, t=width)


@asynccontextmanager
async def at_work(
    broker: InProcessBroker,
    handler: Callable[..., Awaitable[None] | None],
    semantics: Semantics | None = None,
    *,
    stuck: Strategy | None = None,
    bad_records: str | None = None,
    drain: Drain | None = None,
    locks: Locked | None = None,
    **options: Any,
) -> AsyncIterator[Work]:
    """Have a processor at work for one block; at its end the consumer closes."""
    broker.node(1).slow(0.01)
    makers = {name: options.pop(name) for name in ("key", "value") if name in options}
    config = config_for(broker, **{**GROUP, "enable_auto_commit": False, **options})
    async with Consumer("t", config=config, **makers) as consumer:
        processor = Processor(
            consumer,
            handler,
            semantics,
            stuck=stuck,
            bad_records=bad_records,
            drain=drain,
            locks=locks,
        )
        work = Work(consumer, processor, broker)
        processor.hear(work.reports.append)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work._run)
            yield work
            tasks.cancel_scope.cancel()

"""Processes with a claiming consumer on an in-process Kafka, and the records that each read.

Decides: how a process reads (one batch after the other, and works on each), and how it dies: its
cable is cut, and nothing of it arrives any more.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import anyio
from anyio.abc import TaskGroup

from kgroup import Consumer
from kgroup.errors import KGroupError
from kgroup.marshal.messages import Kind, Message, Reject, decode
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import OwnershipChange, TopicPartition
from tests.consumer.ground import fill
from tests.consumer.marshal.stage import LOG, coordinated
from tests.contracts.cable import Cable

INTERVAL = 5
"""Seconds that processes announce, unless a test says otherwise."""

LEASE = 2.0 * INTERVAL

_LOOK = 0.01


class Process:
    """One consumer and the task that reads from it.

    Args:
        broker: the Kafka.
        number: of the process; another one after a restart.
        work: seconds for each batch.
        most: records of a batch; None for as many as there are.
        reads: whether it asks for records.
        options: of the consumer.
    """

    def __init__(
        self,
        broker: InProcessBroker,
        number: int,
        *,
        work: float = 0.0,
        most: int | None = None,
        reads: bool = True,
        **options: Any,
    ) -> None:
        self.cable = Cable(broker.dial)
        self.seen: list[tuple[int, int]] = []
        """(partition, offset) of all that was handed out, in order."""
        self.handed_out_at: list[float] = []
        self.heard: list[str] = []
        """What the listener heard: gained, revoked, lost."""
        self.error: Exception | None = None
        self.over = anyio.Event()
        self._work, self._most, self._reads = work, most, reads
        given = {
            "bootstrap_servers": broker.bootstrap_servers,
            "group_id": "g",
            "auto_offset_reset": "earliest",
            "backend": "marshal",
            "marshal_heartbeat_interval": INTERVAL,
            "enable_auto_commit": False,
            "ports": virtual_ports(self.cable, seed=number),
        }
        self.consumer = Consumer("t", listener=self, **{**given, **options})

    @property
    def has(self) -> list[int]:
        """The partitions it owns."""
        return sorted(tp.partition for tp in self.consumer.assignment())

    @property
    def offsets(self) -> list[int]:
        """Offsets of all that was handed out, in order; for tests of one partition."""
        return [offset for _, offset in self.seen]

    def on_assigned(self, _: object, change: OwnershipChange) -> None:
        self.heard += ["gained"] * bool(change.added)

    def on_revoked(self, _: object, change: OwnershipChange) -> None:
        self.heard += ["revoked"] * bool(change.removed)

    def on_lost(self, _: object, change: OwnershipChange) -> None:
        self.heard += ["lost"] * bool(change.removed)

    async def gained(self, partition: int) -> None:
        """Wait until it owns a partition."""
        await until(lambda: partition in self.has)

    def die(self) -> None:
        """Send nothing more, and hear nothing more."""
        self.cable.cut()
        self._reads = False

    async def live(self) -> None:
        """Read until the test is over, or reading fails for good."""
        try:
            async with self.consumer:
                await self._read_on()
        except KGroupError as error:
            self.error = error
        self.over.set()

    async def _read_on(self) -> None:
        while True:
            if not self._reads:
                await anyio.sleep(0.1)
                continue
            try:
                found = await self.consumer.getmany(timeout=1.0, max_records=self._most)
            except TimeoutError:
                continue  # something is not possible at present; it says so, and goes on trying
            for tp, batch in found.items():
                for record in batch:
                    self.seen.append((tp.partition, record.offset))
                    self.handed_out_at.append(anyio.current_time())
            await anyio.sleep(self._work)


@dataclass
class Crew:
    """Processes, and the log they claim in.

    Args:
        broker: the Kafka.
        tasks: they run in it.
    """

    broker: InProcessBroker
    tasks: TaskGroup
    _numbers: Any = field(default_factory=lambda: count(1))

    def enter(self, **options: Any) -> Process:
        """Start a process."""
        process = Process(self.broker, next(self._numbers), **options)
        self.tasks.start_soon(process.live)
        return process

    def messages(self, kind: Kind | None = None) -> list[Message]:
        """Return the messages in the log, signs of presence left out."""
        found = []
        for record in self.broker.partition(LOG).records():
            message = decode(record.value)
            assert not isinstance(message, Reject)
            if not message.topic.endswith(b"~members") and kind in (None, message.kind):
                found.append(message)
        return found


async def until(is_so: Callable[[], object], within: float = 300.0) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it did not come.
    """
    began = anyio.current_time()
    while not is_so():
        waited = anyio.current_time() - began
        if waited > within:
            raise TimeoutError(f"it did not come within {within:g} s")
        await anyio.sleep(_LOOK if waited < 1.0 else 0.1)


@asynccontextmanager
async def crew(records: int = 0, *, partitions: int = 1, **broker: Any) -> AsyncIterator[Crew]:
    """Lay a topic `t` and a log of claims; at the end all processes end."""
    kafka = coordinated(t=partitions, **broker)
    for number in range(partitions):
        if records:
            fill(kafka, TopicPartition("t", number), records)
    async with anyio.create_task_group() as tasks:
        yield Crew(kafka, tasks)
        tasks.cancel_scope.cancel()

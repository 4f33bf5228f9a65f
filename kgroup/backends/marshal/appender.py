"""Writes messages to the coordination topic, in the order they were asked for.

Decides: the batches: all that waits for one partition goes as one, one at a time.
Never: compresses, writes a key or a transaction (the original library reads none of it); sends
anything after its deadline; tells of success: what was written counts when it was read back.
KIPs: 98 (idempotence: a batch that is sent twice is stored once), 32 (the broker's append time).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import field
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kgroup.backends.marshal.clock_check import BrokerClock
from kgroup.backends.marshal.log_fetch import WRITE_LANE
from kgroup.errors import IllegalStateError
from kgroup.marshal.events import Append, AppendFailed
from kgroup.marshal.messages import Message, encode, write_extension
from kgroup.marshal.presence import PRESENCE_SUFFIX
from kgroup.marshal.rules import MARSHAL_TOPIC
from kgroup.net.cluster import Cluster
from kgroup.net.ports import Notifier
from kgroup.net.producer import Producer, ProducerSettings
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import NewRecord

_PER_BATCH: Final = 200
_LOOK_AGAIN: Final = 30.0
_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class AppenderSettings:
    """The member that writes, and where.

    Args:
        group_id: of the group.
        client_id: of the member that claims.
        instance_id: of this process.
        topic: name of the coordination topic.
        most_waiting: messages of one partition that may wait; more fail at once.
    """

    group_id: str
    client_id: str
    instance_id: str
    topic: str = MARSHAL_TOPIC
    most_waiting: int = 10_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A message, and the instant from which nobody waits for it."""

    append: Append
    deadline: float


@dataclass(slots=True, eq=False)
class _Line:
    """What waits for one partition."""

    tp: TopicPartition
    waiting: deque[_Waiting] = field(default_factory=deque)
    busy: bool = False
    prepared: bool = False


class Appender:
    """Writes for as long as it runs.

    Args:
        settings: the writer and the topic.
        cluster: connections and clocks; not owned.
        partition_of: coordination partition of a topic, None while it is not known.
        tell: hears of failures; called between two awaits, must not block.
    """

    def __init__(
        self,
        settings: AppenderSettings,
        cluster: Cluster,
        partition_of: Callable[[str], int | None],
        tell: Callable[[AppendFailed], None],
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._partition_of = partition_of
        self._tell = tell
        self._producer = Producer(cluster, ProducerSettings(lane=WRITE_LANE))
        self._clock = BrokerClock(cluster)
        self._lines: dict[int, _Line] = {}
        self._work = Notifier()

    @property
    def waiting(self) -> int:
        """How many messages are not sent yet."""
        return sum(len(line.waiting) for line in self._lines.values())

    def append(self, append: Append) -> None:
        """Have a message written as soon as those before it are."""
        # A member shows its presence in the partition that holds the claims of the topic.
        number = self._partition_of(append.topic.removesuffix(PRESENCE_SUFFIX))
        if number is None:
            reason = f"the partitions of {self._settings.topic!r} are not known yet"
            self._failed(append, IllegalStateError(f"{reason}; nothing was sent"))
            return
        line = self._line(number)
        if len(line.waiting) >= self._settings.most_waiting:
            reason = f"{len(line.waiting)} messages wait for {line.tp} already"
            self._failed(append, IllegalStateError(f"{reason}; nothing was sent"))
            return
        line.waiting.append(_Waiting(append, self._cluster.ports.clock() + append.timeout))
        self._work.notify()

    def expect(self, topic: str) -> None:
        """Say that messages about a topic will come soon: what the first needs is learned now."""
        number = self._partition_of(topic)
        if number is not None:
            self._line(number)
            self._work.notify()

    def _line(self, number: int) -> _Line:
        line = self._lines.get(number)
        if line is None:
            line = self._lines[number] = _Line(TopicPartition(self._settings.topic, number))
        return line

    async def sent(self) -> None:
        """Wait until nothing waits, and nothing is on its way; the caller bounds the time."""
        while any(line.busy or line.waiting for line in self._lines.values()):
            await self._work.wait()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Write until cancelled; what was asked for before waits until then."""
        task_status.started()
        async with anyio.create_task_group() as tasks:
            while True:
                self._start_due(tasks)
                with anyio.move_on_after(_LOOK_AGAIN):
                    await self._work.wait()

    def _start_due(self, tasks: TaskGroup) -> None:
        for line in self._lines.values():
            if line.waiting and not line.busy:
                line.busy = line.prepared = True
                tasks.start_soon(self._write, line)
            elif not line.prepared:
                line.prepared = True
                tasks.start_soon(self._producer.prepare, line.tp)

    async def _write(self, line: _Line) -> None:
        try:
            while batch := self._next_batch(line):
                await self._send(line.tp, batch)
        finally:
            line.busy = False
            self._work.notify()

    def _next_batch(self, line: _Line) -> list[_Waiting]:
        """Take what goes together; what nobody waits for any more fails here."""
        now, batch = self._cluster.ports.clock(), list[_Waiting]()
        while line.waiting and len(batch) < _PER_BATCH:
            each = line.waiting.popleft()
            if each.deadline > now:
                batch.append(each)
            else:
                what = f"a message to {line.tp} had to wait for {each.append.timeout:g} s"
                self._failed(each.append, TimeoutError(f"{what}; it was not sent"))
        return batch

    async def _send(self, tp: TopicPartition, batch: list[_Waiting]) -> None:
        records = [self._record(each.append) for each in batch]
        timeout = min(each.deadline for each in batch) - self._cluster.ports.clock()
        delivered = await self._producer.deliver(tp, records, timeout=timeout)
        if delivered.append_time is not None:
            self._clock.heard(delivered.append_time)
        if delivered.error is not None:
            for each in batch:
                self._failed(each.append, delivered.error, maybe=delivered.maybe)

    def _record(self, append: Append) -> NewRecord:
        settings, time = self._settings, self._clock.message_time()
        message = Message(
            kind=append.kind,
            time=time,
            instance_id=settings.instance_id.encode(),
            client_id=settings.client_id.encode(),
            group_id=settings.group_id.encode(),
            topic=append.topic.encode(),
            partition=append.partition,
            tail=append.tail,
        )
        headers = tuple(write_extension(append.extension))
        return NewRecord(None, encode(message), headers, time * _MS)

    def _failed(self, append: Append, error: Exception, *, maybe: bool = False) -> None:
        self._tell(AppendFailed(append.ticket, error, maybe))

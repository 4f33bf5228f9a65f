"""The canonical session: one consumer enters, joins, reads, commits, rejoins, reads on, leaves.

Decides: what a session is, and what must be true of it whatever happened to one of its answers.
Records come in order, none is missing, none comes again once its commit is acknowledged; in the
end the commit stands behind the last record, nobody is in the group, nothing runs, nothing is open.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from kgroup.assignors import RangeAssignor
from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import CommitStatus, Leave, TopicPartition
from tests.bad_input.sweeps.dialled import Dialled

GROUP: Final = "g"
TP: Final = TopicPartition("t", 0)

_FIRST, _LAST = 2, 3
"""Records that are there from the start, and in the end."""

_GIVE_UP: Final = 60.0
"""Virtual seconds after which a session is taken for stuck."""


@dataclass(slots=True, eq=False)
class Session:
    """One session, and what became of it.

    Args:
        broker: its broker.
        faults: what was wrong, in words; nothing is asserted before the session is over.
        unknown: how many commits had an unknown outcome.
        seconds: how long it took, virtual.
    """

    broker: InProcessBroker
    faults: list[str] = field(default_factory=list)
    unknown: int = 0
    seconds: float = 0.0
    _acknowledged: int = 0
    _next: int = 0
    _read: int = 0

    @property
    def requests(self) -> int:
        """How many requests arrived."""
        return len(self.broker.requests)

    async def play(self, consumer: Consumer[Any, Any]) -> None:
        """Play the whole story."""
        part, group = self.broker.partition(*TP), self.broker.group(GROUP)
        async with consumer:
            await self._read_to(consumer, _FIRST)
            await self._commit(consumer)
            before = group.generation
            if group.members:
                group.rebalance()
            while group.generation == before or not consumer.assignment():
                await self._look(consumer)
            part.append("c")
            await self._read_to(consumer, _LAST)
            await self._commit(consumer)
            await consumer.close(leave=Leave.LEAVE)

    async def _read_to(self, consumer: Consumer[Any, Any], end: int) -> None:
        while self._read < end or self._next < end:
            await self._look(consumer)

    async def _look(self, consumer: Consumer[Any, Any]) -> None:
        for tp, batch in (await consumer.getmany(timeout=0.5)).items():
            for record in batch:
                self._take(tp, record.offset)

    def _take(self, tp: TopicPartition, offset: int) -> None:
        """Check one record: the next one, or one that nobody has acknowledged a commit of."""
        if tp != TP or not self._acknowledged <= offset <= self._next:
            state = f"{self._next} is next and {self._acknowledged} is committed"
            self.faults.append(f"record {tp} {offset} while {state}")
        self._next = offset + 1
        self._read = max(self._read, self._next)

    async def _commit(self, consumer: Consumer[Any, Any]) -> None:
        """Commit until it is known to stand: what has an unknown outcome is committed again."""
        position = self._next
        while True:
            try:
                await consumer.commit()
            except CommitFailedError as error:
                status = error.outcome.partitions[TP].status
                if status is not CommitStatus.UNKNOWN:
                    raise
                self.unknown += 1
            else:
                self._acknowledged = position
                self._check_committed(position)
                return

    def _check_committed(self, position: int) -> None:
        committed = self.broker.group(GROUP).offsets.get(TP)
        if committed is None or committed.offset != position:
            self.faults.append(f"committed {committed}, acknowledged was {position}")

    async def check_end(self, dialled: Dialled, tasks: int) -> None:
        """Check what is left when the consumer is closed."""
        group = self.broker.group(GROUP)
        self._check_committed(_LAST)
        if group.members:
            self.faults.append(f"still in the group: {group.members}")
        if left := await dialled.left_open():
            self.faults.append(f"{left} connection(s) of {len(dialled.streams)} left open")
        if (running := len(anyio.get_running_tasks())) > tasks:
            self.faults.append(f"{running - tasks} task(s) left running")


async def live(spoil: Callable[[InProcessBroker], object], *, static: bool = False) -> Session:
    """Play one session in virtual time.

    Args:
        spoil: lays down rules before anything is dialled.
        static: whether the member is static; only such a one asks DescribeGroups.
    """
    tasks, began = len(anyio.get_running_tasks()), anyio.current_time()
    session = Session(InProcessBroker(topics={TP.topic: 1}))
    session.broker.partition(*TP).append("a", "b")
    spoil(session.broker)
    dialled = Dialled(session.broker)
    consumer = Consumer(
        TP.topic,
        bootstrap_servers=[f"{host}:{port}" for host, port in session.broker.bootstrap],
        ports=virtual_ports(dialled),
        group_id=GROUP,
        group_instance_id="i" if static else None,
        assignors=(RangeAssignor(),),
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout=6.0,
        heartbeat_interval=0.3,
        max_poll_interval=12.0,
        request_timeout=3.0,
    )
    try:
        with anyio.fail_after(_GIVE_UP):
            await session.play(consumer)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported with its run
        session.faults.append(f"{type(error).__name__}: {error}")
    session.seconds = anyio.current_time() - began
    await session.check_end(dialled, tasks)
    return session

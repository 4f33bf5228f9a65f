"""What the tests of this folder stand on: a whole consumer on an in-process broker that lies.

`outlive` is the judge of whatever is wrong for a while only: while it is, the consumer asks at a
bounded pace; when it is over, every record has been read exactly once, and the commit stands there.
Of partitions that were lost or revoked, what was read and not committed counts as unread: it comes
again.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from kgroup.consumer import Consumer
from kgroup.errors import KGroupError
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import OwnershipChange, TopicPartition

TOPIC: Final = "orders"
A, B = (TopicPartition(TOPIC, number) for number in range(2))

MOST_A_SECOND: Final = 20.0
"""Requests of one consumer while something is wrong for good (L4)."""

_BAD_FOR: Final = 6.0
"""Seconds for which `outlive` has a broker lie: shorter than a session."""

_MOMENT: Final = 0.001

_OPTIONS: Final[dict[str, Any]] = {
    "group_id": "g",
    "auto_offset_reset": "earliest",
    "session_timeout": 10.0,
    "heartbeat_interval": 1.0,
    "max_poll_interval": 12.0,
    "request_timeout": 3.0,
    "bootstrap_timeout": 30.0,
    "enable_auto_commit": False,
    "assignors": ("cooperative-sticky",),
}

Bytes = bytes | None


@dataclass(slots=True, eq=False)
class Play:
    """A consumer, its broker, and what became of both; it listens to the consumer itself.

    Args:
        broker: lies where a test has it lie.
        read: partition -> offsets in the order in which they were handed out.
        errors: what reads raised.
        lost: how often partitions were lost.
    """

    broker: InProcessBroker
    read: dict[TopicPartition, list[int]] = field(default_factory=lambda: defaultdict(list))
    errors: list[Exception] = field(default_factory=list)
    lost: int = 0
    _consumer: Consumer[Bytes, Bytes] | None = None

    @property
    def consumer(self) -> Consumer[Bytes, Bytes]:
        """The consumer that reads."""
        assert self._consumer is not None
        return self._consumer

    def read_by(self, consumer: Consumer[Bytes, Bytes]) -> None:
        """Set the consumer that reads."""
        self._consumer = consumer

    async def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        """Forget what was read of partitions and not committed."""
        self.lost += 1
        await self.on_revoked(consumer, change)

    async def on_revoked(self, _: Consumer[Any, Any], change: OwnershipChange) -> None:
        """Forget it too: this application commits when it wants to, not when it has to."""
        for claim in change.removed:
            del self.read[claim.tp][self.committed().get(claim.tp, 0) :]

    async def look(self, patience: float = 1.0) -> None:
        """Read once; what is raised is kept, and costs a moment."""
        try:
            found = await self.consumer.getmany(timeout=patience)
        except (KGroupError, TimeoutError) as error:
            self.errors.append(error)
            await anyio.sleep(min(patience, 0.5))
            return
        for tp, batch in found.items():
            self.read[tp] += [record.offset for record in batch]

    async def read_for(self, seconds: float) -> None:
        """Read for so long, whatever comes."""
        until = anyio.current_time() + seconds
        while (left := until - anyio.current_time()) > 0:
            await self.look(min(left, 1.0))

    async def read_all(self, within: float = 60.0) -> None:
        """Read until everything there is has been handed out, each record exactly once."""
        until = anyio.current_time() + within
        while self.read != self.there() and anyio.current_time() < until:
            await self.look()
        assert self.read == self.there(), self.errors[-3:]

    async def commit_all(self, within: float = 60.0) -> None:
        """Read and commit until everything there is stands committed, and has been read once.

        What was wrong before may cost a commit its answer, or the group another round.
        """
        ends = {tp: len(offsets) for tp, offsets in self.there().items()}
        until = anyio.current_time() + within
        while self.committed() != ends and anyio.current_time() < until:
            await self.read_all()
            await self.try_commit()
        assert self.committed() == ends, self.errors[-3:]

    def there(self) -> dict[TopicPartition, list[int]]:
        """Return what is to be read in the end."""
        ends = {tp: self.broker.partition(*tp).end for tp in (A, B)}
        return {tp: list(range(end)) for tp, end in ends.items() if end}

    def write(self, count: int = 5) -> None:
        """Append records to both partitions."""
        for tp in (A, B):
            self.broker.partition(*tp).append(*(b"%d" % number for number in range(count)))

    async def try_commit(self) -> None:
        """Commit what has been read; a failure is no matter here."""
        with suppress(KGroupError, TimeoutError):
            await self.consumer.commit()

    def committed(self) -> dict[TopicPartition, int]:
        """Return what stands committed at the broker."""
        return {tp: each.offset for tp, each in self.broker.group("g").offsets.items()}

    def asked(self, since: float, kind: type[Any] = object) -> int:
        """Count the requests of a class that have arrived from an instant on."""
        arrived = self.broker.requests
        return sum(each.at >= since and isinstance(each.request, kind) for each in arrived)


def cluster(nodes: int = 1, records: int = 5, **options: Any) -> InProcessBroker:
    """Make brokers with a topic of two partitions that hold some records each.

    They take a moment to answer: else a client that asks without end stops time, and no test fails.
    """
    broker = InProcessBroker(nodes=nodes, topics={TOPIC: 2}, **options)
    for node_id in range(1, nodes + 1):
        broker.node(node_id).slow(_MOMENT)
    for tp in (A, B):
        for number in range(records):
            broker.partition(*tp).append(b"%d" % number)
    return broker


@asynccontextmanager
async def playing(
    broker: InProcessBroker, *, by_hand: Iterable[TopicPartition] = (), **options: Any
) -> AsyncIterator[Play]:
    """Enter a consumer of group `g`: a member that reads `orders`, unless it assigns by hand."""
    settings, play = {**_OPTIONS, **options}, Play(broker)
    consumer = Consumer(
        *(() if by_hand else (TOPIC,)),
        bootstrap_servers=[f"{host}:{port}" for host, port in broker.bootstrap],
        ports=virtual_ports(broker.dial),
        listener=play,
        **settings,
    )
    play.read_by(consumer)
    async with consumer:
        if by_hand:
            consumer.assign(by_hand)
        yield play


async def outlive(spoil: Callable[[InProcessBroker], object], **options: Any) -> Play:
    """Have answers spoiled for a while, at the start and again in the middle of everything.

    Args:
        spoil: lays down rules for `broker.answers`, for ever: they are cleared when it is over.
        options: of the consumer.
    """
    broker = cluster(2)
    spoil(broker)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_heal_later, broker)
        async with playing(broker, **options) as play:
            await play.read_all()
            check_pace(play, 0.0)
            await play.try_commit()
            await _once_more(play, spoil)
    return play


async def _once_more(play: Play, spoil: Callable[[InProcessBroker], object]) -> None:
    """Spoil every answer again while a member that reads is moved, rebalanced and cut off."""
    broker, before = play.broker, anyio.current_time()
    spoil(broker)
    play.write()
    await play.try_commit()
    broker.group("g").rebalance()
    await play.read_for(_BAD_FOR / 3)
    broker.node(broker.partition(*A).leader or 1).disconnect()
    with suppress(KGroupError, TimeoutError):
        await play.consumer.end_offsets(A, timeout=0.5)
    await play.try_commit()
    await play.read_for(_BAD_FOR - (anyio.current_time() - before))
    check_pace(play, before)
    broker.answers.clear()
    play.write()
    await play.read_all()
    await play.commit_all()


async def _heal_later(broker: InProcessBroker) -> None:
    await anyio.sleep(_BAD_FOR)
    broker.answers.clear()


def check_pace(play: Play, since: float, most: float = MOST_A_SECOND) -> None:
    """Check that a consumer has asked at a bounded pace since an instant, but for one burst."""
    seconds = anyio.current_time() - since
    assert play.asked(since) <= most * (seconds + 1.0), f"{play.asked(since)} in {seconds:g} s"


async def goes_on(play: Play) -> None:
    """Check that a member reads and commits as if nothing was wrong."""
    began = anyio.current_time()
    play.write()
    await play.consumer.topics()
    await play.read_all()
    await play.consumer.commit()
    assert play.committed() == {tp: len(offsets) for tp, offsets in play.there().items()}
    assert anyio.current_time() - began < 1.0
    assert play.errors == []

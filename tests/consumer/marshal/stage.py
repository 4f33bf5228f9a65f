"""A coordination topic on an in-process Kafka, a writer, a reader and an administrator."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import anyio

from kgroup import MarshalAdmin
from kgroup.backends.marshal.log_reader import LogReader, ReaderSettings
from kgroup.marshal.events import KeyRead, LogLost, LogOpened, LogRead
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.net.cluster import Cluster
from kgroup.net.settings import NetSettings
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.handles import PartitionHandle
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.virtual_time import WALL_AT_START, virtual_ports
from kgroup.types import TopicPartition
from tests.consumer.ground import fill

LOG = "__marshal"
KEY = TopicPartition("t", 0)
APPENDED = {"message.timestamp.type": "LogAppendTime"}

_LOOK = 0.005

E = TypeVar("E", LogOpened, LogRead, LogLost)


def coordinated(
    partitions: int = 1,
    *,
    nodes: int = 1,
    configs: Mapping[str, str] | None = None,
    release: str = "4.3.1",
    **topics: int,
) -> InProcessBroker:
    """Return a cluster with a coordination topic, and the topics that are consumed."""
    settings = BrokerSettings(auto_create_topics=False)
    broker = InProcessBroker(nodes=nodes, topics=topics, settings=settings, release=release)
    broker.create_topic(LOG, partitions, configs=APPENDED if configs is None else configs)
    if broker.group("g").coordinator != 1:
        broker.group("g").move_to(1)
    return broker


def claims_of_two_topics(
    t: int, u: int, *, nodes: int = 1, slow: Sequence[float] = (0.01,)
) -> InProcessBroker:
    """Return a cluster where the claims of `t` and of `u` are in different partitions of the log.

    Args:
        t: its partitions, of 100 records each.
        u: likewise.
        nodes: brokers; what holds up one of several does not hold up the others.
        slow: seconds that each broker takes to answer.
    """
    broker = coordinated(3, nodes=nodes, t=t, u=u)
    for topic, width in (("t", t), ("u", u)):
        for number in range(width):
            fill(broker, TopicPartition(topic, number), 100)
    for node_id, seconds in enumerate(slow, 1):
        broker.node(node_id).slow(seconds)
    return broker


_SEEDS = count(1)


def admin_of(broker: InProcessBroker, **more: Any) -> MarshalAdmin:
    """Return an administrator of group `g` with dice of its own, as each process has them."""
    ports = virtual_ports(broker.dial, seed=next(_SEEDS))
    return MarshalAdmin(
        bootstrap_servers=broker.bootstrap_servers, group_id="g", ports=ports, **more
    )


def committed(broker: InProcessBroker, tp: TopicPartition = KEY) -> int | None:
    """Return what the group coordinator has as committed."""
    found = broker.group("g").offsets.get(tp)
    return None if found is None else found.offset


@dataclass(slots=True)
class Writer:
    """A member of the group that writes to one coordination partition.

    Args:
        log: where.
        client: its client id.
        instance: its process.
        peers: whether it writes as the original library does, without headers.
    """

    log: PartitionHandle
    client: str = "A"
    instance: str = "i1"
    headerless: bool = False
    now: Callable[[], float] = field(default=lambda: WALL_AT_START)

    def claim(self, partition: int = 0, *, topic: str = "t", group: str = "g") -> int:
        return self.say(Kind.CLAIMING_PARTITION, partition, topic=topic, group=group)

    def beat(
        self, tail: int, epoch: int | None = None, partition: int = 0, *, topic: str = "t"
    ) -> int:
        return self.say(Kind.HEARTBEAT, partition, tail, epoch, topic=topic)

    def take(self, tail: int, partition: int = 0) -> int:
        """Beat under a claim that a reader of the end of the log did not see, later than any."""
        return self.beat(tail, self.claim(partition, group="other"), partition)

    def release(self, tail: int, epoch: int | None = None, *, topic: str = "t") -> int:
        return self.say(Kind.RELEASING_PARTITION, 0, tail, epoch, topic=topic)

    def say(
        self,
        kind: Kind,
        partition: int,
        tail: int = 0,
        epoch: int | None = None,
        *,
        topic: str = "t",
        group: str = "g",
    ) -> int:
        """Write a message; return its offset."""
        words = self.client.encode(), group.encode(), topic.encode()
        time = int(self.now())
        message = Message(kind, time, self.instance.encode(), *words, partition, tail)
        headers = () if self.headerless else tuple(write_extension(Extension(epoch, 1000)))
        stamp = -1 if self.headerless else None
        (offset,) = self.log.append(encode(message), headers=headers, timestamp=stamp)
        return offset


@dataclass(slots=True)
class LogEvents:
    """What a reader reported, and how it ended."""

    reader: LogReader
    cluster: Cluster
    events: list[LogOpened | LogRead | LogLost] = field(default_factory=list)
    error: Exception | None = None

    def of(self, kind: type[E]) -> list[E]:
        return [each for each in self.events if isinstance(each, kind)]

    @property
    def reads(self) -> list[KeyRead]:
        """All records about keys that were reported one by one."""
        return [read for event in self.of(LogRead) for read in event.reads]

    async def until(self, is_so: Callable[[], object], within: float = 30.0) -> None:
        """Wait until something is so.

        Raises:
            TimeoutError: it did not come.
        """
        began = anyio.current_time()
        while (waited := anyio.current_time() - began) <= within:
            if is_so():
                return
            await anyio.sleep(_LOOK if waited < 1.0 else 10 * _LOOK)
        raise TimeoutError(f"it did not come within {within:g} s")

    async def next_read(self, within: float = 30.0) -> LogRead:
        """Wait until a partition is read on."""
        before = len(self.of(LogRead))
        await self.until(lambda: len(self.of(LogRead)) > before, within)
        return self.of(LogRead)[before]

    async def opened(self, times: int = 1, within: float = 30.0) -> LogOpened:
        """Wait until a partition was read to its end, for the n-th time."""
        await self.until(lambda: self.error or len(self.of(LogOpened)) >= times, within)
        if self.error is not None:
            raise self.error
        return self.of(LogOpened)[-1]

    async def ends(self, within: float = 120.0) -> Exception:
        """Wait until reading failed for good."""
        await self.until(lambda: self.error is not None, within)
        assert self.error is not None
        return self.error


@asynccontextmanager
async def running(broker: InProcessBroker, **options: Any) -> AsyncIterator[Cluster]:
    """Run connections to a cluster."""
    net = NetSettings(bootstrap=broker.bootstrap, client_id="kgroup", **options)
    cluster = Cluster(net, virtual_ports(broker.dial))
    async with anyio.create_task_group() as tasks:
        await tasks.start(cluster.run)
        await cluster.bootstrap(10.0)
        yield cluster
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def reading(
    broker: InProcessBroker, *topics: str, **options: Any
) -> AsyncIterator[LogEvents]:
    """Run a reader of the group `g`, of topic `t` unless others are named."""
    settings = ReaderSettings("g", **options)
    async with running(broker) as cluster, anyio.create_task_group() as tasks:
        events: list[LogOpened | LogRead | LogLost] = []
        reader = LogReader(settings, cluster, events.append)
        followed = LogEvents(reader, cluster, events)
        reader.follow(frozenset(topics or ("t",)))

        async def play() -> None:
            try:
                await reader.run()
            except Exception as error:  # noqa: BLE001 - the test judges it
                followed.error = error

        tasks.start_soon(play)
        yield followed
        tasks.cancel_scope.cancel()

"""What the tests of this folder stand on: a connection, or a cluster, that runs for one block."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kgroup.net.cluster import Cluster
from kgroup.net.connection import Connection
from kgroup.net.ports import Dial
from kgroup.net.settings import Endpoint, Lane, NetSettings
from kgroup.net.trace import ConnectionId, Exchange, NoTrace, Trace
from kgroup.testing.virtual_time import virtual_ports
from kgroup.wire.messages import HeartbeatRequest, HeartbeatResponse, MetadataRequest
from kgroup.wire.schema import Message
from tests.search.scripted.broker import ScriptedBroker
from tests.search.scripted.cluster import ScriptedCluster

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
OK = HeartbeatResponse()


def beat(generation_id: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=generation_id, member_id="m")


def echoing() -> ScriptedBroker:
    """Return a broker that answers a heartbeat with its generation as error code.

    So that mixed-up answers show.
    """
    broker = ScriptedBroker()
    broker.on(HeartbeatRequest, lambda request: HeartbeatResponse(error_code=request.generation_id))
    return broker


def beating(count: int, **topics: int) -> ScriptedCluster:
    """Return a cluster of so many brokers that answer heartbeats; topics with their partitions."""
    scripted = ScriptedCluster(count, topics=topics)
    for broker in scripted.brokers:
        broker.on(HeartbeatRequest, OK)
    return scripted


def metadata_requests(scripted: ScriptedCluster) -> int:
    """Count what all brokers of a cluster were asked for metadata."""
    return sum(len(broker.requests(MetadataRequest)) for broker in scripted.brokers)


def new_connection(
    dial: Dial, *, trace: Trace | None = None, lane: Lane = Lane.CONTROL, **options: Any
) -> Connection:
    identity = ConnectionId(1, Endpoint(1, "broker-1", 9092), lane)
    settings = NetSettings(bootstrap=(("broker-1", 9092),), **options)
    return Connection(identity, settings, virtual_ports(dial), trace or NoTrace(), lambda _: None)


@asynccontextmanager
async def connected(
    dial: Dial, *, trace: Trace | None = None, lane: Lane = Lane.CONTROL, **options: Any
) -> AsyncIterator[Connection]:
    connection = new_connection(dial, trace=trace, lane=lane, **options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        yield connection
        connection.close()


@asynccontextmanager
async def running(
    dial: ScriptedCluster | ScriptedBroker, *, trace: Trace | None = None, **options: Any
) -> AsyncIterator[Cluster]:
    addresses = dial.bootstrap if isinstance(dial, ScriptedCluster) else (("broker-1", 9092),)
    settings = NetSettings(**{"bootstrap": addresses, **options})
    cluster = Cluster(settings, virtual_ports(dial), trace)
    async with anyio.create_task_group() as tasks:
        await tasks.start(cluster.run)
        yield cluster
        tasks.cancel_scope.cancel()


class Heard:
    """A trace that keeps what it hears."""

    def __init__(self) -> None:
        self.opened: list[ConnectionId] = []
        self.closed: list[tuple[ConnectionId, str]] = []
        self.asked: list[Exchange] = []
        self.answered: list[tuple[Exchange, Message]] = []
        self.rejected: list[str] = []

    def on_open(self, connection: ConnectionId) -> None:
        self.opened.append(connection)

    def on_close(self, connection: ConnectionId, reason: str) -> None:
        self.closed.append((connection, reason))

    def on_request(self, exchange: Exchange) -> None:
        self.asked.append(exchange)

    def on_answer(self, exchange: Exchange, answer: Message) -> None:
        self.answered.append((exchange, answer))

    def on_rejected(self, entry: str) -> None:
        self.rejected.append(entry)

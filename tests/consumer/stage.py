"""What the tests of the classic backend stand on: members of a scripted group, in virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from kgroup.consumer.coordination.classic import ClassicBackend
from kgroup.journal import MemorySink
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster
from kgroup.net.settings import NetSettings
from kgroup.testing.scripted import Seen
from kgroup.testing.scripted_cluster import ScriptedCluster
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import MemberState, Subscription
from kgroup.wire.messages import JoinGroupRequest
from kgroup.wire.schema import Request
from tests.consumer.scene import (
    HEARTBEAT,
    REBALANCE,
    SESSION,
    TOPIC,
    Member,
    claims_of,
    next_round,
    offset,
    partitions,
    settings,
)
from tests.contracts.application import Application, Listener, no_listener, until
from tests.scripted_group import ScriptedGroup

__all__ = [
    "HEARTBEAT",
    "REBALANCE",
    "SESSION",
    "TOPIC",
    "Member",
    "Scene",
    "another_waits",
    "at",
    "claims_of",
    "joins",
    "next_round",
    "offset",
    "partitions",
    "scene",
    "settings",
]


@dataclass(slots=True, eq=False)
class Scene:
    """A cluster, the group on it, and its members."""

    cluster: ScriptedCluster
    group: ScriptedGroup
    tasks: Any
    metadata_max_age: float

    async def member(
        self,
        chosen: MembershipSettings | None = None,
        *,
        subscription: Subscription | None = None,
        listener: Listener = no_listener,
        exclude_internal_topics: bool = True,
    ) -> Member:
        """Start a member with its application."""
        used = chosen or settings()
        net = NetSettings(
            bootstrap=self.cluster.bootstrap,
            client_id="kgroup",
            metadata_max_age=self.metadata_max_age,
        )
        cluster = Cluster(net, virtual_ports(self.cluster))
        sink = MemorySink()
        backend = ClassicBackend(
            used, cluster, sink, exclude_internal_topics=exclude_internal_topics
        )
        application = Application(
            backend,
            anyio.current_time,
            poll_interval=used.rebalance_timeout / 4,
            listener=listener,
        )
        scope, over = anyio.CancelScope(), anyio.Event()
        member = Member(backend, application, cluster, sink, scope, over)
        backend.subscribe(subscription or Subscription(topics=frozenset({TOPIC})))
        self.tasks.start_soon(self._play, member)
        return member

    async def _play(self, member: Member) -> None:
        """Run it to its end; how it failed is kept."""
        with member.scope:
            async with anyio.create_task_group() as tasks:
                await tasks.start(member.cluster.run)
                tasks.start_soon(member.application.run)
                try:
                    await member.backend.run(task_status=anyio.TASK_STATUS_IGNORED)
                except Exception as error:  # noqa: BLE001 - the test judges it
                    member.error = error
                tasks.cancel_scope.cancel()
        member.over.set()

    async def joined(self, chosen: MembershipSettings | None = None, **options: Any) -> Member:
        """Start a member and wait until it is Stable, heard of everything, and proved it."""
        member = await self.member(chosen, **options)
        await until(member.application.settled, 100.0, "owns something")
        return member

    def seen(self, kind: type[Request[Any]]) -> list[Seen]:
        """Return the arrivals of a class at all brokers, in order of time."""
        arrived = (seen for broker in self.cluster.brokers for seen in broker.seen_of(kind))
        return sorted(arrived, key=at)

    def all_seen(self) -> list[Seen]:
        """Return all arrivals at all brokers, in order of time."""
        return sorted((seen for broker in self.cluster.brokers for seen in broker.seen), key=at)


def at(seen: Seen) -> float:
    """When a request arrived."""
    return seen.at


def joins(on: Scene) -> list[JoinGroupRequest]:
    found = [seen.request for seen in on.seen(JoinGroupRequest)]
    return [each for each in found if isinstance(each, JoinGroupRequest)]


async def another_waits(on: Scene, member: Member) -> None:
    """Have a round begin that does not end, because somebody else does not come."""
    on.group.pending.add("somebody who has not come yet")
    on.group.rebalance()
    await member.reaches(MemberState.JOINING)


@asynccontextmanager
async def scene(
    brokers: int = 1,
    *,
    count: int = 4,
    latency: float = 0.0,
    metadata_max_age: float = 300.0,
    **topics: int,
) -> AsyncIterator[Scene]:
    """Set up a group on topic `t`; members end with the block, without leaving."""
    cluster = ScriptedCluster(brokers, topics={TOPIC: count, **topics})
    group = ScriptedGroup(cluster, latency=latency)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(group.run)
        yield Scene(cluster, group, tasks, metadata_max_age)
        tasks.cancel_scope.cancel()

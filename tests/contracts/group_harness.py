"""The contracts' harness for any backend, on any broker that can be dialled.

A backend adds how one is made, where its positions are kept, and what a round is.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
from anyio.abc import TaskGroup

from kgroup.backends.backend import GroupBackend
from kgroup.net.cluster import Cluster
from kgroup.net.ports import Ports
from kgroup.net.settings import NetSettings
from kgroup.types import Subscription, TopicPartition
from tests.contracts.application import Application, Listener, no_listener, until
from tests.contracts.cable import Cable
from tests.contracts.harness import Profile, Seat


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to coordinate.

    Args:
        make: makes the backend of a member, by its name, on a cluster of its own.
        position: reads the committed offset of a partition, past every backend.
        another_round: has a member take part in another division of the partitions.
        poll_interval: seconds between two polls of an application.
    """

    make: Callable[[str, Cluster], GroupBackend]
    position: Callable[[Cluster, TopicPartition], Awaitable[int | None]]
    another_round: Callable[[Seat, Subscription], Awaitable[None]]
    poll_interval: float


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a group lives.

    Args:
        bootstrap: addresses.
        ports: the network, clocks and dice.
        topic: what the group subscribes to.
        count: partitions of the topic.
        profile: how fast things are.
    """

    bootstrap: tuple[tuple[str, int], ...]
    ports: Ports
    topic: str
    count: int
    profile: Profile


class GroupHarness:
    """One group; see `Harness`."""

    def __init__(
        self, ground: Ground, coordination: Backend, tasks: TaskGroup, reader: Cluster
    ) -> None:
        self.profile = ground.profile
        self._ground = ground
        self._coordination = coordination
        self._tasks = tasks
        self._reader = reader
        self._cables: dict[Seat, Cable] = {}
        self._scopes: dict[Seat, anyio.CancelScope] = {}
        self._over: dict[Seat, anyio.Event] = {}

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset(TopicPartition(self._ground.topic, n) for n in range(self._ground.count))

    @property
    def _subscription(self) -> Subscription:
        return Subscription(topics=frozenset({self._ground.topic}))

    def now(self) -> float:
        return self._ground.ports.clock()

    async def start(self, name: str, listener: Listener = no_listener) -> Seat:
        cable = Cable(self._ground.ports.dial)
        net = NetSettings(bootstrap=self._ground.bootstrap, client_id=name)
        cluster = Cluster(net, replace(self._ground.ports, dial=cable))
        backend = self._coordination.make(name, cluster)
        poll_interval = self._coordination.poll_interval
        application = Application(backend, self.now, poll_interval=poll_interval, listener=listener)
        seat = Seat(name, backend, application)
        self._cables[seat], self._scopes[seat] = cable, anyio.CancelScope()
        self._over[seat] = anyio.Event()
        backend.subscribe(self._subscription)
        self._tasks.start_soon(self._play, seat, cluster)
        return seat

    async def _play(self, seat: Seat, cluster: Cluster) -> None:
        try:
            with self._scopes[seat]:
                async with anyio.create_task_group() as tasks:
                    await tasks.start(cluster.run)
                    tasks.start_soon(seat.application.run)
                    await seat.backend.run(task_status=anyio.TASK_STATUS_IGNORED)
                    tasks.cancel_scope.cancel()
        finally:
            self._over[seat].set()

    async def silence(self, seat: Seat) -> None:
        self._scopes[seat].cancel()
        await self._over[seat].wait()

    def cut(self, seat: Seat, *, answers_only: bool = False) -> None:
        self._cables[seat].cut(answers_only=answers_only)

    async def mend(self, seat: Seat) -> None:
        await self._cables[seat].mend()

    async def committed(self, tp: TopicPartition) -> int | None:
        return await self._coordination.position(self._reader, tp)

    async def another_round(self, seat: Seat, *seats: Seat) -> None:
        await self._coordination.another_round(seat, self._subscription)
        await self.settle(seat, *seats)

    async def close(self) -> None:
        """End every member without leaving, and every connection, also those that wait."""
        with anyio.CancelScope(shield=True):
            for seat, cable in self._cables.items():
                await self.silence(seat)
                await cable.pull()

    async def settle(self, *seats: Seat) -> None:
        def shared() -> bool:
            parts = [seat.application.settled() for seat in seats]
            sizes = [len(part) for part in parts]
            whole = frozenset().union(*parts) == self.partitions
            return whole and sum(sizes) == len(self.partitions) and max(sizes) <= min(sizes) + 1

        within = self.profile.session + self.profile.handover
        names = ", ".join(seat.name for seat in seats)
        await until(shared, within, f"all of {self._ground.topic} shared by {names}")


@asynccontextmanager
async def group_harness(ground: Ground, coordination: Backend) -> AsyncIterator[GroupHarness]:
    """Run a group for one block; members that are left at its end fall silent."""
    reader = Cluster(NetSettings(bootstrap=ground.bootstrap, client_id="reader"), ground.ports)
    async with anyio.create_task_group() as tasks:
        await tasks.start(reader.run)
        await reader.bootstrap(10.0)
        harness = GroupHarness(ground, coordination, tasks, reader)
        try:
            yield harness
        finally:
            await harness.close()
        tasks.cancel_scope.cancel()

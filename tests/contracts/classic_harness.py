"""The contracts' harness for the classic backend, on any broker that can be dialled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
from anyio.abc import TaskGroup

from kgroup.assignors import BUILT_IN
from kgroup.consumer.coordination.classic import ClassicBackend
from kgroup.journal import NullSink
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster
from kgroup.net.group_admin import committed_offsets
from kgroup.net.ports import Ports
from kgroup.net.settings import NetSettings
from kgroup.types import Subscription, TopicPartition
from tests.contracts.application import Application, Listener, no_listener, until
from tests.contracts.cable import Cable
from tests.contracts.harness import Profile, Seat

__all__ = ["ClassicHarness", "Ground", "classic_harness", "classic_settings"]


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a group lives.

    Args:
        bootstrap: addresses.
        ports: the network, clocks and dice.
        topic: what the group subscribes to.
        count: partitions of the topic.
        settings: of every member.
        profile: how fast things are.
    """

    bootstrap: tuple[tuple[str, int], ...]
    ports: Ports
    topic: str
    count: int
    settings: MembershipSettings
    profile: Profile


class ClassicHarness:
    """One classic group; see `Harness`."""

    def __init__(self, ground: Ground, tasks: TaskGroup, reader: Cluster) -> None:
        self.profile = ground.profile
        self._ground = ground
        self._tasks = tasks
        self._reader = reader
        self._cables: dict[Seat, Cable] = {}
        self._scopes: dict[Seat, anyio.CancelScope] = {}
        self._over: dict[Seat, anyio.Event] = {}

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset(TopicPartition(self._ground.topic, n) for n in range(self._ground.count))

    def now(self) -> float:
        return self._ground.ports.clock()

    async def start(self, name: str, listener: Listener = no_listener) -> Seat:
        cable = Cable(self._ground.ports.dial)
        net = NetSettings(bootstrap=self._ground.bootstrap, client_id=name)
        cluster = Cluster(net, replace(self._ground.ports, dial=cable))
        backend = ClassicBackend(self._ground.settings, cluster, NullSink())
        poll_interval = self._ground.settings.rebalance_timeout / 4
        application = Application(backend, self.now, poll_interval=poll_interval, listener=listener)
        seat = Seat(name, backend, application)
        self._cables[seat], self._scopes[seat] = cable, anyio.CancelScope()
        self._over[seat] = anyio.Event()
        backend.subscribe(Subscription(topics=frozenset({self._ground.topic})))
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
        group_id = self._ground.settings.group_id
        found = await committed_offsets(self._reader, group_id, (tp,), timeout=10.0)
        position = found[tp]
        return None if position is None else position.offset

    async def close(self) -> None:
        """End every member without leaving, and every connection, also those that wait."""
        with anyio.CancelScope(shield=True):
            for seat, cable in self._cables.items():
                await self.silence(seat)
                await cable.pull()

    async def settle(self, *seats: Seat) -> None:
        def shared() -> bool:
            parts = [seat.application.settled() for seat in seats]
            whole = frozenset().union(*parts) == self.partitions
            return whole and all(parts) and sum(map(len, parts)) == len(self.partitions)

        within = self.profile.session + self.profile.handover
        names = ", ".join(seat.name for seat in seats)
        await until(shared, within, f"all of {self._ground.topic} shared by {names}")


@asynccontextmanager
async def classic_harness(ground: Ground) -> AsyncIterator[ClassicHarness]:
    """Run a group for one block; whoever is still there at its end falls silent."""
    reader = Cluster(NetSettings(bootstrap=ground.bootstrap, client_id="reader"), ground.ports)
    async with anyio.create_task_group() as tasks:
        await tasks.start(reader.run)
        await reader.bootstrap(10.0)
        harness = ClassicHarness(ground, tasks, reader)
        try:
            yield harness
        finally:
            await harness.close()
        tasks.cancel_scope.cancel()


def classic_settings(
    group_id: str, profile: Profile, *, assignor: str, rebalance_timeout: float
) -> MembershipSettings:
    """Return the settings of every member of a contract's group."""
    return MembershipSettings(
        group_id=group_id,
        assignors=(BUILT_IN[assignor],),
        session_timeout=profile.session,
        heartbeat_interval=profile.heartbeat,
        rebalance_timeout=rebalance_timeout,
        lease_margin=profile.session / 10,
    )

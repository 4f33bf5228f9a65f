"""Four members of kgroup: its classic backends alone, and whole consumers.

Decides: nothing; each has connections, metadata and a coordinator search of its own, all of which
counts.
Never: shares a cluster among members.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from anyio.abc import ByteStream

from benchmarks.inprocess.group import GROUP, MEMBERS, TOPIC, Watch
from kgroup import Consumer
from kgroup.assignors import BUILT_IN
from kgroup.backends.classic.backend import ClassicBackend
from kgroup.journal import NullSink
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster
from kgroup.net.ports import Dial
from kgroup.net.settings import NetSettings
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import OwnershipChange, Subscription


class _Watched:
    """Connections that note when the first byte goes out: right after the first was opened."""

    def __init__(self, dial: Dial, watch: Watch) -> None:
        self._dial = dial
        self._watch = watch

    async def __call__(self, host: str, port: int) -> ByteStream:
        """Connect."""
        stream = await self._dial(host, port)
        self._watch.first_byte()
        return stream


class _Listener:
    """Tells a watch what its member owns."""

    def __init__(self, number: int, watch: Watch) -> None:
        self._number = number
        self._watch = watch

    def on_assigned(self, _consumer: object, change: OwnershipChange) -> None:
        """Take partitions; the change names all that are owned from now on."""
        owned = frozenset(claim.tp for claim in (*change.kept, *change.added))
        self._watch.share(self._number, owned)


async def classic_backends(broker: InProcessBroker, watch: Watch) -> None:
    """Form the group of backends that nobody reads from."""
    ports = virtual_ports(_Watched(broker.dial, watch))
    settings = MembershipSettings(group_id=GROUP, assignors=(BUILT_IN["range"],))

    async def take_part(number: int) -> None:
        cluster = Cluster(NetSettings(bootstrap=broker.bootstrap), ports)
        backend = ClassicBackend(settings, cluster, NullSink())
        backend.subscribe(Subscription(topics=frozenset({TOPIC})))
        listener = _Listener(number, watch)
        async with anyio.create_task_group() as tasks:
            await tasks.start(cluster.run)
            tasks.start_soon(lambda: backend.run(task_status=anyio.TASK_STATUS_IGNORED))
            tasks.start_soon(_settle, backend, listener)
            await watch.complete.wait()
            tasks.cancel_scope.cancel()

    await _all(take_part)


async def _settle(backend: ClassicBackend, listener: _Listener) -> None:
    while True:
        change = await backend.next_change()
        listener.on_assigned(None, change)
        backend.settled(change)


async def consumers(broker: InProcessBroker, watch: Watch) -> None:
    """Form the group of consumers."""
    ports = virtual_ports(_Watched(broker.dial, watch))
    bootstrap = [f"{host}:{port}" for host, port in broker.bootstrap]
    made = [
        Consumer(
            bootstrap_servers=bootstrap,
            group_id=GROUP,
            ports=ports,
            assignors=("range",),
            enable_auto_commit=False,
        )
        for _ in range(MEMBERS)
    ]

    async def take_part(number: int) -> None:
        async with made[number] as consumer:
            consumer.subscribe(TOPIC, listener=_Listener(number, watch))
            await watch.complete.wait()

    await _all(take_part)


async def _all(take_part: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(MEMBERS):
            tasks.start_soon(take_part, number)

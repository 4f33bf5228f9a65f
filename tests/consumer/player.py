"""Actors and transcripts for plays of two members in virtual time, on any backend."""

import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import anyio

from kgroup.backends.backend import GroupBackend
from kgroup.net.cluster import Cluster
from kgroup.net.settings import NetSettings
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.server.switchboard import Arrival
from kgroup.testing.virtual_time import virtual_backend, virtual_ports
from kgroup.types import OffsetAndMetadata, Subscription
from tests.contracts.application import Application, no_listener

ROOT = Path(__file__).parents[2]


class Actor:
    """One member of a play, subscribed to `t`.

    Args:
        name: of it.
        broker: where it plays.
        seed: of its dice.
        make: makes its backend.
    """

    def __init__(
        self,
        name: str,
        broker: InProcessBroker,
        seed: int,
        make: Callable[[str, Cluster], GroupBackend],
    ) -> None:
        self.name = name
        net = NetSettings(bootstrap=broker.bootstrap, client_id=name)
        self.cluster = Cluster(net, virtual_ports(broker.dial, seed=seed))
        self.backend = make(name, self.cluster)
        self.backend.subscribe(Subscription(topics=frozenset({"t"})))
        self.application = Application(
            self.backend, anyio.current_time, poll_interval=15.0, listener=no_listener
        )

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.cluster.run)
            tasks.start_soon(self.application.run)
            await self.backend.run(task_status=anyio.TASK_STATUS_IGNORED)
            tasks.cancel_scope.cancel()

    async def commit(self, offset: int) -> None:
        claims = self.backend.membership.claims
        await self.backend.commit({claim: OffsetAndMetadata(offset) for claim in claims})


def as_asked(seen: Arrival) -> Any:
    """Show the whole request."""
    return seen.request


def transcript(
    seen: Iterable[Arrival], *actors: Actor, shown: Callable[[Arrival], Any] = as_asked
) -> list[str]:
    """Return requests and ownership changes, a line each, in order.

    Args:
        seen: requests.
        actors: those whose changes are shown.
        shown: what a line has of a request.
    """
    lines = []
    for each in seen:
        at = round(each.at, 6)
        lines.append((at, f"{at:.6f} {each.client_id} v{each.version} {shown(each)!r}"))
    for actor in actors:
        for entry in actor.application.heard:
            at = round(entry.heard_at, 6)
            lines.append((at, f"{at:.6f} {actor.name} hears {entry.change!r}"))
    return [text for _, text in sorted(lines)]


def performed(play: Callable[[int], Awaitable[list[str]]], backend: str, seed: int) -> list[str]:
    """Run a play on an async backend, in virtual time."""
    name, options = virtual_backend(backend)
    return anyio.run(play, seed, backend=name, backend_options=dict(options))


def on_other_hashes(module: str) -> set[str]:
    """Return what a module prints in processes that hash in different ways."""
    found = set()
    for hashes in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env={"PYTHONHASHSEED": hashes},
            capture_output=True,
            check=True,
            text=True,
        )
        found.add(run.stdout)
    return found

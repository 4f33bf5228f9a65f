"""Listeners that record changes, and helpers for members that read meanwhile."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from kgroup.consumer import Consumer
from kgroup.testing import InProcessBroker
from kgroup.types import ChangeKind, OwnershipChange, TopicPartition
from tests.consumer.entered import A, B, Grouped
from tests.consumer.ground import ground

Act = Callable[[Consumer[Any, Any], OwnershipChange], Awaitable[None]]


async def nothing(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
    await anyio.lowlevel.checkpoint()


class Heard:
    """Writes down every change, then does what the test wants."""

    def __init__(self, **acts: Act) -> None:
        self.changes: list[OwnershipChange] = []
        self._acts = acts

    async def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        await self._note("assigned", consumer, change)

    async def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        await self._note("revoked", consumer, change)

    async def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        await self._note("lost", consumer, change)

    async def _note(self, what: str, consumer: Consumer[Any, Any], change: Any) -> None:
        self.changes.append(change)
        await self._acts.get(what, nothing)(consumer, change)

    def of(self, kind: ChangeKind) -> list[OwnershipChange]:
        return [change for change in self.changes if change.kind is kind]

    @property
    def kinds(self) -> list[ChangeKind]:
        return [change.kind for change in self.changes]


def tps(claims: Any) -> set[TopicPartition]:
    return {claim.tp for claim in claims}


def filled(count: int = 50) -> InProcessBroker:
    return ground(count, t=2)


async def read_on(consumer: Consumer[Any, Any]) -> None:
    async for _ in consumer.batches():
        await anyio.sleep(0.1)


async def settle(it: Grouped) -> None:
    """Wait until everything is owned, and a little longer."""
    await it.owns(A, B)
    await anyio.sleep(1)

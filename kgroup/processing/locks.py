"""Exclusivity outside Kafka: locks that are held while a batch is handled.

Decides: what a lock promises, which ones a batch takes and in which order, and that a lock that is
not to be had, or whose service is down, holds up nothing but its partition.
Never: trusts that a lock is still held: it may have run out. The epoch of a grant is what a write
carries, and who keeps the written thing compares it.

Locks are taken in the order of their names, so that two batches with some of the same names never
wait for each other. None is taken for a record: a round trip each would cost more than the work.
"""

import logging
import secrets
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeAlias

import anyio

from kgroup.consumer import Batch
from kgroup.errors import ConfigError
from kgroup.values import dataclass

log = logging.getLogger(__name__)

_GIVING: Final = 1.0
"""Seconds for giving locks back: a processor that ends must not wait for a dead service."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A lock that was given.

    Args:
        name: of the lock.
        owner: whom it was given to.
        epoch: number of the grant; higher than those of all before, for ever.
    """

    name: str
    owner: str
    epoch: int


class ExternalLock(Protocol):
    """A service of locks that run out by themselves."""

    async def acquire(self, name: str, owner: str) -> Grant | None:
        """Take a lock, or take it anew; None while somebody else has it.

        Whatever it raises means that the service cannot say.

        Args:
            name: of the lock.
            owner: who wants it.
        """
        ...

    async def release(self, grant: Grant) -> None:
        """Give a lock back, if it is still that of the grant."""
        ...


Names: TypeAlias = Callable[[str, Batch[Any, Any]], Iterable[str]]
"""Returns the locks that a batch of a group needs."""


def per_partition(group_id: str, batch: Batch[Any, Any]) -> list[str]:
    """Return one name, that of the partition."""
    return [f"{group_id}/{batch.partition}"]


def per_key(group_id: str, batch: Batch[Any, Any]) -> list[str]:
    """Return one name for each key of the batch; a record without a key needs no lock."""
    topic = batch.partition.topic
    return [f"{group_id}/{topic}/{each.key!r}" for each in batch if each.key is not None]


@dataclass(frozen=True, slots=True)
class Locked:
    """Has locks held while a batch is handled.

    Args:
        lock: the service.
        names: which locks a batch needs.
        patience: seconds for the service to give all of them.
    """

    lock: ExternalLock
    names: Names = per_partition
    patience: float = 5.0

    def __post_init__(self) -> None:
        if not self.patience > 0:
            raise ConfigError("patience", self.patience, "seconds above 0")


class Locksmith:
    """Takes locks, and gives them back, on behalf of one processor.

    Args:
        locked: which.
        group_id: the group.
    """

    def __init__(self, locked: Locked, group_id: str) -> None:
        self._locked = locked
        self._group_id = group_id
        self._nonce = secrets.token_hex(8)

    def names(self, batch: Batch[Any, Any]) -> list[str]:
        """Return the locks that a batch needs, in the order in which they are taken.

        Raises:
            Exception: what the user's function raised.
        """
        return sorted(set(self._locked.names(self._group_id, batch)))

    async def take(self, names: Iterable[str], serial: int) -> tuple[Grant, ...]:
        """Take locks.

        Args:
            names: which, in order.
            serial: of the claim under which the batch is handled.

        Raises:
            Exception: what the service raised; a `TimeoutError` where somebody else has one, or
                where it took too long. None is held then.
        """
        owner = f"{self._nonce}/{serial}"
        taken: list[Grant] = []
        try:
            with anyio.fail_after(self._locked.patience):
                for name in names:
                    taken.append(await self._take(name, owner))  # noqa: PERF401 - given back
        except BaseException:
            await self.give_back(taken)
            raise
        return tuple(taken)

    async def _take(self, name: str, owner: str) -> Grant:
        grant = await self._locked.lock.acquire(name, owner)
        if grant is None:
            raise TimeoutError(f"somebody else has the lock {name!r}")
        return grant

    async def give_back(self, grants: Iterable[Grant]) -> None:
        """Give locks back; one that cannot be given back runs out."""
        with anyio.move_on_after(min(self._locked.patience, _GIVING), shield=True):
            for grant in grants:
                try:
                    await self._locked.lock.release(grant)
                except Exception as error:  # noqa: BLE001 - it runs out by itself
                    log.debug("lock %s is not given back: %r", grant.name, error)

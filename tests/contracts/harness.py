"""What a backend's tests must offer so that the contracts can be judged on it.

A contract is written against `GroupBackend` and this protocol only. A new backend, or a new kind of
broker, gets all contracts by one harness.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from kgroup.backends.backend import GroupBackend
from kgroup.types import TopicPartition
from tests.contracts.application import Application, Listener, no_listener


@dataclass(frozen=True, slots=True)
class Profile:
    """How fast things are on this harness; all in seconds.

    Args:
        session: a member that is silent for longer is expelled.
        heartbeat: between two signs of life.
        round: the longest one round may take here, once everybody has heard of it.
        sharing: longer still, until shares are even, where members reach that step by step.
        moments: when, after it was begun, a call is cancelled; from at once to surely too late.
    """

    session: float
    heartbeat: float
    round: float
    moments: tuple[float, ...]
    sharing: float = 0.0

    @property
    def handover(self) -> float:
        """The longest until a change of the group has settled everywhere."""
        return 3 * self.heartbeat + 3 * self.round + self.sharing


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """One running member with its application."""

    name: str
    backend: GroupBackend
    application: Application


class Harness(Protocol):
    """One group on one cluster."""

    @property
    def profile(self) -> Profile: ...

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Everything the group subscribes to."""
        ...

    def now(self) -> float:
        """Read the clock that everything here is judged on."""
        ...

    async def start(self, name: str, listener: Listener = no_listener) -> Seat:
        """Start a member that subscribes to all partitions, and its application."""
        ...

    async def silence(self, seat: Seat) -> None:
        """Cancel a member's tasks: it sends nothing any more, and does not leave."""
        ...

    def cut(self, seat: Seat, *, answers_only: bool = False) -> None:
        """Cut a member off from every broker, without any error."""
        ...

    async def mend(self, seat: Seat) -> None:
        """Let it reach its brokers again; what it wrote meanwhile arrives first."""
        ...

    async def committed(self, tp: TopicPartition) -> int | None:
        """Read the committed offset, past every backend: the ground truth."""
        ...

    async def settle(self, *seats: Seat) -> None:
        """Wait until these members, and no others, share all partitions evenly."""
        ...

    async def another_round(self, seat: Seat, *seats: Seat) -> None:
        """Have a member take part in another division, and wait until it and `seats` share all."""
        ...


Stage = Callable[[], AbstractAsyncContextManager[Harness]]
"""Makes a harness for one test; given by the fixture `stage`."""


@asynccontextmanager
async def joined(stage: Stage, *names: str) -> AsyncIterator[tuple[Harness, list[Seat]]]:
    """Run a harness for one block, with members that joined one by one and share all."""
    async with stage() as harness:
        seats: list[Seat] = []
        for name in names:
            seats.append(await harness.start(name))
            await harness.settle(*seats)
        yield harness, seats

"""How one process reaches the brokers: the network as a nemesis handles it, whatever carries it.

Decides: what can be done to a process's connections.
Never: carries bytes; `memory` and `sockets` do.
"""

from dataclasses import dataclass, field
from typing import Protocol

import anyio

from kgroup.net.ports import Dial


class Connection(Protocol):
    """The client's end of one connection."""

    def vanish(self) -> None:
        """Close it as the system does when its process has ended."""
        ...

    def reset(self) -> None:
        """End it for both sides at once."""
        ...


@dataclass(slots=True, eq=False)
class Reach:
    """How one life of one member reaches the brokers.

    Args:
        name: of the member, for sites of choices.
        number: of the life, over all members; spreads what would come at one instant.
        out_until: nothing it sends arrives before.
        in_until: it hears nothing before.
        dead: whether the process has ended.
        connections: that are open.
    """

    name: str
    number: int
    out_until: float = 0.0
    in_until: float = 0.0
    dead: bool = False
    connections: list[Connection] = field(default_factory=list)
    dialled: int = 0

    async def is_heard(self) -> None:
        """Wait until what it sends arrives."""
        while self.out_until > anyio.current_time():  # noqa: ASYNC110  # it may be put off again
            await anyio.sleep_until(self.out_until)

    async def hears(self) -> None:
        """Wait until it may ask, and hear the answer."""
        await self.is_heard()
        while self.in_until > anyio.current_time():  # noqa: ASYNC110  # it may be put off again
            await anyio.sleep_until(self.in_until)

    def silence(self, until: float, *, answers_only: bool) -> None:
        """Let nothing through before an instant."""
        self.in_until = max(self.in_until, until)
        if not answers_only:
            self.out_until = max(self.out_until, until)

    def cut(self) -> None:
        """Reset all connections."""
        for connection in [*self.connections]:
            connection.reset()

    def die(self) -> None:
        """End with the process."""
        self.dead = True
        for connection in [*self.connections]:
            connection.vanish()


class Network(Protocol):
    """What connects processes with the cluster."""

    def dial_of(self, reach: Reach) -> Dial:
        """Return the port by which a process connects."""
        ...

    async def run(self) -> None:
        """Carry, until cancelled."""
        ...

"""A network that remembers what was dialled, so that a test can ask what was left open."""

from dataclasses import dataclass, field

import anyio

from kgroup.testing import InProcessBroker
from kgroup.testing.broker.server.memory import MemoryStream


@dataclass(slots=True)
class Dialled:
    """The `Dial` port of a broker.

    Args:
        broker: the one that is dialled.
        streams: every connection that was made, in order.
    """

    broker: InProcessBroker
    streams: list[MemoryStream] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> MemoryStream:
        """Connect, and remember it."""
        stream: MemoryStream = await self.broker.dial(host, port)  # type: ignore[assignment]  # in memory
        self.streams.append(stream)
        return stream

    async def left_open(self) -> int:
        """Count the connections that the client has not closed."""
        count = 0
        for stream in self.streams:
            try:
                await stream.send(b"")
            except anyio.ClosedResourceError:
                continue
            except anyio.BrokenResourceError:
                pass
            count += 1
        return count

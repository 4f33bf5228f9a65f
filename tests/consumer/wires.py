"""The wires between members and an in-process Kafka: counted, and blocked on request."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio
from anyio.abc import ByteStream

from kgroup.net.ports import Dial


class Wires:
    """A `Dial` port before another one.

    Args:
        dial: connects.

    `dialled` counts, `open` are the connections that the client has not closed. While it is
    `jammed`, connections take no bytes and dialling takes for ever.
    """

    def __init__(self, dial: Dial) -> None:
        self.dialled = 0
        self.open: set[Wire] = set()
        self.jammed = False
        self._dial = dial

    async def __call__(self, host: str, port: int) -> ByteStream:
        self.dialled += 1
        await self.pass_on()
        wire = Wire(self, await self._dial(host, port))
        self.open.add(wire)
        return wire

    async def pass_on(self) -> None:
        """Wait for ever if it is jammed."""
        if self.jammed:
            await anyio.sleep_forever()


class Wire(ByteStream):
    """One connection."""

    def __init__(self, wires: Wires, stream: ByteStream) -> None:
        self._wires = wires
        self._stream = stream

    async def send(self, item: bytes) -> None:
        await self._wires.pass_on()
        await self._stream.send(item)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._stream.receive(max_bytes)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        self._wires.open.discard(self)
        await self._stream.aclose()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return {}

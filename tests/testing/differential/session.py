"""One script on a real broker.

Decides: that requests go out at the instants of the script, each on its actor's connection; that an
observer describes the group after each, on a connection of its own; and how late it all was.
Never: waits for an answer, except as long as an unparked one takes at most before the observer
looks; what comes, comes.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any

from kgroup.errors import DecodeError
from kgroup.wire.frames import (
    FrameSplitter,
    decode_response,
    encode_request,
    response_correlation_id,
)
from kgroup.wire.messages import DescribeGroupsRequest
from kgroup.wire.schema import Request
from tests.testing.differential.cast import Cast
from tests.testing.differential.script import Close, Script, Step
from tests.testing.differential.trace import CLOSED, HUNG_UP, RECEIVED, SENT, Event, Trace

OBSERVER = "observer"
TOO_LATE = 0.1
"""Seconds; a script of which a step is later than that says nothing about the core."""

_PROMPT = 0.025
_SETTLED = 0.02
"""Seconds between an answer and the observer's look: the new coordinator shows administrators what
is in its log, which takes it 5 ms (group.coordinator.append.linger.ms)."""

_OBSERVED_VERSIONS = (0, 2, 4, 5)
_SIZE = 4


class LateError(Exception):
    """This machine was too slow for the script."""


@dataclass(slots=True)
class Link:
    """One connection.

    Args:
        name: such as `A0`.
        actor: the client it belongs to.
        writer: its way out.
        reading: the task that reads it.
        asked: correlation id -> class and version, of what is not answered.
        prompt: set by each answer.
    """

    name: str
    actor: str
    writer: asyncio.StreamWriter
    reading: "asyncio.Task[None]"
    asked: dict[int, tuple[type[Request[Any]], int]] = field(default_factory=dict)
    prompt: asyncio.Event = field(default_factory=asyncio.Event)


class Session:
    """A script that runs.

    Args:
        address: of the broker.
        script: what to do.
        group_id: under which name.
    """

    def __init__(self, address: tuple[str, int], script: Script, group_id: str) -> None:
        self.events: list[Event] = []
        self.lateness = 0.0
        self._address = address
        self._script = script
        self._cast = Cast(group_id)
        self._links: dict[str, Link] = {}
        self._closed: dict[str, int] = {}
        self._asked = 0
        self._start = 0.0

    @property
    def now(self) -> float:
        """Seconds since the start of the script."""
        return asyncio.get_running_loop().time() - self._start

    async def run(self) -> None:
        """Do all steps, then look a last time."""
        try:
            for name in sorted({f"{s.actor}{s.connection}" for s in self._script.steps}):
                await self._link(name, name[0])
            await self._link(OBSERVER, OBSERVER)
            self._start = asyncio.get_running_loop().time()
            for number, step in enumerate(self._script.steps):
                await self._until(step.at)
                await self._do(number, step)
            await self._until(self._script.until - 3 * _PROMPT)
            await self._observe()
            fetch = self._cast.fetch(5, None)
            await self._ask(self._links[OBSERVER], fetch, 5, -1)
            await self._until(self._script.until)
        finally:
            await self._end()

    async def _until(self, instant: float) -> None:
        await asyncio.sleep(max(0.0, instant - self.now))
        self.lateness = max(self.lateness, self.now - instant)
        if self.lateness > TOO_LATE:
            raise LateError(f"{self.lateness:.3f} s")

    async def _do(self, number: int, step: Step) -> None:
        name = f"{step.actor}{step.connection}"
        if isinstance(step.ask, Close):
            await self._close(name, number)
        else:
            request, version = self._cast.request(step)
            await self._ask(await self._link(name, step.actor), request, version, number)
        await self._observe()

    async def _observe(self) -> None:
        await asyncio.sleep(_SETTLED)
        version = _OBSERVED_VERSIONS[self._asked % len(_OBSERVED_VERSIONS)]
        request = DescribeGroupsRequest(groups=(self._cast.group_id,))
        await self._ask(self._links[OBSERVER], request, version, -1)

    async def _ask(self, link: Link, request: Request[Any], version: int, number: int) -> None:
        """Send; then leave an answer that comes at once the time to come."""
        self._asked += 1
        frame = encode_request(request, version, self._asked, link.actor)
        link.asked[self._asked] = (type(request), version)
        link.prompt.clear()
        self._note(link.name, SENT, frame[_SIZE:], number)
        link.writer.write(frame)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PROMPT):
                await link.prompt.wait()

    # -- connections -----------------------------------------------------------------------------

    async def _link(self, name: str, actor: str) -> Link:
        if name not in self._links:
            reader, writer = await asyncio.open_connection(*self._address)
            # In the trace, what is opened after a close is another connection.
            times = self._closed.get(name, 0)
            label = f"{name}.{times}" if times else name
            reading = asyncio.create_task(self._read(label, name, reader))
            self._links[name] = Link(label, actor, writer, reading)
        return self._links[name]

    async def _read(self, label: str, name: str, reader: asyncio.StreamReader) -> None:
        splitter = FrameSplitter()
        while True:
            try:
                data = await reader.read(65_536)
            except ConnectionError:
                data = b""
            if not data:
                self._note(label, HUNG_UP)
                return
            for frame in splitter.feed(data):
                self._take(self._links[name], bytes(frame))

    def _take(self, link: Link, frame: bytes) -> None:
        self._note(link.name, RECEIVED, frame)
        asked = link.asked.pop(response_correlation_id(frame))
        with contextlib.suppress(DecodeError):
            self._cast.learn(link.actor, decode_response(*asked, frame)[1])
        link.prompt.set()

    async def _close(self, name: str, number: int) -> None:
        link = self._links.pop(name, None)
        if link is None:
            return
        self._closed[name] = self._closed.get(name, 0) + 1
        link.reading.cancel()
        self._note(link.name, CLOSED, b"", number)
        link.writer.close()

    async def _end(self) -> None:
        readings = [link.reading for link in self._links.values()]
        for link in self._links.values():
            link.reading.cancel()
            link.writer.close()
        await asyncio.gather(*readings, return_exceptions=True)

    def _note(self, connection: str, kind: str, frame: bytes = b"", step: int = -1) -> None:
        self.events.append(Event(self.now, connection, kind, frame, step))


async def run_script(
    address: tuple[str, int], script: Script, version: str, group_id: str
) -> Trace:
    """Run a script; return what happened.

    Raises:
        LateError: a step was more than `TOO_LATE` late.
        OSError: the broker cannot be reached.
    """
    session = Session(address, script, group_id)
    await session.run()
    return Trace(version, script, group_id, tuple(session.events), session.lateness)

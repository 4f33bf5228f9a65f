"""A member in a process of its own, for what cannot be done to a task: freezing it.

Decides: how the process is ordered, and that the end of its input is the order to close.
Never: tells its parent anything but by its event log: that is what the run is judged by.
"""

import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from kgroup import Consumer
from kgroup.journal import BadLine, Delivered, Entry, read_entries
from kgroup.types import TopicPartition

__all__ = ["Child", "child"]

_ROOT = Path(__file__).parents[2]
_PATIENCE = 10.0


class Child:
    """A member's process, as its parent sees it.

    Args:
        process: it runs.
        log: its event log.
    """

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self._log = log

    def entries(self) -> list[Entry]:
        """Return what it has logged so far."""
        if not self._log.exists():
            return []
        with self._log.open(encoding="utf-8") as lines:
            found = list(read_entries(lines, self._log.name))
        return [entry for entry in found if not isinstance(entry, BadLine)]

    @property
    def seen(self) -> list[tuple[TopicPartition, int]]:
        return [
            (event.claim.tp, offset)
            for event in (entry.event for entry in self.entries())
            if isinstance(event, Delivered)
            for offset in range(event.first, event.last + 1)
        ]

    def freeze(self) -> None:
        """Stop it where it stands; it does not notice."""
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    async def close(self) -> None:
        """Have it close its consumer, and see that it ended well."""
        assert self._process.stdin is not None
        await self._process.stdin.aclose()
        with anyio.fail_after(_PATIENCE):
            assert await self._process.wait() == 0


@asynccontextmanager
async def child(topic: str, log: Path, backend: str, **options: Any) -> AsyncIterator[Child]:
    """Have a member's process for one block; it does not outlive it.

    Args:
        topic: what it reads.
        log: file of its event log.
        backend: "asyncio" or "trio".
        options: of its consumer.
    """
    orders = json.dumps({"topic": topic, "backend": backend, "journal": str(log), **options})
    command = [sys.executable, "-m", "tests.real.child", orders]
    process = await anyio.open_process(command, cwd=_ROOT, stdout=None, stderr=None)
    try:
        yield Child(process, log)
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _serve(topic: str, options: dict[str, Any]) -> None:
    async with Consumer(topic, **options) as consumer, anyio.create_task_group() as tasks:
        tasks.start_soon(_read, consumer)
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        await consumer.close()
        tasks.cancel_scope.cancel()


async def _read(consumer: Consumer[Any, Any]) -> None:
    async for batch in consumer.batches():
        batch.done()


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    backend_name = told.pop("backend")
    anyio.run(partial(_serve, told.pop("topic"), told), backend=backend_name)

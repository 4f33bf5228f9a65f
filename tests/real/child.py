"""A member in a process of its own, for what cannot be done to a task: freezing it.

Decides: how the process is ordered, that it has begun with the first line of its event log, and
that the end of its input is the order to close.
Never: tells its parent anything but by its event log: that is what the run is judged by.
"""

import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from kgroup import Consumer
from kgroup.journal import BadLine, Delivered, Entry, read_entries
from kgroup.net.ports import system_clock
from kgroup.types import TopicPartition

_ROOT = Path(__file__).parents[2]
_PATIENCE = 10.0
_STARTS = 120.0
"""Seconds until it has loaded what it runs; no test judges how long that takes."""

_LOOK_AGAIN = 0.02


class Child:
    """A member's process, as its parent sees it.

    Args:
        process: it runs.
        log: its event log.
    """

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self._log = log
        self._read_to = 0
        self._entries: list[Entry] = []

    def entries(self) -> list[Entry]:
        """Return what it has logged so far."""
        if self._log.exists():
            with self._log.open(encoding="utf-8", newline="\n") as file:
                file.seek(self._read_to)
                news = file.read()
            whole = news[: news.rfind("\n") + 1]
            self._read_to += len(whole)  # the log is plain ASCII
            found = read_entries(whole.splitlines(), self._log.name)
            self._entries += [entry for entry in found if not isinstance(entry, BadLine)]
        return self._entries

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

    def wake(self) -> float:
        """Let it go on; return when, by the clock that stamps its event log.

        1. It looks at its lease, stamps that a record is handed out, and is frozen; 2. it wakes,
        and what was stamped before stands behind the rest of its log. So what is logged after this
        time was decided by a process that had woken.
        """
        now = system_clock()
        self._process.send_signal(signal.SIGCONT)
        return now

    async def kill(self) -> None:
        """End it at once (SIGKILL), and see that it is gone."""
        self._process.kill()
        with anyio.fail_after(_PATIENCE):
            await self._process.wait()

    async def close(self) -> None:
        """Have it close its consumer, and see that it ended well."""
        assert self._process.stdin is not None
        await self._process.stdin.aclose()
        with anyio.fail_after(_PATIENCE):
            assert await self._process.wait() == 0


@asynccontextmanager
async def child(
    topic: str, log: Path, runs_on: str, *, work: float = 0.0, **options: Any
) -> AsyncIterator[Child]:
    """Have a member's process for one block, which has begun; it does not outlive it.

    Args:
        topic: what it reads.
        log: file of its event log.
        runs_on: "asyncio" or "trio".
        work: seconds it is busy with each record; its event loop stands still meanwhile.
        options: of its consumer.
    """
    given = {"topic": topic, "work": work, "journal": str(log), **options}
    orders = json.dumps({"runs_on": runs_on, **given})
    command = [sys.executable, "-m", "tests.real.child", orders]
    process = await anyio.open_process(command, cwd=_ROOT, stdout=None, stderr=None)
    member = Child(process, log)
    try:
        await _begins(member, process)
        yield member
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _begins(member: Child, process: Process) -> None:
    with anyio.fail_after(_STARTS):
        while not member.entries():
            assert process.returncode is None, "it ended before it logged anything"
            await anyio.sleep(_LOOK_AGAIN)


async def _serve(topic: str, work: float, options: dict[str, Any]) -> None:
    async with Consumer(topic, **options) as consumer, anyio.create_task_group() as tasks:
        tasks.start_soon(_read, consumer, work)
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        await consumer.close()
        tasks.cancel_scope.cancel()


async def _read(consumer: Consumer[Any, Any], work: float) -> None:
    async for _ in consumer:
        time.sleep(work)  # noqa: ASYNC251 - code of an application that computes


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    runs_on = orders.pop("runs_on")
    serve = partial(_serve, orders.pop("topic"), orders.pop("work"), orders)
    anyio.run(serve, backend=runs_on)

"""A processor in a process of its own, which ends itself, or stands still, at a line a test names.

Decides: the lines, each where the handler begins or has ended with a record, and in front of the
store's transaction. What the handler did is written down with one `write(2)` each, so nothing that
was done is missing.
Never: touches the product; the handler and the store are the user's.
"""

import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from kgroup import Batch, Consumer, Record
from kgroup.processing import (
    AtLeastOnce,
    AtMostOnce,
    AutoCommit,
    Drain,
    EffectivelyOnce,
    Hold,
    InParallel,
    Order,
    Per,
    Processor,
    Report,
    Semantics,
    SqliteStore,
)
from kgroup.processing.gaps import is_in, read_runs
from kgroup.types import TopicPartition

_ROOT = Path(__file__).parents[2]
_PATIENCE = 180.0
"""Seconds; only a bound: on a busy machine a process may take a minute to begin."""
_LOOK_AGAIN = 0.02


class Life:
    """One process, as its parent sees it.

    Args:
        process: it runs.
        book: what it wrote down.
    """

    def __init__(self, process: Process, book: Path) -> None:
        self._process = process
        self._book = book

    def lines(self, word: str) -> list[int]:
        """Return the offsets that it wrote behind a word, in order."""
        if not self._book.exists():
            return []
        rows = [line.split() for line in self._book.read_text("ascii").splitlines()]
        return [int(row[1]) for row in rows if len(row) == 2 and row[0] == word]

    def send(self, sent: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(sent)

    async def ended(self) -> int:
        """Wait for its end; return its status."""
        with anyio.fail_after(_PATIENCE):
            return await self._process.wait()


@asynccontextmanager
async def life(
    topic: str,
    folder: Path,
    runs_on: str,
    *,
    semantics: str,
    kill: tuple[str, int] | None = None,
    waits_at: int | None = None,
    **options: Any,
) -> AsyncIterator[Life]:
    """Have a process for one block; it does not outlive it.

    Args:
        topic: what it reads, one partition of it.
        folder: for its book, and for the store.
        runs_on: "asyncio" or "trio".
        semantics: a name of `semantics_of`.
        kill: word and offset at which it ends itself, None for never.
        waits_at: offset in front of whose transaction it waits for the file `go`.
        options: of its consumer.
    """
    given = {"topic": topic, "folder": str(folder), "semantics": semantics, "kill": kill}
    orders = json.dumps({"runs_on": runs_on, **given, "waits_at": waits_at, "options": options})
    command = [sys.executable, "-m", "tests.real.handling", orders]
    process = await anyio.open_process(command, cwd=_ROOT, stdout=None, stderr=None)
    try:
        yield Life(process, folder / f"{options['client_id']}.txt")
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


# -- in the process --------------------------------------------------------------------------------


class Waiting:
    """A store that waits in front of one transaction until a file is there.

    Args:
        store: that it stands for.
        at: offset of the transaction, None for none.
        folder: where the file is to be.
        note: writes down that it waits.
    """

    def __init__(self, store: SqliteStore, at: int | None, folder: Path, note: Any) -> None:
        self._store = store
        self._at = at
        self._go = folder / "go"
        self._note = note

    async def acquire(
        self, group_id: str, tp: TopicPartition, owner: str, number: int | None = None
    ) -> Hold:
        return await self._store.acquire(group_id, tp, owner, number)

    @asynccontextmanager
    async def transaction(
        self, hold: Hold, first: int, next_offset: int
    ) -> AsyncIterator[sqlite3.Connection]:
        if first == self._at:
            self._note("ready", first)
            while not self._go.exists():  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(_LOOK_AGAIN)
        async with self._store.transaction(hold, first, next_offset) as db:
            yield db


class Worker:
    """The handler.

    Args:
        consumer: asked what is committed.
        book: takes lines.
        kill: word and offset at which it ends the process.
        semantics: the name of it.
    """

    def __init__(
        self, consumer: Consumer[Any, Any], book: int, kill: tuple[str, int] | None, semantics: str
    ) -> None:
        self._consumer = consumer
        self._book = book
        self._kill = kill
        self._semantics = semantics

    def note(self, word: str, offset: int) -> None:
        """Write a line; it may be the last."""
        os.write(self._book, f"{word} {offset}\n".encode())
        if self._kill is not None and (word, offset) == self._kill:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(_PATIENCE)  # the signal is on its way

    async def batch(self, batch: Batch[Any, Any]) -> None:
        for record in batch:
            await self.record(record)

    async def record(self, record: Record[Any, Any], db: sqlite3.Connection | None = None) -> None:
        if self._semantics == "parallel" and self._kill is not None:
            await self._others_committed(record)
        self.note("begin", record.offset)
        if db is not None:
            db.execute("INSERT INTO bills VALUES (?)", (record.offset,))
        self.note("end", record.offset)

    async def _others_committed(self, record: Record[Any, Any]) -> None:
        """Wait at the last record until all others are committed, or noted beside the offset."""
        assert self._kill is not None
        if record.offset != self._kill[1]:
            return
        while True:
            committed = (await self._consumer.committed(record.tp))[record.tp]
            if committed is not None and committed.offset == record.offset:
                runs = read_runs(committed.offset, committed.metadata)
                if is_in(runs, record.offset + 2):
                    return
            await anyio.sleep(_LOOK_AGAIN)


def semantics_of(name: str, store: Waiting) -> Semantics:
    """Return what a name stands for."""
    found: dict[str, Semantics] = {
        "auto": AutoCommit(),
        "record": AtLeastOnce(),
        "batch": AtLeastOnce(Per.BATCH),
        "most": AtMostOnce(),
        "parallel": InParallel(Order.NONE),
        "store": EffectivelyOnce(store),
    }
    return found[name]


async def _serve(
    topic: str,
    folder: Path,
    semantics: str,
    kill: tuple[str, int] | None,
    waits_at: int | None,
    options: dict[str, Any],
) -> None:
    book = os.open(folder / f"{options['client_id']}.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with SqliteStore(folder / "bills.db") as opened:
        opened.connection.execute("CREATE TABLE IF NOT EXISTS bills (number INTEGER)")
        async with Consumer(topic, **options) as consumer:
            worker = Worker(consumer, book, kill, semantics)
            store = Waiting(opened, waits_at, folder, worker.note)
            handler = worker.batch if semantics == "batch" else worker.record
            drain = Drain(signals=(signal.SIGTERM,))
            processor = Processor(consumer, handler, semantics_of(semantics, store), drain=drain)

            def hear(report: Report) -> None:
                worker.note(report.kind.name.lower(), report.first)

            processor.hear(hear)
            await processor.run()


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    killed = orders["kill"] and (orders["kill"][0], orders["kill"][1])
    serve = partial(
        _serve,
        orders["topic"],
        Path(orders["folder"]),
        orders["semantics"],
        killed,
        orders["waits_at"],
        orders["options"],
    )
    anyio.run(serve, backend=orders["runs_on"])

"""A processor in a process of its own, which ends itself, or stands still, at a line a test names.

Decides: the lines: where the handler begins or has ended with a record, where a commit is about to
be sent or was answered, in front of the store's transaction and behind it. What the handler did is
written down with one `write(2)` each, so nothing that was done is missing. Of a partition other
than 0 the number of the partition stands in front, as thousands.
Never: touches the product; the handler and the store are the user's.
"""

import inspect
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from kgroup import Batch, Consumer, Record
from kgroup.journal import CommitStage, CommitStep, Event
from kgroup.observe.health import Limits, Monitor
from kgroup.observe.health_server import serving
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
    PostgresStore,
    Processor,
    Report,
    ReportKind,
    Semantics,
    SqliteStore,
    Store,
)
from kgroup.processing.gaps import is_in, read_runs
from kgroup.types import OwnershipChange, TopicPartition

_ROOT = Path(__file__).parents[2]
_PATIENCE = 180.0
"""Seconds; only a bound: on a busy machine a process may take a minute to begin."""
_LOOK_AGAIN = 0.02
_RED_AFTER = 0.05
"""Part of the lease, small next to a session that a busy machine needs to start a process in."""


@dataclass(frozen=True, kw_only=True)
class Orders:
    """What a process is to do.

    Args:
        semantics: a name of `semantics_of`.
        kill: word and offset at which it ends itself, None for never.
        waits_at: offset in front of whose transaction it waits for the file `go`.
        blocks_at: offset with which its handler blocks the event loop until that file is there.
        postgres: where the store is, None for a SQLite file.
        health: whether it answers probes; the port is in its book.
    """

    semantics: str = "record"
    kill: tuple[str, int] | None = None
    waits_at: int | None = None
    blocks_at: int | None = None
    postgres: str | None = None
    health: bool = False


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
    topic: str, folder: Path, runs_on: str, given: Orders, **options: Any
) -> AsyncIterator[Life]:
    """Have a process for one block; it does not outlive it.

    Args:
        topic: what it reads.
        folder: for its book, and for the store.
        runs_on: "asyncio" or "trio".
        given: what it is to do.
        options: of its consumer.
    """
    place = {"topic": topic, "folder": str(folder), "runs_on": runs_on}
    orders = json.dumps({**place, "given": asdict(given), "options": options})
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


class Book:
    """Takes lines; the consumer's journal writes when a commit is asked for and answered.

    Args:
        file: descriptor to write to.
        kill: word and offset at which it ends the process.
    """

    def __init__(self, file: int, kill: tuple[str, int] | None) -> None:
        self._file = file
        self.kill = kill

    def note(self, word: str, offset: int) -> None:
        """Write a line; it may be the last."""
        os.write(self._file, f"{word} {offset}\n".encode())
        if (word, offset) == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(_PATIENCE)  # the signal is on its way

    def emit(self, event: Event) -> None:
        """Write down the last record that a commit covers."""
        match event:
            case CommitStep(stage=CommitStage.REQUESTED):
                self.note("asked", event.offset - 1)
            case CommitStep(stage=CommitStage.OK):
                self.note("answered", event.offset - 1)
            case _:
                pass

    def hear(self, report: Report) -> None:
        """Write down a report; of what is skipped each record."""
        end = report.next_offset if report.kind is ReportKind.REPEATED else report.first + 1
        for offset in range(report.first, end):
            self.note(report.kind.name.lower(), offset)
        if report.token is not None:
            self.note(f"{report.kind.name.lower()}_in", report.token.generation_id)


class Listener:
    """Writes down how many partitions come and go.

    Args:
        book: takes lines.
    """

    def __init__(self, book: Book) -> None:
        self._book = book

    async def on_assigned(self, _: Any, change: OwnershipChange) -> None:
        self._book.note("assigned", len(change.added))

    async def on_revoked(self, _: Any, change: OwnershipChange) -> None:
        self._book.note("revoked", len(change.removed))

    async def on_lost(self, _: Any, change: OwnershipChange) -> None:
        self._book.note("lost", len(change.removed))


class Waiting:
    """A store that waits in front of one transaction until a file is there.

    Args:
        store: that it stands for.
        at: offset of the transaction, None for none.
        go: the file.
        book: takes lines.
    """

    def __init__(self, store: Store, at: int | None, go: Path, book: Book) -> None:
        self._store = store
        self._at = at
        self._go = go
        self._book = book

    async def acquire(
        self, group_id: str, tp: TopicPartition, owner: str, number: int | None = None
    ) -> Hold:
        return await self._store.acquire(group_id, tp, owner, number)

    @asynccontextmanager
    async def transaction(self, hold: Hold, first: int, next_offset: int) -> AsyncIterator[Any]:
        if first == self._at:
            self._book.note("ready", first)
            while not self._go.exists():  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(_LOOK_AGAIN)
        async with self._store.transaction(hold, first, next_offset) as db:
            yield db
        self._book.note("stored", first)


class Worker:
    """The handler.

    Args:
        consumer: asked what is committed.
        book: takes lines.
        given: what to do where.
        go: what it waits for when it blocks the event loop.
    """

    def __init__(self, consumer: Consumer[Any, Any], book: Book, given: Orders, go: Path) -> None:
        self._consumer = consumer
        self._book = book
        self._given = given
        self._go = go

    async def batch(self, batch: Batch[Any, Any], db: Any = None) -> None:
        for record in batch:
            await self.record(record, db)

    async def record(self, record: Record[Any, Any], db: Any = None) -> None:
        await self._hold_on(record)
        number = record.partition * 1000 + record.offset
        if (generation := self._consumer.membership.generation) is not None:
            self._book.note("generation", generation.generation_id)
        self._book.note("begin", number)
        while record.offset == self._given.blocks_at and not self._go.exists():
            time.sleep(_LOOK_AGAIN)  # noqa: ASYNC251 - that is what this handler is for
        if db is not None:
            written = db.execute(f"INSERT INTO bills VALUES ({number})")
            if inspect.isawaitable(written):
                await written
        self._book.note("end", number)

    async def _hold_on(self, record: Record[Any, Any]) -> None:
        """Let what the test wants to see happen before anything else does."""
        if self._given.kill is None:
            return
        word, at = self._given.kill
        by_the_clock = self._given.semantics == "auto" and word in ("asked", "answered")
        if by_the_clock and record.offset == at + 1:
            await anyio.sleep_forever()  # until the clock commits
        if record.offset == 7 and self._given.semantics == "parallel":
            await self._others_committed(record)
        elif record.offset == 7 and "store" in self._given.semantics:
            await self._committed_to(record, 5)

    async def _committed_to(self, record: Record[Any, Any], offset: int) -> None:
        """Wait until the group has the commit of the batch before, which a store does not await."""
        while True:
            committed = (await self._consumer.committed(record.tp))[record.tp]
            if committed is not None and committed.offset == offset:
                return
            await anyio.sleep(_LOOK_AGAIN)

    async def _others_committed(self, record: Record[Any, Any]) -> None:
        """Wait until all other records are committed, or noted beside the offset."""
        while True:
            committed = (await self._consumer.committed(record.tp))[record.tp]
            if committed is not None and committed.offset == record.offset:
                runs = read_runs(committed.offset, committed.metadata)
                if is_in(runs, record.offset + 1) and is_in(runs, record.offset + 2):
                    return
            await anyio.sleep(_LOOK_AGAIN)


def semantics_of(name: str, store: Store) -> Semantics:
    """Return what a name stands for."""
    found: dict[str, Semantics] = {
        "auto": AutoCommit(),
        "record": AtLeastOnce(),
        "batch": AtLeastOnce(Per.BATCH),
        "most": AtMostOnce(),
        "most_batch": AtMostOnce(Per.BATCH),
        "parallel": InParallel(Order.NONE),
        "store": EffectivelyOnce(store),
        "store_batch": EffectivelyOnce(store, Per.BATCH),
    }
    return found[name]


@asynccontextmanager
async def _store(given: Orders, folder: Path) -> AsyncIterator[Store]:
    """Have the store, with a table to write to."""
    table = "CREATE TABLE IF NOT EXISTS bills (number INTEGER)"
    if given.postgres is None:
        with SqliteStore(folder / "bills.db") as store:
            store.connection.execute(table)
            yield store
    else:
        async with PostgresStore(given.postgres) as in_postgres:
            yield in_postgres


@asynccontextmanager
async def _probed(consumer: Consumer[Any, Any], book: Book) -> AsyncIterator[None]:
    """Answer probes for one block."""
    async with Monitor(consumer, Limits(lease=_RED_AFTER)).running() as monitor:
        with serving(monitor, 0, "127.0.0.1") as port:
            book.note("port", port)
            yield


async def _serve(topic: str, folder: Path, given: Orders, options: dict[str, Any]) -> None:
    place = folder / f"{options['client_id']}.txt"
    book = Book(os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT), given.kill)
    go, listener = folder / "go", Listener(book)
    async with (
        _store(given, folder) as opened,
        Consumer(topic, journal=book, listener=listener, **options) as consumer,
    ):
        worker = Worker(consumer, book, given, go)
        semantics = semantics_of(given.semantics, Waiting(opened, given.waits_at, go, book))
        handler = worker.batch if "batch" in given.semantics else worker.record
        drain = Drain(signals=(signal.SIGTERM,))
        processor = Processor(consumer, handler, semantics, drain=drain)
        processor.hear(book.hear)
        async with _probed(consumer, book) if given.health else nullcontext():
            await processor.run()


def _main(orders: dict[str, Any]) -> None:
    given = orders["given"]
    given["kill"] = given["kill"] and tuple(given["kill"])

    async def serve() -> None:
        await _serve(orders["topic"], Path(orders["folder"]), Orders(**given), orders["options"])

    anyio.run(serve, backend=orders["runs_on"])


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))

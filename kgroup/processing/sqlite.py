"""A store in SQLite: offsets, epochs and what the handler writes, in one file.

Decides: the table, and how writers of one process and of several take turns.
Never: writes outside a transaction that has checked its fence.

One connection serves a process; transactions of its partitions take turns. Writers of other
processes are waited for without blocking the event loop. Each statement blocks it for as long as
SQLite takes.
"""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Self

import anyio

from kgroup.errors import FencedWriteError, IllegalStateError
from kgroup.processing.store import Hold
from kgroup.types import TopicPartition

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS kgroup_offsets (
    group_id TEXT NOT NULL,
    topic TEXT NOT NULL,
    number INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    owner TEXT NOT NULL,
    next_offset INTEGER,
    PRIMARY KEY (group_id, topic, number)
) WITHOUT ROWID
"""
_KEY: Final = "group_id = ? AND topic = ? AND number = ?"
_READ: Final = f"SELECT epoch, owner, next_offset FROM kgroup_offsets WHERE {_KEY}"  # noqa: S608
_TAKE: Final = f"UPDATE kgroup_offsets SET epoch = ?, owner = ? WHERE {_KEY} AND epoch = ?"  # noqa: S608
_BEGIN: Final = "INSERT INTO kgroup_offsets VALUES (?, ?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING"
_MOVE: Final = (
    f"UPDATE kgroup_offsets SET next_offset = ? WHERE {_KEY} "  # noqa: S608
    "AND epoch = ? AND owner = ? AND coalesce(next_offset, 0) <= ?"
)
_LOOK_AGAIN: Final = 0.02


class SqliteStore:
    """Keeps offsets in a SQLite file, and gives the handler its connection.

        async def handle(record: Record, db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO bills VALUES (?, ?)", (record.key, record.value))

        with SqliteStore("bills.db") as store:
            await Processor(consumer, handle, EffectivelyOnce(store)).run()

    Args:
        path: the file; it is made, and its table too.
        patience: seconds to wait for writers of other processes.

    Raises:
        sqlite3.Error: it cannot be opened.
    """

    def __init__(self, path: str | Path, *, patience: float = 30.0) -> None:
        self._patience = patience
        self._turn: anyio.Lock | None = None
        self.connection: sqlite3.Connection = sqlite3.connect(path, isolation_level=None)
        """Outside a handler, use it only while no processor runs."""
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA busy_timeout = 5000")
        self.connection.execute(_TABLE)
        self.connection.execute("PRAGMA busy_timeout = 0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    async def acquire(
        self, group_id: str, tp: TopicPartition, owner: str, number: int | None = None
    ) -> Hold:
        """Make `owner` the one that may write; see `Store.acquire`."""
        async with self._writing():
            key = (group_id, *tp)
            row = self.connection.execute(_READ, key).fetchone()
            epoch, offset = (0, None) if row is None else (row[0], row[2])
            wanted = epoch + 1 if number is None else number
            if row is None:
                self.connection.execute(_BEGIN, (*key, wanted, owner))
            elif row[:2] != (number, owner):
                if wanted <= epoch:
                    raise FencedWriteError(tp, wanted, epoch)
                self.connection.execute(_TAKE, (wanted, owner, *key, epoch))
            return Hold(group_id, tp, wanted, owner, offset)

    @asynccontextmanager
    async def transaction(
        self, hold: Hold, first: int, next_offset: int
    ) -> AsyncIterator[sqlite3.Connection]:
        """Open a transaction that counts records as processed; see `Store.transaction`."""
        async with self._writing():
            key = (hold.group_id, *hold.tp)
            given = (next_offset, *key, hold.epoch, hold.owner, first)
            if self.connection.execute(_MOVE, given).rowcount != 1:
                row = self.connection.execute(_READ, key).fetchone()
                raise FencedWriteError(hold.tp, hold.epoch, None if row is None else row[0])
            yield self.connection

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Hold SQLite's one writer's lock; the block is undone when an exception leaves it.

        BEGIN IMMEDIATE takes the lock at once, so a read in the block is still true at its end.
        """
        if self._turn is None:
            self._turn = anyio.Lock()  # of the loop that runs now
        async with self._turn:
            await self._begin()
            try:
                yield
            except BaseException:
                if self.connection.in_transaction:  # some errors have undone it already
                    self.connection.execute("ROLLBACK")
                raise
            if not self.connection.in_transaction:
                raise IllegalStateError("the handler has ended the transaction it was given")
            self.connection.execute("COMMIT")

    async def _begin(self) -> None:
        with anyio.move_on_after(self._patience):
            while not self._has_begun():  # noqa: ASYNC110 - another process writes
                await anyio.sleep(_LOOK_AGAIN)
            return
        raise TimeoutError(f"another process has been writing for {self._patience:g} s")

    def _has_begun(self) -> bool:
        """Begin a transaction, unless another process is within one."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True

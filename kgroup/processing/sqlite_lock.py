"""Locks in SQLite, for the processes of one machine.

Decides: the table, and that the epoch of a name rises with each grant and is never forgotten.
Never: waits for another writer: who cannot write now is told so, and comes again.
"""

import sqlite3
import time
from pathlib import Path
from typing import Final, Self

from kgroup.errors import LockLostError
from kgroup.net.ports import Clock
from kgroup.processing.locks import Grant

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS kgroup_locks (
    name TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    owner TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID
"""
_TAKE: Final = """
INSERT INTO kgroup_locks VALUES (:name, 1, :owner, :until)
ON CONFLICT (name) DO UPDATE SET epoch = epoch + 1, owner = :owner, until = :until
WHERE owner = :owner OR until <= :now
RETURNING epoch
"""
_GIVE: Final = "UPDATE kgroup_locks SET until = 0 WHERE name = ? AND epoch = ?"
_READ: Final = "SELECT epoch FROM kgroup_locks WHERE name = ?"


class SqliteLock:
    """Keeps locks in a SQLite file.

        async def handle(batch: Batch, grants: tuple[Grant, ...]) -> None:
            with db:
                db.execute("BEGIN IMMEDIATE")
                lock.check(db, *grants)
                db.execute(...)

    `db` is a connection of yours to the same file.

    Args:
        path: the file; it is made, and its table too.
        ttl: seconds after which a lock runs out. Longer than a batch takes.
        wall: seconds since the epoch, the same for all processes.

    Raises:
        sqlite3.Error: it cannot be opened.
    """

    def __init__(self, path: str | Path, *, ttl: float = 60.0, wall: Clock = time.time) -> None:
        self._ttl = ttl
        self._wall = wall
        self._db = sqlite3.connect(path, isolation_level=None, timeout=5.0)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(_TABLE)
        self._db.execute("PRAGMA busy_timeout = 0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; locks that are held run out."""
        self._db.close()

    async def acquire(self, name: str, owner: str) -> Grant | None:
        """Take a lock; see `ExternalLock.acquire`."""
        now = self._wall()
        given = {"name": name, "owner": owner, "now": now, "until": now + self._ttl}
        row = self._db.execute(_TAKE, given).fetchone()
        return None if row is None else Grant(name, owner, row[0])

    async def release(self, grant: Grant) -> None:
        """Give a lock back."""
        self._db.execute(_GIVE, (grant.name, grant.epoch))

    @staticmethod
    def check(db: sqlite3.Connection, *grants: Grant) -> None:
        """See that the grants are the latest ones; within a transaction that may write.

        Args:
            db: a connection to the same file, in a transaction that was begun IMMEDIATE.
            grants: that the handler was given.

        Raises:
            LockLostError: somebody was given one of them later.
        """
        for grant in grants:
            row = db.execute(_READ, (grant.name,)).fetchone()
            if row is None or row[0] != grant.epoch:
                raise LockLostError(grant.name, grant.epoch, None if row is None else row[0])

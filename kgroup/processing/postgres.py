"""A store in PostgreSQL, through psycopg 3: offsets, epochs and what the handler writes.

Decides: the table, how an epoch is taken by compare and swap, and that a row is locked from the
check of the fence to the end of the transaction.
Never: runs on trio: psycopg has no connection for it.

A process that is frozen within a transaction keeps its row locked. So the server ends a session
that is idle within one for `idle_timeout`, and what it wrote is undone.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Self

import anyio

from kgroup.errors import FencedWriteError, MissingExtraError, UnsupportedError
from kgroup.processing.store import Hold
from kgroup.types import TopicPartition

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS kgroup_offsets (
    group_id text NOT NULL,
    topic text NOT NULL,
    number integer NOT NULL,
    epoch bigint NOT NULL,
    owner text NOT NULL,
    next_offset bigint,
    PRIMARY KEY (group_id, topic, number)
)
"""
_LOCK: Final = "SELECT pg_advisory_xact_lock(7202611271)"
_KEY: Final = "group_id = %s AND topic = %s AND number = %s"
_READ: Final = f"SELECT epoch, owner, next_offset FROM kgroup_offsets WHERE {_KEY}"  # noqa: S608
_TAKE: Final = (
    f"UPDATE kgroup_offsets SET epoch = %s, owner = %s WHERE {_KEY} "  # noqa: S608
    "AND epoch = %s RETURNING next_offset"
)
_BEGIN: Final = (
    "INSERT INTO kgroup_offsets VALUES (%s, %s, %s, %s, %s, NULL) ON CONFLICT DO NOTHING"
)
_MOVE: Final = (
    f"UPDATE kgroup_offsets SET next_offset = %s WHERE {_KEY} "  # noqa: S608
    "AND epoch = %s AND owner = %s AND coalesce(next_offset, 0) <= %s"
)


class PostgresStore:
    """Keeps offsets in a PostgreSQL database, and gives the handler a connection of psycopg.

        async def handle(record: Record, db: psycopg.AsyncConnection) -> None:
            await db.execute("INSERT INTO bills VALUES (%s, %s)", (record.key, record.value))

        async with PostgresStore("dbname=bills") as store:
            await Processor(consumer, handle, EffectivelyOnce(store)).run()

    Needs `kgroup[postgres]`, and asyncio.

    Args:
        conninfo: of the database, as psycopg takes it.
        connections: most that are open: so many partitions write at a time.
        idle_timeout: seconds after which the server undoes a transaction that does nothing.
    """

    def __init__(self, conninfo: str, *, connections: int = 4, idle_timeout: float = 60.0) -> None:
        self._conninfo = conninfo
        self._most = connections
        self._idle_timeout = idle_timeout
        self._permits: anyio.Semaphore | None = None
        self._idle: list[AsyncConnection[Any]] = []

    async def __aenter__(self) -> Self:
        """Connect, and make the table.

        Raises:
            MissingExtraError: psycopg is not installed.
            UnsupportedError: on trio.
            psycopg.Error: the database cannot be used.
        """
        self._permits = anyio.Semaphore(self._most)
        async with self._connection() as connection, connection.transaction():
            # Two that make one table at a time would get in each other's way.
            await connection.execute(_LOCK)
            await connection.execute(_TABLE)
        return self

    async def __aexit__(self, *_: object) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def acquire(
        self, group_id: str, tp: TopicPartition, owner: str, number: int | None = None
    ) -> Hold:
        """Make `owner` the one that may write; see `Store.acquire`."""
        async with self._connection() as connection:
            while True:
                taken = await _take(connection, (group_id, *tp), owner, number)
                if taken is not None:
                    return Hold(group_id, tp, taken[0], owner, taken[1])

    @asynccontextmanager
    async def transaction(
        self, hold: Hold, first: int, next_offset: int
    ) -> "AsyncIterator[AsyncConnection[Any]]":
        """Open a transaction that counts records as processed; see `Store.transaction`."""
        key = (hold.group_id, *hold.tp)
        async with self._connection() as connection, connection.transaction():
            given = (next_offset, *key, hold.epoch, hold.owner, first)
            moved = await connection.execute(_MOVE, given)
            if moved.rowcount != 1:
                row = await (await connection.execute(_READ, key)).fetchone()
                raise FencedWriteError(hold.tp, hold.epoch, None if row is None else row[0])
            yield connection

    # -- connections -----------------------------------------------------------------------

    @asynccontextmanager
    async def _connection(self) -> "AsyncIterator[AsyncConnection[Any]]":
        assert self._permits is not None, "enter the store by `async with`"
        async with self._permits:
            connection = self._idle.pop() if self._idle else await self._connect()
            try:
                yield connection
            finally:
                await self._put_back(connection)

    async def _put_back(self, connection: "AsyncConnection[Any]") -> None:
        if not (connection.closed or connection.broken):
            self._idle.append(connection)
            return
        with anyio.CancelScope(shield=True):
            await connection.close()

    async def _connect(self) -> "AsyncConnection[Any]":
        try:
            import psycopg  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("PostgresStore", "postgres") from error
        if not on_asyncio():
            raise UnsupportedError("PostgresStore needs asyncio: psycopg runs on nothing else")
        connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
        timeout = str(round(self._idle_timeout * 1000))
        name = "idle_in_transaction_session_timeout"
        await connection.execute("SELECT set_config(%s, %s, false)", (name, timeout))
        return connection


async def _take(
    connection: "AsyncConnection[Any]",
    key: tuple[str, str, int],
    owner: str,
    number: int | None,
) -> tuple[int, int | None] | None:
    """Take the epoch by compare and swap; return it and the offset, None when another was faster.

    Raises:
        FencedWriteError: `number` is not higher than the present owner's.
    """
    row = await (await connection.execute(_READ, key)).fetchone()
    if row is None:
        epoch = 1 if number is None else number
        made = await connection.execute(_BEGIN, (*key, epoch, owner))
        return (epoch, None) if made.rowcount else None
    if row[:2] == (number, owner):
        return row[0], row[2]
    epoch = row[0] + 1 if number is None else number
    if epoch <= row[0]:
        raise FencedWriteError(TopicPartition(key[1], key[2]), epoch, row[0])
    taken = await connection.execute(_TAKE, (epoch, owner, *key, row[0]))
    swapped = await taken.fetchone()
    return None if swapped is None else (epoch, swapped[0])


def on_asyncio() -> bool:
    """Tell whether the present task is one of asyncio."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False

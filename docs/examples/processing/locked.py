"""Orders into a file that only one process may write to at a time."""

import sqlite3

from kgroup import Batch, Consumer
from kgroup.config import ConsumerConfig
from kgroup.processing import AtLeastOnce, Grant, Locked, Per, Processor, SqliteLock


async def bill(config: ConsumerConfig, path: str) -> None:
    lock = SqliteLock(path, ttl=60)
    db = sqlite3.connect(path, isolation_level=None)

    async def handle(batch: Batch[bytes, bytes], grants: tuple[Grant, ...]) -> None:
        db.execute("BEGIN IMMEDIATE")
        with db:
            lock.check(db, *grants)
            db.executemany("INSERT INTO bills VALUES (?)", [(each.value,) for each in batch])

    async with Consumer("orders", config=config) as consumer:
        await Processor(consumer, handle, AtLeastOnce(Per.BATCH), locks=Locked(lock)).run()

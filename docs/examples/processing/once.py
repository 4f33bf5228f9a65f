"""Each order once in a database, whatever dies when."""

import sqlite3

from kgroup import Consumer, Record
from kgroup.config import ConsumerConfig
from kgroup.processing import EffectivelyOnce, Processor, SqliteStore


async def handle(record: Record[bytes, bytes], db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO bills VALUES (?, ?)", (record.key, record.value))


async def bill(config: ConsumerConfig, store: SqliteStore) -> None:
    async with Consumer("orders", config=config) as consumer:
        await Processor(consumer, handle, EffectivelyOnce(store)).run()

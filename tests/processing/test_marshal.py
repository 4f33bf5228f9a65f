"""In a group that claims: the claim's offset is the store's epoch, and at most once is its own."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import FencedWriteError
from kgroup.processing import (
    AtMostOnce,
    EffectivelyOnce,
    Per,
    Processor,
    Semantics,
    SqliteStore,
)
from kgroup.testing import InProcessBroker
from kgroup.types import Generation
from tests.consumer.marshal.claiming import claiming, kafka
from tests.contracts.application import until
from tests.processing.at_work import A, Handler

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@asynccontextmanager
async def at_work(
    broker: InProcessBroker,
    handler: Callable[..., Awaitable[None]],
    semantics: Semantics,
    **options: Any,
) -> AsyncIterator[Consumer[Any, Any]]:
    """Have a processor at work on a member that claims."""
    async with claiming(broker, **options) as consumer, anyio.create_task_group() as tasks:
        tasks.start_soon(Processor(consumer, handler, semantics).run)
        yield consumer
        tasks.cancel_scope.cancel()


async def test_the_epoch_is_the_offset_of_the_claim(tmp_path: Path) -> None:
    tokens: list[Generation | None] = []
    with SqliteStore(tmp_path / "bills.db") as store:
        store.connection.execute("CREATE TABLE bills (number INTEGER)")

        async def write(batch: Any, db: sqlite3.Connection) -> None:
            tokens.append(batch.token)
            db.executemany("INSERT INTO bills VALUES (?)", [(each.offset,) for each in batch])

        semantics = EffectivelyOnce(store, Per.BATCH)
        async with at_work(kafka(records=10), write, semantics):
            await until(lambda: tokens, 60, "a batch is handled")
            await anyio.sleep(1)
        found = store.connection.execute("SELECT epoch, next_offset FROM kgroup_offsets")
        (token,) = set(tokens)
        assert token is not None
        assert found.fetchall() == [(token.generation_id, 10)]
        with pytest.raises(FencedWriteError):
            await store.acquire("g", A, "a former one", token.generation_id - 1)


async def test_at_most_once_of_the_group_needs_no_commit_of_the_processor() -> None:
    handler = Handler()
    options = {"guarantee": "at_most_once", "at_most_once_records": 4}
    async with at_work(kafka(records=10), handler, AtMostOnce(), **options):
        await until(lambda: len(handler.ended) == 10, 60, "all are handled")
    assert handler.offsets() == list(range(10))

"""A store in a real PostgreSQL: each record counts once, and only the latest owner writes."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

from kgroup.consumer import Record
from kgroup.errors import FencedWriteError, UnsupportedError
from kgroup.processing import EffectivelyOnce, PostgresStore
from kgroup.types import TopicPartition
from tests.contracts.application import until
from tests.processing.at_work import Trouble, at_work, stored
from tests.processing.servers import postgres

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TP = TopicPartition("t", 0)


@pytest.fixture
def anyio_backend() -> str:
    """Real time: a server of another process does not know of any other."""
    return "asyncio"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as conninfo:
        yield conninfo


@pytest.fixture
async def store(server: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(server, idle_timeout=1.0) as opened:
        async with opened._connection() as db:
            await db.execute("DROP TABLE IF EXISTS bills")
            await db.execute("CREATE TABLE bills (number integer)")
            await db.execute("DELETE FROM kgroup_offsets")
        yield opened


async def bills(store: PostgresStore) -> list[int]:
    async with store._connection() as db:
        rows = await db.execute("SELECT number FROM bills ORDER BY number")
        return [row[0] for row in await rows.fetchall()]


async def test_a_former_owner_is_refused_and_leaves_nothing(store: PostgresStore) -> None:
    one = await store.acquire("g", TP, "one")
    two = await store.acquire("g", TP, "two")
    assert (one.epoch, two.epoch) == (1, 2)
    with pytest.raises(FencedWriteError):
        async with store.transaction(one, 0, 1) as db:
            await db.execute("INSERT INTO bills VALUES (1)")
    assert await bills(store) == []


async def test_what_the_handler_wrote_and_the_offset_are_one(store: PostgresStore) -> None:
    hold = await store.acquire("g", TP, "one")
    async with store.transaction(hold, 0, 1) as db:
        await db.execute("INSERT INTO bills VALUES (0)")
    with pytest.raises(Trouble):  # noqa: PT012 - the block is what is undone
        async with store.transaction(hold, 1, 2) as db:
            await db.execute("INSERT INTO bills VALUES (1)")
            raise Trouble
    assert await bills(store) == [0]
    assert (await store.acquire("g", TP, "two")).offset == 1


async def test_an_owner_waits_for_the_transaction_of_the_one_before(store: PostgresStore) -> None:
    hold, taken = await store.acquire("g", TP, "one"), anyio.Event()

    async def take() -> None:
        assert (await store.acquire("g", TP, "two")).offset == 1
        taken.set()

    async with anyio.create_task_group() as tasks:
        async with store.transaction(hold, 0, 1):
            tasks.start_soon(take)
            await anyio.sleep(0.2)
            assert not taken.is_set()
        await taken.wait()


async def test_a_frozen_transaction_is_undone_by_the_server(store: PostgresStore) -> None:
    hold = await store.acquire("g", TP, "one")
    with pytest.raises(Exception, match="idle-in-transaction"):  # noqa: PT012
        async with store.transaction(hold, 0, 1) as db:
            await db.execute("INSERT INTO bills VALUES (0)")
            assert (await store.acquire("g", TP, "two")).epoch == 2  # waits for its end
            await db.execute("INSERT INTO bills VALUES (1)")
    assert await bills(store) == []
    assert (await store.acquire("g", TP, "three")).offset is None


async def test_many_that_come_at_once_all_get_another_epoch(store: PostgresStore) -> None:
    epochs: list[int] = []

    async def take(owner: str) -> None:
        epochs.append((await store.acquire("g", TP, owner)).epoch)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(take, str(number))
    assert sorted(epochs) == list(range(1, 21))


async def test_a_given_number_must_be_higher(store: PostgresStore) -> None:
    assert (await store.acquire("g", TP, "one", number=40)).epoch == 40
    assert (await store.acquire("g", TP, "one", number=40)).epoch == 40
    with pytest.raises(FencedWriteError):
        await store.acquire("g", TP, "two", number=40)
    assert (await store.acquire("g", TP, "two", number=41)).epoch == 41


async def test_a_processor_writes_each_record_once(store: PostgresStore) -> None:
    tries: list[int] = []

    async def write(record: Record[Any, Any], db: Any) -> None:
        await db.execute("INSERT INTO bills VALUES (%s)", (record.offset,))
        if record.offset == 5 and not tries:
            tries.append(5)
            raise Trouble

    broker = stored(10)
    async with at_work(broker, write, EffectivelyOnce(store)) as work:
        await work.ends()
        assert isinstance(work.error, Trouble)
    async with at_work(broker, write, EffectivelyOnce(store)) as work:
        await until(lambda: broker.group("g").committed.get(("t", 0)) == 10, 30, "all of it")
    assert await bills(store) == list(range(10))


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_it_says_that_it_needs_asyncio(server: str, anyio_backend: str) -> None:
    with pytest.raises(UnsupportedError, match="asyncio"):
        async with PostgresStore(server):
            pass
